//! Which functions are the same one. Each execution of `function` makes another (Lua manual § 3.4.11); those of load time that have the same
//! code and the same variables are alike here, so that they are expanded once.

use crate::context::{Context, Result};
use crate::value::{CellRef, Closure, Object, Origin};
use moonhook_snapshot::ClosureId;

/// In numbers of cells: what stands in the place of a register for a function.
const FUNCTION: usize = usize::MAX - 8;

impl Context<'_> {
    /// A function of load time.
    pub fn closure_of(&self, id: ClosureId) -> Closure {
        let closure = self.snapshot.closure(id);
        let upvalues = closure.upvalues.iter().map(|cell| CellRef::Snapshot(*cell)).collect();
        Closure { prototype: closure.prototype, upvalues, origin: Origin::LoadTime }
    }

    /// Where the current instruction makes a function.
    pub fn origin(&mut self) -> Origin {
        match self.active_loops.is_empty() {
            true => Origin::Once(self.cell_number(FUNCTION)),
            false => Origin::Often,
        }
    }

    /// Whether objects that are alike here are surely one.
    pub fn is_one_object(&self, object: &Object) -> bool {
        match object {
            Object::Closure(closure) => self.is_only_one(closure),
            Object::Matches(_) | Object::Entries { .. } | Object::Traversal { .. } => false,
            _ => true,
        }
    }

    /// Whether there is but one function like this.
    pub fn is_only_one(&self, closure: &Closure) -> bool {
        match closure.origin {
            Origin::Once(_) => true,
            Origin::Often => false,
            Origin::LoadTime => {
                let of_code = |id: &ClosureId| self.snapshot.closure(*id).prototype == closure.prototype;
                let all = (0..self.snapshot.closures.len() as u32).map(ClosureId).filter(of_code);
                all.filter(|id| self.closure_of(*id) == *closure).take(2).count() == 1
            }
        }
    }

    /// Refuses to compare functions of which it is not known whether they are one.
    pub fn refuse_identity<T>(&self) -> Result<T> {
        self.unsupported(
            "telling whether two functions with the same code are one",
            "compare names or numbers that stand for them",
            None,
        )
    }
}
