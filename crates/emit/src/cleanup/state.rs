//! What is known at a place in the code.

use super::bounds::{self, Bounds, Value};
use super::parts::{Bytes, HELPER, PartSet, Parts, arguments};
use crate::assemble::CodeWord;
use crate::isa::{self, FRAME, Source, Word, class};
use crate::registers::{SAVED, bit, written};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp, eval, helper};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    registers: [Value; FRAME as usize],
    /// What words of the frame hold.
    slots: Vec<Slot>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Slot {
    place: i32,
    size: Size,
    value: Value,
    /// A register that holds the same, all of it.
    same: Option<u8>,
}

impl Slot {
    fn key(&self) -> (i32, Size) {
        (self.place, self.size)
    }
}

impl State {
    pub fn at_entry() -> State {
        State { registers: [Value::Any; FRAME as usize], slots: Vec::new() }
    }

    pub fn register(&self, register: u8) -> Value {
        if register == FRAME {
            return Value::Frame(0);
        }
        self.registers.get(usize::from(register)).copied().unwrap_or(Value::Any)
    }

    fn set(&mut self, register: u8, value: Value) {
        self.slots.iter_mut().filter(|slot| slot.same == Some(register)).for_each(|slot| slot.same = None);
        if let Some(known) = self.registers.get_mut(usize::from(register)) {
            *known = value;
        }
    }

    pub fn source(&self, word: &Word) -> Value {
        match word.source() {
            Source::Register(register) => self.register(register),
            Source::Imm(imm) => Value::number(i64::from(imm) as u64),
        }
    }

    /// The byte of the frame that a load or store begins at, if it surely accesses the frame.
    pub fn place(&self, word: &Word) -> Option<i32> {
        let base = if word.class() == class::LDX { word.src } else { word.dst };
        match self.register(base) {
            Value::Frame(offset) => Some(offset + i32::from(word.off)),
            _ => None,
        }
    }

    /// The bytes of the frame that a load or store accesses.
    pub fn bytes(&self, word: &Word) -> Option<Bytes> {
        let start = self.place(word)?;
        Some(start..start + word.size() as i32)
    }

    /// What holds here and there. Gives the parts of the frame whose addresses are no longer followed.
    pub fn join(&mut self, other: &State, parts: &Parts, is_wide: bool) -> PartSet {
        let mut lost = 0;
        for (known, other) in self.registers.iter_mut().zip(&other.registers) {
            lost |= lost_parts(*known, *other, parts);
            *known = widened(*known, *other, is_wide);
        }
        self.slots.retain_mut(|slot| {
            let Some(same) = other.slots.iter().find(|other| other.key() == slot.key()) else { return false };
            lost |= lost_parts(slot.value, same.value, parts);
            slot.value = widened(slot.value, same.value, is_wide);
            slot.same = slot.same.filter(|register| same.same == Some(*register));
            slot.value != Value::Any || slot.same.is_some()
        });
        lost
    }

    /// The state where a branch is taken, or is not; `None` where that cannot be.
    pub fn where_goes(&self, word: &Word, is_taken: bool) -> Option<State> {
        let (a, b) = (self.register(word.dst).bounds(), self.source(word).bounds());
        if bounds::compare(word, a, b).is_some_and(|goes| goes != is_taken) {
            return None;
        }
        let mut state = self.clone();
        let op = word.compare_op().and_then(|op| if is_taken { Some(op) } else { op.negated() });
        let is_followed = word.class() == class::JMP || a.most <= u64::from(u32::MAX);
        let number = match word.class() {
            class::JMP32 => b.low().known(),
            _ => b.known(),
        };
        if let (Some(op), Some(number), true) = (op, number, is_followed) {
            let holds = bounds::where_holds(op, a, number)?;
            if self.is_number(word.dst) || op == CompareOp::Eq {
                state.set(word.dst, Value::Number(holds));
            }
        }
        Some(state)
    }

    fn is_number(&self, register: u8) -> bool {
        matches!(self.register(register), Value::Number(_))
    }

    /// What is known behind a word. `next` is the one behind it; `escaped` are the parts of the frame that any address may lead to, more of
    /// them because of the word perhaps.
    pub fn step(&mut self, at: &CodeWord, next: Option<&CodeWord>, parts: &Parts, escaped: &mut PartSet) {
        let word = &at.word;
        match word.class() {
            _ if word.is_call() => self.call(word, parts, escaped),
            class::STX | class::ST => self.store(word, parts, escaped),
            _ if written(word) == 0 => {}
            class::LD => {
                let number = next.filter(|_| at.reference.is_none() && word.is_wide() && word.src == 0);
                let value = number.map_or(Value::Any, |next| {
                    Value::number(u64::from(word.imm as u32) | u64::from(next.word.imm as u32) << 32)
                });
                self.set(word.dst, value);
            }
            class::LDX => {
                let value = if at.reference.is_some() { Value::Any } else { self.loaded(word) };
                self.set(word.dst, value);
            }
            _ => {
                let value =
                    if at.reference.is_some() { Value::Any } else { self.computed(word, parts, escaped) };
                self.set(word.dst, value);
            }
        }
    }

    /// What it gives that a word computes, which is no load.
    fn computed(&self, word: &Word, parts: &Parts, escaped: &mut PartSet) -> Value {
        let is_long = word.class() == class::ALU64;
        let (a, b) = (self.register(word.dst), self.source(word));
        let mut lost =
            |values: &[Value]| values.iter().for_each(|value| *escaped |= of_address(*value, parts));
        if word.is_mov() {
            return match (is_long, word.off) {
                (true, 0) => b,
                (false, 0) => {
                    lost(&[b]);
                    Value::Number(b.bounds().low())
                }
                _ => {
                    lost(&[b]);
                    Value::Any
                }
            };
        }
        if word.is_swap() {
            lost(&[a]);
            return swapped(word, a);
        }
        let Some(op) = word.binary_op() else {
            lost(&[a]);
            return if is_long { Value::Any } else { Value::up_to(u32::MAX.into()) };
        };
        if let (Value::Frame(from), Some(by), true) = (a, b.known(), is_long) {
            let by = match op {
                BinaryOp::Add => i32::try_from(by as i64).ok(),
                BinaryOp::Sub => i32::try_from((by as i64).wrapping_neg()).ok(),
                _ => None,
            };
            if let Some(offset) =
                by.and_then(|by| from.checked_add(by)).filter(|offset| offset.abs() <= 1 << 15)
            {
                return Value::Frame(offset);
            }
        }
        lost(&[a, b]);
        let is_address = |value: Value| !matches!(value, Value::Number(_));
        match is_long {
            // Of what may be an address, nothing is said.
            true if is_address(a) || is_address(b) => Value::Any,
            true => Value::Number(bounds::binary(op, a.bounds(), b.bounds())),
            false => Value::Number(bounds::binary32(op, a.bounds(), b.bounds())),
        }
    }

    /// What a word gives that computes with numbers only.
    pub fn computed_number(&self, word: &Word) -> Value {
        self.computed(word, &Parts::none(), &mut 0)
    }

    /// The word of the frame that a plain load reads, if something is known of it.
    fn slot(&self, word: &Word) -> Option<&Slot> {
        let place = self.place(word)?;
        self.slots.iter().find(|slot| slot.key() == (place, word.size()) && word.is_plain_access())
    }

    /// A register that holds what a load gives.
    pub fn same(&self, word: &Word) -> Option<u8> {
        self.slot(word)?.same
    }

    pub fn loaded(&self, word: &Word) -> Value {
        if !word.is_plain_access() {
            return Value::Any;
        }
        let place = self.place(word);
        let of_size = match word.size() {
            Size::B1 => Value::up_to(0xff),
            Size::B2 => Value::up_to(0xffff),
            // Fields of contexts with 4 bytes are addresses, some of them.
            Size::B4 if place.is_some() => Value::up_to(u32::MAX.into()),
            Size::B4 | Size::B8 => Value::Any,
        };
        self.slot(word).map_or(of_size, |slot| slot.value)
    }

    fn store(&mut self, word: &Word, parts: &Parts, escaped: &mut PartSet) {
        let is_atomic = word.class() == class::STX && !word.is_plain_access();
        let value = if word.class() == class::ST {
            Value::number(i64::from(word.imm) as u64)
        } else {
            self.register(word.src)
        };
        // It may come back as any value.
        *escaped |= of_address(value, parts);
        match self.bytes(word) {
            Some(bytes) => {
                self.forget(&bytes);
                let value = match (word.size(), value) {
                    (Size::B8, value) => value,
                    (size, Value::Number(number)) => {
                        let most = (1 << (8 * size as u32)) - 1;
                        number.known().map_or(Value::up_to(most), |number| Value::number(number & most))
                    }
                    _ => Value::Any,
                };
                let is_whole = word.class() == class::STX && word.size() == Size::B8;
                let same = is_whole.then_some(word.src).filter(|register| *register != FRAME);
                if !is_atomic && (value != Value::Any || same.is_some()) {
                    let (place, size) = (bytes.start, word.size());
                    self.slots.push(Slot { place, size, value, same });
                    self.slots.sort_unstable_by_key(|slot| slot.place);
                }
            }
            None => self.forget_parts(*escaped, parts),
        }
        for register in (0..FRAME).filter(|register| written(word) & bit(*register) != 0) {
            self.set(register, Value::Any);
        }
    }

    fn call(&mut self, word: &Word, parts: &Parts, escaped: &mut PartSet) {
        let is_helper = word.src == HELPER;
        let given: PartSet =
            arguments(word).fold(0, |set, register| set | of_address(self.register(register), parts));
        if !is_helper {
            *escaped |= given;
        }
        if !(is_helper && helper::reads_only(word.imm as u32)) {
            self.forget_parts(*escaped | given, parts);
        }
        for register in (0..FRAME).filter(|register| !SAVED.contains(register)) {
            self.set(register, Value::Any);
        }
    }

    fn forget(&mut self, bytes: &Bytes) {
        self.slots.retain(|slot| slot.place >= bytes.end || slot.place + slot.size as i32 <= bytes.start);
    }

    fn forget_parts(&mut self, set: PartSet, parts: &Parts) {
        parts.bytes(set).for_each(|bytes| self.forget(&bytes));
    }
}

/// The part that an address is of.
pub fn of_address(value: Value, parts: &Parts) -> PartSet {
    match value {
        Value::Frame(offset) => parts.at(offset),
        _ => 0,
    }
}

fn lost_parts(a: Value, b: Value, parts: &Parts) -> PartSet {
    if a == b { 0 } else { of_address(a, parts) | of_address(b, parts) }
}

/// What holds of both; with `is_wide`, bounds that differ are none, so that loops come to an end.
fn widened(known: Value, other: Value, is_wide: bool) -> Value {
    match known.join(other) {
        Value::Number(Bounds { .. }) if is_wide && known != other => Value::Any,
        value => value,
    }
}

/// What a word gives that changes the order of bytes: little-endian machines have nothing to do for `le`.
fn swapped(word: &Word, value: Value) -> Value {
    let op = match word.imm {
        16 => UnaryOp::Swap16,
        32 => UnaryOp::Swap32,
        _ => UnaryOp::Swap64,
    };
    let most = if word.imm < 64 { (1 << word.imm) - 1 } else { u64::MAX };
    let is_little = word.code == class::ALU | isa::SWAP_TO_LITTLE;
    match value.known() {
        Some(number) if is_little => Value::number(number & most),
        Some(number) => Value::number(eval::unary(op, number)),
        // The verifier knows nothing of it.
        None => Value::up_to(u64::MAX),
    }
}
