//! Which instructions may have set a register: values as in SSA form, found where they are asked for.

use super::Kinds;
use super::graph::{Node, Place};
use super::instructions::OPEN;
use crate::script::Functions;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, flow};

/// What is looked up of a function's code.
pub struct Code {
    /// First instructions of the blocks, in order.
    starts: Vec<usize>,
    /// By block, the blocks before it.
    before: Vec<Vec<usize>>,
    /// By register, the instructions that set it, in order.
    setters: Vec<Vec<usize>>,
    /// Variables that functions made here capture.
    pub captured: Vec<Captured>,
}

/// A register that a function made here has as a variable.
pub struct Captured {
    pub register: usize,
    /// The instruction that makes the first such function.
    pub made: usize,
    /// The variable's life.
    from: usize,
    to: usize,
}

impl Captured {
    pub fn place(&self, function: usize) -> Place {
        Place::Captured { function, register: self.register, from: self.from }
    }

    fn is_at(&self, pc: usize, register: usize) -> bool {
        // The instruction before its life sets it.
        self.register == register && self.from <= pc + 1 && pc < self.to
    }
}

impl Code {
    pub fn of(functions: &Functions<'_>, function: usize) -> Code {
        let captures = |n: usize| -> Vec<usize> {
            let upvalues = &functions.get(functions.inner(function, n)).upvalues;
            upvalues.iter().filter(|u| u.in_stack).map(|u| usize::from(u.index)).collect()
        };
        Code::new(functions.get(function), captures)
    }

    /// `captures` gives the registers that a new closure of the `n`-th inner function captures.
    fn new(prototype: &Prototype, captures: impl Fn(usize) -> Vec<usize>) -> Code {
        let code = &prototype.code;
        let mut is_start = vec![false; code.len() + 1];
        is_start[0] = true;
        for pc in 0..code.len() {
            let targets = flow::successors(code, pc);
            if targets != [pc + 1] {
                is_start[pc + 1] = true;
                targets.into_iter().filter(|at| *at < code.len()).for_each(|at| is_start[at] = true);
            }
        }
        let starts: Vec<usize> = (0..code.len()).filter(|pc| is_start[*pc]).collect();
        let mut found = Code {
            before: vec![Vec::new(); starts.len()],
            starts,
            setters: Vec::new(),
            captured: Vec::new(),
        };
        for block in 0..found.starts.len() {
            let last = found.end(block, code.len()) - 1;
            for target in flow::successors(code, last).into_iter().filter(|target| *target < code.len()) {
                let target = found.block(target);
                found.before[target].push(block);
            }
        }
        // Open lists may end behind the registers.
        found.setters = vec![Vec::new(); usize::from(prototype.stack_size) + OPEN];
        for (pc, word) in code.iter().enumerate() {
            found.note_setters(Instruction(*word), pc);
            found.note_captured(prototype, Instruction(*word), pc, &captures);
        }
        found
    }

    fn end(&self, block: usize, length: usize) -> usize {
        self.starts.get(block + 1).copied().unwrap_or(length)
    }

    fn block(&self, pc: usize) -> usize {
        self.starts.partition_point(|start| *start <= pc).saturating_sub(1)
    }

    fn note_setters(&mut self, i: Instruction, pc: usize) {
        let registers = i.changes();
        self.setters.iter_mut().take(registers.end).skip(registers.start).for_each(|list| list.push(pc));
    }

    fn note_captured(
        &mut self,
        prototype: &Prototype,
        i: Instruction,
        pc: usize,
        captures: &impl Fn(usize) -> Vec<usize>,
    ) {
        if i.opcode() != Some(Opcode::Closure) {
            return;
        }
        for register in captures(i.bx()) {
            if !self.captured.iter().any(|known| known.is_at(pc, register)) {
                let life = prototype.life(pc, register);
                self.captured.push(Captured { register, made: pc, from: life.start, to: life.end });
            }
        }
    }

    /// The captured variable that a register is at an instruction.
    pub fn captured_at(&self, pc: usize, register: usize) -> Option<&Captured> {
        self.captured.iter().find(|captured| captured.is_at(pc, register))
    }

    /// The last instruction in `from..to` that sets the register.
    fn setter(&self, register: usize, from: usize, to: usize) -> Option<usize> {
        let setters = self.setters.get(register)?;
        let last = setters[..setters.partition_point(|pc| *pc < to)].last()?;
        (*last >= from).then_some(*last)
    }

    /// All instructions that may have set a register before another one, and whether there is a path from the function's start without one.
    pub fn definitions(&self, pc: usize, register: usize) -> (Vec<usize>, bool) {
        let at = self.block(pc);
        if let Some(setter) = self.setter(register, self.starts[at], pc) {
            return (vec![setter], false);
        }
        let (mut found, mut from_start) = (Vec::new(), at == 0);
        let mut seen = vec![false; self.starts.len()];
        let mut work = self.before[at].clone();
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut seen[block], true) {
                continue;
            }
            match self.setter(register, self.starts[block], self.end(block, usize::MAX)) {
                Some(setter) => found.push(setter),
                None => {
                    from_start |= block == 0;
                    work.extend(&self.before[block]);
                }
            }
        }
        (found, from_start)
    }

    /// The instructions that set a captured variable after the first function with it is made.
    pub fn setters_of<'c>(&'c self, captured: &'c Captured) -> impl Iterator<Item = usize> + 'c {
        let setters = self.setters.get(captured.register).map_or(&[][..], Vec::as_slice);
        setters.iter().copied().filter(|pc| (captured.made..captured.to).contains(pc))
    }
}

impl Kinds<'_, '_> {
    /// What a register holds before an instruction.
    pub(super) fn at(&mut self, function: usize, pc: usize, register: usize) -> Node {
        let node = self.set_before(function, pc, register);
        let code = self.code(function);
        match code.captured_at(pc, register).filter(|captured| captured.made < pc) {
            None => node,
            Some(captured) => {
                let place = captured.place(function);
                let captured = self.place(place);
                let both = self.place(Place::Variable { function, pc, register });
                self.graph.flow(node, both);
                self.graph.flow(captured, both);
                both
            }
        }
    }

    fn set_before(&mut self, function: usize, pc: usize, register: usize) -> Node {
        let code = self.code(function);
        let length = self.prototype(function).code.len();
        let (mut block, mut end, mut falsy) = (code.block(pc), pc, false);
        let mut found = None;
        // Code that nothing leads to can be a circle.
        for _ in 0..code.starts.len() {
            if let Some(setter) = code.setter(register, code.starts[block], end) {
                found = Some(self.set(function, setter, register));
                break;
            }
            match code.before[block].as_slice() {
                [] => break,
                [only] if block > 0 => {
                    falsy |= self.is_falsy(function, [*only, block], register);
                    block = *only;
                }
                _ => {
                    found = Some(self.meeting(function, block, register));
                    break;
                }
            }
            end = code.end(block, length);
        }
        let node = found.unwrap_or_else(|| self.place(Place::Parameter { function, register }));
        if falsy { self.graph.falsy(node) } else { node }
    }

    /// Whether the path from one block to another one is taken where the register is nil or false: of `a and b` that is `a`.
    fn is_falsy(&self, function: usize, [from, to]: [usize; 2], register: usize) -> bool {
        let Some(code) = self.codes.get(&function) else { return false };
        let words = &self.prototype(function).code;
        let test = code.end(from, words.len()) - 1;
        let i = Instruction(words[test]);
        let (Some(Opcode::Test | Opcode::TestSet), true) = (i.opcode(), i.a() == register) else {
            return false;
        };
        let [jump, next] = flow::successors(words, test)[..] else { return false };
        // The jump is taken where the value is as `k` says.
        let start = code.starts[to];
        jump != next && if i.k() { start == next } else { start == jump }
    }

    /// The paths that meet are followed later, because there can be any number of meetings in a row.
    fn meeting(&mut self, function: usize, block: usize, register: usize) -> Node {
        let (node, new) = self.graph.node(Place::Meeting { function, block, register });
        if new {
            self.meetings.push((node, function, block, register));
        }
        node
    }

    /// Follows the paths that meet.
    pub(super) fn follow_meetings(&mut self) {
        while let Some((node, function, block, register)) = self.meetings.pop() {
            let code = self.code(function);
            let length = self.prototype(function).code.len();
            for before in &code.before[block] {
                let end = code.end(*before, length);
                let from = match code.setter(register, code.starts[*before], end) {
                    Some(setter) => self.set(function, setter, register),
                    None => self.set_before(function, code.starts[*before], register),
                };
                let falsy = self.is_falsy(function, [*before, block], register);
                let from = if falsy { self.graph.falsy(from) } else { from };
                self.graph.flow(from, node);
            }
            if block == 0 {
                let parameter = self.place(Place::Parameter { function, register });
                self.graph.flow(parameter, node);
            }
        }
    }
}
