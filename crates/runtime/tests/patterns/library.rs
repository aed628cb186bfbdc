//! The pattern functions of runtime Lua as Lua functions: the primitives in the simulator, and the prelude around them.

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Table, Value as LuaValue};
use moonhook_runtime::layout::*;
use moonhook_runtime::simulate::{Simulator, Value};
use moonhook_runtime::sources::PRELUDE;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HEAP: usize = 1 << 20;
/// Steps for each call.
const BUDGET: i64 = 100_000;

struct State {
    simulator: Simulator,
    start: i64,
    patterns: i64,
    /// Strings count as strings of load time.
    keep: Cell<bool>,
    end: Cell<i64>,
    /// Tables and functions that were arguments: their payload is the index.
    objects: RefCell<Vec<LuaValue>>,
}

/// Real Lua, and a table of our functions in it.
pub struct Library {
    lua: Lua,
    ours: Table,
    state: Rc<State>,
}

impl Library {
    pub fn new() -> Library {
        Library::build().unwrap_or_else(|error| panic!("{error}"))
    }

    fn build() -> mlua::Result<Library> {
        let lua = Lua::new();
        let simulator = Simulator::new(HEAP)?;
        let (start, end) = (simulator.field(L_HEAP), simulator.field(L_HEAP_END) - PATTERNS_SIZE);
        let state = Rc::new(State {
            simulator,
            start,
            patterns: end,
            keep: Cell::new(false),
            end: Cell::new(end),
            objects: RefCell::new(Vec::new()),
        });
        state.reset();
        let ours = lua.create_table()?;
        for name in ["find", "match"] {
            ours.set(name, primitive(&lua, &state, &format!("string_{name}"))?)?;
        }
        let prim = lua.create_table()?;
        for name in [
            "string_gmatch_start",
            "string_gmatch_next",
            "string_gsub",
            "string_gsub_start",
            "string_gsub_next",
            "string_gsub_captures",
            "string_gsub_key",
            "string_gsub_replace",
            "string_gsub_finish",
        ] {
            prim.set(name, primitive(&lua, &state, name)?)?;
        }
        let environment = lua.create_table()?;
        environment.set("prim", prim)?;
        environment.set("string", &ours)?;
        for file in
            PRELUDE.iter().filter(|file| ["prelude/gmatch.lua", "prelude/gsub.lua"].contains(&file.name))
        {
            lua.load(file.text).set_name(file.name).set_environment(environment.clone()).exec()?;
        }
        let (shared, keep) = (state.clone(), state.clone());
        let reset = move |_: &Lua, ()| {
            shared.reset();
            Ok(())
        };
        ours.set("reset", lua.create_function(reset)?)?;
        let keep_programs = move |_: &Lua, on: bool| {
            keep.keep.set(on);
            keep.forget_programs();
            Ok(())
        };
        ours.set("keep_programs", lua.create_function(keep_programs)?)?;
        Ok(Library { lua, ours, state })
    }

    /// Calls a script with the table `string`, our table, the function of `compare.lua` and the arguments.
    pub fn run(&self, name: &str, text: &str, arguments: impl IntoLuaMulti) -> mlua::Result<Option<String>> {
        let mut all = arguments.into_lua_multi(&self.lua)?;
        all.push_front(self.lua.load(include_str!("compare.lua")).eval()?);
        all.push_front(LuaValue::Table(self.ours.clone()));
        all.push_front(self.lua.globals().get("string")?);
        self.lua.load(text).set_name(format!("@{name}")).call(all)
    }

    pub fn keep_programs(&self, on: bool) {
        self.state.keep.set(on);
        self.state.forget_programs();
        self.state.reset();
    }

    /// Bytes of the store for programs that are in use.
    pub fn kept(&self) -> i64 {
        self.state.simulator.load(self.state.patterns, 8)
    }

    pub fn limit_memory(&self, bytes: i64) {
        self.state.end.set(self.state.start + bytes);
        self.state.reset();
    }

    /// Bytes of packet memory in use.
    pub fn in_use(&self) -> i64 {
        self.state.simulator.field(L_HEAP) - self.state.start
    }

    pub fn budget(&self) -> i64 {
        BUDGET
    }

    pub fn left(&self) -> i64 {
        self.state.simulator.field(L_BUDGET)
    }
}

impl State {
    fn reset(&self) {
        self.simulator.reset();
        self.objects.borrow_mut().clear();
        self.simulator.set_field(L_BUDGET, BUDGET);
        self.simulator.set_field(L_HEAP_END, self.end.get());
        if self.keep.get() {
            self.simulator.set_field(L_PATTERNS, self.patterns);
            self.simulator.set_field(L_IMAGE_END, self.end.get());
        }
    }

    fn forget_programs(&self) {
        self.simulator.set_bytes(self.patterns, &[0; 16 + 16 * PATTERN_SLOTS as usize]);
    }

    fn value(&self, value: LuaValue) -> Value {
        let tag = match &value {
            LuaValue::Nil => return Value::Nil,
            LuaValue::Boolean(truth) => return Value::Boolean(*truth),
            LuaValue::Integer(value) => return Value::Integer(*value),
            LuaValue::Number(value) => return Value::Float(*value),
            LuaValue::String(text) => return Value::String(text.as_bytes().to_vec()),
            LuaValue::Table(_) => TAG_TABLE,
            LuaValue::Function(_) => TAG_CLOSURE,
            _ => TAG_OBJECT,
        };
        let mut objects = self.objects.borrow_mut();
        objects.push(value);
        Value::Raw { tag, payload: objects.len() as i64 - 1 }
    }

    fn lua_value(&self, lua: &Lua, value: Value) -> mlua::Result<LuaValue> {
        Ok(match value {
            Value::Nil => LuaValue::Nil,
            Value::Boolean(truth) => LuaValue::Boolean(truth),
            Value::Integer(value) => LuaValue::Integer(value),
            Value::Float(value) => LuaValue::Number(value),
            Value::String(bytes) => LuaValue::String(lua.create_string(bytes)?),
            Value::Raw { payload, .. } => self.objects.borrow()[payload as usize].clone(),
        })
    }
}

/// A primitive as a Lua function, which raises the error that the primitive raises.
fn primitive(lua: &Lua, state: &Rc<State>, name: &str) -> mlua::Result<Function> {
    let (state, name) = (state.clone(), name.to_owned());
    let call = lua.create_function(move |lua, arguments: MultiValue| {
        let arguments: Vec<Value> = arguments.into_iter().map(|value| state.value(value)).collect();
        let (done, results) = match state.simulator.call_primitive(&name, &arguments) {
            Ok(results) => (true, results),
            Err(message) => (false, vec![Value::String(message.into_bytes())]),
        };
        let mut values = vec![LuaValue::Boolean(done)];
        for result in results {
            values.push(state.lua_value(lua, result)?);
        }
        Ok(MultiValue::from_vec(values))
    })?;
    let wrapper = r#"
        local call = ...
        local function check(done, ...)
          if done then return ... end
          error((...), 0)
        end
        return function(...) return check(call(...)) end
    "#;
    lua.load(wrapper).call(call)
}
