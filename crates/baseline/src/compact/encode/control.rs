//! Calls, returns, jumps, loops, and variables to be closed.

use super::Encoder;
use crate::compact::record::{Goal, Step, register};
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::names;

impl Encoder<'_, '_> {
    pub(super) fn call(&mut self, opcode: Opcode, i: Instruction) {
        let (a, b, c) = (register(i.a()), i.b() as u32, i.c() as u32);
        match opcode {
            Opcode::Call => drop(self.push_calling(Step::Call, [a, b, c])),
            Opcode::TailCall => {
                if i.k() {
                    self.push(Step::Detach, [0; 3]);
                }
                self.push_calling(Step::TailCall, [a, b, 0]);
                self.push_failing(Step::Return, [a, 0, 0]);
            }
            Opcode::Return => {
                if i.k() {
                    self.push_repeated(Step::Close, [0; 3]);
                }
                self.push_failing(Step::Return, [a, b, 0]);
            }
            Opcode::Return0 => drop(self.push_failing(Step::Return, [a, 1, 0])),
            Opcode::Return1 => drop(self.push_failing(Step::Return, [a, 2, 0])),
            Opcode::VarArg => {
                // The constant at address 0 is no table.
                let table = if i.k() { register(i.b()) } else { 1 };
                self.push_failing(Step::VarArg, [a, c, table]);
            }
            Opcode::GetVArg => drop(self.push(Step::OneVarArg, [a, register(i.c()), 0])),
            _ => {
                let step = if self.prototype.vararg_table { Step::VarArgTable } else { Step::HideVarArgs };
                self.push_failing(step, [0; 3]);
            }
        }
    }

    pub(super) fn control(&mut self, opcode: Opcode, i: Instruction) {
        let (a, next) = (register(i.a()), self.pc + 1);
        match opcode {
            Opcode::Jmp => self.jump((next as i64 + i.sj()) as usize),
            Opcode::Close => self.push_repeated(Step::Close, [a, 0, 0]),
            Opcode::Tbc => drop(self.push_failing(Step::MarkClosed, [a, 0, 0])),
            Opcode::ForPrep => {
                self.push_failing(Step::ForPrepare, [a, 0, 0]).then = Goal::Pc(next + 1 + i.bx());
            }
            Opcode::ForLoop => {
                self.push_failing(Step::ForLoop, [a, 0, 0]).then = Goal::Pc(next - i.bx());
            }
            Opcode::TForPrep => {
                self.push(Step::Exchange, [register(i.a() + 2), 0, 0]);
                self.push_failing(Step::MarkClosed, [register(i.a() + 2), 0, 0]);
                if self.may_traverse() {
                    self.push_calling(Step::BeginTraversal, [a, 0, 0]);
                }
                self.jump(next + i.bx());
            }
            Opcode::TForCall => self.iterate(i),
            Opcode::TForLoop => {
                let record = self.push(Step::HasTag, [register(i.a() + 3), TAG_NIL as u32, 0]);
                (record.then, record.next) = (Goal::Pc(next), Goal::Pc(next - i.bx()));
            }
            _ => self.refuse_defined(i),
        }
    }

    fn jump(&mut self, target: usize) {
        self.push(Step::Jump, [0; 3]).next = Goal::Pc(target);
    }

    /// Whether a generic `for` may go through a shared table.
    fn may_traverse(&self) -> bool {
        self.general.shared.exist() && self.general.reach.builtins.contains("next")
    }

    /// The call of a generic `for`. A turn of a traversal has its results in place and nil in the other variables.
    fn iterate(&mut self, i: Instruction) {
        if self.may_traverse() {
            let nil = self.word((TAG_NIL, 0));
            for to in i.a() + 5..i.a() + 3 + i.c() {
                self.push(Step::Move, [register(to), nil, 0]);
            }
            let (site, behind_call) = (self.site(), self.records.len() + 5);
            self.resumed.push((site, behind_call));
            self.push(Step::Traverse, [register(i.a()), 0, 0]).site = site;
        }
        for (to, from) in [(5, 3), (4, 1), (3, 0)] {
            self.push(Step::Move, [register(i.a() + to), register(i.a() + from), 0]);
        }
        self.push_calling(Step::Call, [register(i.a() + 3), 3, i.c() as u32 + 1]);
    }

    /// `global x <const> = …` where the global is there already (5.5).
    fn refuse_defined(&mut self, i: Instruction) {
        let text = self.general.image.text(&names::already_defined(self.prototype, i));
        let text = self.word((TAG_STRING, text));
        self.push_failing(Step::RefuseDefined, [register(i.a()), text, 0]);
    }
}
