//! What a person can choose about a program.

use crate::{Form, RunningKernel};
use moonhook_hook::OnError;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The verdict after a run-time error.
    pub on_error: OnError,
    /// Steps that the handlers may use for one frame.
    pub budget: u32,
    /// CPUs that the program has memory for; `None`: all that this machine can have.
    pub cpus: Option<u32>,
    /// The program counts its verdicts, which costs about a nanosecond a frame.
    pub count_verdicts: bool,
    /// Time is what whoever runs the program says ([`moonhook_specialise::Clock`]).
    pub given_time: bool,
    /// What `math.random` begins with on each CPU, as `math.randomseed` takes it; `None`: random numbers of the kernel.
    pub seed: Option<i64>,
    /// Every interface that handlers name exists, and none is looked up: for test runs.
    pub any_interface: bool,
    /// The kernel describes its types ([`moonhook_specialise::Options::kernel_types`]); `None`: if this machine's does and this
    /// process loads the program, for not all other loaders know functions of the kernel.
    pub kernel_types: Option<bool>,
    /// The program also takes frames in several buffers.
    pub frags: bool,
    /// What handlers are compiled to; `None`: expanded code where that is possible, else general code.
    pub form: Option<Form>,
    /// General code is compact ([`moonhook_baseline::lower`]), whether its size asks for it or not.
    pub compact: bool,
    /// Bytes of packet memory for each CPU.
    pub memory: u32,
    /// This process loads the program: general code has its memory in an arena, which the process fills and maps, and what is only counted has
    /// a word of each CPU. Other loaders leave arenas empty, or know none, and who reads their maps looks for a variable in one place.
    pub arena: bool,
    /// Processor time that the verifier may take for expanded code where general code can take its place.
    pub patience: Duration,
    /// What is made is the function of a flow, for this script.
    pub of_flow: Option<Arc<moonhook_specialise::OfFlow>>,
    /// What scripts may use while they are loaded.
    pub load: moonhook_load::Options,
}

/// The budget that a person gets who asks for none, in steps.
pub const BUDGET: u32 = 100_000;

/// Processor time that the verifier may take of a person's who asks for no form.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// Packet memory for a person who asks for none, in bytes.
pub const MEMORY: u32 = 256 << 10;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            on_error: OnError::PASS,
            budget: BUDGET,
            cpus: None,
            count_verdicts: false,
            given_time: false,
            seed: None,
            any_interface: false,
            kernel_types: None,
            frags: false,
            form: None,
            compact: false,
            memory: MEMORY,
            arena: true,
            patience: PATIENCE,
            of_flow: None,
            load: moonhook_load::Options { kernel: Arc::new(RunningKernel), ..Default::default() },
        }
    }
}

/// The number of CPUs that this machine can ever have: the kernel numbers them from 0 to this.
pub fn possible_cpus() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    highest(&listed).map_or(1, |highest| highest + 1)
}

/// Whether this machine's kernel describes its types (Documentation/bpf/btf.rst).
pub fn has_kernel_types() -> bool {
    std::path::Path::new("/sys/kernel/btf/vmlinux").exists()
}

/// The last number in a list such as `0-3,8-11` (Documentation/admin-guide/cputopology.rst).
fn highest(list: &str) -> Option<u32> {
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_cpu_of_a_list() {
        for (list, expected) in [("0\n", Some(0)), ("0-3\n", Some(3)), ("0-1,4-7", Some(7)), ("", None)] {
            assert_eq!(highest(list), expected, "{list:?}");
        }
    }
}
