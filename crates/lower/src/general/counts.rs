//! Sums that are assigned to where one of their operands was read from: `t[k] = (t[k] or 0) + n`, `f.n = f.n + n`, `n = n + 1`.
//!
//! The bytecode tells which reading instruction belongs to which assignment; whether both mean the same word is known at packet
//! time only (`runtime/lua/shared.lua`).

use crate::names::{local_name, sets, setter};
use crate::opcode::{Instruction, Opcode};
use moonhook_snapshot::Prototype;
use std::collections::{HashMap, HashSet};

/// For each instruction that assigns such a sum, the one that reads.
#[derive(Default)]
pub struct Counts {
    read_of: HashMap<usize, usize>,
    reads: HashSet<usize>,
}

impl Counts {
    pub fn new(prototype: &Prototype) -> Counts {
        let function = Function(prototype);
        let found = (0..prototype.code.len()).filter_map(|pc| Some((pc, function.read_of(pc)?)));
        let read_of: HashMap<usize, usize> = found.collect();
        Counts { reads: read_of.values().copied().collect(), read_of }
    }

    pub fn is_read(&self, pc: usize) -> bool {
        self.reads.contains(&pc)
    }

    /// The instruction that reads what the one at `pc` assigns a sum with.
    pub fn read_of(&self, pc: usize) -> Option<usize> {
        self.read_of.get(&pc).copied()
    }
}

/// Where a table comes from, as far as two instructions can be told to use the same one.
#[derive(PartialEq)]
enum Origin<'p> {
    Upvalue(usize),
    /// What is read or assigned is the upvalue itself.
    Variable(usize),
    Local(usize, &'p str),
    /// What an instruction read of another table, by whatever key.
    Part(Box<Origin<'p>>),
}

struct Function<'p>(&'p Prototype);

impl<'p> Function<'p> {
    fn at(&self, pc: usize) -> Instruction {
        Instruction(self.0.code.get(pc).copied().unwrap_or(0))
    }

    fn read_of(&self, pc: usize) -> Option<usize> {
        use Opcode::*;
        let i = self.at(pc);
        let value = match i.opcode()? {
            SetTable | SetI | SetField | SetTabUp if !i.k() => i.c(),
            SetUpval => i.a(),
            _ => return None,
        };
        let sum = setter(self.0, pc, value)?;
        let operation = self.at(sum);
        let operands = match operation.opcode()? {
            Add => vec![operation.b(), operation.c()],
            AddI | AddK | Sub | SubK => vec![operation.b()],
            _ => return None,
        };
        let object = self.object(pc)?;
        let same = |read: &usize| self.object(*read).is_some_and(|other| other == object);
        operands.into_iter().filter_map(|operand| self.reader(sum, operand)).find(same)
    }

    /// The instruction whose result, or 0 in the place of nil, an operand of the instruction at `pc` is.
    fn reader(&self, pc: usize, register: usize) -> Option<usize> {
        use Opcode::*;
        let reads = |at: usize| {
            matches!(self.at(at).opcode(), Some(GetTable | GetI | GetField | GetTabUp | GetUpval))
        };
        if let Some(at) = setter(self.0, pc, register) {
            return reads(at).then_some(at);
        }
        // The read, a test whether there is a value, a jump over what gives 0 otherwise.
        let is_zero = |i: Instruction| i.opcode() == Some(LoadI) && i.a() == register;
        let changes = |at: usize| sets(self.at(at), register) && setter(self.0, at + 1, register) == Some(at);
        let zero = (3..pc).rev().find(|at| is_zero(self.at(*at)) || changes(*at))?;
        let (read, test, jump) = (self.at(zero - 3), self.at(zero - 2), self.at(zero - 1));
        let shape = [read.a(), test.a()] == [register; 2]
            && self.at(zero).sbx() == 0
            && test.opcode() == Some(Test)
            && (jump.opcode(), jump.sj()) == (Some(Jmp), 1);
        (is_zero(self.at(zero)) && shape && reads(zero - 3)).then_some(zero - 3)
    }

    /// The table that the instruction at `pc` reads or assigns.
    fn object(&self, pc: usize) -> Option<Origin<'p>> {
        use Opcode::*;
        let i = self.at(pc);
        match i.opcode()? {
            GetTable | GetI | GetField => self.origin(pc, i.b()),
            SetTable | SetI | SetField => self.origin(pc, i.a()),
            GetTabUp => Some(Origin::Upvalue(i.b())),
            SetTabUp => Some(Origin::Upvalue(i.a())),
            GetUpval | SetUpval => Some(Origin::Variable(i.b())),
            _ => None,
        }
    }

    fn origin(&self, pc: usize, register: usize) -> Option<Origin<'p>> {
        if let Some(name) = local_name(self.0, register, pc) {
            return Some(Origin::Local(register, name));
        }
        let at = setter(self.0, pc, register)?;
        let i = self.at(at);
        match i.opcode()? {
            Opcode::GetUpval => Some(Origin::Upvalue(i.b())),
            Opcode::Move => self.origin(at, i.b()),
            _ => self.object(at).map(|part| Origin::Part(Box::new(part))),
        }
    }
}
