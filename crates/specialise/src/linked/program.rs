//! Calls of programs by chains, as HIKe's programs are called: with the context, the place of a result, and numbers. What they return is
//! the packet's verdict, or something else if the chain goes on. A loader is called with the context alone; what it returns says whether it has
//! decided, or which chain it starts.

use super::{function, refuse};
use crate::context::{Context, Result};
use crate::state::State;
use crate::value::Word;
use moonhook_hook::XDP;
use moonhook_ir::words::{Branches, Path, Words};
use moonhook_ir::{CompareOp, GivenReference, Op, Size};
use moonhook_packet::Access;
use moonhook_snapshot::LoadedProgram;

/// Names the slot with the result.
const RESULT: u32 = 9;

/// The greatest verdict of programs at XDP (`enum xdp_action`, include/uapi/linux/bpf.h); from 0 on.
const GREATEST: i64 = 4;

/// An answer from here on says that a chain is started, by its number behind.
const STARTS: i64 = GivenReference::STARTS as i64;

/// The parameters of a program: the context, the result's place, the numbers.
const PARAMETERS: usize = 5;

/// Calls a program; gives its result where it has no verdict, in the current state, which may have ended.
///
/// # Errors
/// The program cannot be a part of this one.
pub fn call_program(context: &mut Context<'_>, program: LoadedProgram, arguments: &[Word]) -> Result<Word> {
    check(context, program)?;
    if arguments.len() + 2 > PARAMETERS {
        let name = &context.snapshot.objects[program.object].functions[program.function].name;
        let what = format!("calling `{name}` with {} numbers", arguments.len());
        return refuse(context, what, "give three at most");
    }
    let slot = context.known.shared.slot(RESULT, 8, &mut context.code.function);
    let place = context.emit(Op::SlotAddress(slot));
    context.store(place, 0, Size::B8, Word::Imm(0));
    let mut words = vec![Word::Value(place)];
    words.extend(arguments);
    words.resize(PARAMETERS - 1, Word::Imm(0));
    let verdict = call(context, program, &words)?;
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

/// What a loader does: where it starts a chain, and where it has decided itself.
pub struct Started {
    pub chain: Chain,
    pub verdict: Vec<Path<State, Vec<Word>>>,
}

pub struct Chain {
    pub states: Vec<State>,
    /// By which the loader knows it.
    pub number: Word,
}

/// Calls a loader.
///
/// # Errors
/// The program cannot be a part of this one.
pub fn call_loader(context: &mut Context<'_>, program: LoadedProgram) -> Result<Started> {
    check(context, program)?;
    let answer = call(context, program, &[])?;
    let starts = context.compare(CompareOp::UGe, answer, STARTS);
    let (starting, decided) = context.split(starts);
    context.state = starting;
    let number = if context.alive() { context.and(answer, STARTS - 1) } else { Word::Imm(0) };
    let states = if context.alive() { vec![context.take_state()] } else { Vec::new() };
    context.state = decided;
    let mut verdict = Vec::new();
    if context.alive() {
        // What is no verdict aborts the packet, as the kernel does with it (`bpf_prog_run_xdp`).
        let is_none = context.compare(CompareOp::UGt, answer, GREATEST);
        let (none, one) = context.split(is_none);
        for (state, word) in [(none, Word::Imm(0)), (one, answer)] {
            context.state = state;
            if context.alive() {
                verdict.push(context.take_path(vec![word]));
            }
        }
    }
    Ok(Started { chain: Chain { states, number }, verdict })
}

/// Calls a function with these words in its registers; gives what it returns. The packet may be another one behind it.
///
/// # Errors
/// The function cannot be a part of this program.
pub fn call_function(context: &mut Context<'_>, program: LoadedProgram, words: &[Word]) -> Result<Word> {
    let id = function(context, (program.object, program.function), words.len() as u32)?;
    let takes_packet = words.contains(&Word::Value(context.code.function.params[0]));
    if takes_packet && context.target.hook.can_write() {
        context.before_packet_write()?;
    }
    let answer = context.call_function(id, words);
    if takes_packet {
        context.note_packet_moved();
        context.packet_written();
    }
    Ok(answer)
}

/// Refuses a function that takes the context of other programs.
///
/// # Errors
/// `Linked`.
pub fn check_context(context: &Context<'_>, program: LoadedProgram, structure: &str) -> Result<()> {
    if context.target.hook.context.structure == structure && context.target.copy.is_none() {
        return Ok(());
    }
    let object = &context.snapshot.objects[program.object];
    let name = &object.functions[program.function].name;
    if context.target.copy.is_some() {
        let what = format!("calling `{name}` of {} for frames in several buffers", object.name);
        return refuse(context, what, "leave out `--frags`: the function looks at the frame where it is");
    }
    let what = format!(
        "calling `{name}` of {}, which takes `struct {structure}`, at {}",
        object.name, context.target.hook.name
    );
    refuse(context, what, "attach the handler to a hook with that context, or give the function numbers")
}

/// Refuses programs where they cannot be called.
fn check(context: &Context<'_>, program: LoadedProgram) -> Result<()> {
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
    Ok(())
}

/// Calls a program with the context and these words; gives the 32 bits that it returns.
fn call(context: &mut Context<'_>, program: LoadedProgram, words: &[Word]) -> Result<Word> {
    let packet = Word::Value(context.code.function.params[0]);
    let answer = call_function(context, program, &[&[packet], words].concat())?;
    Ok(context.and(answer, 0xffff_ffff))
}
