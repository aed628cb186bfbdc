//! The PUC Lua contestant: a C host that calls a handler per packet (bench/puc/host.c).

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use crate::contestant::{Contestant, Run, timed};
use crate::error::Error;

#[repr(C)]
struct Host {
    _private: [u8; 0],
}

// bench/puc/host.h
unsafe extern "C" {
    fn host_open(script: *const c_char, list: *const c_char, error: *mut c_char, size: usize) -> *mut Host;
    fn host_run(
        host: *mut Host,
        frame: *const u8,
        length: usize,
        repeat: u64,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn host_close(host: *mut Host);
}

pub struct PucLua {
    name: String,
    frames: Vec<Vec<u8>>,
    host: NonNull<Host>,
}

impl PucLua {
    /// A Lua state with the handler that `script` returns when it is run with the path `list`.
    pub fn open(script: &Path, list: &Path, frames: &[Vec<u8>]) -> Result<Self, Error> {
        let name = script.display().to_string();
        let failed = |message: String| Error::Peer { contestant: name.clone(), message };
        let c_path = |path: &Path| {
            CString::new(path.as_os_str().as_bytes()).map_err(|_| failed("path with a NUL".into()))
        };
        let (c_script, c_list) = (c_path(script)?, c_path(list)?);
        let mut message = Message::new();
        // SAFETY: both paths end with NUL and outlive the call; the message has the size that is passed.
        let host =
            unsafe { host_open(c_script.as_ptr(), c_list.as_ptr(), message.0.as_mut_ptr(), message.0.len()) };
        let host = NonNull::new(host).ok_or_else(|| failed(message.text()))?;
        Ok(PucLua { name, frames: frames.to_vec(), host })
    }
}

impl Contestant for PucLua {
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error> {
        let frame = &self.frames[frame];
        let (ns_per_packet, verdict) = timed(repeat, || {
            let mut message = Message::new();
            // SAFETY: the host is open until `self` is dropped; it reads only the frame's bytes, and only during the call.
            let verdict = unsafe {
                host_run(
                    self.host.as_ptr(),
                    frame.as_ptr(),
                    frame.len(),
                    repeat.into(),
                    message.0.as_mut_ptr(),
                    message.0.len(),
                )
            };
            match verdict {
                0.. => Ok(verdict),
                _ => Err(Error::Peer { contestant: self.name.clone(), message: message.text() }),
            }
        })?;
        Ok(Run { ns_per_packet, verdict })
    }
}

impl Drop for PucLua {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, closed only here.
        unsafe { host_close(self.host.as_ptr()) }
    }
}

/// Where the host writes why it failed.
struct Message([c_char; 256]);

impl Message {
    fn new() -> Self {
        Message([0; 256])
    }

    fn text(&self) -> String {
        // SAFETY: the host writes with snprintf, which ends the text within the size; before that it is all zeros.
        unsafe { CStr::from_ptr(self.0.as_ptr()) }.to_string_lossy().into_owned()
    }
}
