//! Jumps, loops, and variables to be closed.

use super::calls::{call_dynamic, close, take_results};
use super::frames;
use crate::body::Body;
use crate::values::copy_value;
use moonhook_ir::{Block, CompareOp};
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::names;

/// The iterator of `ipairs` for tables without metatable, as `prelude/iterate.lua` names it.
const SEQUENCE: &str = "prim.ipairs_next";

pub fn compile(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) -> usize {
    let next = body.pc + 1;
    match opcode {
        // Behind what is always done, an empty `else` is a jump to the next instruction, which begins no block.
        Opcode::Jmp if i.sj() == 0 => {}
        Opcode::Jmp => {
            let target = (next as i64 + i.sj()) as usize;
            body.go_to(target);
            body.enter_dead();
        }
        Opcode::Close => close(body, i.a()),
        Opcode::Tbc => mark_closed(body, i.a()),
        Opcode::ForPrep => for_prepare(body, i),
        Opcode::ForLoop => for_loop(body, i),
        Opcode::TForPrep => generic_prepare(body, i),
        Opcode::TForCall => generic_call(body, i),
        Opcode::TForLoop => generic_loop(body, i),
        _ => refuse_defined(body, i),
    }
    next
}

fn mark_closed(body: &mut Body<'_, '_, '_>, register: usize) {
    body.may_fail();
    let slot = body.address(register);
    let status = body.routine("mark_closed", &[slot]);
    body.check(status);
}

fn for_prepare(body: &mut Body<'_, '_, '_>, i: Instruction) {
    if body.is_integer(i.a()) && body.is_integer(i.a() + 2) {
        body.integer_loops.insert(body.pc + 1 + i.bx());
    }
    body.may_fail();
    let at = body.address(i.a());
    let status = body.routine("for_prepare", &[at]);
    let leave = body.unit.leave;
    body.code().leave_if(CompareOp::SLt, status, 0, leave, &[status]);
    let enter = body.path_to(body.pc + 1);
    let skip = body.path_to(body.pc + 2 + i.bx());
    let args = [body.frame, body.base];
    body.code().branch(CompareOp::Eq, status, 0, (enter, &args), (skip, &args));
    body.enter_dead();
}

/// The counter of iterations left stands in the first register, step and variable in the next ones; or a float, where the loop is one over
/// floats.
fn for_loop(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let (again, _) = body.code().new_block(0);
    let done = body.path_to(body.pc + 1);
    let floats = (!body.integer_loops.contains(&body.pc)).then(|| {
        let (floats, _) = body.code().cold_block(0);
        let tag = body.tag(i.a());
        body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, floats, &[]);
        floats
    });
    let count = body.payload(i.a());
    let args = [body.frame, body.base];
    body.code().branch(CompareOp::Eq, count, 0, (done, &args), (again, &[]));
    body.code().block = again;
    let base = body.base;
    let (step, variable) = (body.payload(i.a() + 1), body.payload(i.a() + 2));
    let count = body.code().add(count, -1);
    body.code().store(base, 16 * i.a() as i64 + 8, count);
    let variable = body.code().binary(moonhook_ir::BinaryOp::Add, variable, step);
    body.code().store(base, 16 * (i.a() as i64 + 2), TAG_INT as i32);
    body.code().store(base, 16 * (i.a() as i64 + 2) + 8, variable);
    body.go_to(body.pc + 1 - i.bx());
    if let Some(floats) = floats {
        body.code().block = floats;
        let at = body.address(i.a());
        let function = body.unit.general.routine("for_next_float");
        let goes_on = body.code().call(function, &[at]);
        let again = body.path_to(body.pc + 1 - i.bx());
        body.code().branch(CompareOp::Ne, goes_on, 0, (again, &args), (done, &args));
    }
    body.enter_dead();
}

/// Exchanges the control variable and the closing value, which is to be closed; goes to the call at the loop's end.
fn generic_prepare(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let base = body.base;
    let (first, second) = (16 * (i.a() as i64 + 2), 16 * (i.a() as i64 + 3));
    let words: Vec<_> = [first, first + 8, second, second + 8].map(|at| body.code().load(base, at)).to_vec();
    for (at, word) in [second, second + 8, first, first + 8].into_iter().zip(words) {
        body.code().store(base, at, word);
    }
    mark_closed(body, i.a() + 2);
    if may_traverse(body) {
        begin_traversal(body, i);
    }
    body.go_to(body.pc + 1 + i.bx());
    body.enter_dead();
}

/// Whether a generic `for` may go through a shared table.
fn may_traverse(body: &Body<'_, '_, '_>) -> bool {
    body.unit.general.shared.exist() && body.unit.general.reach.builtins.contains("next")
}

/// Where the loop is one of `next` over a shared table, has the keys copied.
fn begin_traversal(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let next_id = body.unit.general.builtin("next").1;
    let after = body.may_call();
    let args = [body.frame, body.base];
    let tag = body.tag(i.a());
    body.code().leave_if(CompareOp::Ne, tag, TAG_BUILTIN as i32, after.0, &args);
    let id = body.payload(i.a());
    body.code().leave_if(CompareOp::Ne, id, next_id as i32, after.0, &args);
    let tag = body.tag(i.a() + 1);
    body.code().leave_if(CompareOp::Ne, tag, TAG_TABLE as i32, after.0, &args);
    let place = body.address(i.a());
    let status = body.routine("traversal_begin", &[place]);
    body.check_call(status, after);
}

/// The turn of a loop that goes through a shared table.
fn traversal_step(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let (other, _) = body.code().new_block(0);
    let tag = body.tag(i.a());
    body.code().leave_if(CompareOp::Ne, tag, TAG_TRAVERSAL as i32, other, &[]);
    for register in i.a() + 5..i.a() + 3 + i.c() {
        body.set_constant(register, (TAG_NIL, 0));
    }
    let table = body.payload(i.a());
    let (state, key) = (body.address(i.a() + 1), body.address(i.a() + 3));
    let status = body.routine("traversal_next", &[table, state, key]);
    let leave = body.unit.leave;
    body.code().jump(leave, &[status]);
    body.code().block = other;
}

/// Calls the iterator; `next` over a table, which `pairs` gives, in place.
fn generic_call(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let next_id = body.unit.general.builtin("next").1;
    let (table, _) = body.code().new_block(0);
    let (general, _) = body.code().new_block(0);
    let after = body.may_call();
    let tag = body.tag(i.a());
    body.code().leave_if(CompareOp::Ne, tag, TAG_BUILTIN as i32, general, &[]);
    let id = body.payload(i.a());
    body.code().leave_if(CompareOp::Ne, id, next_id as i32, general, &[]);
    let tag = body.tag(i.a() + 1);
    body.code().branch(CompareOp::Eq, tag, TAG_TABLE as i32, (table, &[]), (general, &[]));
    body.code().block = table;
    if body.unit.general.shared.steps() {
        let table = body.payload(i.a() + 1);
        let table = body.code().arena(table);
        let flags = body.code().load(table, T_FLAGS);
        body.code().leave_if(CompareOp::Test, flags, FLAG_SHARED as i32, general, &[]);
    }
    traverse_table(body, i);
    let args = [body.frame, body.base];
    body.code().jump(after.0, &args);
    body.code().block = general;
    if may_traverse(body) {
        traversal_step(body, i);
    }
    let base = body.base;
    let at = |register: usize| 16 * register as i64;
    copy_value(body.code(), base, at(i.a() + 5), base, at(i.a() + 3));
    copy_value(body.code(), base, at(i.a() + 4), base, at(i.a() + 1));
    copy_value(body.code(), base, at(i.a() + 3), base, at(i.a()));
    let count = body.code().constant(2);
    if body.unit.general.reach.builtins.contains(SEQUENCE) {
        sequence_step(body, i, after.0);
    }
    let tag = body.tag(i.a() + 3);
    let (closure, _) = body.code().new_block(0);
    let (other, _) = body.code().new_block(0);
    body.code().branch(CompareOp::Eq, tag, TAG_CLOSURE as i32, (closure, &[]), (other, &[]));
    body.code().block = closure;
    frames::call(body, i.a() + 3, (Some(2), count), i.c() as i64);
    body.code().block = other;
    call_dynamic(body, i.a() + 3, count, i.c() as i64, after);
}

/// Calls the iterator of a sequence at once, if that is what is to be called.
fn sequence_step(body: &mut Body<'_, '_, '_>, i: Instruction, after: Block) {
    let number = body.unit.general.builtin(SEQUENCE).1;
    let Some(step) = body.unit.general.direct(SEQUENCE) else { return };
    let (other, _) = body.code().new_block(0);
    let tag = body.tag(i.a() + 3);
    body.code().leave_if(CompareOp::Ne, tag, TAG_BUILTIN as i32, other, &[]);
    let called = body.payload(i.a() + 3);
    body.code().leave_if(CompareOp::Ne, called, number as i32, other, &[]);
    let base = body.address(i.a() + 4);
    let count = body.code().constant(2);
    let results = body.unit.call_direct(step, base, count);
    take_results(body, i.a() + 3, results, i.c() as i64);
    let args = [body.frame, body.base];
    body.code().jump(after, &args);
    body.code().block = other;
}

fn traverse_table(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let table = body.payload(i.a() + 1);
    let key = body.address(i.a() + 3);
    let status = body.routine("table_next", &[table, key, key]);
    let leave = body.unit.leave;
    body.code().leave_if(CompareOp::SLt, status, 0, leave, &[status]);
    let (none, _) = body.code().new_block(0);
    let (done, _) = body.code().new_block(0);
    body.code().branch(CompareOp::Eq, status, 0, (none, &[]), (done, &[]));
    body.code().block = none;
    let base = body.base;
    body.code().store(base, 16 * (i.a() as i64 + 3), TAG_NIL as i32);
    body.code().store(base, 16 * (i.a() as i64 + 3) + 8, 0);
    body.code().jump(done, &[]);
    body.code().block = done;
    for register in i.a() + 5..i.a() + 3 + i.c() {
        body.set_constant(register, (TAG_NIL, 0));
    }
}

fn generic_loop(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let again = body.path_to(body.pc + 1 - i.bx());
    let done = body.path_to(body.pc + 1);
    let tag = body.tag(i.a() + 3);
    let args = [body.frame, body.base];
    body.code().branch(CompareOp::Ne, tag, TAG_NIL as i32, (again, &args), (done, &args));
    body.enter_dead();
}

/// `global x <const> = …` where the global is there already (5.5).
fn refuse_defined(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let text = names::already_defined(body.prototype, i);
    let text = body.unit.general.image.text(&text);
    body.may_fail();
    let tag = body.tag(i.a());
    let (defined, _) = body.code().cold_block(0);
    body.code().leave_if(CompareOp::Ne, tag, TAG_NIL as i32, defined, &[]);
    let on = body.code().block;
    body.code().block = defined;
    let text = body.code().constant(text as i64);
    let status = body.routine("raise_here", &[text]);
    let leave = body.unit.leave;
    body.code().jump(leave, &[status]);
    body.code().block = on;
}
