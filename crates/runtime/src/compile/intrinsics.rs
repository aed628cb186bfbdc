//! Functions that are operations: memory, and arithmetic that Lua has no operator for.

use super::builder::Builder;
use super::registers::Word;
use moonhook_ir::{BinaryOp, CompareOp, Condition, Op, Size, UnaryOp, Value};

#[derive(Clone, Copy)]
enum Intrinsic {
    Load(Size),
    Store(Size),
    Unary(UnaryOp),
    Binary(BinaryOp),
    Below,
}

const INTRINSICS: &[(&str, Intrinsic)] = &[
    ("u8", Intrinsic::Load(Size::B1)),
    ("u16", Intrinsic::Load(Size::B2)),
    ("u32", Intrinsic::Load(Size::B4)),
    ("u64", Intrinsic::Load(Size::B8)),
    ("set8", Intrinsic::Store(Size::B1)),
    ("set16", Intrinsic::Store(Size::B2)),
    ("set32", Intrinsic::Store(Size::B4)),
    ("set64", Intrinsic::Store(Size::B8)),
    ("swap16", Intrinsic::Unary(UnaryOp::Swap16)),
    ("swap32", Intrinsic::Unary(UnaryOp::Swap32)),
    ("swap64", Intrinsic::Unary(UnaryOp::Swap64)),
    ("sx8", Intrinsic::Unary(UnaryOp::SignExtend8)),
    ("sx16", Intrinsic::Unary(UnaryOp::SignExtend16)),
    ("sx32", Intrinsic::Unary(UnaryOp::SignExtend32)),
    ("shl", Intrinsic::Binary(BinaryOp::Shl)),
    ("shr", Intrinsic::Binary(BinaryOp::LShr)),
    ("sar", Intrinsic::Binary(BinaryOp::AShr)),
    ("udiv", Intrinsic::Binary(BinaryOp::UDiv)),
    ("umod", Intrinsic::Binary(BinaryOp::UMod)),
    ("sdiv", Intrinsic::Binary(BinaryOp::SDiv)),
    ("smod", Intrinsic::Binary(BinaryOp::SMod)),
    ("ult", Intrinsic::Below),
];

fn find(name: &str) -> Option<Intrinsic> {
    INTRINSICS.iter().find(|(known, _)| *known == name).map(|(_, intrinsic)| *intrinsic)
}

pub(super) fn exists(name: &str) -> bool {
    find(name).is_some()
}

/// Appends the operation; gives its result. `None` for a wrong number of arguments.
pub(super) fn emit(builder: &mut Builder<'_>, name: &str, arguments: &[Word]) -> Option<Word> {
    Some(match (find(name)?, arguments) {
        (Intrinsic::Load(size), [address]) => {
            let (base, disp) = place(builder, address);
            Word::Integer(builder.code.emit(Op::Load { size, signed: false, base, disp }))
        }
        (Intrinsic::Store(size), [address, value]) => {
            let (base, disp) = place(builder, address);
            let value = builder.operand(value);
            builder.code.emit(Op::Store { size, base, disp, value });
            Word::Constant(0)
        }
        (Intrinsic::Unary(op), [value]) => {
            let value = builder.value(value);
            Word::Integer(builder.code.emit(Op::Unary(op, value)))
        }
        (Intrinsic::Binary(op), [lhs, rhs]) => {
            let lhs = builder.value(lhs);
            let rhs = builder.operand(rhs);
            Word::Integer(builder.code.emit(Op::Binary(op, lhs, rhs)))
        }
        (Intrinsic::Below, [lhs, rhs]) => {
            let lhs = builder.value(lhs);
            let rhs = builder.operand(rhs);
            let condition = Condition::new(CompareOp::ULt, lhs, rhs);
            Word::Truth(builder.code.emit(Op::Compare(condition)))
        }
        _ => return None,
    })
}

/// The arena pointer and displacement for an address; a small constant that was added to it becomes the displacement.
fn place(builder: &mut Builder<'_>, address: &Word) -> (Value, i16) {
    if let Word::Integer(value) = address
        && let Some(&(base, constant)) = builder.sums.get(value)
        && let Ok(disp) = i16::try_from(constant)
    {
        return (builder.code.arena(base), disp);
    }
    let address = builder.value(address);
    (builder.code.arena(address), 0)
}
