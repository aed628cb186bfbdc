//! The opaque zero, with which lowering hides numbers from the kernel's verifier, and where that is not needed.
//!
//! `x ^ zero` is `x`, but the verifier does not know it, and so walks what follows once and not once for each number that `x` may
//! be. That matters where a number is compared or becomes part of an address: what is only computed with and stored need not be
//! hidden, for numbers that decide nothing do not keep states apart (`regsafe`, kernel/bpf/verifier.c). Nor need one be that is no meeting
//! of paths and is not passed to one: it is the same on all paths that have it. Where a loop follows, all stays as it is: there the
//! verifier compares states more strictly.

use crate::Around;
use crate::values::{Definition, Replacements, definitions};
use moonhook_ir::*;

/// Removes the hiding of numbers that nothing depends on.
pub(crate) fn run(function: &mut Function, around: &Around) -> bool {
    let opaque = Opaque::find(function, around.maps);
    if !opaque.is_used() {
        return false;
    }
    let Ok(flow) = ControlFlow::new(function) else { return false };
    let before_loops = before_loops(function, &flow);
    let late = flow.order.iter().filter(|block| !before_loops[block.index()]);
    let hides = |inst: &Inst| match (&inst.op, inst.result) {
        (Op::Binary(BinaryOp::Xor, zero, Operand::Value(hidden)), Some(result)) if opaque.is_zero(*zero) => {
            Some((*hidden, result))
        }
        _ => None,
    };
    let hidden: Vec<(Value, Value)> =
        late.flat_map(|block| &function.block(*block).insts).filter_map(hides).collect();
    if hidden.is_empty() {
        return false;
    }
    let decisive = Decisive::find(function);
    let (definitions, passed) = (definitions(function), passed(function));
    let is_alike =
        |hidden: Value, result: Value| is_one_number(&definitions, hidden) && !passed[result.index()];
    let mut replacements = Replacements::new(function);
    for (hidden, result) in hidden {
        if !decisive.contains(result) || is_alike(hidden, result) {
            replacements.set(result, hidden);
        }
    }
    replacements.apply(function)
}

/// Operations between a number and the load that it is made of, at most.
const DEPTH: usize = 4;

/// Whether it is a constant, or made of a load, and not of what different paths bring.
fn is_one_number(definitions: &[Definition], value: Value) -> bool {
    let mut at = value;
    for _ in 0..DEPTH {
        match definitions[at.index()] {
            Definition::Const(_) | Definition::Load { .. } => return true,
            Definition::Unary(_, of) | Definition::Binary(_, of, Operand::Imm(_)) => at = of,
            _ => return false,
        }
    }
    false
}

/// By value, whether it is passed to where paths may meet.
fn passed(function: &Function) -> Vec<bool> {
    let mut passed = vec![false; function.value_count as usize];
    for (terminator, _) in function.blocks.iter().filter_map(|block| block.terminator.as_ref()) {
        terminator.for_each_target(|target| target.args.iter().for_each(|arg| passed[arg.index()] = true));
    }
    passed
}

/// Which values are loaded from the opaque zero, and which are hidden with it.
pub(crate) struct Opaque {
    zeros: Vec<bool>,
    parts: Vec<bool>,
}

impl Opaque {
    pub fn find(function: &Function, maps: &[Map]) -> Self {
        let count = function.value_count as usize;
        let mut opaque = Opaque { zeros: vec![false; count], parts: vec![false; count] };
        if !maps.iter().any(Map::is_opaque_zero) {
            return opaque;
        }
        let is_zero = |map: MapId| maps.get(map.0 as usize).is_some_and(Map::is_opaque_zero);
        let definitions = definitions(function);
        for (index, definition) in definitions.iter().enumerate() {
            match *definition {
                Definition::Data { map, offset: 0 } if is_zero(map) => opaque.parts[index] = true,
                Definition::Load { size: Size::B8, base, disp: 0, .. } => {
                    let zero = matches!(definitions[base.index()], Definition::Data { map, offset: 0 } if is_zero(map));
                    (opaque.zeros[index], opaque.parts[index]) = (zero, zero);
                }
                _ => {}
            }
        }
        for (index, definition) in definitions.iter().enumerate() {
            if let Definition::Binary(BinaryOp::Xor, zero, _) = definition {
                opaque.parts[index] = opaque.zeros[zero.index()];
            }
        }
        opaque
    }

    /// The value is 0, which the verifier does not know.
    pub fn is_zero(&self, value: Value) -> bool {
        self.zeros.get(value.index()) == Some(&true)
    }

    /// The value is the zero, its address, or hidden with it.
    pub fn is_part(&self, value: Value) -> bool {
        self.parts.get(value.index()) == Some(&true)
    }

    fn is_used(&self) -> bool {
        self.zeros.contains(&true)
    }
}

/// By block: a loop's head can be reached from here. Loops that only cold blocks lead to do not count: the verifier walks them once more
/// for each path to them, but packets take the paths that go by.
pub(crate) fn before_loops(function: &Function, flow: &ControlFlow) -> Vec<bool> {
    let mut before = vec![false; function.blocks.len()];
    let heads = flow.order.iter().copied().filter(|block| flow.is_loop_header(*block));
    let mut work: Vec<Block> = heads.filter(|head| !is_in_cold(function, flow, *head)).collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut before[block.index()], true) {
            work.extend(flow.predecessors(block));
        }
    }
    before
}

/// Whether it is cold, or a block is that alone leads to it.
fn is_in_cold(function: &Function, flow: &ControlFlow, block: Block) -> bool {
    let mut at = block;
    while !function.block(at).cold {
        let mut before =
            flow.predecessors(at).iter().filter(|from| flow.position(**from) < flow.position(at));
        match (before.next(), before.next()) {
            (Some(only), None) => at = *only,
            _ => return false,
        }
    }
    true
}

/// Values that a branch, an address, a call or a result depends on, directly or through others.
pub(crate) struct Decisive {
    values: Vec<bool>,
    work: Vec<Value>,
}

impl Decisive {
    pub fn find(function: &Function) -> Self {
        let count = function.value_count as usize;
        let mut decisive = Decisive { values: vec![false; count], work: Vec::new() };
        let sources = Sources::of(function, |op| op.is_pure() && !matches!(op, Op::Compare(_)));
        let loaded = addresses_of_loaded_slots(function);
        for block in &function.blocks {
            for inst in &block.insts {
                match &inst.op {
                    Op::Store { base, value, .. } => {
                        decisive.mark(*base);
                        if loaded[base.index()] {
                            value.value().into_iter().for_each(|value| decisive.mark(value));
                        }
                    }
                    Op::Atomic { base, .. } => decisive.mark(*base),
                    op if op.is_pure() && !matches!(op, Op::Compare(_)) => {}
                    op => op.for_each_value(|value| decisive.mark(value)),
                }
            }
            match &block.terminator {
                Some((Terminator::Branch { condition, .. }, _)) => {
                    condition.for_each_value(|v| decisive.mark(v))
                }
                Some((Terminator::Return(Operand::Value(value)), _)) => decisive.mark(*value),
                _ => {}
            }
        }
        while let Some(value) = decisive.work.pop() {
            sources.for_each(value, |source| decisive.mark(source));
        }
        decisive
    }

    pub fn contains(&self, value: Value) -> bool {
        self.values[value.index()]
    }

    fn mark(&mut self, value: Value) {
        if !std::mem::replace(&mut self.values[value.index()], true) {
            self.work.push(value);
        }
    }
}

/// By value: the address of a slot that is loaded from, of which the verifier knows what was stored there.
fn addresses_of_loaded_slots(function: &Function) -> Vec<bool> {
    let mut slot_of: Vec<Option<Slot>> = vec![None; function.value_count as usize];
    let mut loaded = vec![false; function.slots.len()];
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    for inst in insts() {
        let slot = match inst.op {
            Op::SlotAddress(slot) => Some(slot),
            Op::Binary(BinaryOp::Add, base, _) => slot_of[base.index()],
            _ => None,
        };
        if let Some(result) = inst.result {
            slot_of[result.index()] = slot;
        }
    }
    for inst in insts() {
        if let Op::Load { base, .. } = inst.op
            && let Some(slot) = slot_of[base.index()]
        {
            loaded[slot.index()] = true;
        }
    }
    slot_of.into_iter().map(|slot| slot.is_some_and(|slot| loaded[slot.index()])).collect()
}
