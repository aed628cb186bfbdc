//! What the passes know of kernel helpers (`enum bpf_func_id`, include/uapi/linux/bpf.h). A helper that is not listed
//! here may write any memory and move the packet.

use moonhook_ir::{Function, Op};

/// What a call can change, besides its result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No memory that the program can read.
    Nothing,
    /// Values of maps.
    Maps,
    /// Anything, and packet pointers are invalid afterwards.
    Everything,
}

const MAP_LOOKUP_ELEM: u32 = 1;
const MAP_UPDATE_ELEM: u32 = 2;
const MAP_DELETE_ELEM: u32 = 3;
const KTIME_GET_NS: u32 = 5;
const TRACE_PRINTK: u32 = 6;
const GET_PRANDOM_U32: u32 = 7;
const GET_SMP_PROCESSOR_ID: u32 = 8;
const RINGBUF_OUTPUT: u32 = 130;
/// The functions that it calls write values of maps only.
const FOR_EACH_MAP_ELEM: u32 = 164;

/// What this operation can change, if it is a call.
pub(crate) fn effect(op: &Op) -> Effect {
    match op {
        Op::Helper { id, .. } => match *id {
            MAP_LOOKUP_ELEM | KTIME_GET_NS | TRACE_PRINTK | GET_PRANDOM_U32 | GET_SMP_PROCESSOR_ID => {
                Effect::Nothing
            }
            MAP_UPDATE_ELEM | MAP_DELETE_ELEM | RINGBUF_OUTPUT | FOR_EACH_MAP_ELEM => Effect::Maps,
            _ => Effect::Everything,
        },
        Op::Call { .. } => Effect::Everything,
        _ => Effect::Nothing,
    }
}

/// Whether this is a call that reads the memory it is given addresses of, and does not keep those.
pub(crate) fn reads_only(op: &Op) -> bool {
    let Op::Helper { id, .. } = op else { return false };
    matches!(*id, MAP_LOOKUP_ELEM | MAP_UPDATE_ELEM | MAP_DELETE_ELEM | RINGBUF_OUTPUT)
}

/// Whether some call in the function can invalidate packet pointers.
pub(crate) fn moves_packet(function: &Function) -> bool {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.into_iter().any(|inst| effect(&inst.op) == Effect::Everything)
}
