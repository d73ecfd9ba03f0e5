//! Whole numbers of any size, as far as reading and writing floats needs them.

use alloc::{vec, vec::Vec};
use core::cmp::Ordering;

/// A number from 0, in digits of 32 bits, the lowest first; the last is not 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Big(Vec<u32>);

impl Big {
    pub(super) fn new(value: u64) -> Self {
        let mut big = Self(vec![value as u32, (value >> 32) as u32]);
        big.trim();
        big
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// Times `factor`, plus `more`.
    pub(super) fn multiply(&mut self, factor: u32, more: u32) {
        let mut carry = u64::from(more);
        for digit in &mut self.0 {
            carry += u64::from(*digit) * u64::from(factor);
            *digit = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Times 10 to this power.
    pub(super) fn scale(&mut self, power: u32) {
        for _ in 0..power {
            self.multiply(10, 0);
        }
    }

    /// Times 2 to this power.
    pub(super) fn shift(&mut self, bits: u32) {
        self.multiply(1 << (bits % 32), 0);
        if !self.0.is_empty() {
            let zeros = (bits / 32) as usize;
            let mut shifted = vec![0; zeros];
            shifted.append(&mut self.0);
            self.0 = shifted;
        }
    }

    /// Number of bits.
    pub(super) fn bits(&self) -> u32 {
        let last = self.0.last().map_or(0, |digit| 32 - digit.leading_zeros());
        last + 32 * (self.0.len() as u32).saturating_sub(1)
    }

    /// Plus another.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let length = self.0.len().max(other.0.len());
        let mut sum = Self(Vec::with_capacity(length + 1));
        let mut carry = 0;
        for index in 0..length {
            let digit = |big: &Self| big.0.get(index).copied().map_or(0, u64::from);
            carry += digit(self) + digit(other);
            sum.0.push(carry as u32);
            carry >>= 32;
        }
        sum.0.push(carry as u32);
        sum.trim();
        sum
    }

    /// Takes away one that is not greater.
    pub(super) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (index, digit) in self.0.iter_mut().enumerate() {
            let less = other.0.get(index).copied().unwrap_or(0);
            let (once, first) = digit.overflowing_sub(less);
            let (twice, second) = once.overflowing_sub(u32::from(borrow));
            *digit = twice;
            borrow = first || second;
        }
        self.trim();
    }

    /// How often `other` goes into it, at most 9 times or so; what is left stays.
    pub(super) fn divide(&mut self, other: &Self) -> u8 {
        let mut times = 0;
        while self.compare(other) != Ordering::Less {
            self.subtract(other);
            times += 1;
        }
        times
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let digits = || self.0.iter().rev().cmp(other.0.iter().rev());
        self.0.len().cmp(&other.0.len()).then_with(digits)
    }
}
