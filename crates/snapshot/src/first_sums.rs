//! First assignments of sums: `if t[k] then t[k] = t[k] + n else t[k] = n end`. Where another CPU makes the entry between the test and
//! the assignment, what the handler assigns is to be added, as its other branch would have done.
//!
//! Found in the bytecode: a test whether a place has a value, and in its two branches assignments to that place, of the place's own
//! value plus an amount and of the same amount. Or the branches leave both in a variable, which is assigned behind them. Or one adds to
//! fields of the table that is there, and the other one assigns a new table with the same amounts in these fields. Or the new table
//! stands in for the one that is not there, what follows adds to its fields, and it is assigned then:
//! `local r = t[k] or { n = 0 } r.n = r.n + 1 t[k] = r`.

mod stand_in;

use crate::instruction::Opcode;
use crate::names::local_name;
use crate::same_word::{Amount, DEPTH, Function, Key, Origin, Sum};
use crate::{Prototype, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Instructions of a branch that are looked at.
const MOST: usize = 256;

/// An assignment of the amount, where there was nothing, or of the sum, where there was something, or of both by turns.
#[derive(Clone, PartialEq, Debug)]
pub struct First {
    /// The instruction that reads what is added to: on this path, or on the other one.
    pub read: usize,
    /// Nothing that could change the place happens between the test and the assignment.
    pub direct: bool,
    /// If a table is assigned: the fields that have amounts.
    pub fields: Vec<FirstField>,
}

/// A field of a new table whose value is an amount, or `from` plus an amount.
#[derive(Clone, PartialEq, Debug)]
pub struct FirstField {
    pub name: Arc<[u8]>,
    pub from: i64,
}

/// By the assigning instructions.
pub fn find(prototype: &Prototype) -> BTreeMap<usize, First> {
    let function = Function(prototype);
    let mut found = BTreeMap::new();
    for test in 0..prototype.code.len() {
        if let Some(branches) = Branches::at(&function, test) {
            branches.assigned(&mut found);
            branches.joined(&mut found);
            branches.of_fields(&mut found);
        }
    }
    for pc in 0..prototype.code.len() {
        if let Some(first) = stand_in::assigned(&function, pc) {
            found.entry(pc).or_insert(first);
        }
    }
    found
}

/// What an amount is, as far as two instructions can be told to mean the same.
#[derive(PartialEq, Debug)]
enum Meaning<'p> {
    Constant(i64),
    Local(usize, &'p str),
    Upvalue(usize),
    Length(Box<Meaning<'p>>),
    Field(Box<Meaning<'p>>, usize),
}

/// The two branches behind a test whether a place has a value.
struct Branches<'f, 'p> {
    function: &'f Function<'p>,
    object: Origin<'p>,
    key: Key<'p>,
    /// The instruction that reads it, and the register that has what was read.
    read: usize,
    register: usize,
    /// Where it has none, and where it has one.
    absent: Range<usize>,
    present: Range<usize>,
    /// Where they meet again, if the first one leads there.
    join: Option<usize>,
}

impl<'f, 'p> Branches<'f, 'p> {
    fn at(function: &'f Function<'p>, test: usize) -> Option<Branches<'f, 'p>> {
        let present_if_jumped = function.present_if_jumped(test)?;
        let prototype = function.0;
        let second = function.jump_from(test + 1).filter(|to| *to > test + 2)?;
        let register = function.at(test).a();
        let read = prototype.only_setter(test, register)?;
        if !function.reads(read) {
            return None;
        }
        let (object, key) = (function.object(read, DEPTH)?, function.key(read)?);
        let last = second - 1;
        let join = function.jump_from(last).filter(|to| *to >= second);
        let end = match function.at(last).opcode()? {
            Opcode::Return | Opcode::Return0 | Opcode::Return1 => prototype.code.len(),
            _ => join?,
        };
        let cut = |range: Range<usize>| range.start..range.end.min(range.start + MOST);
        let (first, second) = (cut(test + 2..last), cut(second..end));
        // Nothing else leads to either branch.
        let others = |to: usize| function.0.first_jump_to(to).is_some_and(|from| from != test + 1);
        if others(first.start) || others(second.start) || function.is_entered(&second, test + 1) {
            return None;
        }
        let (absent, present) = if present_if_jumped { (first, second) } else { (second, first) };
        Some(Branches { function, object, key, read, register, absent, present, join })
    }

    /// Assignments in both branches.
    fn assigned(&self, found: &mut BTreeMap<usize, First>) {
        let Some(sum) = self.present.clone().find_map(|pc| self.sum_assigned(pc)) else { return };
        let Some(pc) = self.absent.clone().find(|pc| self.is_place(*pc)) else { return };
        let value = self.function.assigned(pc);
        if value.is_some_and(|value| self.same(&sum, (pc, value))) {
            let direct = (self.absent.start..pc).all(|at| self.leaves_place(at));
            found.entry(pc).or_insert(First { read: self.read, direct, fields: Vec::new() });
        }
    }

    /// An assignment behind both branches.
    fn joined(&self, found: &mut BTreeMap<usize, First>) {
        let function = self.function;
        let Some(join) = self.join else { return };
        let mut behind = join..function.0.code.len().min(join + MOST);
        let Some(pc) = behind.find(|pc| function.ends_line(*pc) || self.is_place(*pc)) else { return };
        let Some(Amount::Register(register)) = function.assigned(pc).filter(|_| self.is_place(pc)) else {
            return;
        };
        let last = |branch: &Range<usize>| branch.clone().rev().find(|at| function.at(*at).sets(register));
        let (Some(made), Some(first)) = (last(&self.present), last(&self.absent)) else { return };
        let is_changed = (join..pc).any(|at| function.at(at).sets(register));
        let Some(sum) = function.sum_of(made, &self.object, Some(&self.key)) else { return };
        let value = self.meaning_of(first);
        let same = value.is_some() && sum.added.and_then(|added| self.meaning((made, added))) == value;
        let always = self.is_always(&self.present, made) && self.is_always(&self.absent, first);
        if !is_changed && same && always {
            found.entry(pc).or_insert(First { read: sum.read, direct: false, fields: Vec::new() });
        }
    }

    /// An assignment of a new table where there was none, to whose fields the other branch adds.
    fn of_fields(&self, found: &mut BTreeMap<usize, First>) {
        let function = self.function;
        let Some(pc) = self.absent.clone().find(|pc| self.is_place(*pc)) else { return };
        let Some(Amount::Register(value)) = function.assigned(pc) else { return };
        let Some((made, end, table)) = self.new_table(pc, value) else { return };
        let is_added = |at: usize, name: usize| {
            let value = function.assigned(at).map(|value| (at, value));
            let sums = self.present.clone().filter(|at| self.is_field(*at, name));
            let always = sums.filter(|at| self.is_always(&self.present, *at));
            always
                .filter_map(|at| function.sum_at(at))
                .any(|sum| value.is_some_and(|value| self.same(&sum, value)))
        };
        let mut fields = Vec::new();
        for at in made + 1..end {
            let i = function.at(at);
            if i.opcode() == Some(Opcode::SetField)
                && i.a() == table
                && is_added(at, i.b())
                && let Some(Value::String(name)) = function.0.constants.get(i.b())
            {
                fields.push(FirstField { name: name.clone(), from: 0 });
            }
        }
        if !fields.is_empty() {
            found.entry(pc).or_insert(First { read: self.read, direct: false, fields });
        }
    }

    /// Where the table in a register is made, where its fields have been assigned, and which register it is in until then.
    fn new_table(&self, pc: usize, register: usize) -> Option<(usize, usize, usize)> {
        let (mut end, mut register) = (pc, register);
        for _ in 0..2 {
            let made = self.function.0.only_setter(end, register)?;
            match self.function.at(made).opcode()? {
                Opcode::NewTable => return Some((made, end, register)),
                Opcode::Move => (end, register) = (made, self.function.at(made).b()),
                _ => return None,
            }
        }
        None
    }

    /// The instruction assigns the field with that name of the table that the place has.
    fn is_field(&self, pc: usize, name: usize) -> bool {
        let function = self.function;
        let i = function.at(pc);
        if i.opcode() != Some(Opcode::SetField) || i.b() != name {
            return false;
        }
        if i.a() == self.register && !(self.present.start..pc).any(|at| function.at(at).sets(self.register)) {
            return true;
        }
        function.0.only_setter(pc, i.a()).is_some_and(|read| {
            function.reads(read)
                && function.key(read).as_ref() == Some(&self.key)
                && function.object(read, DEPTH).as_ref() == Some(&self.object)
        })
    }

    fn is_place(&self, pc: usize) -> bool {
        let function = self.function;
        function.assigned(pc).is_some()
            && function.key(pc).as_ref() == Some(&self.key)
            && function.object(pc, DEPTH).as_ref() == Some(&self.object)
    }

    /// The sum that the instruction assigns to the place, on every path through its branch.
    fn sum_assigned(&self, pc: usize) -> Option<Sum> {
        let sum = Some(pc).filter(|pc| self.is_place(*pc)).and_then(|pc| self.function.sum_at(pc))?;
        (self.is_always(&self.present, pc) && self.function.key(sum.read).as_ref() == Some(&self.key))
            .then_some(sum)
    }

    /// Every path through the branch comes to the instruction, once.
    fn is_always(&self, branch: &Range<usize>, pc: usize) -> bool {
        (branch.start..pc).all(|at| match self.function.jump_from(at) {
            Some(to) => to > at && to <= pc,
            None => !self.function.ends_line(at),
        })
    }

    /// The instruction surely assigns no field of the place's name, and calls nothing.
    fn leaves_place(&self, pc: usize) -> bool {
        use Opcode::*;
        match self.function.at(pc).opcode() {
            Some(SetTable | SetList | Call | TailCall | TForCall) => false,
            Some(SetI | SetField | SetTabUp) => self.function.key(pc).as_ref() != Some(&self.key),
            _ => true,
        }
    }

    /// Whether what a sum adds is the value that an instruction assigns.
    fn same(&self, sum: &Sum, value: (usize, Amount)) -> bool {
        let added = sum.added.and_then(|added| self.meaning((sum.made, added)));
        added.is_some() && added == self.meaning(value)
    }

    fn meaning(&self, (pc, amount): (usize, Amount)) -> Option<Meaning<'p>> {
        match amount {
            Amount::Constant(value) => Some(Meaning::Constant(value)),
            Amount::Register(register) => self.meaning_at(pc, register, DEPTH),
        }
    }

    fn meaning_at(&self, pc: usize, register: usize, depth: usize) -> Option<Meaning<'p>> {
        if let Some(name) = local_name(self.function.0, register, pc) {
            return self.is_unchanged(register).then_some(Meaning::Local(register, name));
        }
        self.made_at(self.function.0.only_setter(pc, register)?, depth.checked_sub(1)?)
    }

    /// What the instruction leaves in its register.
    fn meaning_of(&self, pc: usize) -> Option<Meaning<'p>> {
        self.made_at(pc, DEPTH)
    }

    fn made_at(&self, pc: usize, depth: usize) -> Option<Meaning<'p>> {
        let i = self.function.at(pc);
        let of = |register: usize| self.meaning_at(pc, register, depth);
        match i.opcode()? {
            Opcode::LoadI => Some(Meaning::Constant(i.sbx())),
            Opcode::LoadK => match self.function.0.constants.get(i.bx()) {
                Some(Value::Integer(value)) => Some(Meaning::Constant(*value)),
                _ => None,
            },
            Opcode::Move => of(i.b()),
            Opcode::GetUpval => Some(Meaning::Upvalue(i.b())),
            Opcode::Len => Some(Meaning::Length(Box::new(of(i.b())?))),
            Opcode::GetField => Some(Meaning::Field(Box::new(of(i.b())?), i.c())),
            _ => None,
        }
    }

    /// Neither branch sets a register.
    fn is_unchanged(&self, register: usize) -> bool {
        let sets = |pc: usize| self.function.at(pc).sets(register);
        !self.absent.clone().chain(self.present.clone()).any(sets)
    }
}

impl Function<'_> {
    /// Where the instruction at `pc` jumps to, if it is a jump.
    fn jump_from(&self, pc: usize) -> Option<usize> {
        let i = self.at(pc);
        let to = (i.opcode() == Some(Opcode::Jmp)).then(|| pc as i64 + 1 + i.sj())?;
        usize::try_from(to).ok().filter(|to| *to <= self.0.code.len())
    }

    /// What follows the instruction at `pc` is not surely the next one: it returns, or begins or ends a loop.
    fn ends_line(&self, pc: usize) -> bool {
        use Opcode::*;
        let opcode = self.at(pc).opcode();
        matches!(
            opcode,
            Some(Return | Return0 | Return1 | TailCall | ForPrep | ForLoop | TForPrep | TForCall | TForLoop)
        )
    }

    /// Whether a jump before the range, but for the one at `known`, leads into it.
    fn is_entered(&self, range: &Range<usize>, known: usize) -> bool {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return false };
        self.0.first_jump_into(range.start, last).is_some_and(|from| from < known)
    }
}
