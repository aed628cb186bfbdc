//! Calls of functions of the script, and their ends: the usual cases in place, all others by routines.

use crate::body::Body;
use crate::known::Known;
use crate::unit::Unit;
use moonhook_ir::{BinaryOp, Block, CompareOp, Operand, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::Value as Snapshot;

/// A function about to be called, whose code is in this unit.
struct Callee {
    /// Bytes of its registers.
    stack: i32,
    /// Where its code is.
    block: Block,
}

/// What a call is made with, as values.
struct Call {
    frame: Value,
    /// The closure's address.
    closure: Value,
    /// Address of the register that has it, behind which are the arguments.
    start: Value,
    count: Operand,
    /// How many results there are to be (-1: all).
    want: Operand,
}

/// So many results at most are given back in place.
const RESULTS: usize = 4;

/// Calls the closure in a register, at a site that is announced. `arguments` is how many there are, if that is known, and `count` the
/// same as a value; `want` is how many results there are to be (-1: all). Goes on in the function.
pub fn call(body: &mut Body<'_, '_, '_>, func: usize, (arguments, count): (Option<usize>, Value), want: i64) {
    let callee = arguments.and_then(|arguments| known(body, func, arguments));
    let (closure, start) = (body.payload(func), body.address(func));
    match (callee, arguments) {
        (Some(callee), Some(arguments)) => {
            let (count, want) = ((arguments as i32).into(), (want as i32).into());
            enter(body.unit, &Call { frame: body.frame, closure, start, count, want }, &callee);
        }
        _ => {
            note_counts(body.unit, count.into(), (want as i32).into());
            let block = of_any(body.unit);
            let frame = body.frame;
            body.code().jump(block, &[frame, closure, start]);
        }
    }
}

/// Puts these into the state for blocks that places of the unit have in common: the verifier would follow such a block for each number that a
/// register has there.
fn note_counts(unit: &mut Unit<'_, '_>, count: Operand, want: Operand) {
    unit.code.store(unit.state, L_CALL_COUNT, count);
    unit.code.store(unit.state, L_CALL_WANT, want);
}

/// What is called, if it is known and has no more parameters than there are arguments.
fn known(body: &mut Body<'_, '_, '_>, func: usize, arguments: usize) -> Option<Callee> {
    let Some(Known::Value(Snapshot::Closure(id))) = body.known.get(&func).cloned() else { return None };
    let prototype = body.unit.general.functions.snapshot.closure(id).prototype.index();
    let function = body.unit.general.functions.get(prototype);
    let stack = 16 * (i32::from(function.stack_size) + 8);
    let block = body.unit.entry_of(prototype).filter(|_| usize::from(function.parameters) <= arguments)?;
    Some(Callee { stack, block })
}

/// Calls a function of this unit: the code of its first site is entered without it.
fn enter(unit: &mut Unit<'_, '_>, call: &Call, callee: &Callee) {
    let (general, _) = unit.code.cold_block(0);
    let (frame, base) = push(unit, call, (callee.stack.into(), 0.into()), general);
    let base = unit.code.arena(base);
    unit.go_into(callee.block, frame, base);
    unit.code.block = general;
    note_counts(unit, call.count, call.want);
    let block = by_routine(unit);
    unit.code.jump(block, &[call.start]);
}

/// The unit's block that calls any closure: takes the frame, the closure, and its register's address; the counts are noted. All calls of what is
/// not known have it in common, for it is long.
fn of_any(unit: &mut Unit<'_, '_>) -> Block {
    unit.shared("call", 3, |unit, params| {
        let &[frame, closure, start] = params else { return };
        let count = unit.code.load(unit.state, L_CALL_COUNT);
        let want = unit.code.load(unit.state, L_CALL_WANT);
        let call = Call { frame, closure, start, count: count.into(), want: want.into() };
        let (general, _) = unit.code.cold_block(0);
        let pointer = unit.code.arena(closure);
        let record = unit.code.load(pointer, C_PROTO);
        let record = unit.code.arena(record);
        let parameters = unit.code.load(record, P_PARAMS);
        unit.code.leave_if(CompareOp::UGt, parameters, count, general, &[]);
        let stack = unit.code.load(record, P_STACK).into();
        let entry = unit.code.load(record, P_ENTRY).into();
        let (frame, _) = push(unit, &call, (stack, entry), general);
        unit.go_on_in(frame);
        unit.code.block = general;
        let block = by_routine(unit);
        unit.code.jump(block, &[start]);
    })
}

/// The unit's block that has the routine make a call: takes its first register's address; the counts are noted.
fn by_routine(unit: &mut Unit<'_, '_>) -> Block {
    unit.shared("call_closure", 1, |unit, params| {
        let start = params[0];
        let count = unit.code.load(unit.state, L_CALL_COUNT);
        let want = unit.code.load(unit.state, L_CALL_WANT);
        let function = unit.general.routine("call_closure");
        let address = unit.code.load(unit.state, L_SELF);
        let status = unit.code.call(function, &[address, start, count, start, want]);
        unit.code.jump(unit.leave, &[status]);
    })
}

/// Pushes the frame of a function with so many bytes of registers and that first site (`call_closure` in `lua/call.lua`), unless there is something
/// else to be done: in `general`. Gives pointers to the frame and, as a number, to the function's registers.
fn push(
    unit: &mut Unit<'_, '_>,
    call: &Call,
    (stack, entry): (Operand, Operand),
    general: Block,
) -> (Value, Value) {
    let state = unit.state;
    let code = &mut unit.code;
    let budget = code.load(state, L_BUDGET);
    let budget = code.add(budget, -1);
    // The routine takes the step, and raises the error if there is none.
    code.leave_if(CompareOp::SLt, budget, 0, general, &[]);
    let base = code.add(call.start, 16);
    let limit = code.binary(BinaryOp::Add, base, stack);
    let used = match call.count {
        Operand::Imm(count) => code.add(limit, 16 * i64::from(count)),
        Operand::Value(count) => {
            let bytes = code.binary(BinaryOp::Shl, count, 4);
            code.binary(BinaryOp::Add, limit, bytes)
        }
    };
    let stack_end = code.load(state, L_STACK_END);
    code.leave_if(CompareOp::UGt, used, stack_end, general, &[]);
    let running = code.load(state, L_CI);
    let pushed = code.add(running, FRAME_SIZE);
    let frames_end = code.load(state, L_FRAMES_END);
    code.leave_if(CompareOp::UGe, pushed, frames_end, general, &[]);
    code.store(state, L_BUDGET, budget);
    let words: [(i64, Operand); 11] = [
        (F_CLOSURE, call.closure.into()),
        (F_BASE, base.into()),
        (F_SITE, entry),
        (F_FUNC, call.start.into()),
        (F_WANT, call.want),
        (F_KIND, (KIND_LUA as i32).into()),
        (F_START, call.start.into()),
        (F_COUNT, call.count),
        (F_LIMIT, limit.into()),
        (F_TOP, 0.into()),
        (F_TAIL, 0.into()),
    ];
    for (field, word) in words {
        code.store(call.frame, FRAME_SIZE + field, word);
    }
    code.store(state, L_CI, pushed);
    (code.arena(pushed), base)
}

/// Asks the program's loop for a call of what is no function of the script: library functions need most of the 8 frames that the kernel has.
pub fn request(unit: &mut Unit<'_, '_>, start: Value, count: Value, want: i64) {
    note_counts(unit, count.into(), (want as i32).into());
    let block = unit.shared("request", 1, |unit, params| {
        unit.code.store(unit.state, L_CALL_FUNC, params[0]);
        unit.code.store(unit.state, L_CALL_DEST, params[0]);
        let status = unit.code.constant(REQUEST);
        unit.code.jump(unit.leave, &[status]);
    });
    unit.code.jump(block, &[start]);
}

/// Ends the function with results from a register on; `known` is how many there are, if that is known, and `count` the same as a value.
pub fn give_back(body: &mut Body<'_, '_, '_>, from: usize, (known, count): (Option<usize>, Value)) {
    let (general, _) = body.code().cold_block(0);
    if let Some(results) = known.filter(|results| *results <= RESULTS) {
        pop(body, from, results, general);
        body.code().block = general;
    }
    let from = body.address(from);
    let status = body.routine("return_values", &[from, count]);
    let leave = body.unit.leave;
    body.code().jump(leave, &[status]);
    body.enter_dead();
}

/// Takes the frame away (`return_values` in `lua/call.lua`), where exactly as many results are wanted by a function.
fn pop(body: &mut Body<'_, '_, '_>, from: usize, results: usize, general: Block) {
    let (state, frame, base) = (body.unit.state, body.frame, body.base);
    let want = body.code().load(frame, F_WANT);
    body.code().leave_if(CompareOp::Ne, want, results as i32, general, &[]);
    let running = body.code().load(state, L_CI);
    let caller = body.code().add(running, -FRAME_SIZE);
    let pointer = body.code().arena(caller);
    let kind = body.code().load(pointer, F_KIND);
    body.code().leave_if(CompareOp::Ne, kind, KIND_LUA as i32, general, &[]);
    if results > 0 {
        let dest = body.code().load(frame, F_FUNC);
        let dest = body.code().arena(dest);
        body.code().copy_words(16 * results as i64, (base, 16 * from as i64), (dest, 0));
    }
    body.code().store(state, L_CI, caller);
    body.unit.go_on_in(pointer);
}
