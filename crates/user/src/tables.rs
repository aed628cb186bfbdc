//! Tables that scripts declare to be maps refuse new entries as the maps do: where there is no room, and for strings that are
//! too long. Everything else about them is Lua's own.

use std::cell::Cell;

use mlua::{Lua, MultiValue, Table, Value};
use moonhook_load::{Loaded, Raising};
use moonhook_shape::{CAPACITY, Declaration, Type, WhenFull};
use moonhook_snapshot::TableId;

/// Gives the declared tables of a script their limits.
pub(crate) fn limit(loaded: &Loaded) -> mlua::Result<()> {
    let raising = Raising::new(&loaded.lua)?;
    for (number, frozen) in loaded.snapshot.tables.iter().enumerate() {
        if let Some(declaration) = &frozen.declaration
            && let Some(table) = loaded.table(TableId(number as u32))
            && table.metatable().is_none()
        {
            let limits = Limits::new(frozen.name.as_deref().unwrap_or("?"), declaration);
            limits.apply(&loaded.lua, &raising, &table)?;
        }
    }
    Ok(())
}

struct Limits {
    name: String,
    /// Entries at most; none where old ones give way.
    capacity: Option<usize>,
    /// Bytes of strings at most.
    key: Option<u16>,
    value: Option<u16>,
    /// Entries there were when they were counted, and those added since.
    counted: Cell<usize>,
}

impl Limits {
    fn new(name: &str, declaration: &Declaration) -> Limits {
        let text = |ty: &Option<Type>| match ty {
            Some(Type::Text { capacity }) => Some(*capacity),
            _ => None,
        };
        let capacity = declaration.capacity.unwrap_or(CAPACITY) as usize;
        Limits {
            name: name.to_string(),
            capacity: (declaration.when_full == WhenFull::Error).then_some(capacity),
            key: text(&declaration.key),
            value: text(&declaration.value),
            counted: Cell::new(usize::MAX),
        }
    }

    /// Lua calls `__newindex` for entries that are not there yet.
    fn apply(self, lua: &Lua, raising: &Raising, table: &Table) -> mlua::Result<()> {
        let metatable = lua.create_table()?;
        metatable.set("__newindex", raising.function(lua, move |_, arguments| self.insert(arguments))?)?;
        table.set_metatable(Some(metatable))
    }

    fn insert(&self, arguments: MultiValue) -> Result<MultiValue, String> {
        let arguments = Vec::from_iter(arguments);
        let [Value::Table(table), key, value] = arguments.as_slice() else {
            return Ok(MultiValue::new());
        };
        if *key == Value::Nil {
            return Err("table index is nil".to_string());
        }
        if *value != Value::Nil {
            for (what, value, most) in [("key", key, self.key), ("value", value, self.value)] {
                let length = value.as_string().map_or(0, |text| text.as_bytes().len());
                if most.is_some_and(|most| length > usize::from(most)) {
                    return Err(format!("{what} too long for table '{}'", self.name));
                }
            }
            self.make_room(table)?;
        }
        table.raw_set(key, value).map_err(|error| error.to_string())?;
        Ok(MultiValue::new())
    }

    fn make_room(&self, table: &Table) -> Result<(), String> {
        let Some(capacity) = self.capacity else { return Ok(()) };
        // Deletions are not seen: only where the table may be full its entries are counted.
        if self.counted.get() >= capacity {
            self.counted.set(table.pairs::<Value, Value>().count());
        }
        if self.counted.get() >= capacity {
            return Err(format!("table '{}' is full", self.name));
        }
        self.counted.set(self.counted.get() + 1);
        Ok(())
    }
}
