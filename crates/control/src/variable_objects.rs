//! Tables and functions of load time that variables of handlers can be, on both sides.

use mlua::{Lua, Table, Value};
use moonhook_ir::{ObjectId, VariableContent, VariableKind};
use moonhook_load::Loaded;
use moonhook_snapshot::{ClosureId, TableId};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Objects of one kind of variables, at most: of more of them, none are known. Each takes some 100 bytes of the state's memory.
const MOST: usize = 100_000;

/// Those of one kind of variables. They are in tables of the Lua state, which can have more of them than the process has handles for.
#[derive(Default)]
pub(crate) struct Objects(Option<Both>);

struct Both {
    /// By what handlers have for one.
    values: Table,
    /// The other way round.
    payloads: Table,
}

impl Objects {
    /// The object for which handlers have this.
    pub fn value(&self, payload: u64) -> mlua::Result<Option<Value>> {
        let Some(Both { values, .. }) = &self.0 else { return Ok(None) };
        values.raw_get(payload.cast_signed())
    }

    /// What handlers have for a value, if it is one of the objects.
    pub fn payload(&self, value: &Value) -> Option<u64> {
        let Some(Both { payloads, .. }) = &self.0 else { return None };
        let is_object = matches!(value, Value::Table(_) | Value::Function(_));
        let payload: Option<i64> = is_object.then(|| payloads.raw_get(value).ok()).flatten();
        payload.map(i64::cast_unsigned)
    }

    fn of(loaded: &Loaded, ids: impl ExactSizeIterator<Item = (u64, ObjectId)>) -> mlua::Result<Objects> {
        if ids.len() > MOST {
            return Ok(Objects::default());
        }
        let lua: &Lua = &loaded.lua;
        let (values, payloads) = (lua.create_table()?, lua.create_table()?);
        for (payload, id) in ids {
            let value = match id {
                ObjectId::Table(id) => loaded.table(TableId(id)).map(Value::Table),
                ObjectId::Closure(id) => loaded.closure(ClosureId(id)).map(Value::Function),
            };
            if let Some(value) = value {
                values.raw_set(payload.cast_signed(), &value)?;
                payloads.raw_set(value, payload.cast_signed())?;
            }
        }
        Ok(Objects(Some(Both { values, payloads })))
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
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn of(&mut self, kind: &VariableKind) -> mlua::Result<Rc<Objects>> {
        match &kind.content {
            VariableContent::Object(Some(id)) => {
                Ok(Rc::new(Objects::of(self.loaded, [(0, *id)].into_iter())?))
            }
            VariableContent::Objects(ids) => {
                if let Some((_, known)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, ids)) {
                    return Ok(Rc::clone(known));
                }
                let objects = Objects::of(self.loaded, ids.iter().map(|(at, id)| (*at, *id)))?;
                let objects = Rc::new(objects);
                self.known.push((Arc::clone(ids), Rc::clone(&objects)));
                Ok(objects)
            }
            _ => Ok(Rc::default()),
        }
    }
}
