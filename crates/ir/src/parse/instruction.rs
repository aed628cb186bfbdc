//! Instructions and terminators of the text form.

use super::line::{Line, is_indexed};
use crate::*;
use std::fmt::Debug;

pub(super) enum Statement {
    Inst(Op, Option<Value>),
    Terminator(Terminator),
}

pub(super) fn read(line: &mut Line) -> Result<Statement, String> {
    if line.peek_word().is_some_and(|word| is_indexed(word, "v")) {
        let result = line.value()?;
        line.punctuation('=')?;
        let name = line.word()?;
        let op = operation(name, line)?.ok_or_else(|| format!("unknown operation `{name}`"))?;
        return if op.has_result() {
            Ok(Statement::Inst(op, Some(result)))
        } else {
            Err(format!("`{name}` has no result"))
        };
    }
    let name = line.word()?;
    if let Some(terminator) = terminator(name, line)? {
        return Ok(Statement::Terminator(terminator));
    }
    match operation(name, line)? {
        None => Err(format!("unknown operation `{name}`")),
        Some(op) if op.has_result() => Err(format!("the result of `{name}` has no name")),
        Some(op) => Ok(Statement::Inst(op, None)),
    }
}

fn terminator(name: &str, line: &mut Line) -> Result<Option<Terminator>, String> {
    Ok(Some(match name {
        "jump" => Terminator::Jump(target(line)?),
        "branch" => {
            let condition = condition(line)?;
            let (then, otherwise) = two_targets(line, true)?;
            Terminator::Branch { condition, then, otherwise }
        }
        "may_goto" => {
            let (go, stop) = two_targets(line, false)?;
            Terminator::MayGoto { go, stop }
        }
        "return" => Terminator::Return(operand(line)?),
        _ => return Ok(None),
    }))
}

fn two_targets(line: &mut Line, comma: bool) -> Result<(Target, Target), String> {
    if comma {
        line.punctuation(',')?;
    }
    let first = target(line)?;
    line.punctuation(',')?;
    Ok((first, target(line)?))
}

fn target(line: &mut Line) -> Result<Target, String> {
    let block = Block(line.index("b")?);
    Ok(Target { block, args: line.values()? })
}

fn operation(name: &str, line: &mut Line) -> Result<Option<Op>, String> {
    use BinaryOp::*;
    use UnaryOp::*;
    let binary = [Add, Sub, Mul, UDiv, UMod, SDiv, SMod, And, Or, Xor, Shl, LShr, AShr];
    let unary =
        [Neg, Swap16, Swap32, Swap64, SignExtend8, SignExtend16, SignExtend32, ZeroExtend32, Unlink, Arena];
    if let Some(op) = by_name(&binary, name) {
        let lhs = line.value()?;
        line.punctuation(',')?;
        return Ok(Some(Op::Binary(op, lhs, operand(line)?)));
    }
    if let Some(op) = by_name(&unary, name) {
        return Ok(Some(Op::Unary(op, line.value()?)));
    }
    Ok(Some(match name {
        "const" => Op::Const(line.number()?),
        "compare" => Op::Compare(condition(line)?),
        "data" => Op::DataAddress { map: MapId(line.index("m")?), offset: line.number()? },
        "map" => Op::MapReference(MapId(line.index("m")?)),
        "function" => Op::FunctionReference(FunctionId(line.index("f")?)),
        "slot" => Op::SlotAddress(Slot(line.index("s")?)),
        "field" => {
            let base = line.value()?;
            Op::KernelField { base, field: kernel_field(line)? }
        }
        "fact" => {
            let fact = line.word()?;
            let fact = FieldFact::named(fact).ok_or_else(|| format!("unknown fact `{fact}`"))?;
            Op::FieldFact { field: kernel_field(line)?, fact }
        }
        "helper" => Op::Helper { id: line.number()?, args: line.values()? },
        "call" => Op::Call { function: FunctionId(line.index("f")?), args: line.values()? },
        _ => return memory(name, line),
    }))
}

/// `sk_buff.mark`.
fn kernel_field(line: &mut Line) -> Result<&'static KernelField, String> {
    let name = line.word()?;
    KernelField::named(name).ok_or_else(|| format!("unknown field `{name}`"))
}

/// `load.u16`, `store.16`, `atomic_add.64`.
fn memory(name: &str, line: &mut Line) -> Result<Option<Op>, String> {
    let Some((kind, width)) = name.split_once('.') else { return Ok(None) };
    let signed = width.starts_with('s');
    let bits = if kind == "load" { width.trim_start_matches(['u', 's']) } else { width };
    let size = match bits {
        "8" => Size::B1,
        "16" => Size::B2,
        "32" => Size::B4,
        "64" => Size::B8,
        _ => return Ok(None),
    };
    let atomic = kind.strip_prefix("atomic_");
    let atomic = atomic.and_then(|name| by_name(&[AtomicOp::Add, AtomicOp::Or, AtomicOp::And], name));
    if atomic.is_none() && !matches!(kind, "load" | "store") {
        return Ok(None);
    }
    let base = line.value()?;
    let disp = line.number()?;
    if kind == "load" {
        return Ok(Some(Op::Load { size, signed, base, disp }));
    }
    line.punctuation(',')?;
    Ok(Some(match kind {
        "store" => Op::Store { size, base, disp, value: operand(line)? },
        _ => Op::Atomic { op: atomic.unwrap_or(AtomicOp::Add), size, base, disp, value: line.value()? },
    }))
}

fn operand(line: &mut Line) -> Result<Operand, String> {
    if line.peek_word().is_some_and(|word| is_indexed(word, "v")) {
        return line.value().map(Operand::Value);
    }
    line.number().map(Operand::Imm)
}

fn condition(line: &mut Line) -> Result<Condition, String> {
    use CompareOp::*;
    let name = line.word()?;
    let op = by_name(&[Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, Test], name);
    let op = op.ok_or_else(|| format!("unknown comparison `{name}`"))?;
    let lhs = line.value()?;
    line.punctuation(',')?;
    Ok(Condition { op, lhs, rhs: operand(line)? })
}

/// The variant whose name, in lower case, is `name`.
fn by_name<T: Copy + Debug>(all: &[T], name: &str) -> Option<T> {
    all.iter().copied().find(|op| format!("{op:?}").eq_ignore_ascii_case(name))
}
