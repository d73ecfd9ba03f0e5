//! The canonical ABI: how values lie in memory when they pass between the component and its host.
//!
//! Who lays a value down gives it away: strings and lists that a value owns are memory of this component's
//! allocator, on the way in (by `cabi_realloc`) as on the way out.

use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use alloc::string::String;
use alloc::vec::Vec;
use core::mem::take;

/// Size and alignment of a type in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl Shape {
    /// A number of so many bytes.
    const fn number(size: usize) -> Self {
        Self { size, align: size }
    }

    /// Fields one after the other, each where its alignment allows.
    pub(crate) const fn record(fields: &[Self]) -> Self {
        let mut whole = Self { size: 0, align: 1 };
        let mut at = 0;
        while at < fields.len() {
            let field = fields[at];
            whole.size = up(whole.size, field.align) + field.size;
            whole.align = max(whole.align, field.align);
            at += 1;
        }
        whole.size = up(whole.size, whole.align);
        whole
    }

    /// A byte that tells the case, then room for the largest.
    pub(crate) const fn variant(cases: &[Self]) -> Self {
        let mut largest = Self { size: 0, align: 1 };
        let mut at = 0;
        while at < cases.len() {
            largest.size = max(largest.size, cases[at].size);
            largest.align = max(largest.align, cases[at].align);
            at += 1;
        }
        Self {
            size: up(up(1, largest.align) + largest.size, largest.align),
            align: largest.align,
        }
    }

    /// For the allocator. Sizes are sums of a few fields, or lists that were in memory before.
    fn layout(self) -> Layout {
        // SAFETY: every alignment here is one of a number, so a power of two.
        unsafe { Layout::from_size_align_unchecked(self.size, self.align) }
    }
}

const fn up(size: usize, align: usize) -> usize {
    (size + align - 1) & !(align - 1)
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// A type that can pass.
pub(crate) trait Abi: Sized {
    /// How it lies in memory.
    const SHAPE: Shape;

    /// Lays it down and gives away what it owns; what is left is to be dropped.
    ///
    /// # Safety
    /// `at` is aligned and has room for [`Abi::SHAPE`].
    unsafe fn store(&mut self, at: *mut u8);

    /// Takes it up and owns what it owned.
    ///
    /// # Safety
    /// A value of the type was laid down at `at` and was not taken up since.
    unsafe fn load(at: *mut u8) -> Self;
}

/// Walks over the fields of a record, or the cases of a variant.
pub(crate) struct Cursor(pub(crate) *mut u8);

impl Cursor {
    #[inline(never)]
    fn next(&mut self, size: usize, align: usize) -> *mut u8 {
        let pad = (self.0 as usize).wrapping_neg() & (align - 1);
        let at = self.0.wrapping_add(pad);
        self.0 = at.wrapping_add(size);
        at
    }

    /// # Safety
    /// As [`Abi::store`], at the field.
    pub(crate) unsafe fn put<T: Abi>(&mut self, field: &mut T) {
        let at = self.next(T::SHAPE.size, T::SHAPE.align);
        // SAFETY: the caller's promise.
        unsafe { field.store(at) }
    }

    /// # Safety
    /// As [`Abi::load`], at the field.
    pub(crate) unsafe fn take<T: Abi>(&mut self) -> T {
        let at = self.next(T::SHAPE.size, T::SHAPE.align);
        // SAFETY: the caller's promise.
        unsafe { T::load(at) }
    }

    /// Goes to the payload of a variant of so wide an alignment.
    pub(crate) fn payload(&mut self, align: usize) {
        self.next(0, align);
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Abi for $number {
            const SHAPE: Shape = Shape::number(size_of::<Self>());

            unsafe fn store(&mut self, at: *mut u8) {
                // SAFETY: the caller's promise.
                unsafe { at.cast::<Self>().write(*self) }
            }

            unsafe fn load(at: *mut u8) -> Self {
                // SAFETY: the caller's promise.
                unsafe { at.cast::<Self>().read() }
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, i64, f64);

impl Abi for bool {
    const SHAPE: Shape = u8::SHAPE;

    unsafe fn store(&mut self, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { u8::from(*self).store(at) }
    }

    unsafe fn load(at: *mut u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { u8::load(at) != 0 }
    }
}

impl<T: Abi> Abi for Option<T> {
    const SHAPE: Shape = Shape::variant(&[T::SHAPE]);

    unsafe fn store(&mut self, at: *mut u8) {
        let mut cursor = Cursor(at);
        // SAFETY: the caller's promise.
        unsafe {
            cursor.put(&mut u8::from(self.is_some()));
            if let Some(value) = self {
                cursor.put(value);
            }
        }
    }

    unsafe fn load(at: *mut u8) -> Self {
        let mut cursor = Cursor(at);
        // SAFETY: the caller's promise.
        unsafe { (cursor.take::<u8>() != 0).then(|| cursor.take()) }
    }
}

/// Address and length, as strings and lists lie in memory.
const SPAN: Shape = Shape::record(&[u32::SHAPE, u32::SHAPE]);

/// # Safety
/// As [`Abi::store`], for a span.
unsafe fn store_span(at: *mut u8, start: *mut u8, length: usize) {
    let at = at.cast::<usize>();
    // SAFETY: the caller's promise.
    unsafe {
        at.write(start as usize);
        at.add(1).write(length);
    }
}

/// # Safety
/// As [`Abi::load`], for a span.
unsafe fn load_span(at: *mut u8) -> (*mut u8, usize) {
    let at = at.cast::<usize>();
    // SAFETY: the caller's promise.
    unsafe { (at.read() as *mut u8, at.add(1).read()) }
}

/// Bytes that were given away with their address and length.
///
/// # Safety
/// They were, and are taken up once.
pub(crate) unsafe fn bytes(start: *mut u8, length: usize) -> Vec<u8> {
    if length == 0 {
        // Nothing was allocated.
        return Vec::new();
    }
    // SAFETY: the caller's promise; who gave them away left no spare capacity.
    unsafe { Vec::from_raw_parts(start, length, length) }
}

impl Abi for String {
    const SHAPE: Shape = SPAN;

    unsafe fn store(&mut self, at: *mut u8) {
        let mut text = take(self).into_bytes();
        text.shrink_to_fit();
        let mut text = core::mem::ManuallyDrop::new(text);
        // SAFETY: the caller's promise.
        unsafe { store_span(at, text.as_mut_ptr(), text.len()) }
    }

    unsafe fn load(at: *mut u8) -> Self {
        // SAFETY: the caller's promise; that it is UTF-8 is the canonical ABI's.
        unsafe {
            let (start, length) = load_span(at);
            Self::from_utf8_unchecked(bytes(start, length))
        }
    }
}

impl<T: Abi> Abi for Vec<T> {
    const SHAPE: Shape = SPAN;

    unsafe fn store(&mut self, at: *mut u8) {
        let list = take(self);
        let length = list.len();
        let start = room(Shape {
            size: length * T::SHAPE.size,
            align: T::SHAPE.align,
        });
        let mut cursor = Cursor(start);
        for mut item in list {
            // SAFETY: there is room for so many.
            unsafe { cursor.put(&mut item) }
        }
        // SAFETY: the caller's promise.
        unsafe { store_span(at, start, length) }
    }

    unsafe fn load(at: *mut u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let (start, length) = load_span(at);
            list(start, length)
        }
    }
}

/// A list that was given away with its address and length.
///
/// # Safety
/// It was, and is taken up once.
pub(crate) unsafe fn list<T: Abi>(start: *mut u8, length: usize) -> Vec<T> {
    let mut cursor = Cursor(start);
    // SAFETY: the caller's promise, for each item.
    let items = (0..length).map(|_| unsafe { cursor.take() }).collect();
    // SAFETY: its items are taken up, so nothing refers to the room any more.
    unsafe {
        free(
            start,
            Shape {
                size: length * T::SHAPE.size,
                align: T::SHAPE.align,
            },
        );
    }
    items
}

/// Memory of a shape. Of no size, it is an address that is only aligned.
fn room(shape: Shape) -> *mut u8 {
    if shape.size == 0 {
        return shape.align as *mut u8;
    }
    // SAFETY: its size is not 0.
    let start = unsafe { alloc(shape.layout()) };
    if start.is_null() {
        handle_alloc_error(shape.layout());
    }
    start
}

/// # Safety
/// `at` came from [`room`] of the same shape, or from `cabi_realloc`.
unsafe fn free(at: *mut u8, shape: Shape) {
    if shape.size != 0 {
        // SAFETY: the caller's promise.
        unsafe { dealloc(at, shape.layout()) }
    }
}

/// Lays a result down for the caller, who is to hand it to [`taken`] once it was read.
pub(crate) fn give<T: Abi>(mut value: T) -> *mut u8 {
    let at = room(T::SHAPE);
    // SAFETY: the room has its shape.
    unsafe { value.store(at) };
    at
}

/// Frees what [`give`] laid down.
///
/// # Safety
/// `at` came from `give` of the same type.
pub(crate) unsafe fn taken<T: Abi>(at: *mut u8) {
    // SAFETY: the caller's promise.
    drop(unsafe { receive::<T>(at) });
}

/// Takes up parameters that came in memory, and frees it.
///
/// # Safety
/// A value of the type was laid down at `at` in memory from `cabi_realloc`.
pub(crate) unsafe fn receive<T: Abi>(at: *mut u8) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        let value = T::load(at);
        free(at, T::SHAPE);
        value
    }
}
