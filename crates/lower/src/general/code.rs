//! Building a function of generated code: blocks, arena memory, calls.

use moonhook_ir as ir;
use moonhook_ir::{
    BinaryOp, Block, CompareOp, Condition, FunctionId, Op, Operand, Size, Target, Terminator, Value,
};

/// A function under construction and the block that code is appended to.
pub struct Code {
    pub function: ir::Function,
    pub block: Block,
    pub loc: ir::Loc,
}

impl Code {
    pub fn new(name: &str, kind: ir::FunctionKind, params: u32) -> Code {
        Code { function: ir::Function::new(name, kind, params), block: Block(0), loc: ir::Loc::default() }
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
        self.function.push(self.block, op, self.loc).unwrap_or(Value(0))
    }

    pub fn constant(&mut self, value: i64) -> Value {
        self.emit(Op::Const(value))
    }

    pub fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: impl Into<Operand>) -> Value {
        self.emit(Op::Binary(op, lhs, rhs.into()))
    }

    pub fn add(&mut self, lhs: Value, rhs: i64) -> Value {
        if rhs == 0 { lhs } else { self.binary(BinaryOp::Add, lhs, rhs as i32) }
    }

    /// What loads and stores take for the arena's byte with this offset.
    pub fn arena(&mut self, address: Value) -> Value {
        self.emit(Op::Unary(ir::UnaryOp::Arena, address))
    }

    pub fn load(&mut self, base: Value, disp: i64) -> Value {
        self.emit(Op::Load { size: Size::B8, signed: false, base, disp: disp as i16 })
    }

    /// A half-sized word, without sign.
    pub fn load_half(&mut self, base: Value, disp: i64) -> Value {
        self.emit(Op::Load { size: Size::B4, signed: false, base, disp: disp as i16 })
    }

    pub fn store(&mut self, base: Value, disp: i64, value: impl Into<Operand>) {
        let op = Op::Store { size: Size::B8, base, disp: disp as i16, value: value.into() };
        self.function.push(self.block, op, self.loc);
    }

    /// Stores a number of any size.
    pub fn store_constant(&mut self, base: Value, disp: i64, value: i64) {
        match i32::try_from(value) {
            Ok(imm) => self.store(base, disp, imm),
            Err(_) => {
                let value = self.constant(value);
                self.store(base, disp, value);
            }
        }
    }

    /// Copies the Lua value of 16 bytes.
    pub fn copy_value(&mut self, to: Value, to_disp: i64, from: Value, from_disp: i64) {
        let tag = self.load(from, from_disp);
        let payload = self.load(from, from_disp + 8);
        self.store(to, to_disp, tag);
        self.store(to, to_disp + 8, payload);
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
                let number = *number as i32;
                self.branch(CompareOp::Eq, key, number, (*block, args), (otherwise, args));
            }
            _ => {
                let (low, high) = targets.split_at(targets.len() / 2);
                let (left, _) = self.new_block(0);
                let (right, _) = self.new_block(0);
                self.branch(CompareOp::ULt, key, high[0].0 as i32, (left, &[]), (right, &[]));
                self.block = left;
                self.switch(key, low, otherwise, args);
                self.block = right;
                self.switch(key, high, otherwise, args);
            }
        }
    }
}
