//! Instruction selection: a function of the IR becomes a [`MachineFunction`].
//!
//! Folds constants into immediates, stack addresses into displacements and comparisons into branches; makes constants
//! and addresses anew where they are used instead of keeping them in registers; leaves out what nothing needs.

use crate::error::EmitError;
use crate::frame::SlotOffsets;
use crate::machine::*;
use crate::order::{self, DIRECT, Item, Order};
use crate::values::{self, Definition, Values};
use moonhook_ir::{
    BinaryOp, Block, Condition, Function, Inst, Loc, MapKind, Module, Op, Operand, Size, Target, Terminator,
    UnaryOp, Value,
};
use regalloc2::{Operand as Constraint, OperandConstraint, OperandKind, OperandPos, RegClass, VReg};

/// What the kernel passes in registers: r1 to r5.
const MAX_ARGUMENTS: usize = 5;

/// Addresses and wide constants made in the current block that a later use may share; a few, so that they do not
/// crowd out other values.
const SHARED: usize = 3;

struct Selector<'a> {
    module: &'a Module,
    function: &'a Function,
    slots: &'a SlotOffsets,
    values: Values,
    out: MachineFunction,
    shared: Vec<(Definition, VReg)>,
    loc: Loc,
}

/// Selects instructions for `function`.
pub fn select(
    module: &Module,
    function: &Function,
    slots: &SlotOffsets,
) -> Result<MachineFunction, EmitError> {
    let order = order::order(function)?;
    if function.params.len() > MAX_ARGUMENTS {
        return Err(malformed(function, "more than 5 parameters"));
    }
    let rpo = function.reverse_postorder().map_err(|problem| malformed(function, &problem))?;
    let values = values::analyse(function, &rpo);
    let out = MachineFunction::new(function.value_count as usize);
    let mut selector =
        Selector { module, function, slots, values, out, shared: Vec::new(), loc: Loc::default() };
    for item in &order.items {
        selector.item(*item, &order)?;
    }
    selector.link_predecessors();
    Ok(selector.out)
}

fn malformed(function: &Function, problem: &str) -> EmitError {
    EmitError::Malformed { problem: format!("{}: {problem}", function.name) }
}

fn vreg(value: Value) -> VReg {
    VReg::new(value.index(), RegClass::Int)
}

/// A use that must not share a register with the result.
fn late_use(vreg: VReg) -> Constraint {
    Constraint::new(vreg, OperandConstraint::Reg, OperandKind::Use, OperandPos::Late)
}

impl Selector<'_> {
    fn item(&mut self, item: Item, order: &Order) -> Result<(), EmitError> {
        let first = self.out.insts.len() as u32;
        self.out.blocks.push(MachineBlock { first, ..Default::default() });
        self.shared.clear();
        match item {
            Item::Entry => {
                self.params();
                self.jump(order.blocks[0], Vec::new());
            }
            Item::Block(block) => self.block(block, order)?,
            Item::Edge(from, n) => {
                let Some((terminator, loc)) = &self.function.block(from).terminator else {
                    return Err(malformed(self.function, "a block without terminator"));
                };
                self.loc = *loc;
                self.pass(terminator.targets()[n], order)?;
            }
        }
        self.current().end = self.out.insts.len() as u32;
        Ok(())
    }

    fn block(&mut self, block: Block, order: &Order) -> Result<(), EmitError> {
        let function = self.function;
        let data = function.block(block);
        self.current().params = data.params.iter().copied().map(vreg).collect();
        let starts_here = order.blocks[0] == 0;
        if block.index() == 0 && starts_here {
            self.params();
        }
        for inst in &data.insts {
            self.loc = inst.loc;
            self.inst(inst)?;
        }
        let Some((terminator, loc)) = &data.terminator else {
            return Err(malformed(function, "a block without terminator"));
        };
        self.loc = *loc;
        self.terminator(block, terminator, order)
    }

    fn current(&mut self) -> &mut MachineBlock {
        let last = self.out.blocks.len() - 1;
        &mut self.out.blocks[last]
    }

    fn params(&mut self) {
        let operands: Vec<Constraint> = (self.function.params.iter().enumerate())
            .map(|(index, param)| Constraint::reg_fixed_def(vreg(*param), physical(index + 1)))
            .collect();
        self.push(Machine::Params, &operands);
    }

    fn push(&mut self, op: Machine, operands: &[Constraint]) {
        self.out.push(op, operands, self.loc);
    }

    fn link_predecessors(&mut self) {
        for from in 0..self.out.blocks.len() {
            for n in 0..self.out.blocks[from].successors.len() {
                let to = self.out.blocks[from].successors[n].index();
                self.out.blocks[to].predecessors.push(regalloc2::Block::new(from));
            }
        }
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), EmitError> {
        let wanted = inst.result.is_some_and(|result| self.values.needed[result.index()]);
        if !wanted && !values::has_effect(&inst.op) {
            return Ok(());
        }
        let result = inst.result.map(vreg);
        match (&inst.op, result) {
            (Op::Store { size, base, disp, value }, _) => self.store(*size, *base, *disp, *value),
            (Op::AtomicAdd { size, base, disp, value }, Some(result)) => {
                self.atomic_add(*size, (*base, *disp), *value, wanted.then_some(result))
            }
            (Op::Helper { id, args }, Some(result)) => {
                let id = i32::try_from(*id).map_err(|_| malformed(self.function, "helper number"))?;
                self.call(Machine::Helper(id), args, result)
            }
            (Op::Call { function, args }, Some(result)) => {
                if function.0 as usize >= self.module.functions.len() {
                    return Err(malformed(self.function, "a call of a function that does not exist"));
                }
                self.call(Machine::Call(*function), args, result)
            }
            (Op::Load { size, signed, base, disp }, Some(result)) => {
                let (base, operand) = self.base(*base, *disp)?;
                let mut operands = vec![Constraint::reg_def(result)];
                operands.extend(operand);
                self.push(Machine::Load { size: *size, signed: *signed, base }, &operands);
                Ok(())
            }
            (Op::Binary(op, lhs, rhs), Some(result)) => self.binary(*op, *lhs, *rhs, inst.result, result),
            (Op::Unary(op, value), Some(result)) => self.unary(*op, *value, result),
            (Op::Compare(condition), Some(result)) => self.set(*condition, inst.result, result),
            // Made where they are used.
            (Op::Const(_) | Op::DataAddress { .. } | Op::MapReference(_) | Op::SlotAddress(_), _) => Ok(()),
            (_, None) => Err(malformed(self.function, "an operation without result")),
        }
    }

    /// A register with the value. A constant or address is made here, or shared with an earlier use in the block.
    fn register(&mut self, value: Value) -> Result<VReg, EmitError> {
        let definition = self.values.definition(value);
        if let Some((_, vreg)) = self.shared.iter().find(|(shared, _)| *shared == definition) {
            return Ok(*vreg);
        }
        let register = self.fresh(value)?;
        let wide = match definition {
            Definition::Const(constant) => i32::try_from(constant).is_err(),
            Definition::Data(..) => true,
            _ => false,
        };
        if wide {
            self.shared.truncate(SHARED - 1);
            self.shared.insert(0, (definition, register));
        }
        Ok(register)
    }

    /// As [`Self::register`], for a use that overwrites or moves the register anyway: nothing is shared.
    fn fresh(&mut self, value: Value) -> Result<VReg, EmitError> {
        let op = match self.values.definition(value) {
            Definition::Computed | Definition::Compared(_) => return Ok(vreg(value)),
            Definition::Const(constant) => Machine::Imm(constant),
            Definition::Data(map, offset) => Machine::Data { map, offset },
            Definition::Map(map) => Machine::Map(map),
            Definition::Frame(slot, offset) => Machine::FrameAddress(self.slots.offset(slot)? + offset),
        };
        if let Machine::Data { map, .. } | Machine::Map(map) = op {
            let data = matches!(op, Machine::Data { .. });
            let map = self.module.maps.get(map.0 as usize);
            if map.is_none_or(|map| matches!(map.kind, MapKind::Map(_)) == data) {
                return Err(malformed(self.function, "no such map, or not of that kind"));
            }
        }
        let register = self.out.new_vreg();
        self.push(op, &[Constraint::reg_def(register)]);
        Ok(register)
    }

    /// The address `base + disp` for a memory access, and the register operand it takes.
    fn base(&mut self, base: Value, disp: i16) -> Result<(Base, Option<Constraint>), EmitError> {
        if let Definition::Frame(slot, offset) = self.values.definition(base) {
            let sum = self.slots.offset(slot)? + offset + i32::from(disp);
            if let Ok(sum) = i16::try_from(sum) {
                return Ok((Base::Frame(sum), None));
            }
        }
        let register = self.register(base)?;
        Ok((Base::Register(disp), Some(Constraint::reg_use(register))))
    }

    /// A second operand, with the register it takes.
    fn rhs(&mut self, operand: Operand) -> Result<(Rhs, Option<VReg>), EmitError> {
        match self.values.operand(operand) {
            Operand::Imm(imm) => Ok((Rhs::Imm(imm), None)),
            Operand::Value(value) => Ok((Rhs::Register, Some(self.register(value)?))),
        }
    }

    fn in_place(&mut self, op: InPlace, value: VReg, rhs: Option<VReg>, result: VReg) {
        let mut operands = vec![Constraint::reg_use(value), Constraint::reg_reuse_def(result, 0)];
        operands.extend(rhs.map(Constraint::reg_use));
        self.push(Machine::InPlace(op), &operands);
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        lhs: Value,
        rhs: Operand,
        value: Option<Value>,
        result: VReg,
    ) -> Result<(), EmitError> {
        if value.is_some_and(|value| self.values.definition(value) != Definition::Computed) {
            return Ok(()); // A known address plus a constant: made where it is used.
        }
        if op == BinaryOp::And
            && let Some(done) = self.and_low_half(lhs, rhs, result)
        {
            return done;
        }
        let (rhs, register) = self.rhs(rhs)?;
        let rhs = match (op, rhs) {
            // The verifier refuses a constant divisor of 0 and a constant count above 63; both are defined here.
            (BinaryOp::UDiv | BinaryOp::SDiv, Rhs::Imm(0)) => {
                self.push(Machine::Imm(0), &[Constraint::reg_def(result)]);
                return Ok(());
            }
            (BinaryOp::UMod | BinaryOp::SMod, Rhs::Imm(0)) => {
                let lhs = self.fresh(lhs)?;
                self.in_place(InPlace::Binary(BinaryOp::Or, Rhs::Imm(0)), lhs, None, result);
                return Ok(());
            }
            (BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr, Rhs::Imm(count)) => Rhs::Imm(count & 63),
            (_, rhs) => rhs,
        };
        let lhs = self.fresh(lhs)?;
        self.in_place(InPlace::Binary(op, rhs), lhs, register, result);
        Ok(())
    }

    /// `and` with a constant whose high half is 0 and which is no immediate: a 32-bit operation does it.
    fn and_low_half(&mut self, lhs: Value, rhs: Operand, result: VReg) -> Option<Result<(), EmitError>> {
        let Operand::Value(value) = rhs else { return None };
        let Definition::Const(constant) = self.values.definition(value) else { return None };
        let mask = u32::try_from(constant).ok().filter(|mask| i32::try_from(*mask).is_err())?;
        Some(self.fresh(lhs).map(|lhs| match mask {
            u32::MAX => self.convert(Conversion::ZeroExtend32, lhs, result),
            _ => self.in_place(InPlace::And32(mask as i32), lhs, None, result),
        }))
    }

    fn convert(&mut self, conversion: Conversion, value: VReg, result: VReg) {
        let operands = [Constraint::reg_def(result), Constraint::reg_use(value)];
        self.push(Machine::Convert(conversion), &operands);
    }

    fn unary(&mut self, op: UnaryOp, value: Value, result: VReg) -> Result<(), EmitError> {
        let value = self.fresh(value)?;
        match op {
            UnaryOp::Neg => self.in_place(InPlace::Negate, value, None, result),
            UnaryOp::Swap16 => self.in_place(InPlace::ByteSwap(16), value, None, result),
            UnaryOp::Swap32 => self.in_place(InPlace::ByteSwap(32), value, None, result),
            UnaryOp::Swap64 => self.in_place(InPlace::ByteSwap(64), value, None, result),
            UnaryOp::SignExtend8 => self.convert(Conversion::SignExtend(8), value, result),
            UnaryOp::SignExtend16 => self.convert(Conversion::SignExtend(16), value, result),
            UnaryOp::SignExtend32 => self.convert(Conversion::SignExtend(32), value, result),
            UnaryOp::ZeroExtend32 => self.convert(Conversion::ZeroExtend32, value, result),
        }
        Ok(())
    }

    fn set(&mut self, condition: Condition, value: Option<Value>, result: VReg) -> Result<(), EmitError> {
        let (condition, opposite) = match value {
            Some(value) => self.values.set_condition(value, condition),
            None => (condition, false),
        };
        let lhs = self.register(condition.lhs)?;
        let (rhs, register) = self.rhs(condition.rhs)?;
        // The result is written before the comparison.
        let mut operands = vec![Constraint::reg_def(result), late_use(lhs)];
        operands.extend(register.map(late_use));
        self.push(Machine::Set { op: condition.op, rhs, opposite }, &operands);
        Ok(())
    }

    fn store(&mut self, size: Size, base: Value, disp: i16, value: Operand) -> Result<(), EmitError> {
        let value = match (size, value) {
            // A narrow store takes the low bits of any constant.
            (Size::B1 | Size::B2 | Size::B4, Operand::Value(v)) => match self.values.definition(v) {
                Definition::Const(constant) => Operand::Imm(constant as i32),
                _ => value,
            },
            _ => value,
        };
        let (base, operand) = self.base(base, disp)?;
        let (value, register) = self.rhs(value)?;
        let operands: Vec<Constraint> =
            operand.into_iter().chain(register.map(Constraint::reg_use)).collect();
        self.push(Machine::Store { size, base, value }, &operands);
        Ok(())
    }

    fn atomic_add(
        &mut self,
        size: Size,
        (base, disp): (Value, i16),
        value: Value,
        result: Option<VReg>,
    ) -> Result<(), EmitError> {
        if matches!(size, Size::B1 | Size::B2) {
            return Err(malformed(self.function, "an atomic operation on less than 4 bytes"));
        }
        let (base, operand) = self.base(base, disp)?;
        let value = self.register(value)?;
        let mut operands: Vec<Constraint> = operand.into_iter().collect();
        let addend = operands.len();
        operands.push(Constraint::reg_use(value));
        operands.extend(result.map(|result| Constraint::reg_reuse_def(result, addend)));
        self.push(Machine::AtomicAdd { size, base, fetch: result.is_some() }, &operands);
        Ok(())
    }

    fn call(&mut self, op: Machine, args: &[Value], result: VReg) -> Result<(), EmitError> {
        if args.len() > MAX_ARGUMENTS {
            return Err(malformed(self.function, "a call with more than 5 arguments"));
        }
        let mut operands = vec![Constraint::reg_fixed_def(result, physical(0))];
        for (index, arg) in args.iter().enumerate() {
            let arg = self.fresh(*arg)?;
            operands.push(Constraint::reg_fixed_use(arg, physical(index + 1)));
        }
        self.push(op, &operands);
        self.shared.clear(); // Sharing across a call would take registers that survive it.
        Ok(())
    }

    fn terminator(&mut self, block: Block, terminator: &Terminator, order: &Order) -> Result<(), EmitError> {
        let edge = |n: usize, target: &Target| match order.edges[block.index()][n] {
            DIRECT => order.blocks[target.block.index()],
            edge => edge,
        };
        match terminator {
            Terminator::Jump(target) => self.pass(target, order)?,
            Terminator::Branch { condition, then, otherwise } => {
                let (condition, opposite) = self.values.branch_condition(block, *condition);
                let lhs = self.register(condition.lhs)?;
                let (rhs, register) = self.rhs(condition.rhs)?;
                let operands: Vec<Constraint> =
                    std::iter::once(lhs).chain(register).map(Constraint::reg_use).collect();
                self.push(Machine::Branch(condition.op, rhs), &operands);
                let mut successors = [edge(0, then), edge(1, otherwise)];
                if opposite {
                    successors.reverse();
                }
                self.current().successors = successors.map(|b| regalloc2::Block::new(b as usize)).into();
            }
            Terminator::MayGoto { go, stop } => {
                self.push(Machine::MayGoto, &[]);
                let successors = [edge(0, go), edge(1, stop)];
                self.current().successors = successors.map(|b| regalloc2::Block::new(b as usize)).into();
            }
            Terminator::Return(operand) => {
                let register = match self.values.operand(*operand) {
                    Operand::Value(value) => self.fresh(value)?,
                    Operand::Imm(imm) => {
                        let register = self.out.new_vreg();
                        self.push(Machine::Imm(imm.into()), &[Constraint::reg_def(register)]);
                        register
                    }
                };
                self.push(Machine::Return, &[Constraint::reg_fixed_use(register, physical(0))]);
            }
        }
        Ok(())
    }

    /// Jumps to a target with its arguments.
    fn pass(&mut self, target: &Target, order: &Order) -> Result<(), EmitError> {
        let args = target.args.iter().map(|arg| self.fresh(*arg)).collect::<Result<_, _>>()?;
        self.jump(order.blocks[target.block.index()], args);
        Ok(())
    }

    fn jump(&mut self, to: u32, args: Vec<VReg>) {
        self.push(Machine::Jump, &[]);
        let block = self.current();
        block.successors = vec![regalloc2::Block::new(to as usize)];
        block.args = args;
    }
}
