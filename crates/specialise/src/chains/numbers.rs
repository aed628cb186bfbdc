//! C's numbers as words of 64 bits, which their types fill with zeros or with the sign.

use moonhook_eclat::ast::{Binary, Type};
use moonhook_ir::words::{Word, Words};
use moonhook_ir::{CompareOp, UnaryOp};

/// A number's bits as its type fills them up.
pub fn filled(host: &mut impl Words, number: Word, ty: Type) -> Word {
    match (ty.bits, ty.is_signed) {
        (8, true) => host.unary(UnaryOp::SignExtend8, number),
        (16, true) => host.unary(UnaryOp::SignExtend16, number),
        (32, true) => host.unary(UnaryOp::SignExtend32, number),
        (32, false) => host.and(number, 0xffff_ffff),
        (bits @ (8 | 16), false) => host.and(number, (1 << bits) - 1),
        _ => number,
    }
}

/// Whether all numbers of a type are the same words as the other type's.
pub fn is_within(ty: Type, other: Type) -> bool {
    other.bits == 64 || ty.bits < other.bits && (!ty.is_signed || other.is_signed) || ty == other
}

/// How the machine compares numbers of that type, if the operator compares.
pub fn comparison(operator: Binary, ty: Type) -> Option<CompareOp> {
    Some(match (operator, ty.is_signed) {
        (Binary::Equal, _) => CompareOp::Eq,
        (Binary::Unequal, _) => CompareOp::Ne,
        (Binary::Less, true) => CompareOp::SLt,
        (Binary::Less, false) => CompareOp::ULt,
        (Binary::LessOrEqual, true) => CompareOp::SLe,
        (Binary::LessOrEqual, false) => CompareOp::ULe,
        (Binary::Greater, true) => CompareOp::SGt,
        (Binary::Greater, false) => CompareOp::UGt,
        (Binary::GreaterOrEqual, true) => CompareOp::SGe,
        (Binary::GreaterOrEqual, false) => CompareOp::UGe,
        _ => return None,
    })
}
