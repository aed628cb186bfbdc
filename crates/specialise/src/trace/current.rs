//! What the kernel knows of the process that runs while something happens, whatever that is.

use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::structures::{TASK, task_type};
use crate::value::{Abs, Word};
use moonhook_btf::Content;
use moonhook_ir::UnaryOp;
use moonhook_ir::helper;
use moonhook_ir::words::Words;

type Read = fn(&mut Context<'_>) -> Result<Vec<Arm>>;

const COMM: &str = "comm";

/// Fields that every event has, unless it has an argument of that name.
pub const NAMES: [(&str, Read); 8] = [
    (COMM, |context| context.current_name()),
    ("cpu", |context| number(context, helper::GET_SMP_PROCESSOR_ID, |_, word| word)),
    // The high half is what people call the process's number, the low one is the thread's.
    ("pid", |context| number(context, helper::GET_CURRENT_PID_TGID, |context, word| context.shr(word, 32))),
    ("tid", |context| number(context, helper::GET_CURRENT_PID_TGID, low_half)),
    ("gid", |context| number(context, helper::GET_CURRENT_UID_GID, |context, word| context.shr(word, 32))),
    ("uid", |context| number(context, helper::GET_CURRENT_UID_GID, low_half)),
    ("time", |context| {
        let now = context.now();
        context.only(Abs::Int(now))
    }),
    (TASK, |context| {
        let address = context.helper(helper::GET_CURRENT_TASK, &[]);
        match crate::trace::types_of(context.snapshot).and_then(|types| task_type(types)) {
            Some(id) => context.structure_or_nil(id, address),
            None => context.only(Abs::Int(address)),
        }
    }),
];

/// What such a field has; `None` if there is none of that name. The structure is not said here.
pub fn content(name: &str) -> Option<Content> {
    let known = NAMES.iter().find(|(known, _)| *known == name)?;
    Some(match known.0 {
        COMM => Content::Text,
        TASK => Content::Nothing,
        _ => Content::Address,
    })
}

fn low_half(context: &mut Context<'_>, word: Word) -> Word {
    context.unary(UnaryOp::ZeroExtend32, word)
}

fn number(
    context: &mut Context<'_>,
    helper: u32,
    part: fn(&mut Context<'_>, Word) -> Word,
) -> Result<Vec<Arm>> {
    let word = context.helper(helper, &[]);
    let number = part(context, word);
    context.only(Abs::Int(number))
}
