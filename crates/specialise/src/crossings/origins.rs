//! What numbers are computed from.

use moonhook_ir::{
    Condition, ControlFlow, Function, Inst, Op, Operand, Pointers, Terminator, UnaryOp, Value,
};
use rustc_hash::FxHashMap;

/// What numbers are computed from. Values that passes may take for one have the first of them as their name; a number that is not
/// computed has none or its own. All is by the values' numbers; those that are made later have nothing.
pub struct Origins {
    names: Vec<Value>,
    /// All values of a name, where there are several.
    alike: FxHashMap<Value, Vec<Value>>,
    /// The operands of arithmetic, but for those of addresses, by names.
    sources: Vec<Option<Operands>>,
    /// The names of `sources`, each behind its own operands.
    order: Vec<Value>,
    /// Computed from something of which the verifier may know more on one path than on another.
    varying: Vec<bool>,
    /// Not computed, and known alike on every path to its only comparison.
    once: Vec<bool>,
}

/// The values that an operation of arithmetic uses.
#[derive(Clone, Copy)]
struct Operands {
    values: [Value; 2],
    count: usize,
}

impl Operands {
    fn of(op: &Op, name: impl Fn(Value) -> Value) -> Operands {
        let mut operands = Operands { values: [Value::NONE; 2], count: 0 };
        op.for_each_value(|value| {
            operands.values[operands.count] = name(value);
            operands.count += 1;
        });
        operands
    }
}

impl Origins {
    pub fn find(function: &Function, flow: &ControlFlow, pointers: &Pointers) -> Origins {
        let count = function.value_count as usize;
        let mut origins = Origins {
            names: (0..function.value_count).map(Value).collect(),
            alike: FxHashMap::default(),
            sources: vec![None; count],
            order: Vec::new(),
            varying: vec![false; count],
            once: vec![false; count],
        };
        let mut known: FxHashMap<Key, Value> = FxHashMap::default();
        for inst in flow.order.iter().flat_map(|block| &function.block(*block).insts) {
            let Some(result) = inst.result else { continue };
            let key = key(&inst.op, &|value| origins.name(value));
            let name = key.map_or(result, |key| *known.entry(key).or_insert(result));
            if name != result {
                origins.names[result.index()] = name;
                origins.alike.entry(name).or_insert_with(|| vec![name]).push(result);
            }
            let computed = matches!(inst.op, Op::Binary(..) | Op::Unary(..)) && !pointers.contains(&result);
            if computed && origins.sources[name.index()].is_none() {
                let operands = Operands::of(&inst.op, |value| origins.name(value));
                origins.sources[name.index()] = Some(operands);
                origins.order.push(name);
            }
        }
        origins.once = origins.unknown_and_compared_once(function);
        for index in 0..origins.order.len() {
            let name = origins.order[index];
            let varies = origins.sources(name).iter().any(|source| origins.varies(*source));
            origins.varying[name.index()] = varies;
        }
        origins
    }

    pub fn name(&self, value: Value) -> Value {
        self.names.get(value.index()).copied().unwrap_or(value)
    }

    /// Values that may be the named one.
    pub fn alike<'a>(&'a self, name: &'a Value) -> &'a [Value] {
        self.alike.get(name).map_or(std::slice::from_ref(name), Vec::as_slice)
    }

    /// The names of what the named number is computed from.
    pub fn sources(&self, name: Value) -> &[Value] {
        self.operands(name).map_or(&[], |operands| &operands.values[..operands.count])
    }

    /// Whether the verifier may know more of the named number on one path than on another.
    pub fn varies(&self, name: Value) -> bool {
        let is = |set: &[bool]| set.get(name.index()).copied().unwrap_or(false);
        match self.operands(name).is_some() {
            true => is(&self.varying),
            false => !is(&self.once),
        }
    }

    fn operands(&self, name: Value) -> Option<&Operands> {
        self.sources.get(name.index())?.as_ref()
    }

    /// The names of results of loads and calls that one comparison looks at, or at what is computed from them, and of constants.
    fn unknown_and_compared_once(&self, function: &Function) -> Vec<bool> {
        let mut compared = self.comparisons(function);
        for name in self.order.iter().rev() {
            let Some(by) = compared[name.index()] else { continue };
            self.sources(*name).iter().for_each(|source| note(&mut compared, *source, by));
        }
        let is_once = |inst: &&Inst| match (&inst.op, inst.result) {
            (Op::Load { .. } | Op::Helper { .. } | Op::Call { .. }, Some(result)) => {
                matches!(compared[self.name(result).index()], Some(Looked::By(_)))
            }
            (op, _) => matches!(op, Op::Const(_)),
        };
        let insts = function.blocks.iter().flat_map(|block| &block.insts).filter(is_once);
        let mut once = vec![false; self.names.len()];
        insts.filter_map(|inst| inst.result).for_each(|result| once[self.name(result).index()] = true);
        once
    }

    /// By name, the comparisons that look at the value itself.
    fn comparisons(&self, function: &Function) -> Vec<Option<Looked>> {
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
        let mut compared = vec![None; self.names.len()];
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

fn note(compared: &mut [Option<Looked>], name: Value, by: Looked) {
    let looked = compared[name.index()].get_or_insert(by);
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
