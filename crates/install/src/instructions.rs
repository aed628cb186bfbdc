//! The few instructions that small programs of our own are made of (Documentation/bpf/standardization/instruction-set.rst).

use libbpf_sys::bpf_insn;
use std::os::fd::RawFd;

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

/// `r0 = bpf_tail_call(r1, array, 0)`, which comes back only where there is no program; `r0 = 0; exit`.
pub(crate) fn going_on(array: RawFd) -> Vec<bpf_insn> {
    /// `BPF_LD | BPF_IMM | BPF_DW`, two instructions, with the descriptor of a map (`BPF_PSEUDO_MAP_FD`, 1).
    const LOAD_MAP: u8 = 0x18;
    const CALL: u8 = 0x85;
    const TAIL_CALL: i32 = 12;
    let mut map = instruction(LOAD_MAP, 0, array);
    map.set_dst_reg(2);
    map.set_src_reg(1);
    let mut index = instruction(MOV64_IMMEDIATE, 0, 0);
    index.set_dst_reg(3);
    let mut code = vec![map, instruction(0, 0, 0), index, instruction(CALL, 0, TAIL_CALL)];
    code.extend(returning(0));
    code
}

fn instruction(code: u8, offset: i16, immediate: i32) -> bpf_insn {
    bpf_insn { code, off: offset, imm: immediate, ..Default::default() }
}
