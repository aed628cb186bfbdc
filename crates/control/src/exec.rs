//! Lua text from outside, carried out among the script's variables.

use crate::turn::Control;
use mlua::chunk::ChunkMode;
use mlua::{Function, MultiValue, Table, Value};
use moonhook_load::CallError;

/// What came of a piece of Lua text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The lines that it printed, without line ends.
    pub printed: Vec<Vec<u8>>,
    /// Its results as `tostring` shows them, or why there are none.
    pub result: Result<Vec<Shown>, CallError>,
}

/// A value as `tostring` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub text: Vec<u8>,
    /// It is a string, and not only shown as one.
    pub is_string: bool,
}

/// A name is that of the first script that has such a global variable, then an upvalue that handlers assign, then a shared table,
/// then another local variable that a function has; tables and upvalues may be local variables of the script. What is assigned goes
/// to the variable that is found so; else it becomes a global variable of the script whose handlers assign that, or of the first one.
const ENVIRONMENT: &str = "
    local scripts, tables, upvalues, locals, holders, lib = ...
    local ipairs, getupvalue, setupvalue = lib.ipairs, lib.debug.getupvalue, lib.debug.setupvalue
    local function owner(name)
      for _, globals in ipairs(scripts) do
        if globals[name] ~= nil then return globals end
      end
    end
    local function index(_, name)
      local globals = owner(name)
      if globals then return globals[name] end
      local upvalue = upvalues[name] or tables[name] == nil and locals[name]
      if not upvalue then return tables[name] end
      local _, value = getupvalue(upvalue[1], upvalue[2])
      return value
    end
    local function assign(_, name, value)
      local globals, upvalue = owner(name), upvalues[name] or tables[name] == nil and locals[name]
      if not globals and upvalue then
        setupvalue(upvalue[1], upvalue[2], value)
      else
        globals = globals or holders[name] or scripts[1]
        globals[name] = value
      end
    end
    return lib.setmetatable({}, {__index = index, __newindex = assign})";

/// Turns each argument into a string, and says which were strings.
const SHOW: &str = "
    local tostring, type, select = ...
    return function(...)
      local shown, strings = {}, {}
      for i = 1, select('#', ...) do
        local value = (select(i, ...))
        shown[i], strings[i] = tostring(value), type(value) == 'string'
      end
      return shown, strings
    end";

impl Control {
    /// Carries out `code`: as an expression if it is one, else as statements, whose results are what they return. Its global
    /// variables are those of the scripts, and, by their names, shared tables and local variables that functions have.
    pub fn exec(&mut self, code: &str) -> Answer {
        let function = match self.compile(code) {
            Ok(function) => function,
            Err(error) => return Answer { printed: Vec::new(), result: Err(bare(&error)) },
        };
        let (result, mut printed) = self.limited(&function, MultiValue::new());
        let result = result.and_then(|values| {
            let show = self.helper(SHOW, &["tostring", "type", "select"]).map_err(|error| bare(&error))?;
            let (shown, more) = self.limited(&show, values);
            printed.extend(more);
            texts(&shown?).map_err(|error| bare(&error))
        });
        Answer { printed, result }
    }

    fn compile(&self, code: &str) -> mlua::Result<Function> {
        let lua = &self.loaded.lua;
        let scripts = lua.create_sequence_from(self.loaded.scripts.iter().map(|script| &script.globals))?;
        let (upvalues, holders) = self.bound.variables.by_name(lua)?;
        let environment = lua.load(ENVIRONMENT).set_name("=moonhook");
        let environment: Table = environment.call((
            scripts,
            &self.bound.proxies,
            upvalues,
            &self.bound.locals,
            holders,
            lua.globals(),
        ))?;
        let load = |text: String| {
            let chunk = self.loaded.lua.load(text).set_name("=exec").set_mode(ChunkMode::Text);
            chunk.set_environment(environment.clone()).into_function()
        };
        load(format!("return {code}")).or_else(|_| load(code.to_string()))
    }

    /// What a chunk of ours makes of functions of the library.
    fn helper(&self, text: &str, functions: &[&str]) -> mlua::Result<Function> {
        let globals = self.loaded.lua.globals();
        let functions = functions.iter().map(|name| globals.get::<Value>(*name));
        let functions = functions.collect::<mlua::Result<MultiValue>>()?;
        self.loaded.lua.load(text).set_name("=moonhook").call(functions)
    }
}

fn texts(shown: &MultiValue) -> mlua::Result<Vec<Shown>> {
    let (Some(Value::Table(texts)), Some(Value::Table(strings))) = (shown.front(), shown.get(1)) else {
        return Ok(Vec::new());
    };
    let shown = texts.sequence_values::<mlua::LuaString>().zip(strings.sequence_values::<bool>());
    shown
        .map(|(text, is_string)| Ok(Shown { text: text?.as_bytes().to_vec(), is_string: is_string? }))
        .collect()
}

fn bare(error: &mlua::Error) -> CallError {
    let message = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    CallError { message, traceback: Vec::new() }
}
