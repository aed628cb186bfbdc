//! Calls of functions of the script, and their ends: the usual cases in place, all others by routines.

use crate::body::Body;
use crate::known::Known;
use moonhook_ir::{BinaryOp, Block, CompareOp, Operand, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::Value as Snapshot;

/// A function about to be called.
struct Callee {
    /// Its closure's address.
    closure: Operand,
    /// Bytes of its registers, and its first site.
    stack: Operand,
    entry: Operand,
    /// Where its code is, if that is known to be in this unit.
    block: Option<Block>,
}

/// So many results at most are given back in place.
const RESULTS: usize = 4;

/// Calls the closure in a register, at a site that is announced. `arguments` is how many there are, if that is known, and `count` the
/// same as a value; `want` is how many results there are to be (-1: all). Goes on in the function.
pub fn call(body: &mut Body<'_, '_, '_>, func: usize, (arguments, count): (Option<usize>, Value), want: i64) {
    if let Some(arguments) = arguments {
        let (general, _) = body.code().cold_block(0);
        push(body, func, arguments, want, general);
        body.code().block = general;
    }
    let address = body.address(func);
    let wanted = body.code().constant(want);
    let status = body.routine("call_closure", &[address, count, address, wanted]);
    let leave = body.unit.leave;
    body.code().jump(leave, &[status]);
}

/// Pushes the frame (`call_closure` in `lua/call.lua`) and goes on in the function, unless there is something else to be done: in `general`.
fn push(body: &mut Body<'_, '_, '_>, func: usize, arguments: usize, want: i64, general: Block) {
    let callee = callee(body, func, arguments, general);
    let (state, frame) = (body.unit.state, body.frame);
    let budget = body.code().load(state, L_BUDGET);
    let budget = body.code().add(budget, -1);
    // The routine takes the step, and raises the error if there is none.
    body.code().leave_if(CompareOp::SLt, budget, 0, general, &[]);
    let start = body.address(func);
    let base = body.code().add(start, 16);
    let limit = body.code().binary(BinaryOp::Add, base, callee.stack);
    let used = body.code().add(limit, 16 * arguments as i64);
    let stack_end = body.code().load(state, L_STACK_END);
    body.code().leave_if(CompareOp::UGt, used, stack_end, general, &[]);
    let running = body.code().load(state, L_CI);
    let pushed = body.code().add(running, FRAME_SIZE);
    let frames_end = body.code().load(state, L_FRAMES_END);
    body.code().leave_if(CompareOp::UGe, pushed, frames_end, general, &[]);
    body.code().store(state, L_BUDGET, budget);
    let words: [(i64, Operand); 11] = [
        (F_CLOSURE, callee.closure),
        (F_BASE, base.into()),
        (F_SITE, callee.entry),
        (F_FUNC, start.into()),
        (F_WANT, (want as i32).into()),
        (F_KIND, (KIND_LUA as i32).into()),
        (F_START, start.into()),
        (F_COUNT, (arguments as i32).into()),
        (F_LIMIT, limit.into()),
        (F_TOP, 0.into()),
        (F_TAIL, 0.into()),
    ];
    for (field, word) in words {
        body.code().store(frame, FRAME_SIZE + field, word);
    }
    body.code().store(state, L_CI, pushed);
    let frame = body.code().arena(pushed);
    match callee.block {
        Some(block) => {
            let base = body.code().arena(base);
            body.unit.go_into(block, frame, base);
        }
        None => body.unit.go_on_in(frame),
    }
}

/// What is called; leaves for `general` where it has more parameters than there are arguments.
fn callee(body: &mut Body<'_, '_, '_>, func: usize, arguments: usize, general: Block) -> Callee {
    let closure = body.payload(func);
    if let Some(Known::Value(Snapshot::Closure(id))) = body.known.get(&func).cloned() {
        let prototype = body.unit.general.functions.snapshot.closure(id).prototype.index();
        let function = body.unit.general.functions.get(prototype);
        if usize::from(function.parameters) <= arguments
            && let Some(block) = body.unit.entry_of(prototype)
        {
            let stack = Operand::from(16 * (i32::from(function.stack_size) + 8));
            // The code of its first site is entered without it.
            return Callee { closure: closure.into(), stack, entry: 0.into(), block: Some(block) };
        }
    }
    let pointer = body.code().arena(closure);
    let record = body.code().load(pointer, C_PROTO);
    let record = body.code().arena(record);
    let parameters = body.code().load(record, P_PARAMS);
    body.code().leave_if(CompareOp::UGt, parameters, arguments as i32, general, &[]);
    let stack = body.code().load(record, P_STACK).into();
    let entry = body.code().load(record, P_ENTRY).into();
    Callee { closure: closure.into(), stack, entry, block: None }
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
