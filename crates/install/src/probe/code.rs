//! The few instructions that probes are made of (Documentation/bpf/standardization/instruction-set.rst).

use libbpf_sys::bpf_insn;

const MOV64_IMMEDIATE: u8 = 0xb7;
const EXIT: u8 = 0x95;
/// `BPF_JMP | BPF_JCOND`, with the kind of condition in the source register (`BPF_MAY_GOTO`, 0).
const MAY_GOTO: u8 = 0xe5;

/// `r0 = value; exit`.
pub(crate) fn returning(value: i32) -> Vec<bpf_insn> {
    vec![instruction(MOV64_IMMEDIATE, 0, value), instruction(EXIT, 0, 0)]
}

/// A loop that nothing but `may_goto` ends: `r0 = value; again: may_goto out; goto again; out: exit`.
pub(crate) fn endless(value: i32) -> Vec<bpf_insn> {
    const GOTO: u8 = 0x05;
    vec![
        instruction(MOV64_IMMEDIATE, 0, value),
        instruction(MAY_GOTO, 1, 0),
        instruction(GOTO, -2, 0),
        instruction(EXIT, 0, 0),
    ]
}

fn instruction(code: u8, offset: i16, immediate: i32) -> bpf_insn {
    bpf_insn { code, off: offset, imm: immediate, ..Default::default() }
}
