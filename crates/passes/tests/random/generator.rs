//! Random programs: arithmetic, comparisons, branches that join, loops with may_goto, slots, data sections, checked packet
//! reads, helper calls. Every program ends, and no access of it faults.

use moonhook_ir::*;

/// A 64-bit xorshift (Marsaglia 2003): the same sequence on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub fn module(seed: u64, statements: usize) -> Module {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        random.next();
    }
    let map = |name: &str, kind| Map { name: name.into(), kind };
    let maps = vec![
        map("constants", MapKind::ReadOnlyData((0..32).map(|byte: u8| byte.wrapping_mul(77)).collect())),
        map("data", MapKind::Data(vec![0; 32])),
        map(maps::OPAQUE, MapKind::Data(vec![0; 8])),
    ];
    let function = Function::new("f", FunctionKind::Program { section: "xdp".into() }, 1);
    let mut generator = Generator { function, at: Block(0), values: Vec::new(), random, depth: 0 };
    generator.function.new_slot(16);
    generator.function.new_slot(32);
    generator.prologue();
    generator.statements(statements);
    let result = generator.value();
    generator.end(Terminator::Return(result.into()));
    Module { maps, functions: vec![generator.function], ..Module::default() }
}

struct Generator {
    function: Function,
    at: Block,
    /// The words that can be used here (no pointers: those stay within a statement).
    values: Vec<Value>,
    random: Random,
    depth: u32,
}

const CONSTANTS: [i64; 14] = [0, 1, -1, 2, 3, 8, 63, 64, 255, 0xffff, 1 << 31, 1 << 32, i64::MIN, i64::MAX];

impl Generator {
    fn op(&mut self, op: Op) -> Value {
        let loc = Loc { source: 0, line: self.function.value_count };
        self.function.push(self.at, op, loc).unwrap_or(Value(0))
    }

    fn end(&mut self, terminator: Terminator) {
        self.function.block_mut(self.at).terminator = Some((terminator, Loc::default()));
    }

    fn value(&mut self) -> Value {
        let recent = self.values.len().saturating_sub(6);
        let from = if self.random.below(3) == 0 { 0 } else { recent };
        self.values[from + self.random.below(self.values.len() - from)]
    }

    /// One of the words that the prologue has read from the packet: narrow, and available everywhere.
    fn narrow(&mut self) -> Value {
        self.values[1 + 2 * self.random.below(4)]
    }

    /// One of the prologue's words from -1 to 6 (of which the kernel's verifier knows no bounds).
    fn small(&mut self) -> Value {
        self.values[2 + 2 * self.random.below(4)]
    }

    fn operand(&mut self) -> Operand {
        match self.random.below(3) {
            0 => Operand::Imm(self.random.pick(&CONSTANTS) as i32),
            1 => Operand::Imm(self.random.below(12) as i32),
            _ => self.value().into(),
        }
    }

    fn condition(&mut self) -> Condition {
        use CompareOp::*;
        let op = self.random.pick(&[Eq, Ne, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, Test]);
        // Often a small word against a small constant, so that branches settle one another.
        let (lhs, rhs) = match self.random.below(2) {
            0 => (self.small(), Operand::Imm(self.random.below(10) as i32 - 1)),
            _ => (self.value(), self.operand()),
        };
        Condition { op, lhs, rhs }
    }

    fn prologue(&mut self) {
        let constant = self.op(Op::Const(5));
        self.values.push(constant);
        let slots = [(Slot(0), 16), (Slot(1), 32)];
        for (slot, size) in slots {
            let base = self.op(Op::SlotAddress(slot));
            for disp in (0..size).step_by(8) {
                self.op(Op::Store { size: Size::B8, base, disp, value: Operand::Imm(disp as i32) });
            }
        }
        for _ in 0..4 {
            self.packet_read();
            let read = self.values[self.values.len() - 1];
            let masked = self.op(Op::Binary(BinaryOp::And, read, Operand::Imm(7)));
            let small = self.op(Op::Binary(BinaryOp::Add, masked, Operand::Imm(-1)));
            self.values.push(small);
        }
    }

    fn statements(&mut self, count: usize) {
        for _ in 0..count {
            match self.random.below(20) {
                0..=7 => self.arithmetic(),
                8..=10 => self.slot_access(),
                11 => self.data_access(),
                12 => self.packet_read(),
                13 => {
                    let args = vec![self.value(), self.value()];
                    let id = self.random.pick(&[1, 2, 5, 44]);
                    let result = self.op(Op::Helper { id, args });
                    self.values.push(result);
                }
                14..=17 if self.depth < 5 => self.choice(),
                18 if self.depth < 3 => self.repetition(),
                18 => self.hide(),
                _ => self.arithmetic(),
            }
        }
    }

    fn arithmetic(&mut self) {
        use BinaryOp::*;
        use UnaryOp::*;
        let binary = [Add, Add, Sub, Mul, UDiv, UMod, SDiv, SMod, And, And, Or, Xor, Shl, LShr, AShr];
        let unary = [Neg, Swap16, Swap32, Swap64, SignExtend8, SignExtend16, SignExtend32, ZeroExtend32];
        let op = match self.random.below(9) {
            0 => Op::Const(self.random.pick(&CONSTANTS)),
            1 => Op::Compare(self.condition()),
            2 => Op::Unary(self.random.pick(&unary), self.value()),
            3 => Op::Unary(self.random.pick(&unary), self.narrow()),
            _ => Op::Binary(self.random.pick(&binary), self.value(), self.operand()),
        };
        let result = self.op(op);
        self.values.push(result);
    }

    /// A load or store at a constant offset, sometimes by way of pointer arithmetic.
    fn access(&mut self, mut base: Value, length: usize) {
        let size = self.random.pick(&[Size::B1, Size::B4, Size::B8, Size::B8]);
        // Few places, so that accesses meet.
        let mut disp = (4 * self.random.below((length - size as usize) / 4 + 1)).min(8) as i16;
        if self.random.below(2) == 0 {
            base = self.op(Op::Binary(BinaryOp::Add, base, Operand::Imm(disp as i32)));
            disp = 0;
        }
        match self.random.below(5) {
            0 | 1 => {
                let value = self.operand();
                self.op(Op::Store { size, base, disp, value });
            }
            2 => {
                let value = self.value();
                let old = self.op(Op::Atomic { op: AtomicOp::Add, size: Size::B8, base, disp: 0, value });
                self.values.push(old);
            }
            _ => self.load(size, base, disp),
        }
    }

    fn load(&mut self, size: Size, base: Value, disp: i16) {
        let signed = size != Size::B8 && self.random.below(3) == 0;
        let value = self.op(Op::Load { size, signed, base, disp });
        self.values.push(value);
    }

    fn slot_access(&mut self) {
        let slot = Slot(self.random.below(2) as u32);
        let base = self.op(Op::SlotAddress(slot));
        // Atomics at the start of what `access` chose need 8 bytes: only the second slot has room for all choices.
        if slot == Slot(0) {
            self.load(Size::B4, base, 12);
        } else {
            self.access(base, 24);
        }
    }

    /// A word that is combined with the zero that nobody writes.
    fn hide(&mut self) {
        let base = self.op(Op::DataAddress { map: MapId(2), offset: 0 });
        let zero = self.op(Op::Load { size: Size::B8, signed: false, base, disp: 0 });
        let word = self.value();
        let hidden = self.op(Op::Binary(BinaryOp::Xor, zero, word.into()));
        self.values.push(hidden);
    }

    fn data_access(&mut self) {
        let map = MapId(self.random.below(2) as u32);
        let offset = self.random.below(8) as u32;
        let base = self.op(Op::DataAddress { map, offset });
        if map == MapId(0) {
            let disp = self.random.below(16) as i16;
            self.load(Size::B4, base, disp);
        } else {
            self.access(base, 16);
        }
    }

    /// `value = bytes there or 0`, the way lowering checks packet bounds.
    fn packet_read(&mut self) {
        let context = Value(0);
        let start = self.op(Op::Load { size: Size::B4, signed: false, base: context, disp: 0 });
        let end = self.op(Op::Load { size: Size::B4, signed: false, base: context, disp: 4 });
        let offset = self.random.below(24) as i32;
        let limit = self.op(Op::Binary(BinaryOp::Add, start, Operand::Imm(offset + 4)));
        let (inside, outside) = (self.function.new_block(), self.function.new_block());
        let join = self.function.new_block();
        let [then, otherwise] = [outside, inside].map(|block| Target::new(block, vec![]));
        self.end(Terminator::Branch {
            condition: Condition::new(CompareOp::UGt, limit, end),
            then,
            otherwise,
        });
        self.at = outside;
        let zero = self.op(Op::Const(0));
        self.end(Terminator::Jump(Target::new(join, vec![zero])));
        self.at = inside;
        let base = self.op(Op::Binary(BinaryOp::Add, start, Operand::Imm(offset)));
        let size = self.random.pick(&[Size::B1, Size::B2, Size::B4]);
        let value = self.op(Op::Load { size, signed: false, base, disp: 0 });
        self.end(Terminator::Jump(Target::new(join, vec![value])));
        self.at = join;
        let value = self.function.add_param(join);
        self.values.push(value);
    }

    /// `if condition then … else … end`, with words that both sides pass on.
    fn choice(&mut self) {
        let (then, otherwise) = (self.function.new_block(), self.function.new_block());
        let join = self.function.new_block();
        let condition = self.condition();
        self.end(Terminator::Branch {
            condition,
            then: Target::new(then, vec![]),
            otherwise: Target::new(otherwise, vec![]),
        });
        let count = self.random.below(3);
        self.depth += 1;
        for side in [then, otherwise] {
            let known = self.values.len();
            self.at = side;
            let statements = self.random.below(4);
            self.statements(statements);
            let args = (0..count).map(|_| self.value()).collect();
            self.end(Terminator::Jump(Target::new(join, args)));
            self.values.truncate(known);
        }
        self.depth -= 1;
        self.at = join;
        for _ in 0..count {
            let param = self.function.add_param(join);
            self.values.push(param);
        }
        if self.random.below(3) == 0 {
            self.hide();
        }
    }

    /// A loop of a few rounds at most, whose body can leave it.
    fn repetition(&mut self) {
        let (head, body, after) =
            (self.function.new_block(), self.function.new_block(), self.function.new_block());
        let (zero, start) = (self.op(Op::Const(0)), self.value());
        self.end(Terminator::Jump(Target::new(head, vec![zero, start])));
        let (index, word) = (self.function.add_param(head), self.function.add_param(head));
        let known = self.values.len();
        self.values.extend([index, word]);
        self.at = head;
        self.end(Terminator::MayGoto { go: Target::new(body, vec![]), stop: Target::new(after, vec![word]) });
        self.at = body;
        self.depth += 1;
        let statements = 1 + self.random.below(4);
        self.statements(statements);
        self.depth -= 1;
        let next = self.op(Op::Binary(BinaryOp::Add, index, Operand::Imm(1)));
        let word = self.value();
        let rounds = self.random.below(6) as i32;
        self.end(Terminator::Branch {
            condition: Condition::new(CompareOp::ULt, next, rounds),
            then: Target::new(head, vec![next, word]),
            otherwise: Target::new(after, vec![word]),
        });
        self.values.truncate(known);
        self.at = after;
        let param = self.function.add_param(after);
        self.values.push(param);
    }
}
