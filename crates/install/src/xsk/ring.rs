//! The rings that a socket and the kernel have in common (include/uapi/linux/if_xdp.h, net/xdp/xsk_queue.h): one side puts descriptors
//! in, the other takes them out, and each tells the other how far it has come by a number that only grows.

use nix::errno::Errno;
use nix::libc;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory that is unmapped in the end.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: memory belongs to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Memory of our own, of so many bytes, which begins with a page.
    pub fn anonymous(length: usize) -> Result<Mapping, Errno> {
        Mapping::new(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// What a socket has at an offset.
    fn of_socket(length: usize, socket: BorrowedFd<'_>, offset: libc::off_t) -> Result<Mapping, Errno> {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
    }

    fn new(length: usize, flags: i32, socket: i32, offset: libc::off_t) -> Result<Mapping, Errno> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, socket, offset) };
        let start = NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED);
        start.map(|start| Mapping { start, length }).ok_or_else(Errno::last)
    }

    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// A copy of bytes, as many as there are of those from an offset on.
    pub fn copy(&self, offset: usize, length: usize) -> Vec<u8> {
        let offset = offset.min(self.length);
        let length = length.min(self.length - offset);
        // SAFETY: within the mapping, which lives as long as `self`; the kernel does not write into a frame that it has handed over.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset), length) }.to_vec()
    }

    /// What is at an offset, for `T` to be there and no further.
    fn at<T>(&self, offset: u64) -> Result<NonNull<T>, Errno> {
        let offset = usize::try_from(offset).map_err(|_| Errno::EINVAL)?;
        let is_within = offset.checked_add(size_of::<T>()).is_some_and(|end| end <= self.length);
        if !is_within || !offset.is_multiple_of(align_of::<T>()) {
            return Err(Errno::EINVAL);
        }
        // SAFETY: within the mapping.
        Ok(unsafe { self.start.add(offset) }.cast())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with that length, and nobody refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Where the parts of a ring are in its memory, and that memory in the socket.
pub(super) struct Layout {
    pub offsets: libc::xdp_ring_offset,
    pub place: libc::off_t,
    /// Descriptors, a power of two.
    pub size: u32,
}

/// Our side of a ring of `T`: the one that puts in, or the one that takes out.
#[derive(Debug)]
pub(super) struct Ring<T> {
    memory: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    descriptors: NonNull<T>,
    size: u32,
    kind: PhantomData<T>,
}

// SAFETY: memory belongs to no thread, and only one has the ring.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    pub fn new(socket: BorrowedFd<'_>, layout: &Layout) -> Result<Ring<T>, Errno> {
        let Layout { offsets, place, size } = layout;
        let length = offsets.desc as usize + *size as usize * size_of::<T>();
        let memory = Mapping::of_socket(length, socket, *place)?;
        let (producer, consumer) = (memory.at(offsets.producer)?, memory.at(offsets.consumer)?);
        let descriptors = memory.at(offsets.desc)?;
        Ok(Ring { memory, producer, consumer, descriptors, size: *size, kind: PhantomData })
    }

    fn numbers(&self) -> (&AtomicU32, &AtomicU32) {
        debug_assert!(self.memory.length > 0);
        // SAFETY: aligned words of the mapping, which lives as long as `self`; both sides use them atomically.
        unsafe { (self.producer.as_ref(), self.consumer.as_ref()) }
    }

    fn descriptor(&self, number: u32) -> *mut T {
        // SAFETY: the mapping has room for `size` of them.
        unsafe { self.descriptors.as_ptr().add((number & (self.size - 1)) as usize) }
    }

    /// Puts descriptors in; says how many there was room for.
    pub fn put(&mut self, all: &[T]) -> usize {
        let (producer, consumer) = self.numbers();
        let first = producer.load(Ordering::Relaxed);
        let used = first.wrapping_sub(consumer.load(Ordering::Acquire));
        let count = all.len().min(self.size.saturating_sub(used) as usize);
        for (number, descriptor) in (0u32..).zip(&all[..count]) {
            // SAFETY: a place of the ring that is ours until the number is told.
            unsafe { self.descriptor(first.wrapping_add(number)).write(*descriptor) };
        }
        producer.store(first.wrapping_add(count as u32), Ordering::Release);
        count
    }

    /// Takes the next descriptor out, if there is one.
    pub fn take(&mut self) -> Option<T> {
        let (producer, consumer) = self.numbers();
        let next = consumer.load(Ordering::Relaxed);
        if next == producer.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the kernel has written it before it told the number.
        let descriptor = unsafe { self.descriptor(next).read() };
        consumer.store(next.wrapping_add(1), Ordering::Release);
        Some(descriptor)
    }
}
