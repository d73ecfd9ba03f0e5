//! What the standard library would bring: memory and the end of a panic.

use alloc::alloc::{GlobalAlloc, Layout, alloc, handle_alloc_error};
use core::arch::wasm32::{memory_grow, memory_size, unreachable};
use core::cell::Cell;
use core::ptr::null_mut;

#[panic_handler]
fn trap(_: &core::panic::PanicInfo<'_>) -> ! {
    unreachable()
}

/// Bytes of a page of linear memory.
const PAGE: usize = 64 * 1024;
/// Smallest block, as a power of two: room for the link to the next free block, and the largest alignment that
/// any type here has.
const SMALLEST: u32 = 4;
/// Block sizes are the powers of two up to 2^31.
const CLASSES: usize = 32 - SMALLEST as usize;

/// Blocks of powers of two, each size with its list of free ones; constant time, and a block that grows
/// within its size stays where it is. It never joins free blocks and so can take twice the memory of a
/// finer allocator, which is little for an instance that lives as long as one stream; it is a tenth of the code.
struct Blocks {
    free: [Cell<*mut u8>; CLASSES],
    /// Memory from here to `end` was never given out.
    next: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: the component has no threads.
unsafe impl Sync for Blocks {}

#[global_allocator]
static BLOCKS: Blocks = Blocks {
    free: [const { Cell::new(null_mut()) }; CLASSES],
    next: Cell::new(0),
    end: Cell::new(0),
};

/// Which size of block a layout needs.
fn class(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST);
    ((size - 1).ilog2() + 1 - SMALLEST) as usize
}

/// Bytes of a block of a class.
fn bytes(class: usize) -> usize {
    1 << (class as u32 + SMALLEST)
}

impl Blocks {
    /// Moves `next` on by so many bytes, with more memory if it takes that. Where they begin, or null.
    fn extend(&self, bytes: usize) -> *mut u8 {
        if self.end.get() - self.next.get() < bytes {
            let before = memory_grow(0, bytes.div_ceil(PAGE));
            if before == usize::MAX {
                return null_mut();
            }
            // What is left of the last pages is joined, unless something else has grown the memory.
            if before * PAGE != self.end.get() {
                self.next.set(before * PAGE);
            }
            self.end.set(memory_size(0).wrapping_mul(PAGE));
        }
        let at = self.next.get();
        self.next.set(at + bytes);
        at as *mut u8
    }

    /// Whether the last block that was given out could grow where it is: a long text then grows without
    /// being copied, and without twice its memory.
    fn grows(&self, at: *mut u8, from: usize, to: usize) -> bool {
        let end = at as usize + bytes(from);
        let more = bytes(to).wrapping_sub(bytes(from));
        to > from
            && end == self.next.get()
            // Where something else has grown the memory, there is no room behind the block.
            && (self.end.get() - end >= more || self.end.get() == memory_size(0).wrapping_mul(PAGE))
            && !self.extend(more).is_null()
    }
}

// SAFETY: a block is given out once until it comes back, and is as large and as aligned as its class, which is no
// smaller than the layout: `next` is a multiple of 16, and no layout here asks for a wider alignment.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        let Some(free) = self.free.get(class) else {
            return null_mut();
        };
        let at = free.get();
        if at.is_null() {
            return self.extend(bytes(class));
        }
        // SAFETY: a free block begins with the link to the next.
        free.set(unsafe { at.cast::<*mut u8>().read() });
        at
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if let Some(free) = self.free.get(class(layout)) {
            // SAFETY: the block is the caller's no more, and has room for a link.
            unsafe { at.cast::<*mut u8>().write(free.get()) };
            free.set(at);
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise on `size`.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let (from, to) = (class(layout), class(wanted));
        if from == to || self.grows(at, from, to) {
            return at;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let to = self.alloc(wanted);
            if !to.is_null() {
                to.copy_from_nonoverlapping(at, layout.size().min(size));
                self.dealloc(at, layout);
            }
            to
        }
    }
}

/// `cabi_realloc`: memory for what the host passes in; of no size, an address that is only aligned.
///
/// # Safety
/// `old` is what this gave for `old_size` and `align` before, or `old_size` is 0.
pub(crate) unsafe fn realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    if size == 0 {
        return align as *mut u8;
    }
    // SAFETY: the host passes alignments of the canonical ABI, which are powers of two.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    let start = if old_size == 0 {
        // SAFETY: the size is not 0.
        unsafe { alloc(layout) }
    } else {
        // SAFETY: the caller's promise.
        unsafe {
            let before = Layout::from_size_align_unchecked(old_size, align);
            alloc::alloc::realloc(old, before, size)
        }
    };
    if start.is_null() {
        handle_alloc_error(layout);
    }
    start
}
