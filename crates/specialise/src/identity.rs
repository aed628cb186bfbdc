//! Which functions are the same one. Each execution of `function` makes another (Lua manual § 3.4.11); those of load time that have the same
//! code and the same variables are alike here, so that they are expanded once.

use crate::context::{Context, Result};
use crate::value::{Abs, CellRef, Closure, Object, Origin, Str};
use moonhook_snapshot::{ClosureId, Snapshot, Value};

/// In numbers of cells: what stands in the place of a register for a function.
const FUNCTION: usize = usize::MAX - 8;

impl Abs {
    /// A value of load time as packet code sees it.
    pub fn of_load_time(snapshot: &Snapshot, value: &Value) -> Abs {
        match value {
            Value::Nil => Abs::Nil,
            Value::Boolean(b) => Abs::bool(*b),
            Value::Integer(i) => Abs::int(*i),
            Value::Float(x) => Abs::float(*x),
            Value::String(bytes) => Abs::Str(Str::Const(bytes.clone())),
            Value::Table(id) => Abs::Object(Object::Table(*id)),
            Value::Closure(id) => Abs::Object(Object::Closure(Closure::of_load_time(snapshot, *id).into())),
            Value::Builtin(name) => Abs::Object(Object::Builtin(name)),
            Value::Opaque(name, number) => Abs::Object(Object::Opaque(name, *number)),
        }
    }
}

impl Closure {
    /// A function of load time.
    pub fn of_load_time(snapshot: &Snapshot, id: ClosureId) -> Closure {
        let closure = snapshot.closure(id);
        let upvalues = closure.upvalues.iter().map(|cell| CellRef::Snapshot(*cell)).collect();
        Closure { prototype: closure.prototype, upvalues, origin: Origin::LoadTime }
    }

    /// Whether there is but one function like this.
    pub fn is_only_one(&self, snapshot: &Snapshot) -> bool {
        match self.origin {
            Origin::Once(_) => true,
            Origin::Often => false,
            Origin::LoadTime => self.only_one_of_load_time(snapshot).is_some(),
        }
    }

    /// The function of load time that this surely is.
    pub fn only_one_of_load_time(&self, snapshot: &Snapshot) -> Option<ClosureId> {
        let of_code = |id: &ClosureId| snapshot.closure(*id).prototype == self.prototype;
        let all = (0..snapshot.closures.len() as u32).map(ClosureId).filter(of_code);
        let mut alike = all.filter(|id| Closure::of_load_time(snapshot, *id) == *self);
        let first = alike.next();
        first.filter(|_| alike.next().is_none())
    }
}

impl Object {
    /// Whether objects that are alike here are surely one.
    pub fn is_one(&self, snapshot: &Snapshot) -> bool {
        match self {
            Object::Closure(closure) => closure.is_only_one(snapshot),
            Object::Matches(_) | Object::Records(_) | Object::Entries { .. } | Object::Traversal { .. } => {
                false
            }
            _ => true,
        }
    }
}

impl Context<'_> {
    /// Where the current instruction makes a function.
    pub fn origin(&mut self) -> Origin {
        match self.execution.active_loops.is_empty() {
            true => Origin::Once(self.cell_number(FUNCTION)),
            false => Origin::Often,
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
