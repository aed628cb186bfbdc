//! Appending IR to the current block, with constants folded and ranges tracked on the way.

use super::range::{Cond, Range, range_of_binary};
use super::{Address, Coder, Word};
use crate::{
    BinaryOp, Block, CompareOp, Condition, FieldFact, FunctionId, KernelField, Op, Operand, Size, Terminator,
    UnaryOp, Value, eval,
};

/// Operations on words, appended to the current block as far as they are not known.
pub trait Words: Coder {
    /// The block being appended to. Code that cannot be reached is appended to a block that nothing leads to.
    fn block(&mut self) -> Block {
        if let Some(block) = *self.current_block() {
            return block;
        }
        let code = self.code_mut();
        let (block, loc) = (code.function.new_block(), code.loc);
        code.function.block_mut(block).terminator = Some((Terminator::Return(Operand::Imm(0)), loc));
        block
    }

    /// Appends an operation that has a result.
    fn emit(&mut self, op: Op) -> Value {
        let block = self.block();
        let code = self.code_mut();
        code.function.push(block, op, code.loc).unwrap_or(Value::NONE)
    }

    fn emit_void(&mut self, op: Op) {
        let block = self.block();
        let code = self.code_mut();
        code.function.push(block, op, code.loc);
    }

    /// Ends the current block; nothing is appended until another one is entered.
    fn terminate(&mut self, terminator: Terminator) {
        if let Some(block) = self.current_block().take() {
            let code = self.code_mut();
            code.function.block_mut(block).terminator = Some((terminator, code.loc));
        }
    }

    fn set_range(&mut self, value: Value, range: Range) {
        self.code_mut().set_range(value, range);
    }

    fn range(&self, word: Word) -> Range {
        self.code().range(word)
    }

    /// The word as an SSA value.
    fn value(&mut self, word: Word) -> Value {
        match word {
            Word::Value(value) => value,
            Word::Imm(imm) => {
                let value = self.emit(Op::Const(imm));
                self.set_range(value, Range::exactly(imm));
                value
            }
        }
    }

    fn operand(&mut self, word: Word) -> Operand {
        match word {
            Word::Imm(imm) if i32::try_from(imm).is_ok() => Operand::Imm(imm as i32),
            word => Operand::Value(self.value(word)),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        let (mut a, mut b) = (a.into(), b.into());
        if let (Word::Imm(x), Word::Imm(y)) = (a, b) {
            return Word::Imm(eval::binary(op, x as u64, y as u64) as i64);
        }
        if matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
            && matches!(a, Word::Imm(_))
        {
            std::mem::swap(&mut a, &mut b);
        }
        match (op, b) {
            (
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Shl
                | BinaryOp::LShr
                | BinaryOp::AShr,
                Word::Imm(0),
            )
            | (BinaryOp::And, Word::Imm(-1))
            | (BinaryOp::Mul, Word::Imm(1)) => return a,
            (BinaryOp::And | BinaryOp::Mul, Word::Imm(0)) => return Word::Imm(0),
            _ => {}
        }
        let range = range_of_binary(op, self.range(a), self.range(b));
        let lhs = self.value(a);
        let rhs = self.operand(b);
        let value = self.emit(Op::Binary(op, lhs, rhs));
        self.set_range(value, range);
        self.code_mut().same.note_binary(op, a, b, value);
        let constant = match (op, b) {
            (BinaryOp::Add, Word::Imm(constant)) => Some(constant),
            (BinaryOp::Sub, Word::Imm(constant)) => Some(constant.wrapping_neg()),
            _ => None,
        };
        if let Some(constant) = constant {
            let (root, sum) = self.code_mut().sums.get(&lhs).copied().unwrap_or((lhs, 0));
            self.code_mut().sums.insert(value, (root, sum.wrapping_add(constant)));
        }
        Word::Value(value)
    }

    /// A word as another one plus a constant, as far as that is known.
    fn constant_part(&self, word: Word) -> (Word, i64) {
        match word {
            Word::Value(value) => match self.code().sums.get(&value) {
                Some((root, constant)) => (Word::Value(*root), *constant),
                None => (word, 0),
            },
            word => (word, 0),
        }
    }

    fn add(&mut self, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        self.binary(BinaryOp::Add, a, b)
    }

    fn sub(&mut self, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        self.binary(BinaryOp::Sub, a, b)
    }

    fn and(&mut self, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        self.binary(BinaryOp::And, a, b)
    }

    fn shl(&mut self, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        self.binary(BinaryOp::Shl, a, b)
    }

    fn shr(&mut self, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        self.binary(BinaryOp::LShr, a, b)
    }

    fn unary(&mut self, op: UnaryOp, a: impl Into<Word>) -> Word {
        let range = match op {
            UnaryOp::Swap16 => Range::up_to(0xffff),
            UnaryOp::Swap32 | UnaryOp::ZeroExtend32 => Range::up_to(0xffff_ffff),
            _ => Range::FULL,
        };
        match a.into() {
            Word::Imm(imm) if op != UnaryOp::Arena => Word::Imm(match op {
                UnaryOp::Neg => imm.wrapping_neg(),
                UnaryOp::Swap16 => i64::from((imm as u16).swap_bytes()),
                UnaryOp::Swap32 => i64::from((imm as u32).swap_bytes()),
                UnaryOp::Swap64 => imm.swap_bytes(),
                UnaryOp::SignExtend8 => i64::from(imm as i8),
                UnaryOp::SignExtend16 => i64::from(imm as i16),
                UnaryOp::SignExtend32 => i64::from(imm as i32),
                UnaryOp::ZeroExtend32 => i64::from(imm as u32),
                UnaryOp::Unlink | UnaryOp::Arena => imm,
            }),
            word => {
                let value = self.value(word);
                let value = self.emit(Op::Unary(op, value));
                self.set_range(value, range);
                Word::Value(value)
            }
        }
    }

    fn load(&mut self, base: Value, disp: i16, size: Size, signed: bool) -> Word {
        let value = self.emit(Op::Load { size, signed, base, disp });
        let bits = size as u32 * 8;
        let range = match (size, signed) {
            (Size::B8, _) => Range::FULL,
            (_, true) => Range { min: -(1 << (bits - 1)), max: (1 << (bits - 1)) - 1, ..Range::FULL },
            (_, false) => Range::up_to((1 << bits) - 1),
        };
        self.set_range(value, range);
        Word::Value(value)
    }

    /// The address of a field of the kernel's structure whose address `base` is.
    fn kernel_place(&mut self, base: Word, field: &'static KernelField) -> Word {
        let offset = self.emit(Op::FieldFact { field, fact: FieldFact::Offset });
        self.binary(BinaryOp::Add, base, offset)
    }

    /// A field of the kernel's structure whose address `base` is.
    fn kernel_field(&mut self, base: Value, field: &'static KernelField) -> Word {
        let value = self.emit(Op::KernelField { base, field });
        if field.size() != Size::B8 {
            self.set_range(value, Range::up_to((1 << (8 * field.size() as u32)) - 1));
        }
        Word::Value(value)
    }

    /// A number about a field of the kernel's structures.
    fn field_fact(&mut self, field: &'static KernelField, fact: FieldFact) -> Word {
        let value = self.emit(Op::FieldFact { field, fact });
        self.set_range(value, Range::up_to(i64::from(i32::MAX)));
        Word::Value(value)
    }

    /// `base + (offset & mask)`.
    fn masked(&mut self, base: Value, offset: Word, mask: i64) -> Address {
        let offset = self.kept_within(offset, mask);
        let offset = self.value(offset);
        let base = self.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
        Address { base, disp: 0 }
    }

    /// The word, if it is known to be at most `most` (and not negative), so that the verifier knows that too: with a mask where that may
    /// have been hidden from it.
    fn with_bounds(&mut self, word: Word, most: i64) -> Option<Word> {
        let range = self.range(word);
        if !range.within(0, most) {
            return None;
        }
        if range.is_seen_in(self.code().loop_start) {
            return Some(word);
        }
        let mask = range.mask();
        (mask <= most).then(|| self.kept_within(word, mask))
    }

    /// The offset, of which the verifier has to know that no bits are set but those of the mask. That it is known here is not enough: a
    /// loop that compares the offset may get a copy of which nothing is known ([`Words::launder`]).
    fn kept_within(&mut self, offset: Word, mask: i64) -> Word {
        if matches!(offset, Word::Imm(imm) if (0..=mask).contains(&imm)) {
            return offset;
        }
        let value = self.value(offset);
        let bounded = self.emit(Op::Binary(BinaryOp::And, value, Operand::Imm(mask as i32)));
        self.set_range(bounded, Range::up_to(mask));
        Word::Value(bounded)
    }

    /// The larger of two numbers whose difference is no less than `i64::MIN`, without a branch: the verifier has one path
    /// to follow, and knows nothing of the result.
    fn larger(&mut self, a: Word, b: Word) -> Word {
        let difference = self.sub(a, b);
        let less = self.binary(BinaryOp::AShr, difference, 63);
        let missing = self.and(difference, less);
        self.sub(a, missing)
    }

    /// The smaller of two numbers, as [`Words::larger`].
    fn smaller(&mut self, a: Word, b: Word) -> Word {
        let difference = self.sub(a, b);
        let less = self.binary(BinaryOp::AShr, difference, 63);
        let excess = self.and(difference, less);
        self.add(b, excess)
    }

    fn load_at(&mut self, address: Address, size: Size, signed: bool) -> Word {
        self.load(address.base, address.disp, size, signed)
    }

    fn store(&mut self, base: Value, disp: i16, size: Size, word: impl Into<Word>) {
        let value = self.operand(word.into());
        self.emit_void(Op::Store { size, base, disp, value });
    }

    fn helper(&mut self, id: u32, args: &[Word]) -> Word {
        let args = args.iter().map(|arg| self.value(*arg)).collect();
        Word::Value(self.emit(Op::Helper { id, args }))
    }

    /// A call of another function of the module.
    fn call_function(&mut self, function: FunctionId, args: &[Word]) -> Word {
        let args = args.iter().map(|arg| self.value(*arg)).collect();
        Word::Value(self.emit(Op::Call { function, args }))
    }

    /// Ends a function with its result.
    fn give(&mut self, result: impl Into<Word>) {
        let result = match result.into() {
            Word::Imm(imm) => Operand::Imm(imm as i32),
            Word::Value(value) => Operand::Value(value),
        };
        self.terminate(Terminator::Return(result));
    }

    /// The condition `a op b`, decided now if constants or ranges decide it.
    fn compare(&mut self, op: CompareOp, a: impl Into<Word>, b: impl Into<Word>) -> Cond {
        let (a, b) = (a.into(), b.into());
        match (a, b) {
            (Word::Imm(x), Word::Imm(y)) => Cond::Known(eval::compare(op, x as u64, y as u64)),
            (Word::Imm(_), Word::Value(_)) => self.compare(op.swapped(), b, a),
            (Word::Value(x), b) if Word::Value(x) == b => match op {
                CompareOp::Eq | CompareOp::ULe | CompareOp::UGe | CompareOp::SLe | CompareOp::SGe => {
                    Cond::Known(true)
                }
                CompareOp::Test => self.compare(CompareOp::Ne, a, 0),
                _ => Cond::Known(false),
            },
            (Word::Value(lhs), b) => match decided(op, self.range(a), self.range(b)) {
                Some(known) => Cond::Known(known),
                None => {
                    let rhs = self.operand(b);
                    Cond::Test(Condition { op, lhs, rhs })
                }
            },
        }
    }

    /// [`Words::compare`] for what the script compares: the verifier's proofs never rest on it. In a loop the verifier must
    /// not learn from it either. As long as it has not walked all of a loop it takes states for different that differ in
    /// what is known of any value (`is_state_visited`, kernel/bpf/verifier.c), so that a row of comparisons of different
    /// values would be walked in every combination.
    fn compare_apart(&mut self, op: CompareOp, a: impl Into<Word>, b: impl Into<Word>) -> Cond {
        let (a, b) = (a.into(), b.into());
        match self.compare(op, a, b) {
            Cond::Test(condition) if self.code().loop_start > 0 => {
                let lhs = self.emit(Op::Unary(UnaryOp::Unlink, condition.lhs));
                let rhs = match condition.rhs {
                    Operand::Value(value) => Operand::Value(self.emit(Op::Unary(UnaryOp::Unlink, value))),
                    imm => imm,
                };
                Cond::Test(Condition { lhs, rhs, ..condition })
            }
            cond => cond,
        }
    }

    /// A condition of which nothing is known.
    fn unknown_condition(&mut self) -> Cond {
        match self.launder(&[Word::Imm(0)]).first() {
            Some(word) => self.compare(CompareOp::Eq, *word, 0),
            None => Cond::Known(true),
        }
    }

    /// The condition as a word, 0 or 1.
    fn condition_word(&mut self, cond: Cond) -> Word {
        match cond {
            Cond::Known(known) => Word::Imm(known.into()),
            Cond::Test(condition) => {
                let value = self.emit(Op::Compare(condition));
                self.set_range(value, Range::up_to(1));
                Word::Value(value)
            }
        }
    }

    /// The same words with bounds that the verifier does not know. Loop variables are such at every entry of the loop's
    /// head, because only a variable that is unknown there lets the verifier see that one walk through the loop stands for
    /// all. What the verifier knows of a word depends on the path to it, so that no word can be left out; and the first
    /// entry is not enough, since what is left over on the stack may keep later ones from being compared with it.
    fn launder(&mut self, words: &[Word]) -> Vec<Word> {
        if words.is_empty() {
            return vec![];
        }
        let map = self.code().opaque_map;
        let base = self.emit(Op::DataAddress { map, offset: 0 });
        let zero = self.load(base, 0, Size::B8, false);
        let zero = self.value(zero);
        let mut laundered = Vec::with_capacity(words.len());
        for word in words {
            // Each is a value of its own: the verifier links copies of one.
            let op = match *word {
                Word::Imm(0) => Op::Unary(UnaryOp::Unlink, zero),
                word => Op::Binary(BinaryOp::Xor, zero, self.operand(word)),
            };
            laundered.push(Word::Value(self.emit(op)));
        }
        laundered
    }

    /// A word that may be another constant on each path to here, without what the verifier knows of it. Where it becomes
    /// part of an address, or is compared, the verifier would walk the code that follows once for each of the constants,
    /// and for their combinations with those of other words.
    fn unknown(&mut self, word: Word) -> Word {
        match word {
            Word::Imm(_) => word,
            word => self.launder(&[word]).pop().unwrap_or(word),
        }
    }
}

impl<T: Coder + ?Sized> Words for T {}

/// What the comparison gives, if the bounds of its operands tell.
fn decided(op: CompareOp, x: Range, y: Range) -> Option<bool> {
    let both_positive = x.min >= 0 && y.min >= 0;
    let less = |strict: bool| {
        if x.max < y.min || (!strict && x.max <= y.min) {
            Some(true)
        } else if x.min > y.max || (strict && x.min >= y.max) {
            Some(false)
        } else {
            None
        }
    };
    match op {
        CompareOp::Eq if x.max < y.min || x.min > y.max => Some(false),
        CompareOp::Ne if x.max < y.min || x.min > y.max => Some(true),
        CompareOp::SLt => less(true),
        CompareOp::SLe => less(false),
        CompareOp::SGt => less(false).map(|known| !known),
        CompareOp::SGe => less(true).map(|known| !known),
        CompareOp::ULt if both_positive => less(true),
        CompareOp::ULe if both_positive => less(false),
        CompareOp::UGt if both_positive => less(false).map(|known| !known),
        CompareOp::UGe if both_positive => less(true).map(|known| !known),
        _ => None,
    }
}
