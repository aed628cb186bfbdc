//! Routines that compute with floats, and what the processor makes of the same operands.

use crate::common::Random;
use std::hint::black_box;

/// A routine of one or two floats, as bits.
pub struct Routine {
    pub name: &'static str,
    pub parameters: usize,
    /// What it gives for two operands, of which the second one may not be wanted.
    pub expected: fn(f64, f64) -> u64,
}

pub const ROUTINES: [Routine; 9] = [
    of_two("float_add", |x, y| (x + y).to_bits()),
    of_two("float_subtract", |x, y| (x - y).to_bits()),
    of_two("float_multiply", |x, y| (x * y).to_bits()),
    of_two("float_divide", |x, y| (x / y).to_bits()),
    of_two("float_remainder", |x, y| (x % y).to_bits()),
    of_two("float_modulo", |x, y| modulo(x, y).to_bits()),
    of_two("float_compare", |x, y| x.partial_cmp(&y).map_or(2, |order| order as i64) as u64),
    Routine { parameters: 1, ..of_two("float_sqrt", |x, _| x.sqrt().to_bits()) },
    // As C's library does it: a NaN that signals is quiet then.
    Routine {
        parameters: 1,
        ..of_two("float_floor", |x, _| if x.is_nan() { (x + x).to_bits() } else { x.floor().to_bits() })
    },
];

const fn of_two(name: &'static str, expected: fn(f64, f64) -> u64) -> Routine {
    Routine { name, parameters: 2, expected }
}

/// A float of any kind, as bits: any exponent, one near another's, few or many bits set, subnormal, infinite, NaN.
fn float(random: &mut Random, near: u64) -> u64 {
    let sign = random.word() & 1 << 63;
    let exponent = match random.below(8) {
        0 => 0,
        1 => random.below(3) as u64 + 2045,
        2..=4 => ((near >> 52 & 0x7ff) + random.below(140) as u64).saturating_sub(70).min(2047),
        5 => 1023 + random.below(66) as u64 - 2,
        _ => random.below(2048) as u64,
    };
    let fraction = match random.below(6) {
        0 => 0,
        1 => u64::MAX << random.below(52),
        2 => (1u64 << random.below(53)).wrapping_sub(random.below(2) as u64),
        3 => 1 << random.below(52) | 1 << random.below(52),
        4 => near.wrapping_add(random.below(5) as u64).wrapping_sub(2),
        _ => random.word(),
    };
    sign | exponent << 52 | fraction & 0xf_ffff_ffff_ffff
}

/// Lua's `%` (luai_nummod in llimits.h).
fn modulo(x: f64, y: f64) -> f64 {
    let rest = black_box(x) % black_box(y);
    if if rest > 0.0 { y < 0.0 } else { rest < 0.0 && y > 0.0 } { rest + y } else { rest }
}

impl Routine {
    /// Calls it `count` times, by `call`.
    ///
    /// # Panics
    /// If it gives other bits than the processor once.
    pub fn compare(&self, count: usize, call: impl Fn(&[i64]) -> i64) {
        let Routine { name, parameters, expected } = self;
        let mut random = Random::new(name);
        for _ in 0..count {
            let x = float(&mut random, 1023 << 52);
            let y = float(&mut random, x);
            let found = call(&[x as i64, y as i64][..*parameters]) as u64;
            let expected = expected(black_box(f64::from_bits(x)), black_box(f64::from_bits(y)));
            assert_eq!(found, expected, "{name}({x:#x}, {y:#x}): {found:#x}, not {expected:#x}");
        }
    }
}
