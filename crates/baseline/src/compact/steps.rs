//! The interpreter's code for each step. What takes more than a few instructions is done by the routines that compiled functions call.

mod access;
mod arithmetic;
mod calls;
mod control;

use super::interpreter::Interpreter;
use super::record::Step;

impl Interpreter<'_, '_> {
    /// Appends the code of a step, which ends by going on at another record or by leaving with a status.
    pub(super) fn step(&mut self, step: Step) {
        use Step::*;
        match step {
            Move | GetUpvalue | GetVariable | ReadUpvalue | SetUpvalue | AssignUpvalue | NoteRead
            | Assign | Closure | Index | IndexUpvalue | ReadField | ReadUpvalueField | AssignField
            | SetIndex | SetUpvalueIndex | NewTable | SetList => self.access(step),
            Arithmetic | Not | Length | BeginConcat | Concat | Test | HasTag | Same | Equal | Less
            | LessEqual | Answer => self.arithmetic(step),
            Call | TailCall | Return | Detach | Close | MarkClosed | VarArg | OneVarArg | HideVarArgs
            | VarArgTable => self.call(step),
            Jump | Loop | ForPrepare | ForLoop | Exchange | BeginTraversal | Traverse | RefuseDefined => {
                self.control(step);
            }
        }
    }
}
