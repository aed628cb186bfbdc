//! Sends frames at the rate that processors can: an XDP program over live frames (Linux, Documentation/bpf/bpf_prog_run.rst), which go
//! through the receiver's own code from its ring on, on the processor that sends them.

use std::path::Path;
use std::time::{Duration, Instant};

use libbpf_rs::libbpf_sys;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::object::Loaded;
use crate::error::Error;

/// Bytes of a frame.
pub const BYTES: usize = 64;
/// Frames of a table (bench/c/send.c).
pub const FRAMES: usize = 4096;

pub type Frame = [u8; BYTES];

/// Of `enum { BPF_F_TEST_XDP_LIVE_FRAMES }`, include/uapi/linux/bpf.h.
const LIVE_FRAMES: u32 = 1 << 1;

pub struct Sender {
    program: Loaded,
    descriptor: i32,
}

impl Sender {
    pub fn load(object: &Path) -> Result<Self, Error> {
        let program = Loaded::load(object)?;
        let descriptor = program.descriptor("send")?;
        Ok(Sender { program, descriptor })
    }

    /// The frames that are sent from now on: [`FRAMES`] of them.
    pub fn set_frames(&self, frames: &[Frame]) -> Result<(), Error> {
        let map = self.program.map("frames")?;
        let numbered = (0u32..).zip(frames);
        numbered
            .into_iter()
            .try_for_each(|(number, frame)| self.program.put(&map, &number.to_ne_bytes(), frame))
    }

    /// Sends the table `times` times over on each of so many processors, out of the interface of that index; how long that took.
    pub fn send(&self, interface: u32, times: u32, processors: usize) -> Result<Duration, Error> {
        self.program.set("to", interface)?;
        let started = Instant::now();
        let descriptor = self.descriptor;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..processors)
                .map(|processor| scope.spawn(move || send_on(processor, descriptor, times)))
                .collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(started.elapsed())
    }
}

fn send_on(processor: usize, descriptor: i32, times: u32) -> Result<(), Error> {
    let refused =
        |errno: nix::Error| Error::System { what: "choose a processor".into(), error: errno.into() };
    let mut set = CpuSet::new();
    set.set(processor).map_err(refused)?;
    sched_setaffinity(Pid::from_raw(0), &set).map_err(refused)?;
    let frame = [0u8; BYTES];
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as u64,
        data_in: frame.as_ptr().cast(),
        data_size_in: BYTES as u32,
        repeat: (times * FRAMES as u32).cast_signed(),
        flags: LIVE_FRAMES,
        ..Default::default()
    };
    // SAFETY: the options and the frame live until the call returns, and the kernel only reads the frame.
    let outcome = unsafe { libbpf_sys::bpf_prog_test_run_opts(descriptor, &raw mut options) };
    match outcome {
        0 => Ok(()),
        _ => Err(Error::System { what: "send live frames".into(), error: std::io::Error::last_os_error() }),
    }
}
