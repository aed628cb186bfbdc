//! What calls can change.

use moonhook_ir::helper;
pub(crate) use moonhook_ir::helper::Effect;
use moonhook_ir::{Function, Op};

/// What this operation can change, if it is a call.
pub(crate) fn effect(op: &Op) -> Effect {
    match op {
        Op::Helper { id, .. } => helper::effect(*id),
        Op::Call { .. } => Effect::Everything,
        _ => Effect::Nothing,
    }
}

/// Whether this is a call that reads the memory it is given addresses of, and does not keep those.
pub(crate) fn reads_only(op: &Op) -> bool {
    matches!(op, Op::Helper { id, .. } if helper::reads_only(*id))
}

/// Whether some call in the function can invalidate packet pointers.
pub(crate) fn moves_packet(function: &Function) -> bool {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.into_iter().any(|inst| effect(&inst.op) == Effect::Everything)
}
