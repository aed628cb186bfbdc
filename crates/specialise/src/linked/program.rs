//! Calls of programs by chains, as HIKe's programs are called: with the context, the place of a result, and numbers. What they return is
//! the packet's verdict, or something else if the chain goes on.

use super::{function, refuse};
use crate::context::{Context, Result};
use crate::value::Word;
use moonhook_hook::XDP;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, Op, Size};
use moonhook_packet::Access;
use moonhook_snapshot::LoadedProgram;

/// Names the slot with the result.
const RESULT: u32 = 9;

/// The greatest verdict of programs at XDP (`enum xdp_action`, include/uapi/linux/bpf.h); from 0 on.
const GREATEST: i64 = 4;

/// The parameters of a program: the context, the result's place, the numbers.
const PARAMETERS: usize = 5;

/// Calls a program; gives its result where it has no verdict, in the current state, which may have ended.
///
/// # Errors
/// The program cannot be a part of this one.
pub fn call_program(context: &mut Context<'_>, program: LoadedProgram, arguments: &[Word]) -> Result<Word> {
    let object = &context.snapshot.objects[program.object];
    let name = &object.functions[program.function].name;
    if *context.target.hook != XDP {
        let what = format!("calling `{name}` of {} at {}", object.name, context.target.hook.name);
        return refuse(context, what, "attach the handler to XDP, which the program is for");
    }
    if context.target.copy.is_some() {
        let what = format!("calling `{name}` of {} for frames in several buffers", object.name);
        return refuse(context, what, "leave out `--frags`: the program looks at the frame where it is");
    }
    if arguments.len() + 2 > PARAMETERS {
        let what = format!("calling `{name}` with {} numbers", arguments.len());
        return refuse(context, what, "give three at most");
    }
    let id = function(context, (program.object, program.function), PARAMETERS as u32)?;
    context.before_packet_write()?;
    let slot = context.known.shared.slot(RESULT, 8, &mut context.code.function);
    let place = context.emit(Op::SlotAddress(slot));
    context.store(place, 0, Size::B8, Word::Imm(0));
    let packet = Word::Value(context.code.function.params[0]);
    let mut words = vec![packet, Word::Value(place)];
    words.extend(arguments);
    words.resize(PARAMETERS, Word::Imm(0));
    let verdict = context.call_function(id, &words);
    context.note_packet_moved();
    context.packet_written();
    let verdict = context.and(verdict, 0xffff_ffff);
    let is_decided = context.compare(CompareOp::ULe, verdict, GREATEST);
    let (decided, goes_on) = context.split(is_decided);
    context.state = decided;
    if context.alive() {
        context.around.decide(context, verdict);
    }
    context.state = goes_on;
    if !context.alive() {
        return Ok(Word::Imm(0));
    }
    Ok(context.load(place, 0, Size::B8, false))
}
