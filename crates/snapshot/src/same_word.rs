//! Which instructions of a function read or assign the same place, as far as the bytecode tells: the same field of the same table, by
//! the names of local variables and the upvalues that they come from. Whether both mean the same word is known at packet time only.

use crate::instruction::{Instruction, Opcode};
use crate::names::{local_name, setter};
use crate::{Prototype, Value};
use std::collections::HashSet;

/// Where a table comes from, as far as two instructions can be told to use the same one.
#[derive(PartialEq)]
pub enum Origin<'p> {
    Upvalue(usize),
    /// What is read or assigned is the upvalue itself.
    Variable(usize),
    Local(usize, &'p str),
    /// What an instruction read of another table, by whatever key.
    Part(Box<Origin<'p>>),
}

/// An index of a constant, or a small integer; or where a value comes from.
#[derive(PartialEq)]
pub enum Key<'p> {
    Constant(usize),
    Value(Origin<'p>),
}

/// What is assigned, or added.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    Constant(i64),
    Register(usize),
}

impl Amount {
    fn register(self) -> Option<usize> {
        match self {
            Amount::Register(register) => Some(register),
            Amount::Constant(_) => None,
        }
    }
}

/// A sum that is assigned to where one of its operands was read.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// The instruction that reads.
    pub read: usize,
    /// The instruction that adds.
    pub made: usize,
    /// What it adds, if that is known.
    pub added: Option<Amount>,
}

/// Instructions that are followed back to find where a table comes from, at most: `a.b.c` takes three.
pub const DEPTH: usize = 64;

/// Instructions that are looked back at for what fills a register.
const MOST: usize = 1024;

/// Instructions that set a register in order to fill it with something else, `f(a, b, c)` for example, at most.
const FILLS: usize = 16;

/// Sums that a value is made of and that are looked into, at most: `t[k] + a + b` takes two.
const SUMS: usize = 64;

pub struct Function<'p>(pub &'p Prototype);

impl<'p> Function<'p> {
    pub fn at(&self, pc: usize) -> Instruction {
        Instruction(self.0.code.get(pc).copied().unwrap_or(0))
    }

    /// Which read operand of the sum that the instruction at `pc` assigns is of the place that is assigned, and what is added.
    pub fn sum_at(&self, pc: usize) -> Option<Sum> {
        let value = self.assigned(pc)?.register()?;
        let sum = setter(self.0, pc, value)?;
        self.sum_of(sum, &self.object(pc, DEPTH)?, self.key(pc).as_ref())
    }

    /// The same, of a sum that the instruction at `sum` makes, for a place of `object`: under the key, if some operand is read so.
    pub fn sum_of(&self, sum: usize, object: &Origin<'p>, key: Option<&Key<'p>>) -> Option<Sum> {
        let is_of = |sum: &Sum| self.object(sum.read, DEPTH).is_some_and(|other| other == *object);
        let sums: Vec<Sum> = self.summands(sum).into_iter().filter(is_of).collect();
        let of_key = sums.iter().find(|sum| key.is_some() && self.key(sum.read).as_ref() == key);
        of_key.or(sums.first()).copied()
    }

    /// What the sum that the instruction at `made` makes was read from, through the sums that it is made of.
    fn summands(&self, made: usize) -> Vec<Sum> {
        let (mut found, mut seen, mut work) = (Vec::new(), HashSet::new(), vec![made]);
        while let Some(sum) = work.pop() {
            if seen.len() == SUMS || !seen.insert(sum) {
                continue;
            }
            for (operand, added) in self.operands(sum) {
                match self.reader(sum, operand) {
                    // Of a sum of several parts it is not known what is added.
                    Some(read) => found.push(Sum { read, made, added: added.filter(|_| sum == made) }),
                    None => work.extend(setter(self.0, sum, operand)),
                }
            }
        }
        found
    }

    /// The registers that the instruction adds something to, and what, if that is known.
    fn operands(&self, sum: usize) -> Vec<(usize, Option<Amount>)> {
        let operation = self.at(sum);
        let (b, c) = (operation.b(), operation.c());
        let constant = |sign: i64| match self.0.constants.get(c) {
            Some(Value::Integer(value)) => Some(Amount::Constant(sign.wrapping_mul(*value))),
            _ => None,
        };
        match operation.opcode() {
            Some(Opcode::Add) => vec![(b, Some(Amount::Register(c))), (c, Some(Amount::Register(b)))],
            Some(Opcode::AddI) => vec![(b, Some(Amount::Constant(operation.sc())))],
            Some(Opcode::AddK) => vec![(b, constant(1))],
            Some(Opcode::Sub) => vec![(b, None)],
            Some(Opcode::SubK) => vec![(b, constant(-1))],
            _ => Vec::new(),
        }
    }

    /// What the instruction at `pc` assigns, if it assigns a field or an upvalue.
    pub fn assigned(&self, pc: usize) -> Option<Amount> {
        use Opcode::*;
        let i = self.at(pc);
        match i.opcode()? {
            SetTable | SetI | SetField | SetTabUp if i.k() => match self.0.constants.get(i.c()) {
                Some(Value::Integer(value)) => Some(Amount::Constant(*value)),
                _ => None,
            },
            SetTable | SetI | SetField | SetTabUp => Some(Amount::Register(i.c())),
            SetUpval => Some(Amount::Register(i.a())),
            _ => None,
        }
    }

    pub fn reads(&self, pc: usize) -> bool {
        use Opcode::*;
        matches!(self.at(pc).opcode(), Some(GetTable | GetI | GetField | GetTabUp | GetUpval))
    }

    /// The instruction whose result, or 0 in the place of nil, an operand of the instruction at `pc` is.
    pub fn reader(&self, pc: usize, register: usize) -> Option<usize> {
        if let Some(at) = setter(self.0, pc, register) {
            return self.reads(at).then_some(at);
        }
        let (read, instead) = self.read_or(pc, register)?;
        let zero = self.at(read + 3);
        let is_zero = zero.opcode() == Some(Opcode::LoadI) && zero.sbx() == 0;
        (is_zero && instead == 1).then_some(read)
    }

    /// The instruction whose result, or something else in the place of nil or false, is in a register at `pc`.
    pub fn kept(&self, pc: usize, register: usize) -> Option<usize> {
        match setter(self.0, pc, register) {
            Some(at) => self.reads(at).then_some(at),
            None => self.read_or(pc, register).map(|(read, _)| read),
        }
    }

    /// What fills a register in order to be used at `pc`: a read, a test whether there is a value, a jump over what fills it
    /// otherwise. Gives the read, and how many instructions are jumped over.
    pub fn read_or(&self, pc: usize, register: usize) -> Option<(usize, i64)> {
        let sets = |at: usize| self.at(at).sets(register);
        let is_read = |at: usize| {
            let (test, jump) = (self.at(at + 1), self.at(at + 2));
            let is_test = test.a() == register && self.present_if_jumped(at + 1) == Some(true);
            self.reads(at) && is_test && jump.opcode() == Some(Opcode::Jmp)
        };
        // What sets it last fills it otherwise, or is the read.
        let read =
            (pc.saturating_sub(MOST)..pc).rev().filter(|at| sets(*at)).take(FILLS).find(|at| is_read(*at))?;
        let over = self.at(read + 2).sj();
        let end = read + 3 + usize::try_from(over).ok()?;
        let filled = end <= pc && (read + 3..end).any(sets);
        let unchanged = !(end..pc).any(sets);
        (filled && unchanged).then_some((read, over))
    }

    /// Whether the jump behind the instruction at `pc` is made where a register has a value (or where it has none), if that is what the
    /// instruction tests.
    pub fn present_if_jumped(&self, pc: usize) -> Option<bool> {
        let i = self.at(pc);
        match i.opcode()? {
            Opcode::Test => Some(i.k()),
            Opcode::EqK if self.0.constants.get(i.b()) == Some(&Value::Nil) => Some(!i.k()),
            _ => None,
        }
    }

    /// The key with which the instruction at `pc` reads or assigns, as far as two instructions can be told to use the same one.
    pub fn key(&self, pc: usize) -> Option<Key<'p>> {
        use Opcode::*;
        let i = self.at(pc);
        match i.opcode()? {
            GetTable => self.origin(pc, i.c(), DEPTH).map(Key::Value),
            SetTable => self.origin(pc, i.b(), DEPTH).map(Key::Value),
            GetI | GetField | GetTabUp => Some(Key::Constant(i.c())),
            SetI | SetField | SetTabUp => Some(Key::Constant(i.b())),
            _ => None,
        }
    }

    /// The table that the instruction at `pc` reads or assigns.
    pub fn object(&self, pc: usize, depth: usize) -> Option<Origin<'p>> {
        use Opcode::*;
        let depth = depth.checked_sub(1)?;
        let i = self.at(pc);
        match i.opcode()? {
            GetTable | GetI | GetField => self.origin(pc, i.b(), depth),
            SetTable | SetI | SetField => self.origin(pc, i.a(), depth),
            GetTabUp => Some(Origin::Upvalue(i.b())),
            SetTabUp => Some(Origin::Upvalue(i.a())),
            GetUpval | SetUpval => Some(Origin::Variable(i.b())),
            _ => None,
        }
    }

    pub fn origin(&self, pc: usize, register: usize, depth: usize) -> Option<Origin<'p>> {
        if let Some(name) = local_name(self.0, register, pc) {
            return Some(Origin::Local(register, name));
        }
        let at = setter(self.0, pc, register)?;
        let i = self.at(at);
        match i.opcode()? {
            Opcode::GetUpval => Some(Origin::Upvalue(i.b())),
            Opcode::Move => self.origin(at, i.b(), depth.checked_sub(1)?),
            _ => self.object(at, depth).map(|part| Origin::Part(Box::new(part))),
        }
    }
}
