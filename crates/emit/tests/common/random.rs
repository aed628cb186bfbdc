//! Random functions: arithmetic, memory, branches that meet again, loops and calls, all over the words of `io`.

use super::build::{self, Build, IO, program, subprogram};
use moonhook_ir::*;

/// Words of `io`: inputs first, then outputs.
pub const INPUTS: u32 = 6;
pub const OUTPUTS: u32 = 18;

const INTERESTING: [i64; 12] =
    [0, 1, -1, 2, 7, 63, 64, 0x80, 0xffff_ffff, 0x8000_0000, i64::MIN, 0x0123_4567_89ab_cdef];

/// A reproducible sequence: the same seed gives the same programs everywhere (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.word() >> 33) as usize % limit
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A word of any kind: boundary, small or arbitrary.
    pub fn operand(&mut self) -> u64 {
        match self.below(3) {
            0 => self.pick(&INTERESTING) as u64,
            1 => self.below(200) as u64,
            _ => self.word(),
        }
    }
}

/// A program, a static and a global function over one `io` section.
pub fn module(seed: u64) -> Module {
    let mut random = Random::new(seed);
    let mut functions = Vec::new();
    for (name, params) in [("main", 0), ("local_part", 3), ("global_part", 2)] {
        let f = match name {
            "main" => program(name),
            _ => subprogram(name, name == "global_part", params),
        };
        let callable = 3 - functions.len() as u32 - 1;
        let mut generator = Generator { random: &mut random, f, values: Vec::new(), callable, loops: 0 };
        generator.function(params as usize);
        functions.push(generator.f.done());
    }
    build::module(functions, vec![build::io((INPUTS + OUTPUTS) as usize)])
}

struct Generator<'a> {
    random: &'a mut Random,
    f: Build,
    /// What can be used where code is being added.
    values: Vec<Value>,
    /// How many of the module's last functions may be called.
    callable: u32,
    loops: u32,
}

impl Generator<'_> {
    fn function(&mut self, params: usize) {
        self.values = self.f.f.params[..params].to_vec();
        for n in 0..INPUTS {
            let input = self.f.input(n);
            self.values.push(input);
        }
        for _ in 0..self.random.below(3) {
            self.f.f.new_slot(8);
        }
        for slot in 0..self.f.f.slots.len() {
            let base = self.f.op(Op::SlotAddress(Slot(slot as u32)));
            self.f.store(Size::B8, base, 0, slot as i32 * 1000);
        }
        let statements = 4 + self.random.below(12);
        self.statements(statements, 3);
        let result = self.value();
        let low = self.f.op(Op::Unary(UnaryOp::ZeroExtend32, result));
        self.f.ret(low);
    }

    fn value(&mut self) -> Value {
        // Recent values more often, so that chains get deep; old ones too, so that many stay alive.
        let len = self.values.len();
        let from = if self.random.below(2) == 0 { len.saturating_sub(4) } else { 0 };
        self.values[from + self.random.below(len - from)]
    }

    fn operand(&mut self) -> Operand {
        match self.random.below(3) {
            0 => Operand::Imm(self.random.operand() as i32),
            _ => Operand::Value(self.value()),
        }
    }

    fn statements(&mut self, count: usize, depth: u32) {
        for _ in 0..count {
            match self.random.below(12) {
                0 | 1 if depth > 0 => self.branch(depth - 1),
                2 if depth > 1 && self.loops < 2 => self.counted_loop(depth - 1),
                3 => self.memory(),
                4 if self.callable > 0 => self.call(),
                5 => {
                    let n = INPUTS + self.random.below(OUTPUTS as usize) as u32;
                    let value = self.operand();
                    self.f.output(n, value);
                }
                _ => self.arithmetic(),
            }
        }
    }

    fn condition(&mut self) -> Condition {
        use CompareOp::*;
        let op = self.random.pick(&[Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, Test]);
        Condition { op, lhs: self.value(), rhs: self.operand() }
    }

    fn arithmetic(&mut self) {
        use {BinaryOp::*, UnaryOp::*};
        let op = match self.random.below(8) {
            0 => Op::Const(self.random.operand() as i64),
            1 => Op::Compare(self.condition()),
            2 => {
                let all =
                    [Neg, Swap16, Swap32, Swap64, SignExtend8, SignExtend16, SignExtend32, ZeroExtend32];
                Op::Unary(self.random.pick(&all), self.value())
            }
            _ => {
                let all = [Add, Sub, Mul, UDiv, UMod, SDiv, SMod, And, Or, Xor, Shl, LShr, AShr];
                Op::Binary(self.random.pick(&all), self.value(), self.operand())
            }
        };
        let value = self.f.op(op);
        self.values.push(value);
    }

    /// Reads, writes or adds to a word of `io` or of the stack.
    fn memory(&mut self) {
        let size = self.random.pick(&[Size::B1, Size::B2, Size::B4, Size::B8]);
        let slots = self.f.f.slots.len();
        let base = if slots > 0 && self.random.below(2) == 0 {
            self.f.op(Op::SlotAddress(Slot(self.random.below(slots) as u32)))
        } else {
            let word = INPUTS + self.random.below(OUTPUTS as usize) as u32;
            self.f.op(Op::DataAddress { map: IO, offset: word * 8 })
        };
        let disp = (self.random.below(8 / size as usize) * size as usize) as i16;
        match self.random.below(4) {
            0 => {
                let value = self.operand();
                self.f.store(size, base, disp, value);
            }
            1 if matches!(size, Size::B4 | Size::B8) => {
                let value = self.value();
                let old = self.f.op(Op::Atomic { op: AtomicOp::Add, size, base, disp, value });
                self.values.push(old);
            }
            signed => {
                let value = self.f.op(Op::Load { size, signed: signed == 2, base, disp });
                self.values.push(value);
            }
        }
    }

    fn call(&mut self) {
        let function = FunctionId(3 - 1 - self.random.below(self.callable as usize) as u32);
        let args = (0..if function.0 == 1 { 3 } else { 2 }).map(|_| self.value()).collect();
        let result = self.f.op(Op::Call { function, args });
        self.values.push(result);
    }

    /// Two paths that pass different values to where they meet.
    fn branch(&mut self, depth: u32) {
        let (then, otherwise, after) = (self.f.block(), self.f.block(), self.f.block());
        let merged: Vec<Value> = (0..1 + self.random.below(3)).map(|_| self.f.f.add_param(after)).collect();
        let condition = self.condition();
        // Some branches go straight to the end.
        let direct: Vec<Value> = merged.iter().map(|_| self.value()).collect();
        let to_after = self.random.below(3) == 0;
        let second: (Block, &[Value]) = if to_after { (after, &direct) } else { (otherwise, &[]) };
        self.f.branch(condition, (then, &[]), second);
        let known = self.values.len();
        for block in [then, otherwise] {
            if block == otherwise && to_after {
                self.f.f.block_mut(block).terminator = Some((Terminator::Return(0.into()), Loc::default()));
                continue;
            }
            self.f.at = block;
            self.f.f.block_mut(block).cold = self.random.below(4) == 0;
            let statements = 1 + self.random.below(4);
            self.statements(statements, depth);
            let args: Vec<Value> = merged.iter().map(|_| self.value()).collect();
            self.f.jump(after, &args);
            self.values.truncate(known);
        }
        self.f.at = after;
        self.values.extend(merged);
    }

    /// A loop of a few rounds that carries values around, often exchanging them.
    fn counted_loop(&mut self, depth: u32) {
        self.loops += 1;
        let (head, test, body, done) = (self.f.block(), self.f.block(), self.f.block(), self.f.block());
        let carried: Vec<Value> = (0..2 + self.random.below(4)).map(|_| self.f.f.add_param(head)).collect();
        let mut args: Vec<Value> = carried.iter().map(|_| self.value()).collect();
        args[0] = self.f.constant(0);
        self.f.jump(head, &args);
        self.f.at = head;
        self.f.may_goto(test, done);
        self.f.at = test;
        // With a bound that the verifier knows it would walk the loop round by round.
        let bound = self.f.input(0);
        let rounds = self.f.binary(BinaryOp::And, bound, 7);
        self.f.branch(Condition::new(CompareOp::ULt, carried[0], rounds), (body, &[]), (done, &[]));
        self.f.at = body;
        let known = self.values.len();
        self.values.extend(&carried);
        // Static functions are verified at each call: one in nested loops takes the verifier too long.
        let callable = std::mem::take(&mut self.callable);
        let statements = 1 + self.random.below(4);
        self.statements(statements, depth);
        self.callable = callable;
        let mut args: Vec<Value> = carried.iter().map(|_| self.value()).collect();
        args[0] = self.f.binary(BinaryOp::Add, carried[0], 1);
        self.f.jump(head, &args);
        self.values.truncate(known);
        self.f.at = done;
        self.values.extend(carried);
    }
}
