//! An operation on a block parameter that gets a constant on every edge is done to the constants: the parameter gets the
//! results. Only where nothing else uses the parameter, so that no further one is needed.

use crate::Around;
use crate::values::{Definition, Replacements, definitions, use_counts};
use moonhook_ir::graph::Lists;
use moonhook_ir::*;

pub(crate) fn run(function: &mut Function, _: &Around) -> bool {
    let mut pass: Option<Pass> = None;
    for index in 1..function.blocks.len() {
        let mut at = 0;
        while let Some(inst) = function.blocks[index].insts.get(at) {
            let data = &function.blocks[index];
            let value = operand(&inst.op)
                .map(|value| pass.as_mut().map_or(value, |pass| pass.replacements.get(value)));
            let place = value.and_then(|value| data.params.iter().position(|param| *param == value));
            let Some(place) = place else {
                at += 1;
                continue;
            };
            let pass = pass.get_or_insert_with(|| Pass::new(function));
            let found = Found { block: Block(index as u32), place, inst: at };
            match pass.is_possible(function, &found) {
                // What stands there now may be another one, of the constants that this one gave.
                true => pass.apply(function, &found),
                false => at += 1,
            }
        }
    }
    pass.is_some_and(|pass| pass.replacements.apply(function))
}

struct Found {
    block: Block,
    /// Among the parameters.
    place: usize,
    /// Among the instructions.
    inst: usize,
}

/// What is known of the function while the pass changes it.
struct Pass {
    uses: Vec<u32>,
    definitions: Vec<Definition>,
    /// By block, the edges to it: the source, and which of its edges.
    edges: Lists<(u32, u32)>,
    replacements: Replacements,
}

impl Pass {
    fn new(function: &Function) -> Pass {
        let edges = Lists::new(function.blocks.len(), |edge| {
            for (index, data) in function.blocks.iter().enumerate() {
                let targets = data.terminator.iter().flat_map(|(terminator, _)| terminator.targets());
                targets.enumerate().for_each(|(n, to)| edge(to.block.index(), (index as u32, n as u32)));
            }
        });
        let replacements = Replacements::new(function);
        Pass { uses: use_counts(function), definitions: definitions(function), edges, replacements }
    }

    /// Nothing else uses the parameter, and it gets constants.
    fn is_possible(&self, function: &Function, found: &Found) -> bool {
        let param = function.block(found.block).params[found.place];
        let is_constant =
            |(from, edge): &(u32, u32)| self.constant(function, (*from, *edge), found.place).is_some();
        self.uses[param.index()] == 1 && self.edges.of(found.block.index()).iter().all(is_constant)
    }

    /// What an edge passes for a parameter, if that is constant.
    fn constant(&self, function: &Function, (from, edge): (u32, u32), place: usize) -> Option<i64> {
        let (terminator, _) = function.blocks[from as usize].terminator.as_ref()?;
        match self.definitions[terminator.target(edge as usize)?.args[place].index()] {
            Definition::Const(constant) => Some(constant),
            _ => None,
        }
    }

    fn apply(&mut self, function: &mut Function, found: &Found) {
        let Inst { op, result, loc } = function.block_mut(found.block).insts.remove(found.inst);
        for &(from, edge) in self.edges.of(found.block.index()) {
            let Some(constant) = self.constant(function, (from, edge), found.place) else { continue };
            let constant = evaluate(&op, constant);
            let Some(new) = function.push(Block(from), Op::Const(constant), loc) else { continue };
            self.definitions.push(Definition::Const(constant));
            self.uses.push(1);
            let Some((terminator, _)) = &mut function.blocks[from as usize].terminator else { continue };
            if let Some(target) = terminator.targets_mut().into_iter().nth(edge as usize) {
                target.args[found.place] = new;
            }
        }
        self.replacements.grow(function.value_count);
        if let Some(result) = result {
            let param = function.block(found.block).params[found.place];
            // The operation was the only use; its result may have none.
            self.uses[param.index()] = self.uses[result.index()];
            self.replacements.set(result, param);
        }
    }
}

/// The only value that an operation needs, if it has such and can be evaluated.
fn operand(op: &Op) -> Option<Value> {
    match *op {
        Op::Binary(_, lhs, Operand::Imm(_)) => Some(lhs),
        Op::Unary(UnaryOp::Unlink | UnaryOp::Arena, _) => None,
        Op::Unary(_, value) => Some(value),
        _ => None,
    }
}

fn evaluate(op: &Op, constant: i64) -> i64 {
    let constant = constant as u64;
    match *op {
        Op::Binary(op, _, Operand::Imm(imm)) => eval::binary(op, constant, imm as i64 as u64) as i64,
        Op::Unary(op, _) => eval::unary(op, constant) as i64,
        _ => constant as i64,
    }
}
