//! What the verifier knows of values on some paths and not on others, and how many paths that keeps apart.
//!
//! Where paths meet, a block parameter may be another constant, or a narrower number, on each of them; the result of a comparison is 0 on
//! one path and 1 on the other. As long as such a value is needed and decides something, the verifier walks the code for each path
//! (`regsafe`, kernel/bpf/verifier.c), and where several such *forks* are alive, for each combination. Inside a loop that is so for values
//! that decide nothing too.

use crate::liveness::live_at_starts;
use crate::opaque::{Decisive, Opaque};
use moonhook_ir::*;

/// A place from which on the verifier may hold several states.
pub(crate) struct Fork {
    pub block: Block,
    /// The operation whose result forks; `None` for the block's parameters.
    pub inst: Option<usize>,
    /// The values that differ between the paths.
    pub values: Vec<Value>,
    /// How many paths it has.
    paths: usize,
}

/// What is known of an argument on its way.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Constant(i64),
    /// No bits outside these.
    Bits(u64),
}

pub(crate) struct Paths<'a> {
    function: &'a Function,
    opaque: &'a Opaque,
    pub forks: Vec<Fork>,
    /// By value: the forks that what is known of it depends on.
    origins: Vec<Vec<u32>>,
    known: Vec<Known>,
}

/// Sets of forks are cut at so many; that is far more than can be walked.
const MOST_ORIGINS: usize = 24;

impl<'a> Paths<'a> {
    pub fn find(function: &'a Function, flow: &ControlFlow, opaque: &'a Opaque) -> Self {
        let count = function.value_count as usize;
        let mut paths = Paths {
            function,
            opaque,
            forks: Vec::new(),
            origins: vec![Vec::new(); count],
            known: vec![Known::Bits(u64::MAX); count],
        };
        let mut incoming: Vec<Vec<&Target>> = vec![Vec::new(); function.blocks.len()];
        for block in &flow.order {
            if let Some((terminator, _)) = &function.block(*block).terminator {
                terminator.for_each_target(|target| incoming[target.block.index()].push(target));
            }
        }
        for &block in &flow.order {
            // Lowering hides what enters a loop.
            if !flow.is_loop_header(block) {
                paths.params(block, &incoming[block.index()]);
            }
            for (index, inst) in function.block(block).insts.iter().enumerate() {
                if let Some(result) = inst.result {
                    paths.inst(block, index, &inst.op, result);
                }
            }
        }
        paths
    }

    fn params(&mut self, block: Block, incoming: &[&Target]) {
        let params = &self.function.block(block).params;
        let mut tuples: Vec<Vec<Known>> = Vec::new();
        for target in incoming {
            let tuple: Vec<Known> = target.args.iter().map(|arg| self.known[arg.index()]).collect();
            if !tuples.contains(&tuple) {
                tuples.push(tuple);
            }
        }
        let differs = |place: usize| tuples.iter().any(|tuple| tuple[place] != tuples[0][place]);
        let values: Vec<Value> =
            params.iter().enumerate().filter(|(place, _)| differs(*place)).map(|(_, param)| *param).collect();
        let fork = self.forks.len() as u32;
        for (place, param) in params.iter().enumerate() {
            let mut origins: Vec<u32> = values.contains(param).then_some(fork).into_iter().collect();
            for target in incoming {
                self.carry(target.args[place], &mut origins);
            }
            self.origins[param.index()] = origins;
            let all = tuples.iter().fold(0, |bits, tuple| bits | bits_of(tuple[place]));
            self.known[param.index()] = match tuples.first() {
                Some(first) if !values.contains(param) => first[place],
                _ => Known::Bits(all),
            };
        }
        if !values.is_empty() {
            self.forks.push(Fork { block, inst: None, values, paths: tuples.len() });
        }
    }

    fn inst(&mut self, block: Block, index: usize, op: &Op, result: Value) {
        let mut origins = Vec::new();
        match op {
            Op::Compare(_) => {
                origins.push(self.forks.len() as u32);
                self.forks.push(Fork { block, inst: Some(index), values: vec![result], paths: 2 });
            }
            Op::Binary(BinaryOp::Xor, zero, _) if self.opaque.is_zero(*zero) => {}
            op if op.is_pure() => op.for_each_value(|value| self.carry(value, &mut origins)),
            _ => {}
        }
        self.origins[result.index()] = origins;
        self.known[result.index()] = match *op {
            Op::Const(constant) => Known::Constant(constant),
            Op::Compare(_) => Known::Bits(1),
            Op::Load { size, signed: false, .. } if size != Size::B8 => {
                Known::Bits((1 << (8 * size as u32)) - 1)
            }
            Op::Unary(UnaryOp::Swap16, _) => Known::Bits(0xffff),
            Op::Unary(UnaryOp::Swap32 | UnaryOp::ZeroExtend32, _) => Known::Bits(0xffff_ffff),
            Op::Binary(BinaryOp::And, value, Operand::Imm(mask)) if mask >= 0 => {
                Known::Bits(self.bits(value) & mask as u64)
            }
            Op::Binary(BinaryOp::LShr, value, Operand::Imm(by)) => Known::Bits(self.bits(value) >> (by & 63)),
            Op::Binary(BinaryOp::Shl, value, Operand::Imm(by)) => {
                Known::Bits(filled(self.bits(value)) << (by & 63))
            }
            Op::Binary(BinaryOp::Add, value, Operand::Imm(by)) if by >= 0 => {
                Known::Bits(self.bits(value).checked_add(by as u64).map_or(u64::MAX, filled))
            }
            Op::Binary(BinaryOp::Add, a, Operand::Value(b)) => {
                Known::Bits(self.bits(a).checked_add(self.bits(b)).map_or(u64::MAX, filled))
            }
            // Bits that the number has, not those that the verifier knows.
            Op::Binary(BinaryOp::Xor, zero, Operand::Value(hidden)) if self.opaque.is_zero(zero) => {
                Known::Bits(self.bits(hidden))
            }
            Op::Binary(BinaryOp::Or | BinaryOp::Xor, a, Operand::Value(b)) => {
                Known::Bits(self.bits(a) | self.bits(b))
            }
            _ => Known::Bits(u64::MAX),
        };
    }

    fn carry(&self, value: Value, origins: &mut Vec<u32>) {
        for fork in &self.origins[value.index()] {
            if !origins.contains(fork) && origins.len() < MOST_ORIGINS {
                origins.push(*fork);
            }
        }
    }

    /// Bits that the value can have.
    pub fn bits(&self, value: Value) -> u64 {
        bits_of(self.known[value.index()])
    }

    /// By block: the forks whose paths are apart there.
    pub fn apart(&self, flow: &ControlFlow) -> Vec<Vec<u32>> {
        let decisive = Decisive::find(self.function);
        let within_loop = crate::reach::within_loops(self.function, flow);
        let forked: Vec<Value> = (0..self.function.value_count)
            .map(Value)
            .filter(|value| !self.origins[value.index()].is_empty())
            .collect();
        let mut number = vec![usize::MAX; self.function.value_count as usize];
        forked.iter().enumerate().for_each(|(index, value)| number[value.index()] = index);
        let live = live_at_starts(self.function, flow, &number, forked.len());
        let mut apart = vec![Vec::new(); self.function.blocks.len()];
        for block in &flow.order {
            let mut forks: Vec<u32> = Vec::new();
            for (place, word) in live[block.index()].iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    let value = forked[place * 64 + left.trailing_zeros() as usize];
                    left &= left - 1;
                    if within_loop[block.index()] || decisive.contains(value) {
                        self.carry(value, &mut forks);
                    }
                }
            }
            apart[block.index()] = forks;
        }
        apart
    }

    /// How many states of the verifier the forks keep apart.
    pub fn states(&self, forks: &[u32]) -> f64 {
        forks.iter().map(|fork| self.forks[*fork as usize].paths as f64).product()
    }
}

fn bits_of(known: Known) -> u64 {
    match known {
        Known::Constant(constant) => constant as u64,
        Known::Bits(bits) => bits,
    }
}

/// All bits up to the highest one.
fn filled(bits: u64) -> u64 {
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}
