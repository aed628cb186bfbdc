//! Floats at packet time: IEEE 754 doubles, as words with their bits. What is known now is computed now; for the rest the runtime has
//! routines, which expanded code gets as subprograms.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Word, float_of, integral};
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use std::cmp::Ordering;

/// A routine of the runtime that takes one or two words, needs no memory, and gives one.
pub struct Routine {
    pub name: &'static str,
    /// What it gives for words that are known; of those that take one, the second is 0.
    known: fn(i64, i64) -> i64,
}

const fn routine(name: &'static str, known: fn(i64, i64) -> i64) -> Routine {
    Routine { name, known }
}

pub const ADD: Routine = routine("float_add", |x, y| bits(float_of(x) + float_of(y)));
pub const SUBTRACT: Routine = routine("float_subtract", |x, y| bits(float_of(x) - float_of(y)));
pub const MULTIPLY: Routine = routine("float_multiply", |x, y| bits(float_of(x) * float_of(y)));
pub const DIVIDE: Routine = routine("float_divide", |x, y| bits(float_of(x) / float_of(y)));
/// C's `fmod`.
pub const REMAINDER: Routine = routine("float_remainder", |x, y| bits(float_of(x) % float_of(y)));
pub const MODULO: Routine = routine("float_modulo", |x, y| bits(modulo(float_of(x), float_of(y))));
pub const FLOOR: Routine = routine("float_floor", |x, _| bits(float_of(x).floor()));
pub const SQUARE_ROOT: Routine = routine("float_sqrt", |x, _| bits(float_of(x).sqrt()));
const OF_INTEGER: Routine = routine("float_of_integer", |x, _| bits(x as f64));
const IS_INTEGER: Routine = routine("float_is_integer", |x, _| integral(float_of(x)).is_some().into());
const TO_INTEGER: Routine = routine("float_to_integer", |x, _| integral(float_of(x)).unwrap_or(0));
/// -1, 0, 1, or 2 where one of them is no number.
const COMPARE: Routine = routine("float_compare", |x, y| sign(float_of(x).partial_cmp(&float_of(y))));
/// The same of an integer and a float.
const COMPARE_INTEGER: Routine = routine("order_integer_float", |x, y| sign(order(x, float_of(y))));

/// What [`Routine`]s that compare give where there is no order.
const UNORDERED: i64 = 2;

fn bits(x: f64) -> i64 {
    x.to_bits() as i64
}

fn sign(order: Option<Ordering>) -> i64 {
    order.map_or(UNORDERED, |order| order as i64)
}

/// `luai_nummod`: the sign is that of the divisor.
fn modulo(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

/// The order of an integer and a float, exactly.
fn order(x: i64, y: f64) -> Option<Ordering> {
    // Every integer is between these, and what is within them has an integral part that is one.
    let far = 9_223_372_036_854_775_808.0;
    if y.is_nan() {
        return None;
    }
    if !(-far..far).contains(&y) {
        return Some(if y > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = y.floor();
    let rest = if y > whole { Ordering::Less } else { Ordering::Equal };
    Some(x.cmp(&(whole as i64)).then(rest))
}

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Comparison {
    Less,
    LessOrEqual,
    Equal,
}

impl Context<'_> {
    /// What a routine gives for words.
    pub fn compute(&mut self, routine: &Routine, args: &[Word]) -> Result<Word> {
        let known: Option<Vec<i64>> = args.iter().map(|word| word.constant()).collect();
        if let Some(known) = known {
            let arg = |number: usize| known.get(number).copied().unwrap_or(0);
            return Ok(Word::Imm((routine.known)(arg(0), arg(1))));
        }
        if !self.state.alive() {
            return Ok(Word::Imm(0));
        }
        let function = self.around.routine(self, routine.name)?;
        Ok(self.call_function(function, args))
    }

    /// The float nearest to an integer.
    pub fn float_of_integer(&mut self, integer: Word) -> Result<Word> {
        self.compute(&OF_INTEGER, &[integer])
    }

    pub fn negative_float(&mut self, x: Word) -> Word {
        self.binary(BinaryOp::Xor, x, i64::MIN)
    }

    pub fn absolute_float(&mut self, x: Word) -> Word {
        self.and(x, i64::MAX)
    }

    /// The largest float with integral value that is not above x; `up`: the least that is not below it.
    pub fn rounded_float(&mut self, x: Word, up: bool) -> Result<Word> {
        if !up {
            return self.compute(&FLOOR, &[x]);
        }
        let negative = self.negative_float(x);
        let floor = self.compute(&FLOOR, &[negative])?;
        Ok(self.negative_float(floor))
    }

    /// Whether a float has an integral value that an integer can have (`luaV_flttointns`).
    pub fn is_integral(&mut self, x: Word) -> Result<Cond> {
        let is = self.compute(&IS_INTEGER, &[x])?;
        Ok(self.compare_apart(CompareOp::Ne, is, 0))
    }

    /// The integer that such a float equals.
    pub fn integer_of_float(&mut self, x: Word) -> Result<Word> {
        self.compute(&TO_INTEGER, &[x])
    }

    /// The integer that a float equals; where there is none, `fail` ends the state.
    pub fn integer_or_fail(&mut self, x: Word, fail: impl FnOnce(&mut Self)) -> Result<Word> {
        let integral = self.is_integral(x)?;
        let (integral, broken) = self.split(integral);
        self.state = broken;
        if self.state.alive() {
            fail(self);
        }
        self.state = integral;
        self.integer_of_float(x)
    }

    /// The state's paths with a float turned into the integer that it equals, and those where it equals none.
    pub fn split_integral(&mut self, x: Word) -> Result<[(State, Abs); 2]> {
        let integral = self.is_integral(x)?;
        let (integral, broken) = self.split(integral);
        self.state = integral;
        let integer = self.integer_of_float(x)?;
        let integral = self.take_state();
        Ok([(integral, Abs::Int(integer)), (broken, Abs::Float(x))])
    }

    /// Refuses to make the text of a float that is computed at packet time.
    pub fn refuse_float_text<T>(&self, name: &str) -> Result<T> {
        let what = "the text of a float that is computed".to_string();
        let help = "give `print` or `event` the float itself, or make an integer of it with `//`".to_string();
        self.refuse(LowerErrorKind::Float { what, help }, Some(name))
    }

    /// What a table has under a key that is a float: `read` reads under the integer that it equals (manual § 2.1), and otherwise there is
    /// nothing.
    pub fn read_float_key(
        &mut self,
        key: Word,
        read: &mut dyn FnMut(&mut Self, &Abs) -> Result<Vec<Arm>>,
    ) -> Result<Vec<Arm>> {
        let [(integral, integer), (broken, _)] = self.split_integral(key)?;
        self.state = integral;
        let mut arms = if self.state.alive() { read(self, &integer)? } else { vec![] };
        arms.push(Arm { state: broken, values: vec![Abs::Nil] });
        Ok(arms)
    }

    /// Compares two floats.
    pub fn compare_floats(&mut self, comparison: Comparison, a: Word, b: Word) -> Result<Cond> {
        let order = self.compute(&COMPARE, &[a, b])?;
        Ok(match comparison {
            Comparison::Less => self.compare_apart(CompareOp::Eq, order, -1),
            Comparison::LessOrEqual => self.compare_apart(CompareOp::SLe, order, 0),
            Comparison::Equal => self.compare_apart(CompareOp::Eq, order, 0),
        })
    }

    /// Compares an integer with a float, exactly (`LTnum` and `LEnum` in lvm.c); `flipped`: the float is on the left.
    pub fn compare_integer_with_float(
        &mut self,
        comparison: Comparison,
        integer: Word,
        float: Word,
        flipped: bool,
    ) -> Result<Cond> {
        let order = self.compute(&COMPARE_INTEGER, &[integer, float])?;
        Ok(match (comparison, flipped) {
            (Comparison::Equal, _) => self.compare_apart(CompareOp::Eq, order, 0),
            (Comparison::Less, false) => self.compare_apart(CompareOp::Eq, order, -1),
            (Comparison::LessOrEqual, false) => self.compare_apart(CompareOp::SLe, order, 0),
            (Comparison::Less, true) => self.compare_apart(CompareOp::Eq, order, 1),
            (Comparison::LessOrEqual, true) => self.compare_apart(CompareOp::ULe, order, 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_lua() {
        for (x, y, expected) in [
            (5.5, 2.0, 1.5),
            (-5.5, 2.0, 0.5),
            (5.5, -2.0, -0.5),
            (-5.5, -2.0, -1.5),
            (5.0, f64::INFINITY, 5.0),
            (-5.0, f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!((MODULO.known)(bits(x), bits(y)), bits(expected), "{x} % {y}");
        }
    }

    #[test]
    fn integers_and_floats_compare_exactly() {
        let far = 9_223_372_036_854_775_808.0;
        for (integer, float, expected) in [
            (i64::MAX, far, -1),
            (i64::MIN, -far, 0),
            (i64::MIN, f64::NEG_INFINITY, 1),
            ((1 << 53) + 1, (1_i64 << 53) as f64, 1),
            (1, 1.5, -1),
            (-1, -1.5, 1),
            (0, -0.0, 0),
            (7, f64::NAN, 2),
        ] {
            assert_eq!((COMPARE_INTEGER.known)(integer, bits(float)), expected, "{integer} and {float}");
        }
    }
}
