//! Arithmetic with floats that are known when the script is compiled (Lua manual § 3.4.1; `luaO_rawarith` in lobject.c): it is done now,
//! exactly as Lua does it, so that nothing of it is left for packet time.

use super::arithmetic::Operator;
use crate::value::{Abs, Word};

/// A number that is known now.
#[derive(Clone, Copy)]
enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    fn of(value: &Abs) -> Option<Number> {
        match value {
            Abs::Int(Word::Imm(integer)) => Some(Number::Integer(*integer)),
            Abs::Float(float) => Some(Number::Float(*float)),
            _ => None,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Integer(integer) => integer as f64,
            Number::Float(float) => float,
        }
    }
}

/// The result of an operation that gives a float, if both operands are known; `negates`: it is a unary minus of the second one.
pub fn fold(operator: Operator, negates: bool, a: &Abs, b: &Abs) -> Option<Abs> {
    let (a, b) = (Number::of(a)?, Number::of(b)?);
    if let (Number::Integer(_), Number::Integer(_)) = (a, b)
        && !matches!(operator, Operator::Div | Operator::Pow)
    {
        return None;
    }
    let (x, y) = (a.float(), b.float());
    if negates {
        return Some(Abs::Float(-y));
    }
    Some(Abs::Float(match operator {
        Operator::Add => x + y,
        Operator::Sub => x - y,
        Operator::Mul => x * y,
        Operator::Div => x / y,
        Operator::Pow if y == 2.0 => x * x,
        Operator::Pow => x.powf(y),
        Operator::IDiv => (x / y).floor(),
        Operator::Mod => modulo(x, y),
        Operator::BAnd | Operator::BOr | Operator::BXor | Operator::Shl | Operator::Shr => return None,
    }))
}

/// `luai_nummod`: the sign is that of the divisor.
fn modulo(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_lua() {
        use Operator::*;
        for (operator, x, y, expected) in [
            (Mod, 5.5, 2.0, 1.5),
            (Mod, -5.5, 2.0, 0.5),
            (Mod, 5.5, -2.0, -0.5),
            (Mod, -5.5, -2.0, -1.5),
            (Mod, 5.0, f64::INFINITY, 5.0),
            (Mod, -5.0, f64::INFINITY, f64::INFINITY),
            (IDiv, -5.5, 2.0, -3.0),
            (IDiv, 1.0, 0.0, f64::INFINITY),
            (Pow, 2.0, 10.0, 1024.0),
            (Pow, 2.0, 0.5, std::f64::consts::SQRT_2),
        ] {
            let result = fold(operator, false, &Abs::Float(x), &Abs::Float(y));
            assert_eq!(result, Some(Abs::Float(expected)), "{x} {operator:?} {y}");
        }
        assert_eq!(fold(Div, false, &Abs::int(10), &Abs::int(4)), Some(Abs::Float(2.5)));
        assert_eq!(fold(Add, false, &Abs::int(10), &Abs::int(4)), None);
        assert_eq!(fold(Sub, true, &Abs::int(0), &Abs::Float(0.5)), Some(Abs::Float(-0.5)));
    }
}
