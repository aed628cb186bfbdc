//! What a piece of work takes: bytes that it allocates, and processor time.

use nix::time::{ClockId, clock_gettime};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts what it hands out.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    ALLOCATED.fetch_add(bytes, Relaxed);
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    MOST_HELD.fetch_max(held, Relaxed);
}

// SAFETY: all is left to the system's allocator, whose contract is the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Relaxed);
        count(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub bytes: f64,
    /// Of all threads together.
    pub seconds: f64,
}

impl Cost {
    pub fn least(self, other: Cost) -> Cost {
        Cost { bytes: self.bytes.min(other.bytes), seconds: self.seconds.min(other.seconds) }
    }
}

pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (bytes, seconds) = (ALLOCATED.load(Relaxed), processor_time());
    let result = work();
    let bytes = (ALLOCATED.load(Relaxed) - bytes) as f64;
    (result, Cost { bytes, seconds: processor_time() - seconds })
}

/// The most bytes that were held at once, beyond what was held before.
pub fn peak<T>(work: impl FnOnce() -> T) -> usize {
    let before = HELD.load(Relaxed);
    MOST_HELD.store(before, Relaxed);
    work();
    MOST_HELD.load(Relaxed).saturating_sub(before)
}

fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the process has a clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
