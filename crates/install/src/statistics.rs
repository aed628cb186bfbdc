//! What a loaded program costs: from `bpf_prog_info` and, where asked for, the verifier's statistics.

use crate::{sys, verifier_log};
use serde::Serialize;
use std::os::fd::BorrowedFd;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProgramStatistics {
    pub name: String,
    /// eBPF instructions after the kernel's rewriting, its subprograms included.
    pub instructions: u32,
    /// Machine code, in bytes; 0 where the JIT is off.
    pub jited_bytes: u32,
    /// Instructions that the verifier has been through, over all paths.
    pub verified_instructions: u32,
    /// Bytes of stack of the program and then of each of its subprograms.
    pub stack: Option<Vec<u32>>,
    /// States that the verifier made.
    pub states: Option<u32>,
    /// The most states that it kept at one time.
    pub peak_states: Option<u32>,
    /// The verifier's time, in microseconds.
    pub verification_us: Option<u32>,
}

pub(crate) fn of(name: String, program: BorrowedFd<'_>, log: Option<&str>) -> ProgramStatistics {
    let mut statistics = ProgramStatistics { name, ..Default::default() };
    if let Ok(info) = sys::program_info(program) {
        // An instruction takes 8 bytes (struct bpf_insn).
        statistics.instructions = info.xlated_prog_len / 8;
        statistics.jited_bytes = info.jited_prog_len;
        statistics.verified_instructions = info.verified_insns;
    }
    if let Some(log) = log {
        statistics.stack = verifier_log::stack(log);
        statistics.states = verifier_log::number_after(log, " total_states ");
        statistics.peak_states = verifier_log::number_after(log, " peak_states ");
        statistics.verification_us = verifier_log::number_after(log, "verification time ");
    }
    statistics
}
