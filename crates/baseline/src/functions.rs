//! The code of functions: units of them, their blocks, and the blocks' instructions.

use super::body::Body;
use super::unit::Unit;
use super::{General, LOOPED, ops};
use moonhook_ir as ir;
use moonhook_runtime::layout::FAIL;
use moonhook_snapshot::flow::Flow;
use moonhook_snapshot::instruction::Instruction;
use std::collections::HashMap;

/// Compiles functions into one subprogram `(context, state) -> status`; gives it with the sites of their entries. Its sites are
/// those from `general.sites.len()` before to the same after.
pub fn compile<'a>(general: &mut General<'a>, name: &str, functions: &[usize]) -> (ir::Function, Vec<u32>) {
    let looped = functions.iter().all(|function| general.functions.get(*function).code.len() <= LOOPED);
    let mut unit = Unit::new(general, name, looped);
    let first = unit.general.sites.len() as i64;
    functions.iter().for_each(|function| unit.add_function(*function));
    let entries = functions.iter().map(|function| compile_function(&mut unit, *function)).collect();
    (unit.finish(first), entries)
}

/// Appends a function's code to the unit; gives the site of its entry.
fn compile_function(unit: &mut Unit<'_, '_>, index: usize) -> u32 {
    let flow = Flow::new(unit.general.functions.get(index), &|_| Vec::new());
    let blocks = flow.blocks.iter().map(|block| (block.start, unit.code.new_block(2)));
    let blocks: HashMap<_, _> = blocks.collect();
    if let Some(begin) = unit.entry_of(index) {
        unit.code.block = begin;
        let params = unit.code.function.block(begin).params.clone();
        unit.may_go_to(blocks[&0].0, params);
    }
    let mut body = Body::new(unit, index, blocks);
    let (entry, _) = body.start_of(0);
    let site = body.new_site(Some(entry));
    for block in &flow.blocks {
        compile_block(&mut body, block.start, block.end);
    }
    site
}

/// Compiles the instructions of one block of bytecode.
fn compile_block(body: &mut Body<'_, '_, '_>, start: usize, end: usize) {
    body.enter(body.start_of(start));
    body.known.clear();
    let mut pc = start;
    while pc < end {
        body.pc = pc;
        body.unit.code.loc = body.loc();
        pc = ops::compile(body, Instruction(body.prototype.code[pc]));
    }
    if pc < body.prototype.code.len() {
        body.go_to(pc);
    } else {
        body.code().ret(FAIL as i32);
    }
}
