//! Flow tables of the scripts: what `flow.new` has made, and which function each flow has as long as no program runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};
use moonhook_flows::{Flow, KeyKind};
use moonhook_snapshot::{FlowTable, Source};

/// A flow table as `flow.new` got it.
#[derive(Clone)]
pub(crate) struct Made {
    pub name: String,
    pub key: KeyKind,
    pub capacity: u32,
    pub idle: Option<u32>,
    /// What the script has of it.
    pub handle: Table,
    /// What is called for each packet.
    pub handler: Function,
    /// The globals of the script that has made it.
    pub globals: Table,
    /// The flows of load time by the words of their keys.
    pub flows: BTreeMap<Vec<u64>, FlowFunction>,
}

/// A function of flows, and what it was made of if that was text.
#[derive(Clone, Debug)]
pub struct FlowFunction {
    pub function: Function,
    pub source: Option<FlowText>,
}

/// A text that a function is made of, and what messages call it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowText {
    pub text: Arc<str>,
    pub name: Arc<str>,
}

/// What a flow was given.
#[derive(Clone, Debug)]
pub enum Given {
    Text(FlowText),
    Function(Function),
    /// A function of a state that is gone.
    Lost,
}

impl FlowFunction {
    pub fn given(&self) -> Given {
        match &self.source {
            Some(source) => Given::Text(source.clone()),
            None => Given::Function(self.function.clone()),
        }
    }
}

/// What has become of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// From the call until packets were handled by it, in microseconds.
    pub took: u64,
    /// What it was compiled to.
    pub form: &'static str,
}

/// Who has the flows once programs run.
pub trait FlowOwner {
    /// Gives a flow a function.
    ///
    /// # Errors
    /// What is wrong with it; then the flow has the function that it had.
    fn set(
        &self,
        state: (&Lua, &Flows),
        table: usize,
        key: &[u64],
        function: FlowFunction,
    ) -> Result<Changed, String>;
    /// What there is to know of a flow.
    fn get(&self, table: usize, key: &[u64]) -> Option<(Given, Flow)>;
    /// Takes a flow out; whether there was one.
    fn delete(&self, table: usize, key: &[u64]) -> bool;
    /// The words of the keys of all flows.
    fn keys(&self, table: usize) -> Vec<Vec<u64>>;
}

/// All flow tables of a state, in the order in which they were made. Clones are the same list.
#[derive(Clone, Default)]
pub struct Flows(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    tables: Vec<Made>,
    owner: Option<Rc<dyn FlowOwner>>,
    /// Local variables of the scripts that functions of flows can have: by name, arrays of a function and the variable's number in it.
    locals: Option<Table>,
    /// Functions that were made of texts, by table and text.
    made: HashMap<(usize, FlowText), Function>,
    /// What these were made of.
    texts: Vec<Source>,
    /// How many texts there were.
    count: usize,
}

impl Flows {
    pub fn is_empty(&self) -> bool {
        self.0.borrow().tables.is_empty()
    }

    /// From now on the flows are those of `owner`, and functions that are made of texts have these local variables.
    pub fn give_to(&self, owner: Rc<dyn FlowOwner>, locals: Table) {
        let mut inner = self.0.borrow_mut();
        (inner.owner, inner.locals) = (Some(owner), Some(locals));
    }

    /// The flows of load time, table by table.
    pub fn at_load_time(&self) -> Vec<Vec<(Vec<u64>, FlowFunction)>> {
        let inner = self.0.borrow();
        let flows = |made: &Made| made.flows.iter().map(|(key, own)| (key.clone(), own.clone())).collect();
        inner.tables.iter().map(flows).collect()
    }

    /// What functions were made of.
    pub fn texts(&self) -> Vec<Source> {
        self.0.borrow().texts.clone()
    }

    /// Forgets texts but those that `is_used` has.
    pub fn forget_texts(&self, is_used: impl Fn(&FlowText) -> bool) {
        let mut inner = self.0.borrow_mut();
        inner.made.retain(|(_, text), _| is_used(text));
        let Inner { made, texts, .. } = &mut *inner;
        texts.retain(|source| made.keys().any(|(_, text)| *text.name == *source.name));
    }

    pub(crate) fn owner(&self) -> Option<Rc<dyn FlowOwner>> {
        self.0.borrow().owner.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.borrow().tables.len()
    }

    pub(crate) fn add(&self, made: Made) {
        self.0.borrow_mut().tables.push(made);
    }

    /// The table that a script has as `handle`.
    pub(crate) fn number_of(&self, handle: &Table) -> Option<usize> {
        let pointer = handle.to_pointer();
        self.0.borrow().tables.iter().position(|made| made.handle.to_pointer() == pointer)
    }

    /// What the keys of a table are made of; `None` if there is no such table.
    pub fn key_kind(&self, table: usize) -> Option<KeyKind> {
        self.0.borrow().tables.get(table).map(|made| made.key.clone())
    }

    /// Whether a function is the handler of a flow table.
    pub(crate) fn has(&self, function: &Function) -> bool {
        let pointer: *const c_void = function.to_pointer();
        self.0.borrow().tables.iter().any(|made| made.handler.to_pointer() == pointer)
    }

    /// The same arguments, with the handlers of flow tables in the place of these.
    pub(crate) fn with_handlers(&self, arguments: &[Value]) -> Vec<Value> {
        arguments.iter().map(|argument| self.handler_of(argument)).collect()
    }

    /// The handler of a flow table; any other value is left as it is.
    pub(crate) fn handler_of(&self, value: &Value) -> Value {
        match value.as_table().and_then(|table| self.number_of(table)) {
            Some(number) => Value::Function(self.0.borrow().tables[number].handler.clone()),
            None => value.clone(),
        }
    }

    /// Changes the flows of load time.
    pub(crate) fn change<T>(&self, table: usize, change: impl FnOnce(&mut Made) -> T) -> Option<T> {
        self.0.borrow_mut().tables.get_mut(table).map(change)
    }

    /// The function of a flow that load time has set.
    pub(crate) fn function(&self, table: usize, key: &[u64]) -> Option<FlowFunction> {
        self.0.borrow().tables.get(table)?.flows.get(key).cloned()
    }

    /// The functions that flows of a table have, each once.
    pub(crate) fn functions(&self, table: usize) -> Vec<Function> {
        let inner = self.0.borrow();
        let mut functions: Vec<Function> = Vec::new();
        for own in inner.tables.get(table).into_iter().flat_map(|made| made.flows.values()) {
            if functions.iter().all(|known| known.to_pointer() != own.function.to_pointer()) {
                functions.push(own.function.clone());
            }
        }
        functions
    }

    /// The global variables of the scripts that have flow tables, script by script.
    pub(crate) fn globals(&self) -> Vec<Table> {
        let mut globals: Vec<Table> = Vec::new();
        for made in &self.0.borrow().tables {
            if globals.iter().all(|known| known.to_pointer() != made.globals.to_pointer()) {
                globals.push(made.globals.clone());
            }
        }
        globals
    }

    /// What the snapshot says of the tables, without their functions.
    pub(crate) fn described(&self) -> Vec<FlowTable> {
        let table = |made: &Made| FlowTable {
            name: made.name.clone(),
            key: made.key.clone(),
            capacity: made.capacity,
            idle: made.idle,
            functions: Vec::new(),
        };
        self.0.borrow().tables.iter().map(table).collect()
    }

    /// Makes a function of a text, which is a function or a chunk that returns one; its global variables are those of the script that has
    /// made the table, its others such of the script's local variables as other functions have. `name` is what messages call the text.
    ///
    /// # Errors
    /// What Lua says of it, or that it gives no function.
    pub fn function_of(
        &self,
        lua: &Lua,
        table: usize,
        text: &str,
        name: Option<&str>,
    ) -> mlua::Result<FlowFunction> {
        let own = self.named(text, name);
        let known = self.0.borrow().made.get(&(table, own.clone())).cloned();
        if let Some(function) = known {
            return Ok(FlowFunction { function, source: Some(own) });
        }
        let (globals, locals) = {
            let mut inner = self.0.borrow_mut();
            inner.texts.retain(|known| *known.name != *own.name);
            inner.texts.push(Source { name: own.name.to_string(), text: text.to_string() });
            (inner.tables[table].globals.clone(), inner.locals.clone())
        };
        let name = Arc::clone(&own.name);
        let names =
            locals.as_ref().map_or_else(|| Ok(Vec::new()), |locals| captured(text, &globals, locals))?;
        let chunk = around(lua, (text, &name), &names)?;
        let debug: Table = lua.globals().get("debug")?;
        let (get, join) = (debug.get::<Function>("getupvalue")?, debug.get::<Function>("upvaluejoin")?);
        let set: Function = debug.get("setupvalue")?;
        for number in 1..=255 {
            let own: Option<String> = get.call::<(Option<String>, Value)>((&chunk, number))?.0;
            match (own.as_deref(), &locals) {
                (None, _) => break,
                (Some("_ENV"), _) => set.call::<()>((&chunk, number, &globals))?,
                (Some(own), Some(locals)) => {
                    let place: Table = locals.raw_get(own)?;
                    let (holder, at): (Function, i64) = (place.raw_get(1)?, place.raw_get(2)?);
                    join.call::<()>((&chunk, number, holder, at))?;
                }
                (Some(_), None) => {}
            }
        }
        match chunk.call::<Value>(())? {
            Value::Function(function) => {
                self.0.borrow_mut().made.insert((table, own.clone()), function.clone());
                Ok(FlowFunction { function, source: Some(own) })
            }
            other => Err(mlua::Error::runtime(format!(
                "{name}: a {} value, where a function is expected: `function(packet) … end`, or a chunk that returns one",
                other.type_name()
            ))),
        }
    }
}

impl Flows {
    /// A text with its name: the one that is given, or the one that the same text has already, or else a new one.
    fn named(&self, text: &str, name: Option<&str>) -> FlowText {
        let mut inner = self.0.borrow_mut();
        let known = inner.made.keys().find(|(_, own)| *own.text == *text).map(|(_, own)| own.clone());
        match (name, known) {
            (Some(name), _) => FlowText { text: text.into(), name: name.into() },
            (None, Some(own)) => own,
            (None, None) => {
                inner.count += 1;
                FlowText { text: text.into(), name: format!("flow {}", inner.count).into() }
            }
        }
    }
}

/// The names in a text that are local variables of the script and no global ones.
fn captured(text: &str, globals: &Table, locals: &Table) -> mlua::Result<Vec<String>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words =
        text.split(|c: char| !is_part(c)).filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    let mut names: Vec<String> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        // A function can have 255 of them.
        let is_new = names.len() < 200 && names.iter().all(|name| name != word);
        if is_new && globals.raw_get::<Value>(word)?.is_nil() && locals.contains_key(word)? {
            names.push(word.to_string());
        }
    }
    Ok(names)
}

/// A function that gives what the text says, with these variables and `_ENV` as upvalues. Line numbers are those of the text.
fn around(lua: &Lua, (text, name): (&str, &str), names: &[String]) -> mlua::Result<Function> {
    let load = |body: &str| {
        let declared = if names.is_empty() { String::new() } else { format!("local {} ", names.join(",")) };
        let whole = format!("{declared}return function() {body}\nend");
        let chunk = lua.load(whole).set_name(format!("@{name}")).set_mode(mlua::chunk::ChunkMode::Text);
        chunk.into_function()?.call::<Function>(())
    };
    // What is wrong is said of the text as it is.
    load(&format!("return {text}")).or_else(|_| load(text)).map_err(|error| {
        let alone = lua.load(text).set_name(format!("@{name}")).set_mode(mlua::chunk::ChunkMode::Text);
        alone.into_function().err().unwrap_or(error)
    })
}
