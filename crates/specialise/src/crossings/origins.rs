//! What numbers are computed from.

use moonhook_ir::{
    Condition, ControlFlow, Function, Inst, Op, Operand, Pointers, Terminator, UnaryOp, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// What numbers are computed from. Values that passes may take for one have the first of them as their name; a number that is not
/// computed has none or its own.
pub struct Origins {
    names: FxHashMap<Value, Value>,
    alike: FxHashMap<Value, Vec<Value>>,
    /// The operands of arithmetic, but for those of addresses, by names.
    sources: FxHashMap<Value, Vec<Value>>,
    /// The names of `sources`, each behind its own operands.
    order: Vec<Value>,
    /// Computed from something of which the verifier may know more on one path than on another.
    varying: FxHashSet<Value>,
    /// Not computed, and known alike on every path to its only comparison.
    once: FxHashSet<Value>,
}

impl Origins {
    pub fn find(function: &Function, flow: &ControlFlow, pointers: &Pointers) -> Origins {
        let mut origins = Origins {
            names: FxHashMap::default(),
            alike: FxHashMap::default(),
            sources: FxHashMap::default(),
            order: Vec::new(),
            varying: FxHashSet::default(),
            once: FxHashSet::default(),
        };
        let mut known: FxHashMap<Key, Value> = FxHashMap::default();
        for inst in flow.order.iter().flat_map(|block| &function.block(*block).insts) {
            let Some(result) = inst.result else { continue };
            let key = key(&inst.op, &|value| origins.name(value));
            let name = key.map_or(result, |key| *known.entry(key).or_insert(result));
            origins.names.insert(result, name);
            origins.alike.entry(name).or_default().push(result);
            let computed = matches!(inst.op, Op::Binary(..) | Op::Unary(..)) && !pointers.contains(&result);
            if computed && !origins.sources.contains_key(&name) {
                let mut of = Vec::new();
                inst.op.for_each_value(|value| of.push(origins.name(value)));
                origins.sources.insert(name, of);
                origins.order.push(name);
            }
        }
        origins.once = origins.unknown_and_compared_once(function);
        for name in &origins.order {
            if origins.sources[name].iter().any(|source| origins.varies(*source)) {
                origins.varying.insert(*name);
            }
        }
        origins
    }

    pub fn name(&self, value: Value) -> Value {
        self.names.get(&value).copied().unwrap_or(value)
    }

    /// Values that may be the named one.
    pub fn alike<'a>(&'a self, name: &'a Value) -> &'a [Value] {
        self.alike.get(name).map_or(std::slice::from_ref(name), Vec::as_slice)
    }

    /// The names of what the named number is computed from.
    pub fn sources(&self, name: Value) -> &[Value] {
        self.sources.get(&name).map_or(&[], Vec::as_slice)
    }

    /// Whether the verifier may know more of the named number on one path than on another.
    pub fn varies(&self, name: Value) -> bool {
        match self.sources.contains_key(&name) {
            true => self.varying.contains(&name),
            false => !self.once.contains(&name),
        }
    }

    /// The names of results of loads and calls that one comparison looks at, or at what is computed from them, and of constants.
    fn unknown_and_compared_once(&self, function: &Function) -> FxHashSet<Value> {
        let mut compared = self.comparisons(function);
        for name in self.order.iter().rev() {
            let Some(by) = compared.get(name).copied() else { continue };
            self.sources(*name).iter().for_each(|source| note(&mut compared, *source, by));
        }
        let is_once = |inst: &&Inst| match (&inst.op, inst.result) {
            (Op::Load { .. } | Op::Helper { .. } | Op::Call { .. }, Some(result)) => {
                matches!(compared.get(&self.name(result)), Some(Looked::By(_)))
            }
            (op, _) => matches!(op, Op::Const(_)),
        };
        let insts = function.blocks.iter().flat_map(|block| &block.insts).filter(is_once);
        insts.filter_map(|inst| inst.result).map(|result| self.name(result)).collect()
    }

    /// By name, the comparisons that look at the value itself.
    fn comparisons(&self, function: &Function) -> FxHashMap<Value, Looked> {
        let conditions = function.blocks.iter().flat_map(|block| {
            let within = block.insts.iter().filter_map(|inst| match &inst.op {
                Op::Compare(condition) => Some(condition),
                _ => None,
            });
            let last = match &block.terminator {
                Some((Terminator::Branch { condition, .. }, _)) => Some(condition),
                _ => None,
            };
            within.chain(last)
        });
        let mut compared = FxHashMap::default();
        for (number, condition) in conditions.enumerate() {
            Condition::for_each_value(condition, |value| {
                note(&mut compared, self.name(value), Looked::By(number));
            });
        }
        compared
    }
}

/// How many comparisons look at a number.
#[derive(Clone, Copy, PartialEq)]
enum Looked {
    /// One, with that number.
    By(usize),
    Often,
}

fn note(compared: &mut FxHashMap<Value, Looked>, name: Value, by: Looked) {
    let looked = compared.entry(name).or_insert(by);
    if *looked != by {
        *looked = Looked::Often;
    }
}

/// An operation with the names of its operands: equal for those that may be made one.
type Key = [u64; 4];

fn key(op: &Op, name: &dyn Fn(Value) -> Value) -> Option<Key> {
    let number = |value: Value| u64::from(name(value).0);
    Some(match *op {
        Op::Const(value) => [0, value as u64, 0, 0],
        Op::Binary(op, a, Operand::Value(b)) => [1, op as u64, number(a), number(b)],
        Op::Binary(op, a, Operand::Imm(b)) => [2, op as u64, number(a), b as u64],
        Op::Unary(UnaryOp::Unlink, _) => return None,
        Op::Unary(op, a) => [3, op as u64, number(a), 0],
        Op::Load { size, signed, base, disp } => {
            [4, size as u64 | u64::from(signed) << 8, number(base), disp as u64]
        }
        _ => return None,
    })
}
