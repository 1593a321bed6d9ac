//! Numbers of locks, which stand for their addresses: an archive does not say where the kernel's memory is.

use super::bounded_cache::BoundedCache;

/// Locks that keep their numbers; older ones get another when they are seen again.
const KEPT: usize = 16_384;

/// Numbers by address.
pub(super) struct LockNumbers {
    numbers: BoundedCache<u64, u32>,
    next: u32,
}

impl LockNumbers {
    pub(super) fn new() -> LockNumbers {
        LockNumbers { numbers: BoundedCache::new(KEPT), next: 0 }
    }

    pub(super) fn number(&mut self, address: u64) -> u32 {
        if let Some(number) = self.numbers.get(&address) {
            return *number;
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(address, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::LockNumbers;

    #[test]
    fn a_lock_keeps_its_number() {
        let mut numbers = LockNumbers::new();
        assert_eq!([7, 9, 7, 8, 9].map(|address| numbers.number(address)), [0, 1, 0, 2, 1]);
    }
}
