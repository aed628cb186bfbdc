//! What has a value.

use super::types::{INT, common, of_number, promoted};
use super::{Result, Scope};
use crate::ast::{Binary, Expression, ExpressionKind, Source, Type, Unary};
use crate::error::CheckErrorKind;
use crate::eval::filled;
use crate::token::At;
use crate::tree::{Callee, MapRead, Value, ValueKind};
use std::ops::RangeInclusive;

/// Numbers that a program is given: it is a function with five parameters, of which two are the packet and where its result is.
const MOST_ARGUMENTS: usize = 3;

/// Numbers that a function of a module in Lua is given.
const MOST_OF_MODULES: usize = 4;

/// What has the packet's bytes in chains.
const PACKET: &str = "Packet";

impl<'a> Scope<'a> {
    /// A value as a variable of that type has it.
    pub fn converted(&mut self, expression: &'a Expression, ty: Type) -> Result<Value> {
        Ok(convert(self.value(expression)?, ty))
    }

    pub fn value(&mut self, expression: &'a Expression) -> Result<Value> {
        let at = expression.at;
        match &expression.kind {
            ExpressionKind::Number { value, is_hexadecimal } => {
                Ok(Value { kind: ValueKind::Number(*value), ty: of_number(*value, *is_hexadecimal), at })
            }
            ExpressionKind::Boolean(value) => {
                Ok(Value { kind: ValueKind::Number((*value).into()), ty: INT, at })
            }
            ExpressionKind::Text(_) => Err(CheckErrorKind::Text.at(at)),
            ExpressionKind::Name(name) => self.named(name, at),
            ExpressionKind::Unary { operator, operand } => Ok(unary(*operator, self.value(operand)?, at)),
            ExpressionKind::Binary { operator, operands } => {
                let [one, other] = &**operands;
                Ok(binary(*operator, [self.value(one)?, self.value(other)?], at))
            }
            ExpressionKind::Entry { owner, map, key } => {
                let callee = self.map(owner, map, key.len(), at)?;
                self.call(callee, key, at)
            }
            ExpressionKind::Call { owner, name, arguments } => {
                let callee = self.callee(owner.as_deref(), name, arguments.len(), at)?;
                self.call(callee, arguments, at)
            }
        }
    }

    fn named(&mut self, name: &'a str, at: At) -> Result<Value> {
        if let Some(id) = self.variable(name) {
            return Ok(Value { kind: ValueKind::Variable(id), ty: self.variables[id].ty, at });
        }
        let constant = self.constants.get(name).or_else(|| self.names.constants.get(name)).copied();
        if let Some(constant) = constant {
            return Ok(Value { at, ..self.value(constant)? });
        }
        let name = name.to_string();
        Err(match self.gone.get(name.as_str()) {
            Some(block) => CheckErrorKind::Gone { name, line: block.line }.at(at),
            None => CheckErrorKind::Unknown { name }.at(at),
        })
    }

    fn callee(&self, owner: Option<&str>, name: &str, count: usize, at: At) -> Result<Callee> {
        let (callee, wanted) = match owner {
            Some(PACKET) => {
                let (callee, wanted) = of_packet(name).ok_or_else(|| {
                    CheckErrorKind::NoFunction { owner: PACKET.into(), name: name.into() }.at(at)
                })?;
                (callee, wanted..=wanted)
            }
            Some(owner) => {
                return Err(CheckErrorKind::NoFunction { owner: owner.into(), name: name.into() }.at(at));
            }
            None => match self.names.chains.get(name) {
                Some((number, chain)) => {
                    (Callee::Chain(*number), chain.parameters.len()..=chain.parameters.len())
                }
                None => self.program(name, at)?,
            },
        };
        match wanted.contains(&count) {
            true => Ok(callee),
            false => {
                Err(CheckErrorKind::Arguments { name: name.into(), wanted: *wanted.end(), count }.at(at))
            }
        }
    }

    /// An entry of a program's map. Whether there is one of that name, who has the program knows.
    fn map(&self, owner: &str, map: &str, parts: usize, at: At) -> Result<Callee> {
        let program =
            self.names.program(owner).ok_or_else(|| CheckErrorKind::Unknown { name: owner.into() }.at(at))?;
        if self.names.programs[program].source == Source::Lua {
            return Err(CheckErrorKind::NoMap { owner: owner.into(), map: map.into() }.at(at));
        }
        let mut reads = self.names.reads.borrow_mut();
        reads.push(MapRead { program, map: map.into(), parts, at });
        Ok(Callee::Map(reads.len() - 1))
    }

    /// A program, with how many arguments it takes.
    fn program(&self, name: &str, at: At) -> Result<(Callee, RangeInclusive<usize>)> {
        match self.names.program(name) {
            Some(number) if self.names.programs[number].source == Source::Loaders => {
                Err(CheckErrorKind::Loader { name: name.into() }.at(at))
            }
            Some(number) => {
                let is_module = self.names.programs[number].source == Source::Lua;
                let most = if is_module { MOST_OF_MODULES } else { MOST_ARGUMENTS };
                Ok((Callee::Program(number), 0..=most))
            }
            None => Err(CheckErrorKind::Unknown { name: name.into() }.at(at)),
        }
    }

    fn call(&mut self, callee: Callee, arguments: &'a [Expression], at: At) -> Result<Value> {
        let mut values = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            let ty = match callee {
                Callee::Chain(chain) => self.parameter(chain, number),
                Callee::Write(bits) if number == 1 => Type { bits, is_signed: false },
                _ => Type::U64,
            };
            values.push(self.converted(argument, ty)?);
        }
        let ty = match callee {
            Callee::Read(bits) => Type { bits, is_signed: false },
            _ => Type::U64,
        };
        Ok(Value { kind: ValueKind::Call(callee, values), ty, at })
    }

    fn parameter(&self, chain: usize, number: usize) -> Type {
        self.names.script.chains[chain].parameters.get(number).map_or(Type::U64, |(ty, _)| *ty)
    }
}

/// A function of `Packet`, and how many arguments it takes: `readU16` (the paper), `read_u16`.
fn of_packet(name: &str) -> Option<(Callee, usize)> {
    let lower = name.replace('_', "").to_lowercase();
    let bits = |name: &str| [8, 16, 32, 64].into_iter().find(|bits: &u32| bits.to_string() == name);
    match (lower.strip_prefix("readu"), lower.strip_prefix("writeu")) {
        (Some(width), _) => bits(width).map(|bits| (Callee::Read(bits), 1)),
        (_, Some(width)) => bits(width).map(|bits| (Callee::Write(bits), 2)),
        _ => None,
    }
}

/// A value as one of that type.
pub fn convert(value: Value, ty: Type) -> Value {
    if value.ty == ty {
        return value;
    }
    let at = value.at;
    Value { kind: ValueKind::Convert(Box::new(value)), ty, at }
}

fn unary(operator: Unary, operand: Value, at: At) -> Value {
    let (ty, operand) = match operator {
        Unary::Not => (INT, operand),
        Unary::Negate | Unary::Complement => {
            let ty = promoted(operand.ty);
            (ty, convert(operand, ty))
        }
    };
    Value { kind: ValueKind::Unary(operator, Box::new(operand)), ty, at }
}

pub fn binary(operator: Binary, [one, other]: [Value; 2], at: At) -> Value {
    use Binary::*;
    let (ty, both) = match operator {
        Or | And => (INT, [one, other]),
        ShiftLeft | ShiftRight => {
            let ty = promoted(one.ty);
            let count = promoted(other.ty);
            (ty, [convert(one, ty), convert(other, count)])
        }
        _ => {
            let both = common(one.ty, other.ty);
            let is_comparison =
                matches!(operator, Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual);
            (if is_comparison { INT } else { both }, [convert(one, both), convert(other, both)])
        }
    };
    Value { kind: ValueKind::Binary(operator, Box::new(both)), ty, at }
}

/// The number that a value is without running anything, in 64 bits that its type fills up: `-0xffffffff` is 1, as in C.
pub fn number(value: &Value) -> Option<u64> {
    let number = match &value.kind {
        ValueKind::Number(number) => *number,
        ValueKind::Unary(Unary::Negate, of) => number(of)?.wrapping_neg(),
        ValueKind::Convert(of) => number(of)?,
        _ => return None,
    };
    Some(filled(number, value.ty))
}
