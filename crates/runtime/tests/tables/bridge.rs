//! Tables of real Lua, each with its counterpart in the simulator.

use mlua::{IntoLuaMulti, Lua, MultiValue, Result, Table, Value as LuaValue};
use moonhook_runtime::layout::*;
use moonhook_runtime::simulate::{Simulator, Value};
use moonhook_runtime::sources::PRELUDE;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of packet memory.
const HEAP: usize = 1 << 20;

/// Steps for each call.
const BUDGET: i64 = 100_000;

/// The simulator, and which of its tables stands for which table of real Lua.
struct Pairs {
    simulator: Simulator,
    addresses: HashMap<usize, i64>,
    tables: HashMap<i64, Table>,
}

pub struct Bridge {
    lua: Lua,
}

type Shared = Rc<RefCell<Pairs>>;

impl Bridge {
    pub fn new() -> Bridge {
        let simulator = Simulator::new(HEAP).unwrap_or_else(|error| panic!("{error}"));
        let pairs = Pairs { simulator, addresses: HashMap::new(), tables: HashMap::new() };
        let lua = Lua::new();
        define(&lua, &Rc::new(RefCell::new(pairs))).unwrap_or_else(|error| panic!("{error}"));
        Bridge { lua }
    }

    pub fn run(&self, name: &str, text: &str, arguments: impl IntoLuaMulti) -> Result<()> {
        self.lua.load(text).set_name(format!("@{name}")).call(arguments)
    }
}

/// The functions that scripts use, in the global table `sim`, and the texts of the prelude.
fn define(lua: &Lua, shared: &Shared) -> Result<()> {
    let sim = lua.create_table()?;
    let pairs = shared.clone();
    sim.set(
        "reset",
        lua.create_function(move |_, ()| {
            pairs.borrow_mut().reset();
            Ok(())
        })?,
    )?;
    let pairs = shared.clone();
    let new = move |_: &Lua, (table, array, entries): (Table, i64, i64)| {
        pairs.borrow_mut().new_table(&table, array, entries);
        Ok(table)
    };
    sim.set("new", lua.create_function(new)?)?;
    let pairs = shared.clone();
    let call = move |lua: &Lua, (routine, arguments): (String, MultiValue)| {
        pairs.borrow_mut().primitive(lua, &routine, arguments)
    };
    sim.set("call", lua.create_function(call)?)?;
    let pairs = shared.clone();
    let get = move |lua: &Lua, (table, key): (Table, LuaValue)| pairs.borrow().get(lua, &table, &key);
    sim.set("get", lua.create_function(get)?)?;
    let pairs = shared.clone();
    let set = move |_: &Lua, (table, key, value): (Table, LuaValue, LuaValue)| {
        Ok(pairs.borrow().set(&table, &key, &value))
    };
    sim.set("set", lua.create_function(set)?)?;
    let pairs = shared.clone();
    let used = move |_: &Lua, ()| {
        let simulator = &pairs.borrow().simulator;
        Ok(simulator.field(L_HEAP) - simulator.field(L_HEAP_START))
    };
    sim.set("memory", lua.create_function(used)?)?;
    let pairs = shared.clone();
    let freeze = move |_: &Lua, frozen: bool| {
        let simulator = &pairs.borrow().simulator;
        let end = if frozen { simulator.field(L_HEAP) } else { simulator.state() };
        simulator.set_field(L_IMAGE_END, end);
        Ok(())
    };
    sim.set("freeze", lua.create_function(freeze)?)?;
    let texts = lua.create_table()?;
    for file in PRELUDE {
        texts.set(file.name, file.text)?;
    }
    sim.set("prelude", texts)?;
    lua.globals().set("sim", sim)
}

impl Pairs {
    fn reset(&mut self) {
        self.simulator.reset();
        self.addresses.clear();
        self.tables.clear();
    }

    fn new_table(&mut self, table: &Table, array: i64, entries: i64) {
        let address = self.routine("table_new", &[self.simulator.state(), array, entries]);
        assert_ne!(address, 0, "no memory for a table");
        self.addresses.insert(table.to_pointer() as usize, address);
        self.tables.insert(address, table.clone());
    }

    fn routine(&self, name: &str, arguments: &[i64]) -> i64 {
        self.simulator.set_field(L_BUDGET, BUDGET);
        self.simulator.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn address(&self, table: &Table) -> i64 {
        self.addresses[&(table.to_pointer() as usize)]
    }

    fn to_value(&self, value: &LuaValue) -> Value {
        match value {
            LuaValue::Nil => Value::Nil,
            LuaValue::Boolean(truth) => Value::Boolean(*truth),
            LuaValue::Integer(value) => Value::Integer(*value),
            LuaValue::Number(value) => Value::Float(*value),
            LuaValue::String(text) => Value::String(text.as_bytes().to_vec()),
            LuaValue::Table(table) => Value::Raw { tag: TAG_TABLE, payload: self.address(table) },
            LuaValue::Function(_) => Value::Raw { tag: TAG_BUILTIN, payload: 7 },
            other => panic!("{other:?} has no counterpart"),
        }
    }

    fn show(&mut self, lua: &Lua, value: Value) -> Result<LuaValue> {
        Ok(match value {
            Value::Nil => LuaValue::Nil,
            Value::Boolean(truth) => LuaValue::Boolean(truth),
            Value::Integer(value) => LuaValue::Integer(value),
            Value::Float(value) => LuaValue::Number(value),
            Value::String(text) => LuaValue::String(lua.create_string(text)?),
            Value::Raw { tag: TAG_TABLE, payload } => LuaValue::Table(self.table(lua, payload)?),
            Value::Raw { tag, payload } => panic!("a value with tag {tag} and payload {payload}"),
        })
    }

    /// The counterpart of a table of the simulator; for one that a routine has made, a new table with what is in it.
    fn table(&mut self, lua: &Lua, address: i64) -> Result<Table> {
        if let Some(known) = self.tables.get(&address) {
            return Ok(known.clone());
        }
        let table = lua.create_table()?;
        self.addresses.insert(table.to_pointer() as usize, address);
        self.tables.insert(address, table.clone());
        let at = self.simulator.base();
        self.simulator.set_value(at, &Value::Nil);
        while self.routine("table_next", &[self.simulator.state(), address, at, at]) == 1 {
            let (key, value) = (self.simulator.value(at), self.simulator.value(at + 16));
            let (key, value) = (self.show(lua, key)?, self.show(lua, value)?);
            table.raw_set(key, value)?;
        }
        Ok(table)
    }

    fn get(&self, lua: &Lua, table: &Table, key: &LuaValue) -> Result<LuaValue> {
        let at = self.simulator.base();
        self.simulator.set_value(at, &self.to_value(key));
        let place = self.routine("table_get", &[self.simulator.state(), self.address(table), at]);
        match self.simulator.value(place) {
            Value::String(text) => Ok(LuaValue::String(lua.create_string(text)?)),
            Value::Nil => Ok(LuaValue::Nil),
            Value::Boolean(truth) => Ok(LuaValue::Boolean(truth)),
            Value::Integer(value) => Ok(LuaValue::Integer(value)),
            Value::Float(value) => Ok(LuaValue::Number(value)),
            Value::Raw { payload, .. } => Ok(LuaValue::Table(self.tables[&payload].clone())),
        }
    }

    /// Sets a field; gives the error's message.
    fn set(&self, table: &Table, key: &LuaValue, value: &LuaValue) -> Option<String> {
        let at = self.simulator.base();
        self.simulator.set_value(at, &self.to_value(key));
        self.simulator.set_value(at + 16, &self.to_value(value));
        let status = self.routine("table_set", &[self.simulator.state(), self.address(table), at, at + 16]);
        (status == FAIL).then(|| self.simulator.finish_error().unwrap_or_default())
    }

    /// Calls a primitive: `true` and its results, `false` and the error's message, or nil if it leaves the case to others.
    fn primitive(&mut self, lua: &Lua, routine: &str, arguments: MultiValue) -> Result<MultiValue> {
        let (state, base) = (self.simulator.state(), self.simulator.base());
        for (index, argument) in arguments.iter().enumerate() {
            self.simulator.set_value(base + 16 * index as i64, &self.to_value(argument));
        }
        // What lies above the arguments is of no known type.
        for index in arguments.len() as i64..arguments.len() as i64 + 8 {
            self.simulator.set_value(base + 16 * index, &Value::Raw { tag: TAG_INT, payload: -77 });
        }
        let count = self.routine(routine, &[state, base, arguments.len() as i64]);
        let mut results = MultiValue::new();
        match count {
            GENERAL => results.push_back(LuaValue::Nil),
            FAIL => {
                results.push_back(LuaValue::Boolean(false));
                let message = self.simulator.finish_error().unwrap_or_default();
                results.push_back(LuaValue::String(lua.create_string(message)?));
            }
            count => {
                results.push_back(LuaValue::Boolean(true));
                for index in 0..count {
                    let value = self.simulator.value(base - 16 + 16 * index);
                    results.push_back(self.show(lua, value)?);
                }
            }
        }
        Ok(results)
    }
}
