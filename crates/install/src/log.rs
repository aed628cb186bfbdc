//! The memory that the verifier writes its log to.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// Where the verifier writes about one program.
#[derive(Debug)]
pub(crate) struct Log {
    program: String,
    /// Megabytes that mostly nobody writes to: they are not cleared, which would take longer than loading a program does,
    /// and so take no memory either. A string, with one byte more than the kernel is told.
    buffer: Box<[MaybeUninit<u8>]>,
}

impl Log {
    /// An empty log that can take `size` bytes, the terminating NUL included.
    pub(crate) fn new(program: String, size: usize) -> Self {
        let mut buffer = Box::new_uninit_slice(size + 1);
        buffer[0].write(0);
        buffer[size].write(0);
        Log { program, buffer }
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The first byte. It stays where it is for as long as the log lives.
    pub(crate) fn start(&mut self) -> *mut c_char {
        self.buffer.as_mut_ptr().cast()
    }

    /// What was written.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        // SAFETY: the first byte is NUL, or the kernel has written from it on up to a NUL (`bpf_vlog_finalize`,
        // kernel/bpf/log.c), or as much as it was told, which the last byte's NUL follows.
        unsafe { CStr::from_ptr(self.buffer.as_ptr().cast()) }.to_string_lossy()
    }
}
