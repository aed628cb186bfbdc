//! Sums that are assigned to where one of their operands was read from: `t[k] = (t[k] or 0) + n`, `f.n = f.n + n`, `n = n + 1`; and
//! what is assigned to where it was read from: `t[k] = t[k] or 100`.
//!
//! The bytecode tells which reading instruction belongs to which assignment; whether both mean the same word is known at packet
//! time only (`runtime/lua/shared.lua`).

use super::General;
use super::sites::Site;
use crate::names::{local_name, setter};
use crate::opcode::{Instruction, Opcode};
use moonhook_runtime::layout::KEEPS;
use moonhook_snapshot::Prototype;
use std::collections::{HashMap, HashSet};

/// For each instruction that assigns such a sum, the one that reads.
#[derive(Default)]
pub struct Counts {
    read_of: HashMap<usize, Read>,
    reads: HashSet<usize>,
}

/// What an assigned value comes from.
#[derive(Clone, Copy)]
pub struct Read {
    pub pc: usize,
    /// What was read is assigned as it is; only where it is nil, something else is.
    pub keeps: bool,
}

impl Counts {
    pub fn new(prototype: &Prototype) -> Counts {
        let function = Function(prototype);
        let found = (0..prototype.code.len()).filter_map(|pc| Some((pc, function.read_of(pc)?)));
        let read_of: HashMap<usize, Read> = found.collect();
        Counts { reads: read_of.values().map(|read| read.pc).collect(), read_of }
    }

    pub fn is_read(&self, pc: usize) -> bool {
        self.reads.contains(&pc)
    }

    /// The instruction that reads what the one at `pc` assigns a sum with.
    pub fn read_of(&self, pc: usize) -> Option<Read> {
        self.read_of.get(&pc).copied()
    }
}

/// The sites of a function's instructions, made in the order of the bytecode.
pub struct Sites {
    counts: Counts,
    /// Of the instructions that read what is added to, by their place.
    of_reads: HashMap<usize, usize>,
}

impl Sites {
    pub fn new(prototype: &Prototype) -> Sites {
        Sites { counts: Counts::new(prototype), of_reads: HashMap::new() }
    }

    /// The next site of the program, for the instruction at `pc`.
    pub fn make(&mut self, general: &mut General<'_>, function: usize, pc: usize) -> Site {
        let mut site = Site::new(general, function, pc);
        let number = general.sites.len();
        if self.counts.is_read(pc) {
            self.of_reads.insert(pc, number);
            site.read = number as u64;
        } else if let Some(read) = self.counts.read_of(pc)
            && let Some(of_read) = self.of_reads.get(&read.pc)
        {
            site.read = *of_read as u64 | if read.keeps { KEEPS as u64 } else { 0 };
        }
        site
    }

    /// Whether the instruction reads what a later one assigns a sum with.
    pub fn is_read(&self, pc: usize) -> bool {
        self.counts.is_read(pc)
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

/// An index of a constant, or a small integer; or where a value comes from.
#[derive(PartialEq)]
enum Key<'p> {
    Constant(usize),
    Value(Origin<'p>),
}

/// Instructions that are followed back to find where a table comes from, at most: `a.b.c` takes three.
const DEPTH: usize = 64;

/// Instructions that are looked back at for what fills a register.
const MOST: usize = 64;

struct Function<'p>(&'p Prototype);

impl<'p> Function<'p> {
    fn at(&self, pc: usize) -> Instruction {
        Instruction(self.0.code.get(pc).copied().unwrap_or(0))
    }

    fn read_of(&self, pc: usize) -> Option<Read> {
        use Opcode::*;
        let i = self.at(pc);
        let value = match i.opcode()? {
            SetTable | SetI | SetField | SetTabUp if !i.k() => i.c(),
            SetUpval => i.a(),
            _ => return None,
        };
        let object = self.object(pc, DEPTH)?;
        let same = |read: &usize| self.object(*read, DEPTH).is_some_and(|other| other == object);
        if let Some(read) = self.kept(pc, value).filter(same) {
            return Some(Read { pc: read, keeps: true });
        }
        let sum = setter(self.0, pc, value)?;
        let operation = self.at(sum);
        let operands = match operation.opcode()? {
            Add => vec![operation.b(), operation.c()],
            AddI | AddK | Sub | SubK => vec![operation.b()],
            _ => return None,
        };
        let reads: Vec<usize> =
            operands.into_iter().filter_map(|operand| self.reader(sum, operand)).filter(same).collect();
        let key = self.key(pc);
        let of_key = reads.iter().find(|read| key.is_some() && self.key(**read) == key);
        of_key.or(reads.first()).map(|read| Read { pc: *read, keeps: false })
    }

    fn reads(&self, pc: usize) -> bool {
        use Opcode::*;
        matches!(self.at(pc).opcode(), Some(GetTable | GetI | GetField | GetTabUp | GetUpval))
    }

    /// The instruction whose result, or 0 in the place of nil, an operand of the instruction at `pc` is.
    fn reader(&self, pc: usize, register: usize) -> Option<usize> {
        if let Some(at) = setter(self.0, pc, register) {
            return self.reads(at).then_some(at);
        }
        let (read, instead) = self.read_or(pc, register)?;
        let zero = self.at(read + 3);
        let is_zero = zero.opcode() == Some(Opcode::LoadI) && zero.sbx() == 0;
        (is_zero && instead == 1).then_some(read)
    }

    /// The instruction whose result, or something else in the place of nil or false, is in a register at `pc`.
    fn kept(&self, pc: usize, register: usize) -> Option<usize> {
        match setter(self.0, pc, register) {
            Some(at) => self.reads(at).then_some(at),
            None => self.read_or(pc, register).map(|(read, _)| read),
        }
    }

    /// What fills a register in order to be used at `pc`: a read, a test whether there is a value, a jump over what fills it
    /// otherwise. Gives the read, and how many instructions are jumped over.
    fn read_or(&self, pc: usize, register: usize) -> Option<(usize, i64)> {
        let sets = |at: usize| self.at(at).sets(register);
        let read = (pc.saturating_sub(MOST)..pc).rev().find(|at| {
            let (test, jump) = (self.at(at + 1), self.at(at + 2));
            let is_test = (test.opcode(), test.a()) == (Some(Opcode::Test), register);
            self.reads(*at) && sets(*at) && is_test && jump.opcode() == Some(Opcode::Jmp)
        })?;
        let over = self.at(read + 2).sj();
        let end = read + 3 + usize::try_from(over).ok()?;
        let filled = end <= pc && (read + 3..end).any(sets);
        let unchanged = !(end..pc).any(sets);
        (filled && unchanged).then_some((read, over))
    }

    /// The key with which the instruction at `pc` reads or assigns, as far as two instructions can be told to use the same one.
    fn key(&self, pc: usize) -> Option<Key<'p>> {
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
    fn object(&self, pc: usize, depth: usize) -> Option<Origin<'p>> {
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

    fn origin(&self, pc: usize, register: usize, depth: usize) -> Option<Origin<'p>> {
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
