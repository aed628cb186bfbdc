//! Jump threading: where a predecessor already decides a block's branch, it goes to the branch's target directly.
//!
//! A predecessor decides by what it passes, or by a branch on the same values on the only path there. Applies to blocks of at most a few
//! pure operations. What such a block computes and blocks behind it use becomes a parameter of those ([`localise`]),
//! so that there may be other paths to them. A predecessor that ends in a jump gets its own copy of the operations; it also gets a
//! copy of the branch where that tests the result of a comparison (`fold` then joins the two). Guarantees that no loop gets a
//! second entry and no `may_goto` is bypassed: blocks that start loops are left alone. So are comparisons that tell the verifier how large a
//! hidden number is which becomes part of an address, even where we know how they end. Where a loop follows, hidden numbers
//! ([`crate::opaque`]) stay hidden, and values become parameters only if no path to the branch is left: the more paths there are to a
//! loop, the more often the verifier walks it.

use crate::Around;
use crate::opaque::{Opaque, before_loops};
use crate::proofs::Proofs;
use crate::values::{Definition, definitions};
use moonhook_ir::*;
use std::collections::HashSet;

mod edges;
mod localise;
mod uses;

use edges::Edges;
use localise::{is_private, localise};
use uses::Uses;

/// Operations copied into a predecessor at most.
const COPIED: usize = 3;
/// Branches above an edge that are asked what they tell, at most.
const LOOKED_AT: usize = 6;

pub(crate) fn run(function: &mut Function, around: &Around) -> bool {
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let definitions = definitions(function);
    let opaque = Opaque::find(function, around.maps);
    let mut threader = Threader {
        bounds: bounds_of_hidden(function, &flow, &opaque, &definitions),
        opaque,
        definitions,
        uses: Uses::new(function),
        before_loops: before_loops(function, &flow),
        edges: Edges::new(&flow),
        stale: false,
        changed: false,
    };
    for block in &flow.order {
        threader.block(function, *block);
    }
    threader.changed
}

/// The blocks that end in a comparison without which the verifier does not know the bounds of a hidden number.
fn bounds_of_hidden(
    function: &Function,
    flow: &ControlFlow,
    opaque: &Opaque,
    definitions: &[Definition],
) -> HashSet<Block> {
    let hidden = |block: &Block| match &function.block(*block).terminator {
        Some((Terminator::Branch { condition, .. }, _)) if opaque.is_part(condition.lhs) => {
            Some((*block, *condition))
        }
        _ => None,
    };
    let hidden: Vec<(Block, Condition)> = flow.order.iter().filter_map(hidden).collect();
    if hidden.is_empty() {
        return HashSet::new();
    }
    let proofs = Proofs::find(function, flow, definitions);
    let bounds = hidden.into_iter().filter(|(_, condition)| proofs.is_proof(condition, condition.lhs));
    bounds.map(|(block, _)| block).collect()
}

struct Threader<'f> {
    bounds: HashSet<Block>,
    opaque: Opaque,
    definitions: Vec<Definition>,
    uses: Uses,
    /// By block.
    before_loops: Vec<bool>,
    edges: Edges<'f>,
    /// The graph is no longer what `edges` says.
    stale: bool,
    changed: bool,
}

impl Threader<'_> {
    fn block(&mut self, function: &mut Function, block: Block) -> Option<()> {
        let data = function.block(block);
        let before_loop = self.before_loops[block.index()];
        let Some((Terminator::Branch { condition, .. }, _)) = data.terminator else { return None };
        if self.bounds.contains(&block) {
            return None;
        }
        let known = Known { values: Vec::new(), definitions: &self.definitions, opaque: &self.opaque };
        if let Some(holds) = known.condition(&condition) {
            self.decide(function, block, holds);
            return None;
        }
        if block == Block(0)
            || self.edges.is_loop_header(block)
            || !can_be_copied(data, &self.opaque, before_loop)
        {
            return None;
        }
        let edges = self.edges(function, block);
        if !is_private(data, self.uses.counts()) {
            let mut decided = edges.iter().map(|(.., decision)| decision.is_some());
            let worth = if before_loop { decided.all(|known| known) } else { decided.any(|known| known) };
            if !worth {
                return None;
            }
            if std::mem::take(&mut self.stale) {
                self.edges.update(function);
            }
            if !localise(function, &self.edges, &mut self.uses, block) {
                return None;
            }
            self.uses.update(function);
            self.changed = true;
        }
        let copy = function.block(block).clone();
        for (from, edge, decided) in edges {
            // A branch with two edges here is the source of each of them.
            if !leads(function, from, edge, block) {
                continue;
            }
            let before = function.block(from).terminator.clone();
            let length = function.block(from).insts.len();
            if thread(function, (from, edge), &copy, decided, &self.definitions).is_some() {
                self.uses.note_change(function.block(from), from, before, length);
                self.edges.note_change(from);
                (self.stale, self.changed) = (true, true);
            }
        }
        Some(())
    }

    /// Makes a jump of the block's branch, whose condition always holds or never.
    fn decide(&mut self, function: &mut Function, block: Block, holds: bool) {
        let data = function.block_mut(block);
        let before = data.terminator.clone();
        if let Some((Terminator::Branch { then, otherwise, .. }, loc)) = before.clone() {
            data.terminator = Some((Terminator::Jump(if holds { then } else { otherwise }), loc));
        }
        let length = data.insts.len();
        self.uses.note_change(function.block(block), block, before, length);
        self.edges.note_change(block);
        (self.stale, self.changed) = (true, true);
    }

    /// The edges to a block: the source, which of its edges, and whether the condition of the block's branch holds there.
    fn edges(&self, function: &Function, block: Block) -> Vec<(Block, usize, Option<bool>)> {
        // What a branch above tells is only sure as long as the graph is as it was.
        let sure = (!self.stale).then_some(&self.edges);
        let before = self.edges.to(block).iter();
        let edges = before.flat_map(|before| [(*before, 0), (*before, 1)]);
        edges
            .filter(|(from, edge)| leads(function, *from, *edge, block))
            .map(|(from, edge)| {
                let data = function.block(block);
                let at = Edge::new(function, sure, (from, edge), data, &self.definitions, &self.opaque);
                (from, edge, at.decision())
            })
            .collect()
    }
}

fn leads(function: &Function, from: Block, edge: usize, to: Block) -> bool {
    let terminator = function.block(from).terminator.as_ref();
    terminator.and_then(|(terminator, _)| terminator.target(edge)).is_some_and(|target| target.block == to)
}

/// Whether the block's operations can be done elsewhere too. What hides values from the verifier needs no copy where it is known
/// how the branch ends.
fn can_be_copied(block: &BlockData, opaque: &Opaque, before_loop: bool) -> bool {
    let hides = |inst: &Inst| !before_loop && inst.result.is_some_and(|result| opaque.is_part(result));
    block.insts.iter().filter(|inst| !hides(inst)).count() <= COPIED
        && block.insts.iter().all(|inst| inst.op.is_pure() || hides(inst))
}

/// An edge to a block whose branch it may decide.
struct Edge<'a> {
    /// Conditions of branches on the only path here, nearest first, and whether they hold.
    branches: Vec<(Condition, bool)>,
    /// What the block's parameters are.
    args: Vec<(Value, Value)>,
    copy: &'a BlockData,
    known: Known<'a>,
}

impl<'a> Edge<'a> {
    fn new(
        function: &Function,
        edges: Option<&Edges<'_>>,
        (from, edge): (Block, usize),
        copy: &'a BlockData,
        definitions: &'a [Definition],
        opaque: &'a Opaque,
    ) -> Self {
        let terminator = function.block(from).terminator.as_ref().map(|(terminator, _)| terminator);
        let own = terminator.and_then(|t| t.target(edge)).and_then(|to| holds(function, from, to.block));
        let mut branches: Vec<(Condition, bool)> = own.into_iter().collect();
        let mut at = from;
        while let Some(above) = edges.and_then(|edges| edges.single(at))
            && branches.len() < LOOKED_AT
        {
            branches.extend(holds(function, above, at));
            at = above;
        }
        let args =
            terminator.and_then(|t| t.target(edge)).map(|target| target.args.clone()).unwrap_or_default();
        let args: Vec<(Value, Value)> = copy.params.iter().copied().zip(args).collect();
        let mut known = Known { values: Vec::new(), definitions, opaque };
        for (param, arg) in &args {
            known.values.push((*param, known.constant(*arg)));
        }
        for inst in &copy.insts {
            if let Some(result) = inst.result {
                known.values.push((result, known.evaluate(inst)));
            }
        }
        Edge { branches, args, copy, known }
    }

    /// Whether the condition of the block's branch holds, if the edge tells.
    fn decision(&self) -> Option<bool> {
        let Some((Terminator::Branch { condition, .. }, _)) = &self.copy.terminator else { return None };
        let mut asked = *condition;
        asked.map_values(|value| substitute(&self.args, value));
        self.known
            .condition(condition)
            .or_else(|| self.branches.iter().find_map(|told| self.tells(told, asked)))
    }

    /// Whether `asked` holds, if a branch's condition tells.
    fn tells(&self, &(own, holds): &(Condition, bool), asked: Condition) -> Option<bool> {
        if asked.lhs != own.lhs {
            return None;
        }
        let is_equal = if holds { own.op == CompareOp::Eq } else { own.op == CompareOp::Ne };
        if is_equal
            && let (Some(value), Some(by)) = (self.known.operand(own.rhs), self.known.operand(asked.rhs))
        {
            return Some(eval::compare(asked.op, value, by));
        }
        match asked.rhs == own.rhs {
            true if asked.op == own.op => Some(holds),
            true if own.op.negated() == Some(asked.op) => Some(!holds),
            _ => None,
        }
    }
}

/// The condition of the branch at the end of `from`, and whether it holds on the path to `to`.
fn holds(function: &Function, from: Block, to: Block) -> Option<(Condition, bool)> {
    match &function.block(from).terminator {
        Some((Terminator::Branch { condition, then, otherwise }, _)) if then.block != otherwise.block => {
            Some((*condition, then.block == to))
        }
        _ => None,
    }
}

/// Redirects one edge, if it decides the branch.
fn thread(
    function: &mut Function,
    (from, edge): (Block, usize),
    copy: &BlockData,
    decided: Option<bool>,
    definitions: &[Definition],
) -> Option<()> {
    let (terminator, _) = function.block(from).terminator.as_ref()?;
    let is_jump = matches!(terminator, Terminator::Jump(_));
    let (branch, loc) = copy.terminator.clone()?;
    let Terminator::Branch { condition, then, otherwise } = &branch else { return None };
    let passed = terminator.target(edge)?.args.iter().copied();
    let args: Vec<(Value, Value)> = copy.params.iter().copied().zip(passed).collect();
    if !is_jump {
        let chosen = if decided? { then } else { otherwise };
        if chosen.args.iter().any(|arg| copy.insts.iter().any(|inst| inst.result == Some(*arg))) {
            return None;
        }
        let mut chosen = chosen.clone();
        chosen.args.iter_mut().for_each(|arg| *arg = substitute(&args, *arg));
        let (terminator, _) = function.block_mut(from).terminator.as_mut()?;
        *terminator.targets_mut().into_iter().nth(edge)? = chosen;
        return Some(());
    }
    let tests_comparison =
        matches!(definitions.get(substitute(&args, condition.lhs).index()), Some(Definition::Compare(_)))
            && condition.rhs.value().is_none()
            && copy.insts.is_empty();
    let mut new = match decided {
        Some(holds) => Terminator::Jump(if holds { then.clone() } else { otherwise.clone() }),
        None if tests_comparison => branch,
        None => return None,
    };
    let renamed = copy_insts(function, from, copy, args);
    new.map_values(|value| substitute(&renamed, value));
    function.block_mut(from).terminator = Some((new, loc));
    Some(())
}

/// Appends copies of the block's operations; gives what stands for its values there.
fn copy_insts(
    function: &mut Function,
    from: Block,
    copy: &BlockData,
    mut renamed: Vec<(Value, Value)>,
) -> Vec<(Value, Value)> {
    for inst in &copy.insts {
        let mut op = inst.op.clone();
        op.map_values(|value| substitute(&renamed, value));
        if let (Some(old), Some(new)) = (inst.result, function.push(from, op, inst.loc)) {
            renamed.push((old, new));
        }
    }
    renamed
}

fn substitute(renamed: &[(Value, Value)], value: Value) -> Value {
    renamed.iter().find(|(old, _)| *old == value).map_or(value, |(_, new)| *new)
}

/// Constants among a block's values, for one predecessor.
struct Known<'a> {
    values: Vec<(Value, Option<i64>)>,
    definitions: &'a [Definition],
    opaque: &'a Opaque,
}

impl Known<'_> {
    fn constant(&self, value: Value) -> Option<i64> {
        if let Some((_, constant)) = self.values.iter().find(|(known, _)| *known == value) {
            return *constant;
        }
        match self.definitions.get(value.index()) {
            Some(Definition::Const(value)) => Some(*value),
            // Hidden from the verifier, but not from us.
            Some(Definition::Binary(BinaryOp::Xor, zero, Operand::Imm(hidden)))
                if self.opaque.is_zero(*zero) =>
            {
                Some((*hidden).into())
            }
            _ => None,
        }
    }

    fn operand(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Imm(imm) => Some(imm as i64 as u64),
            Operand::Value(value) => self.constant(value).map(|value| value as u64),
        }
    }

    fn evaluate(&self, inst: &Inst) -> Option<i64> {
        if inst.result.is_some_and(|result| self.opaque.is_zero(result)) {
            return Some(0);
        }
        Some(match inst.op {
            Op::Const(value) => value,
            Op::Binary(BinaryOp::Xor, zero, hidden) if self.opaque.is_zero(zero) => {
                self.operand(hidden)? as i64
            }
            Op::Binary(op, lhs, rhs) => {
                eval::binary(op, self.constant(lhs)? as u64, self.operand(rhs)?) as i64
            }
            Op::Unary(UnaryOp::Arena, _) => return None,
            Op::Unary(op, value) => eval::unary(op, self.constant(value)? as u64) as i64,
            Op::Compare(condition) => self.condition(&condition)? as i64,
            _ => return None,
        })
    }

    fn condition(&self, condition: &Condition) -> Option<bool> {
        Some(eval::compare(condition.op, self.constant(condition.lhs)? as u64, self.operand(condition.rhs)?))
    }
}
