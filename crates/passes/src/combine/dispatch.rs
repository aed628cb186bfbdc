//! One function made of several, and calls of it.

use moonhook_ir::*;

/// A function that does what `parts[n]` does when it is called with the number `n` as its last argument, which is behind those of
/// the parts. These are global functions with equal kinds and numbers of parameters; any number beyond them means the last.
pub fn combine(name: String, parts: &[&Function]) -> Function {
    let params = parts[0].params.len() as u32;
    let mut combined = Function::new(name, parts[0].kind.clone(), params + 1);
    let entries: Vec<Block> = parts.iter().map(|part| append(&mut combined, part)).collect();
    let number = combined.params[params as usize];
    choose(&mut combined, Block(0), number, 0, &entries);
    combined
}

/// Ends `block` with the choice between `entries`, the first of which has the number `first`.
fn choose(function: &mut Function, block: Block, number: Value, first: usize, entries: &[Block]) {
    let terminator = match entries {
        [only] => Terminator::Jump(Target::new(*only, vec![])),
        _ => {
            let (below, above) = entries.split_at(entries.len() / 2);
            let middle = first + below.len();
            let then = side(function, number, first, below);
            let otherwise = side(function, number, middle, above);
            let condition = Condition::new(CompareOp::ULt, number, middle as i32);
            Terminator::Branch { condition, then, otherwise }
        }
    };
    function.block_mut(block).terminator = Some((terminator, Loc::default()));
}

fn side(function: &mut Function, number: Value, first: usize, entries: &[Block]) -> Target {
    if let [only] = entries {
        return Target::new(*only, vec![]);
    }
    let block = function.new_block();
    choose(function, block, number, first, entries);
    Target::new(block, vec![])
}

/// Copies the blocks of `part`; gives its entry. Parts do not run together, so they have their slots in the same memory.
fn append(combined: &mut Function, part: &Function) -> Block {
    let (blocks, values) = (combined.blocks.len() as u32, combined.value_count);
    combined.value_count += part.value_count;
    for (index, bytes) in part.slots.iter().enumerate() {
        match combined.slots.get_mut(index) {
            Some(slot) => *slot = (*slot).max(*bytes),
            None => combined.slots.push(*bytes),
        }
    }
    let params = combined.params.clone();
    let value = |value: Value| match part.params.iter().position(|param| *param == value) {
        Some(place) => params[place],
        None => Value(values + value.0),
    };
    for block in &part.blocks {
        let mut block = block.clone();
        block.params.iter_mut().for_each(|param| *param = value(*param));
        for inst in &mut block.insts {
            inst.op.map_values(value);
            inst.result = inst.result.map(value);
        }
        if let Some((terminator, _)) = &mut block.terminator {
            terminator.map_values(value);
            terminator.for_each_target_mut(|target| target.block.0 += blocks);
        }
        combined.blocks.push(block);
    }
    Block(blocks)
}

/// Lets each call go where `target` says: to that function, with that number behind the arguments. A function whose address is taken
/// is combined with no other.
pub fn redirect(function: &mut Function, target: impl Fn(FunctionId) -> (FunctionId, Option<i64>)) {
    let values = &mut function.value_count;
    for block in &mut function.blocks {
        let mut insts = Vec::with_capacity(block.insts.len());
        for mut inst in std::mem::take(&mut block.insts) {
            if let Op::Call { function, args } = &mut inst.op {
                let (to, number) = target(*function);
                *function = to;
                if let Some(number) = number {
                    let result = Value(*values);
                    *values += 1;
                    insts.push(Inst { op: Op::Const(number), result: Some(result), loc: inst.loc });
                    args.push(result);
                }
            }
            if let Op::FunctionReference(function) = &mut inst.op {
                *function = target(*function).0;
            }
            insts.push(inst);
        }
        block.insts = insts;
    }
    for (_, reference) in function.given.iter_mut().flat_map(|given| &mut given.references) {
        if let GivenReference::Call(id) | GivenReference::Function(id) = reference {
            *id = target(*id).0;
        }
    }
}
