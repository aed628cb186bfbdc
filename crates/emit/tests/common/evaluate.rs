//! A reference evaluator of the IR, written from the IR's documentation: what a program must compute.

use moonhook_ir::*;
use std::collections::HashMap;

/// Regions lie this far apart in the evaluator's address space; region 0 is not used.
const REGION: u64 = 1 << 40;

/// Memory by region: data sections first, then stack slots of the active calls.
pub struct Evaluator<'a> {
    module: &'a Module,
    pub regions: Vec<Vec<u8>>,
}

impl<'a> Evaluator<'a> {
    pub fn new(module: &'a Module) -> Self {
        let bytes = |map: &Map| match &map.kind {
            MapKind::ReadOnlyData(bytes) | MapKind::Data(bytes) => bytes.clone(),
            MapKind::Zeros(size) => vec![0; *size as usize],
            MapKind::Map(_) | MapKind::Arena { .. } => Vec::new(),
        };
        Evaluator { module, regions: module.maps.iter().map(bytes).collect() }
    }

    /// Calls a function; loops run without limit.
    pub fn call(&mut self, function: &Function, args: &[u64]) -> u64 {
        let first_slot = self.regions.len();
        self.regions.extend(function.slots.iter().map(|bytes| vec![0; *bytes as usize]));
        let mut values: HashMap<Value, u64> =
            function.params.iter().copied().zip(args.iter().copied()).collect();
        let mut block = Block(0);
        loop {
            for inst in &function.block(block).insts {
                let result = self.op(&inst.op, &values, first_slot);
                if let Some(value) = inst.result {
                    values.insert(value, result);
                }
            }
            let target =
                match &function.block(block).terminator.as_ref().unwrap().0 {
                    Terminator::Jump(target) => target,
                    Terminator::Branch { condition, then, otherwise } => {
                        if condition_holds(*condition, &values) { then } else { otherwise }
                    }
                    Terminator::MayGoto { go, .. } => go,
                    Terminator::Return(value) => {
                        self.regions.truncate(first_slot);
                        return operand(*value, &values);
                    }
                };
            let passed: Vec<u64> = target.args.iter().map(|arg| values[arg]).collect();
            values.extend(function.block(target.block).params.iter().copied().zip(passed));
            block = target.block;
        }
    }

    fn op(&mut self, op: &Op, values: &HashMap<Value, u64>, first_slot: usize) -> u64 {
        match op {
            Op::Const(value) => *value as u64,
            Op::Binary(op, lhs, rhs) => binary(*op, values[lhs], operand(*rhs, values)),
            Op::Unary(op, value) => unary(*op, values[value]),
            Op::Compare(condition) => condition_holds(*condition, values).into(),
            Op::Load { size, signed, base, disp } => {
                let raw = self.read(*size, address(values[base], *disp));
                let unused = 64 - *size as u32 * 8;
                if *signed { ((raw << unused) as i64 >> unused) as u64 } else { raw }
            }
            // The kernel's structures are not simulated.
            Op::KernelField { .. } => 0,
            Op::FieldFact { field, fact } => field.fact_in_object(*fact) as u64,
            Op::Store { size, base, disp, value } => {
                self.write(*size, address(values[base], *disp), operand(*value, values));
                0
            }
            Op::Atomic { op, size, base, disp, value } => {
                let at = address(values[base], *disp);
                let old = self.read(*size, at);
                self.write(*size, at, op.apply(old, values[value]));
                old
            }
            Op::DataAddress { map, offset } => REGION * (u64::from(map.0) + 1) + u64::from(*offset),
            Op::SlotAddress(slot) => REGION * (first_slot as u64 + slot.index() as u64 + 1),
            Op::Call { function, args } => {
                let args: Vec<u64> = args.iter().map(|arg| values[arg]).collect();
                self.call(self.module.function(*function), &args)
            }
            Op::MapReference(_) | Op::FunctionReference(_) | Op::Helper { .. } => {
                panic!("`{op}` needs the kernel")
            }
        }
    }

    fn bytes(&mut self, size: Size, at: u64) -> &mut [u8] {
        let offset = (at % REGION) as usize;
        &mut self.regions[(at / REGION - 1) as usize][offset..offset + size as usize]
    }

    fn read(&mut self, size: Size, at: u64) -> u64 {
        let mut word = [0; 8];
        word[..size as usize].copy_from_slice(self.bytes(size, at));
        u64::from_le_bytes(word)
    }

    fn write(&mut self, size: Size, at: u64, value: u64) {
        self.bytes(size, at).copy_from_slice(&value.to_le_bytes()[..size as usize]);
    }
}

fn address(base: u64, disp: i16) -> u64 {
    base.wrapping_add(disp as u64)
}

fn operand(operand: Operand, values: &HashMap<Value, u64>) -> u64 {
    match operand {
        Operand::Value(value) => values[&value],
        Operand::Imm(imm) => imm as i64 as u64,
    }
}

fn binary(op: BinaryOp, a: u64, b: u64) -> u64 {
    let (sa, sb) = (a as i64, b as i64);
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UDiv => a.checked_div(b).unwrap_or(0),
        BinaryOp::UMod => a.checked_rem(b).unwrap_or(a),
        BinaryOp::SDiv if b == 0 => 0,
        BinaryOp::SDiv => sa.wrapping_div(sb) as u64,
        BinaryOp::SMod if b == 0 => a,
        BinaryOp::SMod => sa.wrapping_rem(sb) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << (b & 63),
        BinaryOp::LShr => a >> (b & 63),
        BinaryOp::AShr => (sa >> (b & 63)) as u64,
    }
}

fn unary(op: UnaryOp, a: u64) -> u64 {
    match op {
        UnaryOp::Neg => a.wrapping_neg(),
        UnaryOp::Swap16 => u64::from((a as u16).swap_bytes()),
        UnaryOp::Swap32 => u64::from((a as u32).swap_bytes()),
        UnaryOp::Swap64 => a.swap_bytes(),
        UnaryOp::SignExtend8 => a as i8 as i64 as u64,
        UnaryOp::SignExtend16 => a as i16 as i64 as u64,
        UnaryOp::SignExtend32 => a as i32 as i64 as u64,
        UnaryOp::ZeroExtend32 | UnaryOp::Arena => u64::from(a as u32),
        UnaryOp::Unlink => a,
    }
}

fn condition_holds(condition: Condition, values: &HashMap<Value, u64>) -> bool {
    let (a, b) = (values[&condition.lhs], operand(condition.rhs, values));
    let (sa, sb) = (a as i64, b as i64);
    match condition.op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::ULt => a < b,
        CompareOp::ULe => a <= b,
        CompareOp::UGt => a > b,
        CompareOp::UGe => a >= b,
        CompareOp::SLt => sa < sb,
        CompareOp::SLe => sa <= sb,
        CompareOp::SGt => sa > sb,
        CompareOp::SGe => sa >= sb,
        CompareOp::Test => a & b != 0,
    }
}
