//! Runs chains without the kernel: what eBPF computes, number by number.
//!
//! Numbers are kept as 64 bits, which their types fill with zeros or with the sign. Where C leaves open what comes out, it is what eBPF gives
//! (Documentation/bpf/standardization/instruction-set.rst): dividing by 0 gives 0, the remainder is the dividend; shifts take the lowest bits of
//! their count.

use crate::ast::{Binary, Type, Unary};
use crate::token::At;
use crate::tree::{Callee, Chains, Line, LineKind, Value, ValueKind};

/// What chains run on.
pub trait Machine {
    /// Why a chain has ended before its last line.
    type End;

    /// The line at that place of the script is about to run, or its next turn, its next condition, or what is behind a chain
    /// that it has called.
    fn step(&mut self, at: At) -> Result<(), Self::End>;
    /// `bits` from an offset of the packet, the first byte being the highest.
    fn read(&mut self, offset: u64, bits: u32) -> Result<u64, Self::End>;
    fn write(&mut self, offset: u64, bits: u32, number: u64) -> Result<(), Self::End>;
    /// An entry of a map, by the number of the read and the parts of the key.
    fn map(&mut self, read: usize, key: &[u64]) -> Result<u64, Self::End>;
    /// Calls the program with that number.
    fn call(&mut self, program: usize, arguments: &[u64]) -> Result<u64, Self::End>;
    /// Ends the packet with a verdict that the program of that number has given.
    fn decide(&mut self, program: usize, verdict: u64) -> Self::End;
}

/// What a chain returns, or 0 where it does not say.
///
/// # Errors
/// What the machine ends with.
pub fn run<M: Machine>(
    chains: &Chains,
    number: usize,
    arguments: &[u64],
    machine: &mut M,
) -> Result<u64, M::End> {
    let chain = &chains.chains[number];
    let mut variables = vec![0; chain.variables.len()];
    for (number, argument) in arguments.iter().enumerate().take(chain.parameters) {
        variables[number] = filled(*argument, chain.variables[number].ty);
    }
    let mut frame = Frame { chains, variables, machine };
    Ok(frame.lines(&chain.body)?.unwrap_or(0))
}

/// A number's bits as its type fills them up.
pub fn filled(number: u64, ty: Type) -> u64 {
    let beyond = 64 - ty.bits;
    match ty.is_signed {
        true => ((number << beyond) as i64 >> beyond) as u64,
        false => number << beyond >> beyond,
    }
}

struct Frame<'a, M> {
    chains: &'a Chains,
    variables: Vec<u64>,
    machine: &'a mut M,
}

impl<M: Machine> Frame<'_, M> {
    /// Runs lines; gives what they return, if they do.
    fn lines(&mut self, lines: &[Line]) -> Result<Option<u64>, M::End> {
        for line in lines {
            self.machine.step(line.at)?;
            let returned = match &line.kind {
                LineKind::Assign(id, value) => {
                    self.variables[*id] = self.value(value)?;
                    None
                }
                LineKind::Call(value) => {
                    self.value(value)?;
                    None
                }
                LineKind::Return(value) => Some(value.as_ref().map_or(Ok(0), |value| self.value(value))?),
                LineKind::If { arms, otherwise } => {
                    let lines = self.chosen(arms)?.unwrap_or(otherwise);
                    self.lines(lines)?
                }
                LineKind::While { condition, body } => self.repeat(condition, body)?,
            };
            if returned.is_some() {
                return Ok(returned);
            }
        }
        Ok(None)
    }

    /// The block of the first condition that holds.
    fn chosen<'l>(&mut self, arms: &'l [(Value, Vec<Line>)]) -> Result<Option<&'l [Line]>, M::End> {
        for (number, (condition, lines)) in arms.iter().enumerate() {
            if number > 0 {
                self.machine.step(condition.at)?;
            }
            if self.value(condition)? != 0 {
                return Ok(Some(lines));
            }
        }
        Ok(None)
    }

    fn repeat(&mut self, condition: &Value, body: &[Line]) -> Result<Option<u64>, M::End> {
        while self.value(condition)? != 0 {
            self.machine.step(condition.at)?;
            let returned = self.lines(body)?;
            if returned.is_some() {
                return Ok(returned);
            }
        }
        Ok(None)
    }

    fn value(&mut self, value: &Value) -> Result<u64, M::End> {
        let number = match &value.kind {
            ValueKind::Number(number) => *number,
            ValueKind::Variable(id) => self.variables[*id],
            ValueKind::Convert(of) => self.value(of)?,
            ValueKind::Unary(operator, of) => {
                let number = self.value(of)?;
                match operator {
                    Unary::Not => u64::from(number == 0),
                    Unary::Negate => number.wrapping_neg(),
                    Unary::Complement => !number,
                }
            }
            ValueKind::Binary(operator @ (Binary::Or | Binary::And), both) => {
                let decides = *operator == Binary::Or;
                let first = self.value(&both[0])? != 0;
                u64::from(if first == decides { decides } else { self.value(&both[1])? != 0 })
            }
            ValueKind::Binary(operator, both) => {
                let numbers = [self.value(&both[0])?, self.value(&both[1])?];
                computed(*operator, both[0].ty, numbers)
            }
            ValueKind::Call(callee, arguments) => self.call(*callee, arguments, value.at)?,
        };
        Ok(filled(number, value.ty))
    }

    fn call(&mut self, callee: Callee, arguments: &[Value], at: At) -> Result<u64, M::End> {
        let numbers = arguments.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        match (callee, numbers.as_slice()) {
            (Callee::Chain(number), _) => {
                let given = run(self.chains, number, &numbers, self.machine)?;
                self.machine.step(at)?;
                Ok(given)
            }
            (Callee::Program(number), _) => self.machine.call(number, &numbers),
            (Callee::Map(read), key) => self.machine.map(read, key),
            (Callee::Read(bits), [offset, ..]) => self.machine.read(*offset, bits),
            (Callee::Write(bits), [offset, number, ..]) => {
                self.machine.write(*offset, bits, *number).map(|()| 0)
            }
            (Callee::Decide(program), [verdict, ..]) => Err(self.machine.decide(program, *verdict)),
            (Callee::Read(_) | Callee::Write(_) | Callee::Decide(_), _) => Ok(0),
        }
    }
}

/// What an operator makes of two numbers of that type.
fn computed(operator: Binary, ty: Type, [one, other]: [u64; 2]) -> u64 {
    let (signed_one, signed_other) = (one as i64, other as i64);
    let count = other as u32 & (ty.bits - 1);
    let less = if ty.is_signed { signed_one < signed_other } else { one < other };
    match operator {
        Binary::Or => u64::from(one != 0 || other != 0),
        Binary::And => u64::from(one != 0 && other != 0),
        Binary::BitOr => one | other,
        Binary::BitXor => one ^ other,
        Binary::BitAnd => one & other,
        Binary::Equal => u64::from(one == other),
        Binary::Unequal => u64::from(one != other),
        Binary::Less => u64::from(less),
        Binary::GreaterOrEqual => u64::from(!less),
        Binary::LessOrEqual => u64::from(less || one == other),
        Binary::Greater => u64::from(!less && one != other),
        Binary::ShiftLeft => one << count,
        Binary::ShiftRight if ty.is_signed => (signed_one >> count) as u64,
        Binary::ShiftRight => one >> count,
        Binary::Add => one.wrapping_add(other),
        Binary::Subtract => one.wrapping_sub(other),
        Binary::Multiply => one.wrapping_mul(other),
        Binary::Divide if other == 0 => 0,
        Binary::Remainder if other == 0 => one,
        Binary::Divide if ty.is_signed => signed_one.wrapping_div(signed_other) as u64,
        Binary::Divide => one / other,
        Binary::Remainder if ty.is_signed => signed_one.wrapping_rem(signed_other) as u64,
        Binary::Remainder => one % other,
    }
}
