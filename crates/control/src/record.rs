//! Records in entries: tables whose fields are read and assigned in the map, as long as the entry is there.

use crate::ControlError;
use crate::convert::{ProxyTarget, Space, argument, field_key, field_name, one, said, shown, value};
use crate::table::SharedTable;
use mlua::{LightUserData, Lua, MultiValue, Table, Value};
use moonhook_schema::{Datum, Field, SchemaError, Type, position, position_name};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

/// The records at one place of a table's values: the values themselves, or a field of them that is a record.
pub(crate) struct Level {
    space: Rc<Space>,
    table: Arc<SharedTable>,
    /// The names of the fields on the way.
    path: Vec<String>,
    fields: Vec<Field>,
    metatable: Table,
    /// The records among the fields.
    inner: Vec<(String, Rc<Level>)>,
}

/// Its address is the key under which a record has the bytes of its entry's key. Scripts cannot make such a key.
static ENTRY: u8 = 0;

fn entry() -> Value {
    let address: *const u8 = &raw const ENTRY;
    Value::LightUserData(LightUserData(address.cast::<c_void>().cast_mut()))
}

type Body = fn(&Rc<Level>, &Lua, &MultiValue) -> Result<MultiValue, String>;

impl Level {
    pub fn make(
        lua: &Lua,
        space: &Rc<Space>,
        table: &Arc<SharedTable>,
        path: Vec<String>,
        fields: &[Field],
    ) -> mlua::Result<Rc<Level>> {
        let mut inner = Vec::new();
        for field in fields {
            if let Type::Record(fields) = &field.ty {
                let path = [path.as_slice(), std::slice::from_ref(&field.name)].concat();
                inner.push((field.name.clone(), Level::make(lua, space, table, path, fields)?));
            }
        }
        let metatable = lua.create_table()?;
        let (space, table, fields) = (Rc::clone(space), Arc::clone(table), fields.to_vec());
        let level = Rc::new(Level { space, table, path, fields, metatable, inner });
        level.fill_metatable(lua)?;
        Ok(level)
    }

    fn fill_metatable(self: &Rc<Level>, lua: &Lua) -> mlua::Result<()> {
        let function = |body: Body| {
            let level = Rc::clone(self);
            moonhook_load::raising(lua, move |lua, arguments| body(&level, lua, &arguments))
        };
        let methods: [(&str, Body); 6] = [
            ("__index", Level::index),
            ("__newindex", Level::assign),
            ("__pairs", Level::pairs),
            ("__len", Level::length),
            ("__eq", Level::equal),
            ("__tostring", Level::text),
        ];
        for (name, body) in methods {
            self.metatable.raw_set(name, function(body)?)?;
        }
        self.metatable.raw_set("__metatable", false)?;
        self.space.steppers.raw_set(&self.metatable, function(Level::step)?)?;
        self.space
            .kinds
            .borrow_mut()
            .insert(self.metatable.to_pointer(), ProxyTarget::Record(Rc::downgrade(self)));
        Ok(())
    }

    /// The record in the entry whose key has these bytes.
    pub fn proxy(&self, lua: &Lua, key: &[u8]) -> mlua::Result<Value> {
        let proxy = lua.create_table()?;
        proxy.raw_set(entry(), lua.create_string(key)?)?;
        proxy.set_metatable(Some(self.metatable.clone()))?;
        Ok(Value::Table(proxy))
    }

    /// The fields that the record has now.
    ///
    /// # Errors
    /// The entry is gone.
    pub fn datum(&self, record: &Table) -> Result<Datum, String> {
        let key = self.entry_key(record)?;
        let Some(mut datum) = self.table.value(&key).map_err(said)? else { return Err(self.gone()) };
        for name in &self.path {
            datum = field(&datum, name);
        }
        if datum == Datum::Nil { Err(self.gone()) } else { Ok(datum) }
    }

    fn gone(&self) -> String {
        ControlError::Gone { table: self.table.name().to_string() }.to_string()
    }

    fn entry_key(&self, record: &Table) -> Result<Vec<u8>, String> {
        match record.raw_get::<Value>(entry()).map_err(said)? {
            Value::String(key) => Ok(key.as_bytes().to_vec()),
            _ => Err(self.gone()),
        }
    }

    /// The fields of the first argument; none if the entry is gone: a reader sees nil.
    fn fields(&self, arguments: &MultiValue) -> Datum {
        let record = argument(arguments, 0);
        record.as_table().and_then(|record| self.datum(record).ok()).unwrap_or(Datum::Nil)
    }

    fn index(self: &Rc<Level>, lua: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let Some(name) = field_name(&argument(arguments, 1)) else { return Ok(one(Value::Nil)) };
        let datum = field(&self.fields(arguments), &name);
        self.field_value(lua, arguments, &name, &datum).map(one)
    }

    fn field_value(
        &self,
        lua: &Lua,
        arguments: &MultiValue,
        name: &str,
        datum: &Datum,
    ) -> Result<Value, String> {
        let inner = self.inner.iter().find(|(known, _)| known == name);
        if let (Some((_, inner)), Datum::Record(_), Value::Table(record)) =
            (inner, datum, argument(arguments, 0))
        {
            return inner.proxy(lua, &self.entry_key(&record)?).map_err(said);
        }
        value(lua, datum).map_err(said)
    }

    fn assign(self: &Rc<Level>, _: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let (record, key) = (argument(arguments, 0), argument(arguments, 1));
        let Value::Table(record) = record else { return Err(self.gone()) };
        let known = field_name(&key).filter(|name| self.fields.iter().any(|field| field.name == *name));
        let Some(name) = known else {
            let problem = SchemaError::NoSuchField { name: key.to_string().map_err(said)?, what: "value" };
            return Err(self.table.unfit("value", problem).to_string());
        };
        let new = self.space.datum(&argument(arguments, 2));
        let new =
            new.map_err(|problem| format!("bad value for table '{}' ({problem})", self.table.name()))?;
        let key = self.entry_key(&record)?;
        let Some(mut whole) = self.table.value(&key).map_err(said)? else { return Err(self.gone()) };
        let mut place = &mut whole;
        for name in self.path.iter().chain([&name]) {
            place = field_mut(place, name).ok_or_else(|| self.gone())?;
        }
        *place = new;
        self.table.assign(&key, &whole).map_err(said)?;
        Ok(MultiValue::new())
    }

    fn pairs(self: &Rc<Level>, _: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let step = self.space.steppers.raw_get::<Value>(&self.metatable).map_err(said)?;
        Ok(MultiValue::from_iter([step, argument(arguments, 0), Value::Nil]))
    }

    /// `#record`: the number of places before the first that is nil.
    fn length(self: &Rc<Level>, _: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let fields = self.fields(arguments);
        let there =
            |place: &i64| position_name(*place).is_some_and(|name| field(&fields, &name) != Datum::Nil);
        let length = (1..).take_while(there).count();
        Ok(one(Value::Integer(length as i64)))
    }

    /// `next(record, name)`: places come first, then fields in order of their names.
    fn step(self: &Rc<Level>, lua: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let Datum::Record(mut fields) = self.fields(arguments) else { return Ok(one(Value::Nil)) };
        fields.sort_by_cached_key(|(name, _)| order(name));
        let after = match argument(arguments, 1) {
            Value::Nil => None,
            key => Some(order(&field_name(&key).unwrap_or_default())),
        };
        let mut behind =
            fields.iter().filter(|(name, _)| after.as_ref().is_none_or(|after| order(name) > *after));
        let Some((name, datum)) = behind.next() else { return Ok(one(Value::Nil)) };
        let datum = self.field_value(lua, arguments, name, datum)?;
        let key = field_key(lua, name).map_err(said)?;
        Ok(MultiValue::from_iter([key, datum]))
    }

    /// Records of the same entry are the same record.
    fn equal(self: &Rc<Level>, _: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let key = |index: usize| match argument(arguments, index) {
            Value::Table(table) if table.metatable().as_ref() == Some(&self.metatable) => {
                self.entry_key(&table).ok()
            }
            _ => None,
        };
        Ok(one(Value::Boolean(key(0).is_some_and(|first| Some(first) == key(1)))))
    }

    fn text(self: &Rc<Level>, lua: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
        let text = lua.create_string(shown(&self.fields(arguments))).map_err(said)?;
        Ok(one(Value::String(text)))
    }
}

fn field(datum: &Datum, name: &str) -> Datum {
    let Datum::Record(fields) = datum else { return Datum::Nil };
    let found = fields.iter().find(|(known, _)| known == name);
    found.map_or(Datum::Nil, |(_, datum)| datum.clone())
}

/// Where a field comes in a traversal.
fn order(name: &str) -> (i64, String) {
    (position(name).unwrap_or(i64::MAX), name.to_string())
}

/// The field of a record, which gets it if it has none yet.
fn field_mut<'a>(datum: &'a mut Datum, name: &str) -> Option<&'a mut Datum> {
    let Datum::Record(fields) = datum else { return None };
    let at = match fields.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
        Ok(at) => at,
        Err(at) => {
            fields.insert(at, (name.to_string(), Datum::Nil));
            at
        }
    };
    Some(&mut fields[at].1)
}
