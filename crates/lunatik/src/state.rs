//! A state's own side: its libraries and modules, its script, and what waits in it.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState};

use crate::arguments;
use crate::endings::Endings;
use crate::extension::Surroundings;
use crate::finalizers;
use crate::host::Host;
use crate::layouts;
use crate::pool::Metered;
use crate::runtime::Context;
use crate::share::Shared;
use crate::task::{GRACE, Task};

/// Something to be done in a state, on its thread, when nothing else is.
pub(crate) type Call = Box<dyn FnOnce(&Lua) + Send>;

/// Has something done in a state; says whether the state is there still.
pub(crate) type Caller = Arc<dyn Fn(Call) -> bool + Send + Sync>;

/// What modules note of the state that they are in. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Local(Rc<Notes>);

#[derive(Default)]
struct Notes {
    is_ready: Cell<bool>,
    caller: RefCell<Option<Caller>>,
    endings: RefCell<Arc<Endings>>,
    context: Cell<Context>,
    /// What modules of others have of their own, by type.
    own: RefCell<BTreeMap<TypeId, Rc<dyn Any>>>,
    /// What others call of the script, by number: functions, and tables that have some.
    kept: RefCell<BTreeMap<u64, Value>>,
    last: Cell<u64>,
    /// Objects that go on although the script has let go of them.
    held: RefCell<Vec<Arc<dyn Any>>>,
}

impl Local {
    pub fn with(caller: Caller, endings: Arc<Endings>, context: Context) -> Local {
        let local = Local::default();
        local.0.context.set(context);
        local.0.caller.replace(Some(caller));
        local.0.endings.replace(endings);
        local
    }

    pub fn of(lua: &Lua) -> Local {
        lua.app_data_ref::<Local>().map(|local| local.clone()).unwrap_or_default()
    }

    /// Whether its script has been run.
    pub fn is_ready(&self) -> bool {
        self.0.is_ready.get()
    }

    pub fn set_ready(&self) {
        self.0.is_ready.set(true);
    }

    pub fn caller(&self) -> Option<Caller> {
        self.0.caller.borrow().clone()
    }

    /// What has to go before the state ends.
    pub fn endings(&self) -> Arc<Endings> {
        Arc::clone(&self.0.endings.borrow())
    }

    /// What it is for.
    pub fn context(&self) -> Context {
        self.0.context.get()
    }

    pub fn own<T: Any>(&self) -> Option<Rc<T>> {
        self.0.own.borrow().get(&TypeId::of::<T>()).cloned()?.downcast().ok()
    }

    pub fn set_own<T: Any>(&self, own: Rc<T>) {
        self.0.own.borrow_mut().insert(TypeId::of::<T>(), own);
    }

    /// Keeps a value; gives its number.
    pub fn keep(&self, value: Value) -> u64 {
        self.0.last.set(self.0.last.get() + 1);
        self.0.kept.borrow_mut().insert(self.0.last.get(), value);
        self.0.last.get()
    }

    pub fn kept(&self, number: u64) -> Option<Value> {
        self.0.kept.borrow().get(&number).cloned()
    }

    pub fn forget(&self, number: u64) {
        self.0.kept.borrow_mut().remove(&number);
    }

    /// Whether others may call functions of the script.
    pub fn keeps_any(&self) -> bool {
        !self.0.kept.borrow().is_empty()
    }

    /// Keeps an object until the state ends.
    pub fn hold(&self, object: Arc<dyn Any>) {
        self.0.held.borrow_mut().push(object);
    }

    /// Keeps an object no longer.
    pub fn let_go<T: Any>(&self, object: &Arc<T>) {
        let address = Arc::as_ptr(object).cast::<()>();
        let mut held = self.0.held.borrow_mut();
        let place = held.iter().position(|held| Arc::as_ptr(held).cast::<()>() == address);
        let gone = place.map(|place| held.swap_remove(place));
        drop(held);
        drop(gone);
    }

    /// Lets go of the values, which would hold the state that has this, and of objects.
    pub fn end(&self) {
        let held = self.0.held.take();
        drop(held);
        let kept = self.0.kept.take();
        drop(kept);
        let own = self.0.own.take();
        drop(own);
    }
}

/// A state.
pub(crate) struct State {
    lua: Lua,
    host: Arc<Host>,
    /// A function, or a coroutine that has yielded: what the script, or the last call, has returned.
    waiting: Value,
    /// Its part of the memory that all states have; dropped behind `lua`.
    metered: Metered,
}

/// Instructions from one look to the next whether the task goes on.
const STEPS: u32 = 10_000;

impl State {
    /// A state with Lunatik's libraries and modules.
    pub fn new(host: &Arc<Host>, local: Local) -> Result<State, String> {
        let lua = new_lua(host, local).map_err(|error| error.to_string())?;
        let metered = Metered::new(&lua, host.pool()).map_err(|error| error.to_string())?;
        let metered = metered.ok_or_else(|| "not enough memory".to_string())?;
        Ok(State { lua, host: Arc::clone(host), waiting: Value::Nil, metered })
    }

    /// Runs the script of that name.
    pub fn load(&mut self, script: &str) -> Result<(), String> {
        let path = self.host.root().join(format!("{script}.lua"));
        let main = chunk(&self.lua, &path)?;
        let returned = self.call(&Value::Function(main), Vec::new())?;
        self.waiting = returned;
        Local::of(&self.lua).set_ready();
        Ok(())
    }

    /// Calls what waits; what it returns waits then.
    pub fn resume(&mut self, objects: Vec<Shared>) -> Result<(), String> {
        let waiting = std::mem::replace(&mut self.waiting, Value::Nil);
        self.waiting = self.call(&waiting, objects)?;
        Ok(())
    }

    /// Does something with the state.
    pub fn with(&self, call: Call) {
        call(&self.lua);
    }

    /// Calls what waits; nothing waits then, unless it yields.
    pub fn run(&mut self) -> Result<(), String> {
        let waiting = std::mem::replace(&mut self.waiting, Value::Nil);
        let left = self.call(&waiting, Vec::new())?;
        if matches!(left, Value::Thread(_)) {
            self.waiting = left;
        }
        Ok(())
    }

    /// Calls a function, or resumes a coroutine; gives the first result, or the coroutine if it yields.
    fn call(&self, called: &Value, objects: Vec<Shared>) -> Result<Value, String> {
        call(&self.lua, called, objects).map_err(|error| error.to_string())?
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.waiting = Value::Nil;
        finalizers::finish(&self.lua, &self.host, GRACE);
        Local::of(&self.lua).end();
        self.metered.end();
    }
}

/// Outside is an error of Lua itself, inside the script's.
fn call(lua: &Lua, called: &Value, objects: Vec<Shared>) -> mlua::Result<Result<Value, String>> {
    let call: Function = lua.named_registry_value(CALL)?;
    let mut values = objects
        .into_iter()
        .map(|object| mlua::IntoLua::into_lua(object, lua))
        .collect::<mlua::Result<MultiValue>>()?;
    values.push_front(called.clone());
    let (is_done, value): (bool, Value) = call.call(values)?;
    Ok(if is_done { Ok(value) } else { Err(text(&value)) })
}

/// An error value as a message.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Error(error) => match error.as_ref() {
            mlua::Error::RuntimeError(message) => message.clone(),
            error => error.to_string(),
        },
        _ => format!("(error object is a {} value)", arguments::type_name(value)),
    }
}

/// The name under which a state has what calls functions.
const CALL: &str = "moonhook.lunatik.call";

/// The script at a path.
fn chunk(lua: &Lua, path: &Path) -> Result<Function, String> {
    let shown = path.display();
    let text = std::fs::read(path).map_err(|error| format!("cannot open {shown} ({error})"))?;
    let main =
        lua.load(text).set_name(format!("@{shown}")).set_mode(mlua::chunk::ChunkMode::Text).into_function();
    main.map_err(|error| match error {
        mlua::Error::SyntaxError { message, .. } => message,
        error => error.to_string(),
    })
}

fn new_lua(host: &Arc<Host>, local: Local) -> mlua::Result<Lua> {
    let libraries = StdLib::COROUTINE
        | StdLib::TABLE
        | StdLib::IO
        | StdLib::STRING
        | StdLib::UTF8
        | StdLib::MATH
        | StdLib::PACKAGE
        | StdLib::DEBUG;
    // SAFETY: scripts of Lunatik have the debug library; what loads C code is taken out below.
    let lua = unsafe { Lua::unsafe_new_with(libraries, LuaOptions::default()) };
    let globals = lua.globals();
    arguments::prepare(&lua)?;
    layouts::prepare(&lua)?;
    lua.set_app_data(host.sharers());
    let surroundings = Surroundings::new(host, &local);
    lua.set_app_data(local);
    globals.raw_set("_VERSION", "Lua 5.5-kernel")?;
    globals.raw_set("_LUNATIK_VERSION", "Lunatik 4.4")?;
    globals.raw_set("print", print(&lua, host)?)?;
    let root = host.root().display();
    let searched = format!("{root}/?.lua;{root}/?/init.lua");
    let constants = Arc::clone(host);
    let find = lua.create_function(move |lua, name: String| constants.constants(lua, &name))?;
    let prepared: Function = lua.load(include_str!("lua/state.lua")).set_name("=moonhook").call((
        &globals,
        searched,
        find,
        finalizers::install(&lua, host)?,
    ))?;
    lua.set_named_registry_value(CALL, prepared)?;
    let preload: Table = globals.get::<Table>("package")?.get("preload")?;
    for module in host.modules().rust {
        let own = Arc::clone(host);
        let open = lua.create_function(move |lua, ()| {
            let table = (module.open)(lua, &own)?;
            own.fill(lua, module.name, &table)?;
            Ok(table)
        })?;
        preload.raw_set(module.name, open)?;
    }
    for (number, extension) in host.modules().extensions.iter().enumerate() {
        let (own, all) = (surroundings.clone(), Arc::clone(&host.modules().extensions));
        let open = lua.create_function(move |lua, ()| (all[number].open)(lua, &own))?;
        preload.raw_set(extension.name, open)?;
    }
    for (name, text) in host.modules().lua {
        preload.raw_set(*name, lua.load(*text).set_name(format!("={name}")).into_function()?)?;
    }
    watch(&lua)?;
    lua.set_memory_limit(host.memory())?;
    Ok(lua)
}

/// Ends scripts that go on after they were to stop.
pub(crate) fn watch(lua: &Lua) -> mlua::Result<()> {
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(STEPS), |lua, _| look(lua, false))
}

fn look(lua: &Lua, is_killed: bool) -> mlua::Result<VmState> {
    if !Task::current().is_some_and(|task| task.is_killed()) {
        if is_killed {
            // The state is at something else by now.
            watch(lua)?;
        }
        return Ok(VmState::Continue);
    }
    if !is_killed {
        // A script that catches errors gets the next one at once.
        lua.set_global_hook(HookTriggers::new().every_nth_instruction(1), |lua, _| look(lua, true))?;
    }
    Err(mlua::Error::runtime("the thread went on after it was to stop"))
}

/// Gives a script's globals in a state that somebody else has made the libraries that states of runtimes have: those of the state's own globals.
pub(crate) fn open_libraries(lua: &Lua, globals: &Table) -> mlua::Result<()> {
    let own = lua.globals();
    let (io, debug) = (own.get::<Table>("io")?, own.get::<Table>("debug")?);
    // Without lines: what the library raises has no place in it.
    let chunk = lua.load(include_str!("lua/libraries.lua")).into_function()?.dump(true);
    lua.load(chunk).set_mode(mlua::chunk::ChunkMode::Binary).call((globals, io, debug))
}

/// `print`, to the host's output: a line, with tabs between the values.
pub(crate) fn print(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Function> {
    let own = Arc::clone(host);
    let write = lua.create_function(move |_, line: mlua::LuaString| {
        own.print(&line.as_bytes());
        Ok(())
    })?;
    let text = "local write, tostring, concat, pack = ... return function(...) local t = pack(...) for i = 1, t.n do t[i] = tostring(t[i]) end write(concat(t, '\\t')) end";
    let globals = lua.globals();
    let table: Table = globals.get("table")?;
    lua.load(text).set_name("=moonhook").call((
        write,
        globals.get::<Function>("tostring")?,
        table.get::<Function>("concat")?,
        table.get::<Function>("pack")?,
    ))
}
