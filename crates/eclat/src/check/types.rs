//! Types as C has them (ISO C § 6.3.1, 6.4.4.1), on a machine whose `int` has 32 bits and whose `long` has 64.

use crate::ast::Type;

/// C's `int`.
pub const INT: Type = Type { bits: 32, is_signed: true };

/// The type of a number as it is written.
pub fn of_number(value: u64, is_hexadecimal: bool) -> Type {
    let fits = |ty: &Type| value >> (ty.bits - u32::from(ty.is_signed)) == 0;
    let types = [(32, true), (32, false), (64, true)].map(|(bits, is_signed)| Type { bits, is_signed });
    // Decimal numbers are unsigned only where nothing else has room for them.
    let is_possible = |ty: &Type| is_hexadecimal || ty.is_signed;
    types.into_iter().filter(is_possible).find(fits).unwrap_or(Type::U64)
}

/// What a number is computed with as: all that is shorter than `int` is one.
pub fn promoted(ty: Type) -> Type {
    if ty.bits < INT.bits { INT } else { ty }
}

/// The type in which two numbers are computed with.
pub fn common(one: Type, other: Type) -> Type {
    let (one, other) = (promoted(one), promoted(other));
    match one.bits.cmp(&other.bits) {
        std::cmp::Ordering::Equal => Type { bits: one.bits, is_signed: one.is_signed && other.is_signed },
        std::cmp::Ordering::Less => other,
        std::cmp::Ordering::Greater => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_types_of_c() {
        let ty = |value, is_hexadecimal| of_number(value, is_hexadecimal).to_string();
        for (value, decimal, hexadecimal) in [
            (0, "s32", "s32"),
            (0x7fff_ffff, "s32", "s32"),
            (0x8000_0000, "s64", "u32"),
            (0xffff_ffff, "s64", "u32"),
            (0x1_0000_0000, "s64", "s64"),
            (i64::MAX as u64, "s64", "s64"),
            (1 << 63, "u64", "u64"),
        ] {
            assert_eq!(
                (ty(value, false).as_str(), ty(value, true).as_str()),
                (decimal, hexadecimal),
                "{value}"
            );
        }
    }

    #[test]
    fn numbers_meet_as_in_c() {
        let named = |name| Type::named(name).expect("a type");
        for (one, other, both) in [
            ("u8", "s8", "s32"),
            ("u16", "u16", "s32"),
            ("u32", "s32", "u32"),
            ("u32", "s64", "s64"),
            ("s32", "u64", "u64"),
            ("s64", "u64", "u64"),
            ("u8", "u64", "u64"),
        ] {
            assert_eq!(common(named(one), named(other)), named(both), "{one} {other}");
            assert_eq!(common(named(other), named(one)), named(both), "{other} {one}");
        }
    }
}
