//! Building a function: blocks, memory, calls.

use crate::{
    self as ir, BinaryOp, Block, CompareOp, Condition, FunctionId, Op, Operand, Size, Target, Terminator,
    Value,
};

/// A function under construction and the block that code is appended to.
pub struct Builder {
    pub function: ir::Function,
    pub block: Block,
    pub loc: ir::Loc,
}

impl Builder {
    pub fn new(name: &str, kind: ir::FunctionKind, params: u32) -> Builder {
        Builder { function: ir::Function::new(name, kind, params), block: Block(0), loc: ir::Loc::default() }
    }

    pub fn param(&self, index: usize) -> Value {
        self.function.params[index]
    }

    /// A block that takes `params` values.
    pub fn new_block(&mut self, params: usize) -> (Block, Vec<Value>) {
        let block = self.function.new_block();
        (block, (0..params).map(|_| self.function.add_param(block)).collect())
    }

    /// A block for what hardly ever happens.
    pub fn cold_block(&mut self, params: usize) -> (Block, Vec<Value>) {
        let made = self.new_block(params);
        self.function.block_mut(made.0).cold = true;
        made
    }

    pub fn emit(&mut self, op: Op) -> Value {
        // Only stores have no result, and those go through `store`.
        self.function.push(self.block, op, self.loc).unwrap_or(Value::NONE)
    }

    pub fn constant(&mut self, value: i64) -> Value {
        self.emit(Op::Const(value))
    }

    /// A number of any size as an operand: part of the instruction where it fits.
    pub fn number(&mut self, value: i64) -> Operand {
        match i32::try_from(value) {
            Ok(imm) => Operand::Imm(imm),
            Err(_) => Operand::Value(self.constant(value)),
        }
    }

    /// The place `disp` bytes behind `base`, as loads and stores take it: part of the instruction where it fits.
    fn place(&mut self, base: Value, disp: i64) -> (Value, i16) {
        match i16::try_from(disp) {
            Ok(disp) => (base, disp),
            Err(_) => (self.add(base, disp), 0),
        }
    }

    pub fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: impl Into<Operand>) -> Value {
        self.emit(Op::Binary(op, lhs, rhs.into()))
    }

    pub fn add(&mut self, lhs: Value, rhs: i64) -> Value {
        if rhs == 0 {
            return lhs;
        }
        let rhs = self.number(rhs);
        self.binary(BinaryOp::Add, lhs, rhs)
    }

    /// What loads and stores take for the arena's byte with this offset.
    pub fn arena(&mut self, address: Value) -> Value {
        self.emit(Op::Unary(ir::UnaryOp::Arena, address))
    }

    pub fn load(&mut self, base: Value, disp: i64) -> Value {
        let (base, disp) = self.place(base, disp);
        self.emit(Op::Load { size: Size::B8, signed: false, base, disp })
    }

    /// A half-sized word, without sign.
    pub fn load_half(&mut self, base: Value, disp: i64) -> Value {
        let (base, disp) = self.place(base, disp);
        self.emit(Op::Load { size: Size::B4, signed: false, base, disp })
    }

    pub fn store(&mut self, base: Value, disp: i64, value: impl Into<Operand>) {
        let (base, disp) = self.place(base, disp);
        let op = Op::Store { size: Size::B8, base, disp, value: value.into() };
        self.function.push(self.block, op, self.loc);
    }

    /// Copies so many bytes, which are whole words.
    pub fn copy_words(&mut self, bytes: i64, from: (Value, i64), to: (Value, i64)) {
        for offset in (0..bytes).step_by(8) {
            let word = self.load(from.0, from.1 + offset);
            self.store(to.0, to.1 + offset, word);
        }
    }

    /// Stores a number of any size.
    pub fn store_constant(&mut self, base: Value, disp: i64, value: i64) {
        let value = self.number(value);
        self.store(base, disp, value);
    }

    pub fn call(&mut self, function: FunctionId, args: &[Value]) -> Value {
        self.emit(Op::Call { function, args: args.to_vec() })
    }

    pub fn terminate(&mut self, terminator: Terminator) {
        let block = self.function.block_mut(self.block);
        if block.terminator.is_none() {
            block.terminator = Some((terminator, self.loc));
        }
    }

    pub fn jump(&mut self, block: Block, args: &[Value]) {
        self.terminate(Terminator::Jump(Target::new(block, args.to_vec())));
    }

    pub fn ret(&mut self, value: impl Into<Operand>) {
        self.terminate(Terminator::Return(value.into()));
    }

    /// Ends the block with a test; the blocks take the given arguments.
    pub fn branch(
        &mut self,
        op: CompareOp,
        lhs: Value,
        rhs: impl Into<Operand>,
        then: (Block, &[Value]),
        otherwise: (Block, &[Value]),
    ) {
        self.terminate(Terminator::Branch {
            condition: Condition::new(op, lhs, rhs),
            then: Target::new(then.0, then.1.to_vec()),
            otherwise: Target::new(otherwise.0, otherwise.1.to_vec()),
        });
    }

    /// Goes on in a new block unless the condition holds, in which case `to` is entered.
    pub fn leave_if(
        &mut self,
        op: CompareOp,
        lhs: Value,
        rhs: impl Into<Operand>,
        to: Block,
        args: &[Value],
    ) {
        let (next, _) = self.new_block(0);
        self.branch(op, lhs, rhs, (to, args), (next, &[]));
        self.block = next;
    }

    /// Enters one of the targets by number, by binary search; `otherwise` where none has it. The targets are sorted.
    pub fn switch(&mut self, key: Value, targets: &[(i64, Block)], otherwise: Block, args: &[Value]) {
        match targets {
            [] => self.jump(otherwise, args),
            [(number, block)] => {
                let number = self.number(*number);
                self.branch(CompareOp::Eq, key, number, (*block, args), (otherwise, args));
            }
            _ => {
                let (low, high) = targets.split_at(targets.len() / 2);
                let (left, _) = self.new_block(0);
                let (right, _) = self.new_block(0);
                let middle = self.number(high[0].0);
                self.branch(CompareOp::ULt, key, middle, (left, &[]), (right, &[]));
                self.block = left;
                self.switch(key, low, otherwise, args);
                self.block = right;
                self.switch(key, high, otherwise, args);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an instruction has no room for comes out of a register, whole.
    #[test]
    fn numbers_and_displacements_keep_their_value() {
        let kind = ir::FunctionKind::Subprogram { global: false, context: None };
        let mut code = Builder::new("f", kind, 1);
        let base = code.param(0);
        let bounds =
            [0, 1, i64::from(i32::MAX), i64::from(i32::MIN), i64::from(u32::MAX), i64::MAX, i64::MIN];
        for value in bounds.into_iter().chain([i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1]) {
            let number = code.number(value);
            let known = match number {
                Operand::Imm(imm) => i64::from(imm),
                Operand::Value(made) => constant(&code, made),
            };
            assert_eq!((known, matches!(number, Operand::Imm(_))), (value, i32::try_from(value).is_ok()));
        }
        for (disp, fits) in [(0, true), (32767, true), (-32768, true), (32768, false), (-32769, false)] {
            let (place, rest) = code.place(base, disp);
            assert_eq!((place == base, i64::from(rest) == disp), (fits, fits), "{disp}");
            assert!(fits || rest == 0);
        }
    }

    fn constant(code: &Builder, value: Value) -> i64 {
        let insts = &code.function.blocks[code.block.0 as usize].insts;
        insts
            .iter()
            .find_map(|inst| match (&inst.op, inst.result) {
                (Op::Const(number), Some(result)) if result == value => Some(*number),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{value:?} is no constant"))
    }
}
