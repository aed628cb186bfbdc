//! Tables and functions of load time that variables of handlers can be, on both sides.

use mlua::Value;
use moonhook_ir::{ObjectId, VariableContent, VariableKind};
use moonhook_load::Loaded;
use moonhook_snapshot::{ClosureId, TableId};
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

/// Those of one kind of variables: by what handlers have for one, and the other way round.
#[derive(Default)]
pub(crate) struct Objects {
    values: BTreeMap<u64, Value>,
    payloads: HashMap<*const c_void, u64>,
}

impl Objects {
    /// The object for which handlers have this.
    pub fn value(&self, payload: u64) -> Option<Value> {
        self.values.get(&payload).cloned()
    }

    /// What handlers have for a value, if it is one of the objects.
    pub fn payload(&self, value: &Value) -> Option<u64> {
        let is_object = matches!(value, Value::Table(_) | Value::Function(_));
        is_object.then(|| self.payloads.get(&value.to_pointer()).copied()).flatten()
    }

    fn of(loaded: &Loaded, ids: impl Iterator<Item = (u64, ObjectId)>) -> Objects {
        let value = |id| match id {
            ObjectId::Table(id) => loaded.table(TableId(id)).map(Value::Table),
            ObjectId::Closure(id) => loaded.closure(ClosureId(id)).map(Value::Function),
        };
        let values: BTreeMap<u64, Value> =
            ids.filter_map(|(payload, id)| Some((payload, value(id)?))).collect();
        let payloads = values.iter().map(|(payload, value)| (value.to_pointer(), *payload)).collect();
        Objects { values, payloads }
    }
}

/// The objects of the kinds that variables have; variables of general code have the same ones.
pub(crate) struct ObjectsOfKinds<'l> {
    loaded: &'l Loaded,
    known: Vec<(Arc<Ids>, Rc<Objects>)>,
}

/// Numbers of objects, by what handlers have for one.
type Ids = BTreeMap<u64, ObjectId>;

impl ObjectsOfKinds<'_> {
    pub fn new(loaded: &Loaded) -> ObjectsOfKinds<'_> {
        ObjectsOfKinds { loaded, known: Vec::new() }
    }

    /// The objects of a kind; of a kind that is a single one, its payload is 0.
    pub fn of(&mut self, kind: &VariableKind) -> Rc<Objects> {
        match &kind.content {
            VariableContent::Object(Some(id)) => Rc::new(Objects::of(self.loaded, [(0, *id)].into_iter())),
            VariableContent::Objects(ids) => {
                if let Some((_, known)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, ids)) {
                    return Rc::clone(known);
                }
                let objects = Rc::new(Objects::of(self.loaded, ids.iter().map(|(at, id)| (*at, *id))));
                self.known.push((Arc::clone(ids), Rc::clone(&objects)));
                objects
            }
            _ => Rc::default(),
        }
    }
}
