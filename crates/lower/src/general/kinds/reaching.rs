//! Which instructions may have set a register.

use super::Kinds;
use crate::opcode::{Instruction, Opcode};
use moonhook_snapshot::flow;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Where a register's value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// It is there when the function begins.
    Entry,
    /// The instruction sets it.
    At(usize),
}

impl Kinds<'_, '_> {
    /// What may have set the register before the instruction.
    pub fn origins(&mut self, function: usize, pc: usize, register: usize) -> BTreeSet<Origin> {
        let before = self.before(function);
        let (mut origins, mut seen, mut work) = (BTreeSet::new(), BTreeSet::new(), vec![pc]);
        while let Some(pc) = work.pop() {
            if pc == 0 {
                origins.insert(Origin::Entry);
            }
            for &earlier in &before[pc] {
                let i = self.instruction(function, earlier);
                let sets = sets(i, register);
                if sets {
                    origins.insert(Origin::At(earlier));
                }
                // `TestSet` assigns on one of its ways only.
                if (!sets || i.opcode() == Some(Opcode::TestSet)) && seen.insert(earlier) {
                    work.push(earlier);
                }
            }
        }
        origins
    }

    fn before(&mut self, function: usize) -> Rc<Vec<Vec<usize>>> {
        if let Some(known) = self.before.get(&function) {
            return known.clone();
        }
        let code = &self.prototype(function).code;
        let mut before = vec![Vec::new(); code.len()];
        for pc in 0..code.len() {
            for next in flow::successors(code, pc).into_iter().filter(|next| *next < code.len()) {
                before[next].push(pc);
            }
        }
        let before = Rc::new(before);
        self.before.insert(function, before.clone());
        before
    }
}

/// Whether the instruction may set the register.
fn sets(i: Instruction, register: usize) -> bool {
    use Opcode::*;
    let Some(opcode) = i.opcode() else { return false };
    match opcode {
        LoadNil => (i.a()..=i.a() + i.b()).contains(&register),
        Call | VarArg => register >= i.a(),
        TForCall => register >= i.a() + 3,
        Self_ => register == i.a() || register == i.a() + 1,
        ForLoop | ForPrep => (i.a()..=i.a() + 2).contains(&register),
        // It leaves the parameters alone.
        VarArgPrep => false,
        _ => opcode.sets_a() && register == i.a(),
    }
}
