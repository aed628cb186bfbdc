//! The functions that the kernel calls for each entry of a map (`bpf_for_each_map_elem`): they copy keys to a traversal's part of the region.

use super::copied_keys::{BEHIND, Extent, FULL, KEYS, Keys, NOW, USED};
use moonhook_ir as ir;
use moonhook_ir::{Block, Builder, CompareOp, Value};
use moonhook_schema::Type;

const KIND: ir::FunctionKind = ir::FunctionKind::Subprogram { global: false, context: None };

/// A function `long f(map, key, value, &part)` of which the part is loaded, and its block that goes on to the next entry. That is entered
/// already where the time of the entry is over.
fn begin(name: &str, keys: &Keys, loc: ir::Loc) -> (Builder, Value, Block) {
    let mut code = Builder::new(name, KIND, 4);
    code.loc = loc;
    let (on, _) = code.new_block(0);
    let start = std::mem::replace(&mut code.block, on);
    code.ret(0);
    code.block = start;
    let (value, context) = (code.param(2), code.param(3));
    let part = code.load(context, 0);
    if keys.schema.lifetime.is_some() {
        let (deadline, now) = (code.load(value, 0), code.load(part, NOW.into()));
        code.leave_if(CompareOp::ULe, deadline, now, on, &[]);
    }
    (code, part, on)
}

/// `long copy(map, key, value, &part)`: appends the key to the part, unless the entry's time is over; gives 1 where no other entry is
/// wanted.
pub(super) fn copying_function(name: &str, keys: &Keys, extent: Extent, loc: ir::Loc) -> ir::Function {
    let (mut code, part, _) = begin(name, keys, loc);
    let (size, used) = (keys.schema.key_size() as i64, code.load(part, USED.into()));
    let (full, _) = code.new_block(0);
    code.leave_if(CompareOp::UGt, used, (keys.limit - size) as i32, full, &[]);
    let at = code.binary(ir::BinaryOp::Add, part, used);
    let key = code.param(1);
    code.copy_words(size, (key, 0), (at, KEYS.into()));
    let used = code.add(used, size);
    code.store(part, USED.into(), used);
    code.ret(i32::from(extent == Extent::One));
    code.block = full;
    code.store(part, FULL.into(), 1);
    code.ret(1);
    code.function
}

/// `long step(map, key, value, &part)`: the key becomes the one that is found if it lies behind the one to start behind, and before
/// the one found so far. Works on a copy: another CPU may give the entry's memory to another key at any time.
pub(super) fn stepping_function(name: &str, keys: &Keys, loc: ir::Loc) -> ir::Function {
    let (mut code, part, on) = begin(name, keys, loc);
    let size = keys.schema.key_size() as i64;
    let (found, start, present) = (i64::from(KEYS), i64::from(KEYS) + size, i64::from(KEYS) + 2 * size);
    let key = code.param(1);
    code.copy_words(size, (key, 0), (part, present));
    let [behind, take] = [0; 2].map(|_| code.new_block(0).0);
    let starts = code.load(part, BEHIND.into());
    code.leave_if(CompareOp::Eq, starts, 0, behind, &[]);
    compare_words(&mut code, keys, part, [present, start], [CompareOp::UGt, CompareOp::ULt], [behind, on]);
    code.block = behind;
    let used = code.load(part, USED.into());
    code.leave_if(CompareOp::Eq, used, 0, take, &[]);
    compare_words(&mut code, keys, part, [present, found], [CompareOp::ULt, CompareOp::UGt], [take, on]);
    code.block = take;
    code.copy_words(size, (part, present), (part, found));
    code.store(part, USED.into(), size as i32);
    code.ret(0);
    code.function
}

/// Compares the keys at two places of a part by their first words that differ, and ends the block: in the first target where the first
/// comparison holds, in the second one where the second one does or the keys are equal.
fn compare_words(
    code: &mut Builder,
    keys: &Keys,
    part: Value,
    [one, other]: [i64; 2],
    operators: [CompareOp; 2],
    targets: [Block; 2],
) {
    let signed = |op: CompareOp| match (op, &keys.schema.key) {
        (CompareOp::UGt, Type::Integer) => CompareOp::SGt,
        (CompareOp::ULt, Type::Integer) => CompareOp::SLt,
        (op, _) => op,
    };
    for offset in (0..keys.schema.key_size() as i64).step_by(8) {
        let (a, b) = (code.load(part, one + offset), code.load(part, other + offset));
        for (op, target) in operators.into_iter().zip(targets) {
            code.leave_if(signed(op), a, b, target, &[]);
        }
    }
    code.jump(targets[1], &[]);
}
