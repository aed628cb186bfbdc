//! Random code before and after: what it gives, and what it leaves in memory.

use super::parts::arguments;
use super::run;
use crate::assemble::CodeWord;
use crate::common::random::Random;
use crate::isa::{self, FRAME, Source, Word, class};
use crate::lines::jump_of;
use crate::program::Code;
use crate::registers::bit;
use moonhook_ir::{BinaryOp, CompareOp, Loc, Size, UnaryOp, eval, helper};
use std::ops::Range;

/// The parts of the frames. In the first one is an address that is stored.
const PARTS: [Range<i32>; 4] = [-8..0, -16..-8, -40..-16, -64..-40];
const KEPT: (u8, i16) = (FRAME, -8);
/// Another address is in the memory's last word.
const KEPT_IN_MEMORY: (u8, i16) = (9, WRITTEN as i16);
const WRITTEN: usize = MEMORY_SIZE - 8;

/// Addresses of the frame's end, and of memory that the code is given in r1.
const STACK: u64 = 0x7f00_0000_0000;
const MEMORY: u64 = 0x5000_0000_0000;
const MEMORY_SIZE: usize = 64;

/// A helper that does what it likes with what it is given.
const UNKNOWN: i32 = 4000;

const OPS: [BinaryOp; 13] = {
    use BinaryOp::*;
    [Add, Sub, Mul, UDiv, UMod, SDiv, SMod, And, Or, Xor, Shl, LShr, AShr]
};
const COMPARISONS: [CompareOp; 11] = {
    use CompareOp::*;
    [Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, Test]
};
/// Mostly the one whose values are followed.
const SIZES: [Size; 7] = [Size::B1, Size::B2, Size::B4, Size::B8, Size::B8, Size::B8, Size::B8];

/// What a register holds, as far as one may use it.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Nothing,
    Number,
    /// An address in the frame, or in memory.
    Frame(i32),
    Memory,
}

struct Generator {
    random: Random,
    words: Vec<Word>,
    kinds: [Kind; 10],
    /// What is in [`KEPT`] and [`KEPT_IN_MEMORY`], if it is an address.
    kept: [Option<i32>; 2],
}

impl Generator {
    fn code(seed: u64) -> Code {
        let mut kinds = [Kind::Nothing; 10];
        (kinds[1], kinds[2], kinds[3]) = (Kind::Memory, Kind::Number, Kind::Number);
        let mut generator =
            Generator { random: Random::new(seed), words: Vec::new(), kinds, kept: [None; 2] };
        generator.words.push(isa::mov(9, Source::Register(1)));
        generator.kinds[9] = Kind::Memory;
        for register in [0, 4, 6, 7] {
            generator.number(register);
        }
        generator.statements(0);
        for (place, register) in (0..9).enumerate() {
            if generator.kinds[register as usize] == Kind::Number && generator.random.below(3) > 0 {
                generator.words.push(isa::store(
                    Size::B8,
                    9,
                    8 * (place as i16 % 7),
                    Source::Register(register),
                ));
            }
        }
        let result = generator.any_number();
        generator.words.extend([isa::mov(0, Source::Register(result)), isa::exit()]);
        let words = generator.words.into_iter();
        let words = words.map(|word| CodeWord { word, loc: Loc::default(), reference: None }).collect();
        Code { words, offset: 0, stack: 64, parts: PARTS.to_vec() }
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..6 + self.random.below(14 - 4 * depth) {
            match self.random.below(14) {
                0..3 => self.compute(),
                3 => {
                    let register = self.free();
                    self.number(register);
                }
                4 | 5 => self.take_address(),
                6 | 7 => self.store(),
                8..11 => self.load(),
                11 => self.call(),
                _ if depth < 3 => self.branch(depth),
                _ => {}
            }
        }
    }

    /// A register that may be given a value; r9 keeps the memory's address.
    fn free(&mut self) -> u8 {
        self.random.below(9) as u8
    }

    fn number(&mut self, register: u8) {
        let number = self.random.operand();
        match self.random.below(3) {
            0 => self.words.extend(isa::load_imm64(register, number as i64)),
            1 => self.words.push(isa::mov(register, Source::Imm(number as i32))),
            _ => self.words.push(isa::mov(register, Source::Imm((number % 5) as i32))),
        }
        self.kinds[usize::from(register)] = Kind::Number;
    }

    /// A register with a number.
    fn any_number(&mut self) -> u8 {
        let kinds = self.kinds;
        let numbers: Vec<u8> = (0..9).filter(|register| kinds[*register as usize] == Kind::Number).collect();
        if numbers.is_empty() {
            let register = self.free();
            self.number(register);
            return register;
        }
        self.random.pick(&numbers)
    }

    fn compute(&mut self) {
        let (register, op) = (self.any_number(), self.random.pick(&OPS));
        let is_long = self.random.below(2) == 0;
        let source = match self.random.below(3) {
            0 => Source::Register(self.any_number()),
            _ => Source::Imm(self.immediate(op)),
        };
        let word = match self.random.below(8) {
            0 => isa::mov32(self.free(), register),
            1 => isa::mov(self.free(), Source::Register(register)),
            2 => isa::byte_swap(register, self.random.pick(&[16, 32, 64])),
            3 => isa::mov_sign_extended(self.free(), register, self.random.pick(&[8, 16, 32])),
            4 => isa::negate(register),
            _ => isa::binary(op, register, source),
        };
        let class = if is_long || word.off > 1 || word.is_swap() { word.class() } else { class::ALU };
        self.words.push(Word { code: word.code & !7 | class, ..word });
        self.kinds[usize::from(word.dst)] = Kind::Number;
    }

    fn immediate(&mut self, op: BinaryOp) -> i32 {
        let number = self.random.operand() as i32;
        match op {
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => number & 31,
            _ if number == 0 => 1,
            _ => number,
        }
    }

    /// A byte of a part from which on there are so many more, aligned.
    fn place(&mut self, size: Size) -> i32 {
        let part = self.random.pick(&[1, 1, 2, 3]);
        let size = size as i32;
        let slots = (PARTS[part].end - PARTS[part].start) / size;
        PARTS[part].start + size * self.random.below(slots as usize) as i32
    }

    fn take_address(&mut self) {
        let (register, place) = (self.free(), self.place(Size::B8));
        let number = self.random.below(2);
        let (base, off) = [KEPT, KEPT_IN_MEMORY][number];
        if let (Some(kept), 0) = (self.kept[number], self.random.below(2)) {
            self.words.push(isa::load(Size::B8, false, register, base, off));
            self.kinds[usize::from(register)] = Kind::Frame(kept);
            return;
        }
        self.words.push(isa::mov(register, Source::Register(FRAME)));
        self.words.push(isa::binary(BinaryOp::Add, register, Source::Imm(place)));
        self.kinds[usize::from(register)] = Kind::Frame(place);
        if self.random.below(2) == 0 {
            self.words.push(isa::store(Size::B8, base, off, Source::Register(register)));
            self.kept[number] = Some(place);
        }
    }

    /// A base, a displacement, and whether they are of the frame, for an access of that size.
    fn target(&mut self, size: Size) -> (u8, i16) {
        let kinds = self.kinds;
        let addresses: Vec<u8> =
            (0..9).filter(|register| matches!(kinds[*register as usize], Kind::Frame(_))).collect();
        match self.random.below(5) {
            0 => (9, (size as usize * self.random.below(WRITTEN / size as usize)) as i16),
            1..4 if !addresses.is_empty() => {
                let register = self.random.pick(&addresses);
                let Kind::Frame(base) = kinds[usize::from(register)] else { unreachable!() };
                let part = PARTS.iter().find(|part| part.contains(&base)).unwrap();
                let slots = (part.end - part.start) / size as i32;
                let place = part.start + size as i32 * self.random.below(slots as usize) as i32;
                (register, (place - base) as i16)
            }
            _ => (FRAME, self.place(size) as i16),
        }
    }

    fn store(&mut self) {
        let size = self.random.pick(&SIZES);
        let register = self.any_number();
        let (base, off) = self.target(size);
        let word = match self.random.below(6) {
            0 if matches!(size, Size::B4 | Size::B8) => {
                let fetch = self.random.below(2) == 0;
                isa::atomic((moonhook_ir::AtomicOp::Add, size), base, off, register, fetch)
            }
            1..4 => isa::store(size, base, off, Source::Imm(self.random.operand() as i32)),
            _ => isa::store(size, base, off, Source::Register(register)),
        };
        self.words.push(word);
    }

    fn load(&mut self) {
        let size = self.random.pick(&SIZES);
        let (base, off) = self.target(size);
        let register = self.free();
        self.words.push(isa::load(size, self.random.below(4) == 0, register, base, off));
        self.kinds[usize::from(register)] = Kind::Number;
    }

    fn call(&mut self) {
        let id = self.random.pick(&[UNKNOWN, helper::MAP_LOOKUP_ELEM as i32, helper::KTIME_GET_NS as i32]);
        let call = isa::call_helper(id);
        for register in arguments(&call) {
            match self.random.below(3) {
                0 => {
                    let place = self.place(Size::B8);
                    self.words.push(isa::mov(register, Source::Register(FRAME)));
                    self.words.push(isa::binary(BinaryOp::Add, register, Source::Imm(place)));
                }
                _ => self.number(register),
            }
        }
        self.words.push(call);
        self.kinds[..6].fill(Kind::Nothing);
        self.kinds[0] = Kind::Number;
    }

    /// `if` with an `else` perhaps; what is an address in one of them only is none behind them.
    fn branch(&mut self, depth: usize) {
        let (register, op) = (self.any_number(), self.random.pick(&COMPARISONS));
        let source = match self.random.below(3) {
            0 => Source::Register(self.any_number()),
            1 => Source::Imm((self.random.word() % 5) as i32),
            _ => Source::Imm(self.random.operand() as i32),
        };
        let start = self.words.len();
        let word = isa::jump_if(op, register, source, 0);
        let class = self.random.pick(&[class::JMP, class::JMP32]);
        self.words.push(Word { code: word.code & !7 | class, ..word });
        let (kinds, kept) = (self.kinds, self.kept);
        self.statements(depth + 1);
        let has_else = self.random.below(2) == 0;
        if has_else {
            self.words.push(isa::jump(0));
        }
        self.words[start].off = (self.words.len() - start - 1) as i16;
        let (after, kept_after) = (self.kinds, self.kept);
        (self.kinds, self.kept) = (kinds, kept);
        if has_else {
            let end = self.words.len();
            self.statements(depth + 1);
            self.words[end - 1].off = (self.words.len() - end) as i16;
        }
        for (kind, other) in self.kinds.iter_mut().zip(after) {
            if *kind != other {
                *kind = Kind::Nothing;
            }
        }
        for (kept, after) in self.kept.iter_mut().zip(kept_after) {
            *kept = kept.filter(|kept| after == Some(*kept));
        }
    }
}

/// What code gives, and the memory that it leaves.
struct Machine {
    registers: [u64; 11],
    frame: [u8; 512],
    memory: [u8; MEMORY_SIZE],
    /// What is in registers that calls leave without a value.
    junk: u64,
}

impl Machine {
    fn run(code: &Code, inputs: [u64; 2], junk: u64) -> (u64, [u8; MEMORY_SIZE]) {
        let mut registers = [junk; 11];
        (registers[1], registers[2], registers[3]) = (MEMORY, inputs[0], inputs[1]);
        registers[usize::from(FRAME)] = STACK;
        let mut machine = Machine { registers, frame: [0x5a; 512], memory: [0; MEMORY_SIZE], junk };
        let mut at = 0;
        while code.words[at].word != isa::exit() {
            at = machine.step(&code.words, at);
        }
        (machine.registers[0], machine.memory)
    }

    fn step(&mut self, words: &[CodeWord], at: usize) -> usize {
        let word = words[at].word;
        match word.class() {
            _ if word.is_call() => self.call(&word),
            class::LD => {
                let high = words[at + 1].word.imm as u32;
                self.registers[usize::from(word.dst)] = u64::from(word.imm as u32) | u64::from(high) << 32;
                return at + 2;
            }
            class::LDX | class::ST | class::STX => self.access(&word),
            class::JMP | class::JMP32 => {
                let is_taken = word.compare_op().is_none_or(|op| {
                    let of = |number: u64| {
                        if word.class() == class::JMP32 { number as i32 as u64 } else { number }
                    };
                    eval::compare(op, of(self.registers[usize::from(word.dst)]), of(self.source(&word)))
                });
                return if is_taken { jump_of(&word).unwrap().target(at) } else { at + 1 };
            }
            _ => self.registers[usize::from(word.dst)] = self.computed(&word),
        }
        at + 1
    }

    fn source(&self, word: &Word) -> u64 {
        match word.source() {
            Source::Register(register) => self.registers[usize::from(register)],
            Source::Imm(imm) => i64::from(imm) as u64,
        }
    }

    fn computed(&self, word: &Word) -> u64 {
        let (a, b) = (self.registers[usize::from(word.dst)], self.source(word));
        let is_long = word.class() == class::ALU64;
        let short = |number: u64| if is_long { number } else { u64::from(number as u32) };
        if word.is_mov() {
            let op = match word.off {
                8 => UnaryOp::SignExtend8,
                16 => UnaryOp::SignExtend16,
                32 => UnaryOp::SignExtend32,
                _ => return short(b),
            };
            return short(eval::unary(op, b));
        }
        if word.is_swap() {
            let op = match word.imm {
                16 => UnaryOp::Swap16,
                32 => UnaryOp::Swap32,
                _ => UnaryOp::Swap64,
            };
            return eval::unary(op, a);
        }
        let Some(op) = word.binary_op() else { return short(a.wrapping_neg()) };
        if is_long {
            return eval::binary(op, a, b);
        }
        let (a, b) = (a as u32, b as u32);
        let signed = |number: u32| number as i32 as u64;
        let result = match op {
            BinaryOp::Shl => return (a << (b & 31)).into(),
            BinaryOp::LShr => return (a >> (b & 31)).into(),
            BinaryOp::AShr => ((a as i32) >> (b & 31)) as u64,
            BinaryOp::SDiv | BinaryOp::SMod => eval::binary(op, signed(a), signed(b)),
            _ => eval::binary(op, a.into(), b.into()),
        };
        short(result)
    }

    fn bytes(&mut self, address: u64, size: usize) -> &mut [u8] {
        match address {
            MEMORY..STACK if address < MEMORY + MEMORY_SIZE as u64 => {
                let start = (address - MEMORY) as usize;
                &mut self.memory[start..start + size]
            }
            _ => {
                let start = (address + 512 - STACK) as usize;
                &mut self.frame[start..start + size]
            }
        }
    }

    fn access(&mut self, word: &Word) {
        let base = if word.class() == class::LDX { word.src } else { word.dst };
        let address = self.registers[usize::from(base)].wrapping_add(word.off as u64);
        let size = word.size() as usize;
        let mut old = [0; 8];
        old[..size].copy_from_slice(self.bytes(address, size));
        let old = u64::from_le_bytes(old);
        let is_plain = word.is_plain_access();
        match word.class() {
            class::LDX => {
                let unused = 64 - 8 * size as u32;
                let value = if is_plain { old } else { ((old << unused) as i64 >> unused) as u64 };
                self.registers[usize::from(word.dst)] = value;
            }
            _ => {
                let value = if word.class() == class::ST {
                    word.imm as u64
                } else {
                    self.registers[usize::from(word.src)]
                };
                let value = if is_plain { value } else { old.wrapping_add(value) };
                self.bytes(address, size).copy_from_slice(&value.to_le_bytes()[..size]);
                if word.is_fetching() {
                    self.registers[usize::from(word.src)] = old;
                }
            }
        }
    }

    /// What a helper is given, and the parts of the frame that it is given addresses of, from there on, is what it gives; one that is not known
    /// reads all of them, and writes into them.
    fn call(&mut self, word: &Word) {
        let mut sum = word.imm as u64;
        let mut mix = |number: u64| sum = (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let given: Vec<u64> = arguments(word).map(|register| self.registers[usize::from(register)]).collect();
        let mut parts = Vec::new();
        // What is stored where it sees it is as good as given.
        let stored = self.memory[WRITTEN..].try_into().map_or(0, u64::from_le_bytes);
        let stored = Some(stored).filter(|_| word.imm == UNKNOWN);
        for argument in given.into_iter().chain(stored) {
            mix(argument);
            let place = argument.wrapping_sub(STACK) as i64;
            if let Some(part) =
                PARTS.iter().find(|part| (i64::from(part.start)..part.end.into()).contains(&place))
            {
                let start = if word.imm == UNKNOWN { part.start } else { place as i32 };
                self.frame[(start + 512) as usize..(part.end + 512) as usize]
                    .iter()
                    .for_each(|byte| mix((*byte).into()));
                parts.push(part.clone());
            }
        }
        for part in parts.into_iter().filter(|_| word.imm == UNKNOWN) {
            for place in part {
                self.frame[(place + 512) as usize] = (sum >> (place & 7)) as u8;
            }
        }
        for register in (0..6).filter(|register| bit(*register) != 0) {
            self.registers[usize::from(register)] = self.junk;
        }
        self.registers[0] = sum;
    }
}

#[test]
fn what_is_left_does_the_same() {
    let (mut words, mut less) = (0, 0);
    for seed in 0..20_000 {
        let code = Generator::code(seed);
        let Some(after) = run(&code) else { continue };
        (words, less) = (words + code.words.len(), less + code.words.len() - after.words.len());
        let mut random = Random::new(seed ^ 0x77);
        for _ in 0..6 {
            let inputs = [random.operand(), random.operand()];
            let texts =
                |code: &Code| code.words.iter().map(|at| format!("{:?}\n", at.word)).collect::<String>();
            let expected = Machine::run(&code, inputs, 0xdead);
            let is = Machine::run(&after, inputs, 0xbeef);
            assert!(
                expected == is,
                "seed {seed}, {inputs:x?}: {expected:x?}, {is:x?}\n{}\n{}",
                texts(&code),
                texts(&after)
            );
        }
    }
    assert!(words > 150_000 && less > words / 4, "{less} words less of {words}");
}
