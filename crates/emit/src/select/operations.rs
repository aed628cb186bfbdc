//! Selection of the IR's operations, by kind.

use super::{MAX_ARGUMENTS, Selector, malformed, vreg};
use crate::error::EmitError;
use crate::machine::*;
use crate::values::Definition;
use moonhook_ir::{AtomicOp, BinaryOp, Condition, FunctionId, Inst, Op, Operand, Size, UnaryOp, Value};
use regalloc2::{Operand as Constraint, OperandConstraint, OperandKind, OperandPos, VReg};

/// A use that must not share a register with the result.
fn late_use(vreg: VReg) -> Constraint {
    Constraint::new(vreg, OperandConstraint::Reg, OperandKind::Use, OperandPos::Late)
}

impl Selector<'_> {
    pub(super) fn inst(&mut self, inst: &Inst) -> Result<(), EmitError> {
        let wanted = inst.result.is_some_and(|result| self.values.needed[result.index()]);
        if !wanted && !inst.op.has_effect() {
            return Ok(());
        }
        let result = inst.result.map(vreg);
        match (&inst.op, result) {
            (Op::Store { size, base, disp, value }, _) => self.store(*size, *base, *disp, *value),
            (Op::Atomic { op, size, base, disp, value }, Some(result)) => {
                self.atomic((*op, *size), (*base, *disp), *value, wanted.then_some(result))
            }
            (Op::Helper { id, args }, Some(result)) => {
                let id = i32::try_from(*id).map_err(|_| malformed(self.function, "helper number"))?;
                self.call(Machine::Helper(id), args, result)
            }
            (Op::Call { function, args }, Some(result)) => {
                if function.0 as usize >= self.module.functions.len() {
                    return Err(malformed(self.function, "a call of a function that does not exist"));
                }
                match self.rare_calls && self.cold {
                    true => self.rare_call(*function, args, result),
                    false => self.call(Machine::Call(*function), args, result),
                }
            }
            (Op::Load { size, signed, base, disp }, Some(result)) => {
                self.load(*size, *signed, (*base, *disp), result)
            }
            (Op::KernelField { base, field }, Some(result)) => {
                let base = self.register(*base)?;
                let operands = [Constraint::reg_def(result), Constraint::reg_use(base)];
                self.push(Machine::KernelField(field), &operands);
                Ok(())
            }
            (Op::FieldFact { field, fact }, Some(result)) => {
                self.push(Machine::FieldFact(field, *fact), &[Constraint::reg_def(result)]);
                Ok(())
            }
            (Op::Binary(op, lhs, rhs), Some(result)) => self.binary(*op, *lhs, *rhs, inst.result, result),
            (Op::Unary(op, value), Some(result)) => self.unary(*op, *value, result),
            (Op::Compare(condition), Some(result)) => self.set(*condition, inst.result, result),
            // Made where they are used.
            (Op::Const(_) | Op::DataAddress { .. } | Op::MapReference(_), _) => Ok(()),
            (Op::SlotAddress(_) | Op::FunctionReference(_), _) => Ok(()),
            (_, None) => Err(malformed(self.function, "an operation without result")),
        }
    }

    fn rare_call(&mut self, function: FunctionId, args: &[Value], result: VReg) -> Result<(), EmitError> {
        if args.len() > MAX_ARGUMENTS {
            return Err(malformed(self.function, "a call with more than 5 arguments"));
        }
        let mut operands = vec![Constraint::reg_def(result)];
        for arg in args {
            operands.push(Constraint::any_use(self.fresh(*arg)?));
        }
        self.push(Machine::RareCall(function), &operands);
        Ok(())
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
            UnaryOp::Arena if self.module.arena().is_none() => {
                return Err(malformed(self.function, "an address of an arena that does not exist"));
            }
            UnaryOp::Arena => self.convert(Conversion::Arena, value, result),
            // Of the operations that change nothing, one for which the verifier drops a register's id.
            UnaryOp::Unlink => {
                self.in_place(InPlace::Binary(BinaryOp::Xor, Rhs::Imm(0)), value, None, result)
            }
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

    fn load(
        &mut self,
        size: Size,
        signed: bool,
        (base, disp): (Value, i16),
        result: VReg,
    ) -> Result<(), EmitError> {
        let (base, operand) = self.base(base, disp)?;
        // Kernels before 6.18 have no sign-extending loads from arenas, and any register may hold an arena's address.
        let extends = signed && size != Size::B8 && self.module.arena().is_some();
        let loaded = if extends { self.out.new_vreg() } else { result };
        let mut operands = vec![Constraint::reg_def(loaded)];
        operands.extend(operand);
        self.push(Machine::Load { size, signed: signed && !extends, base }, &operands);
        if extends {
            self.convert(Conversion::SignExtend(size as i16 * 8), loaded, result);
        }
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

    fn atomic(
        &mut self,
        (op, size): (AtomicOp, Size),
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
        self.push(Machine::Atomic { op, size, base, fetch: result.is_some() }, &operands);
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
}
