//! Data sections that outlast the borrow of their program.

use crate::map::DataSection;
use crate::test_run::page_size;
use crate::{InstallError, Program};
use nix::errno::Errno;
use nix::libc::{self, c_void};
use std::os::fd::AsRawFd;

/// A writable data section, mapped into this process by itself: it stays usable when the program is gone.
#[derive(Debug)]
pub struct Section {
    start: *mut u8,
    length: usize,
    /// Whole pages.
    mapped: usize,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it; what others write into the section meanwhile is read and
// written word by word.
unsafe impl Send for Section {}

impl Program {
    /// The data section `name` by itself.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` if it is none that user space can write.
    pub fn section(&self, name: &str) -> Result<Section, InstallError> {
        let length = self.data_section(name)?.len();
        let mapped = length.next_multiple_of(page_size());
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, self.map_fd(name)?.as_raw_fd());
        // SAFETY: a new mapping at a place that the kernel chooses, of the pages that the section has.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut::<c_void>(), mapped, access, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            let problem = Errno::last().desc().to_string();
            return Err(InstallError::MapAccess { map: name.to_string(), problem });
        }
        Ok(Section { start: start.cast(), length, mapped })
    }
}

impl Section {
    pub fn data(&self) -> DataSection<'_> {
        // SAFETY: the mapping is there for as long as `self`, which is borrowed; it is writable and starts at a page.
        unsafe { DataSection::over(self.start, self.length) }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: the mapping that `section` made; whoever borrows it is gone. There is nothing to do about a failure.
        unsafe { libc::munmap(self.start.cast(), self.mapped) };
    }
}
