//! Calls, returns and varargs.

use super::texts::{self, Called};
use super::{frames, inlined};
use crate::body::Body;
use crate::library::Direct;
use moonhook_ir::{BinaryOp, Block, CompareOp, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};

pub fn compile(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) -> usize {
    let next = body.pc + 1;
    match opcode {
        Opcode::Call => call(body, i),
        Opcode::TailCall => tail_call(body, i),
        Opcode::Return => give_back(body, i),
        Opcode::Return0 | Opcode::Return1 => {
            let results = usize::from(opcode == Opcode::Return1);
            let count = body.code().constant(results as i64);
            frames::give_back(body, i.a(), (Some(results), count));
        }
        Opcode::VarArg => {
            body.may_fail();
            let dest = body.address(i.a());
            let want = body.code().constant(i.c() as i64 - 1);
            let table = if i.k() { body.address(i.b()) } else { body.code().constant(0) };
            let status = body.routine("get_varargs", &[dest, want, table]);
            body.check(status);
            body.forget_from(i.a());
        }
        Opcode::GetVArg => {
            let (dest, key) = (body.address(i.a()), body.address(i.c()));
            body.routine("get_vararg", &[dest, key]);
            body.known.remove(&i.a());
        }
        _ => prepare_varargs(body),
    }
    next
}

fn call(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let want = i.c() as i64 - 1;
    let name = body.known_builtin(i.a());
    if let Some(name) = name.as_deref()
        && let Some(callee) = direct(body, name)
    {
        let called = Called { name, func: i.a(), arguments: i.b().checked_sub(1), want };
        let after = body.code().new_block(2);
        texts::call(body, called, after.0);
        direct_call(body, i, callee, want);
        let args = [body.frame, body.base];
        body.code().jump(after.0, &args);
        body.enter(after);
        return;
    }
    let after = body.may_call();
    if let Some(arguments) = i.b().checked_sub(1).filter(|_| want == 1) {
        inlined::call(body, i.a(), arguments, after.0);
    }
    let count = body.count(i.b(), i.a() + 1);
    if let Some(fast) = name.and_then(|name| body.unit.general.fast(&name)) {
        fast_call(body, i, fast, (count, want), after.0);
    }
    let tag = body.tag(i.a());
    let (closure, _) = body.code().new_block(0);
    let (other, _) = body.code().new_block(0);
    body.code().branch(CompareOp::Eq, tag, TAG_CLOSURE as i32, (closure, &[]), (other, &[]));
    let other = method_calls(body, i, other, (count, want), after.0);
    body.code().block = closure;
    frames::call(body, i.a(), (i.b().checked_sub(1), count), want);
    body.code().block = other;
    call_dynamic(body, i.a(), count, want, after);
}

/// Calls of the library functions that are methods of the name in the register, in the block `other`; gives the block for all else.
fn method_calls(
    body: &mut Body<'_, '_, '_>,
    i: Instruction,
    mut other: Block,
    (count, want): (Value, i64),
    after: Block,
) -> Block {
    let Some(name) = body.methods.remove(&i.a()).and_then(|name| String::from_utf8(name).ok()) else {
        return other;
    };
    for function in moonhook_library::methods(&name) {
        let Some(callee) = direct(body, function.name) else { continue };
        let number = body.unit.general.builtin(function.name).1;
        body.code().block = other;
        (other, _) = body.code().new_block(0);
        let tag = body.tag(i.a());
        body.code().leave_if(CompareOp::Ne, tag, TAG_BUILTIN as i32, other, &[]);
        let called = body.payload(i.a());
        body.code().leave_if(CompareOp::Ne, called, number as i32, other, &[]);
        texts::call(
            body,
            Called { name: function.name, func: i.a(), arguments: i.b().checked_sub(1), want },
            after,
        );
        let base = body.address(i.a() + 1);
        let results = body.unit.call_direct(callee, base, count);
        take_results(body, i.a(), results, want);
        let args = [body.frame, body.base];
        body.code().jump(after, &args);
    }
    other
}

/// A call of what is no function of the script, by the program's loop.
pub fn call_dynamic(
    body: &mut Body<'_, '_, '_>,
    func: usize,
    count: Value,
    want: i64,
    after: (Block, Vec<Value>),
) {
    let address = body.address(func);
    frames::request(body.unit, address, count, want);
    body.enter(after);
    body.forget_from(func);
}

/// What is called for a library function that needs nothing from the program's loop.
fn direct(body: &mut Body<'_, '_, '_>, name: &str) -> Option<Direct> {
    if body.unit.general.may_access(name) {
        return None;
    }
    body.unit.general.direct(name)
}

/// A call of a library function that is known now and calls nothing back.
fn direct_call(body: &mut Body<'_, '_, '_>, i: Instruction, callee: Direct, want: i64) {
    body.may_fail();
    let count = body.count(i.b(), i.a() + 1);
    let base = body.address(i.a() + 1);
    let results = body.unit.call_direct(callee, base, count);
    take_results(body, i.a(), results, want);
    body.forget_from(i.a());
}

/// Calls the routine for the usual case of a library function that is written in Lua; where it leaves the case to that function,
/// what follows makes the call.
fn fast_call(body: &mut Body<'_, '_, '_>, i: Instruction, fast: Direct, counts: (Value, i64), after: Block) {
    let (general, _) = body.code().cold_block(0);
    let base = body.address(i.a() + 1);
    let results = body.unit.call_direct(fast, base, counts.0);
    body.code().leave_if(CompareOp::Eq, results, GENERAL as i32, general, &[]);
    take_results(body, i.a(), results, counts.1);
    let args = [body.frame, body.base];
    body.code().jump(after, &args);
    body.code().block = general;
}

/// Makes as many results as are wanted of those that a library function has left from `func` on; leaves after an error.
pub fn take_results(body: &mut Body<'_, '_, '_>, func: usize, results: Value, want: i64) {
    let leave = body.unit.leave;
    body.code().leave_if(CompareOp::SLt, results, 0, leave, &[results]);
    if want == 1 {
        let (none, _) = body.code().new_block(0);
        let (done, _) = body.code().new_block(0);
        body.code().branch(CompareOp::Eq, results, 0, (none, &[]), (done, &[]));
        body.code().block = none;
        body.set_constant(func, (TAG_NIL, 0));
        body.code().jump(done, &[]);
        body.code().block = done;
    } else if want < 0 {
        let size = body.code().binary(BinaryOp::Shl, results, 4);
        let dest = body.address(func);
        let top = body.code().binary(BinaryOp::Add, dest, size);
        let frame = body.frame;
        body.code().store(frame, F_TOP, top);
    } else if want != 0 {
        // What is wanted is there already, unless there is too little.
        let (few, _) = body.code().new_block(0);
        let (done, _) = body.code().new_block(0);
        body.code().branch(CompareOp::SLt, results, want as i32, (few, &[]), (done, &[]));
        body.code().block = few;
        let dest = body.address(func);
        let want = body.code().constant(want);
        body.routine("move_results", &[dest, results, dest, want]);
        body.code().jump(done, &[]);
        body.code().block = done;
    }
}

/// A function of the script takes this one's place; anything else is called, and its results are given back.
fn tail_call(body: &mut Body<'_, '_, '_>, i: Instruction) {
    if i.k() {
        let frame = body.frame;
        let base = body.code().load(frame, F_BASE);
        body.routine("close_variables", &[base]);
    }
    let name = body.known_builtin(i.a());
    if let Some(name) = name.as_deref()
        && let Some(callee) = direct(body, name)
    {
        direct_call(body, i, callee, -1);
        let count = body.open_count(i.a());
        frames::give_back(body, i.a(), (None, count));
        return;
    }
    let after = body.may_call();
    let func = body.address(i.a());
    let count = body.count(i.b(), i.a() + 1);
    if let Some(fast) = name.and_then(|name| body.unit.general.fast(&name)) {
        fast_call(body, i, fast, (count, -1), after.0);
    }
    let tag = body.tag(i.a());
    let (closure, params) = body.code().new_block(1);
    let (table, _) = body.code().cold_block(0);
    let (other, _) = body.code().new_block(0);
    body.code().branch(CompareOp::Eq, tag, TAG_CLOSURE as i32, (closure, &[count]), (table, &[]));
    body.code().block = table;
    // The function that `__call` gives takes the place as well.
    body.code().leave_if(CompareOp::Ne, tag, TAG_TABLE as i32, other, &[]);
    let arguments = body.routine("tail_target", &[func, count]);
    body.code().leave_if(CompareOp::SLt, arguments, 0, other, &[]);
    body.code().jump(closure, &[arguments]);
    body.code().block = closure;
    let arguments = params[0];
    // A library function is called as one: it does not replace the function that errors are reported for.
    let value = body.payload(i.a());
    let value = body.code().arena(value);
    let record = body.code().load(value, C_PROTO);
    let record = body.code().arena(record);
    let hidden = body.code().load(record, P_HIDDEN);
    body.code().leave_if(CompareOp::Ne, hidden, 0, other, &[]);
    let status = body.routine("tail_call", &[func, arguments]);
    let leave = body.unit.leave;
    body.code().jump(leave, &[status]);
    body.code().block = other;
    call_dynamic(body, i.a(), count, -1, after);
    let count = body.open_count(i.a());
    frames::give_back(body, i.a(), (None, count));
    // The `return` that the compiler adds is never reached.
    body.enter_dead();
}

fn give_back(body: &mut Body<'_, '_, '_>, i: Instruction) {
    if i.k() {
        close(body, 0);
    }
    let count = body.count(i.b(), i.a());
    frames::give_back(body, i.a(), (i.b().checked_sub(1), count));
}

/// Closes the variables of registers from `level` on; the instruction goes on where it was until none is left.
pub fn close(body: &mut Body<'_, '_, '_>, level: usize) {
    body.may_call_repeatedly();
    let level = body.address(level);
    let status = body.routine("close_block", &[level]);
    body.check(status);
}

fn prepare_varargs(body: &mut Body<'_, '_, '_>) {
    body.may_fail();
    let name = if body.prototype.vararg_table { "vararg_table" } else { "hide_varargs" };
    let status = body.routine(name, &[]);
    body.check(status);
    let frame = body.frame;
    let base = body.code().load(frame, F_BASE);
    body.base = body.code().arena(base);
}
