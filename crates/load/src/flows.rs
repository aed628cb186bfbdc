//! Flow tables of the scripts: what `flow.new` has made, and which function each flow has as long as no program runs.

mod texts;

pub use texts::FlowText;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::c_void;
use std::rc::Rc;

use mlua::{Function, Lua, Table, Value};
use moonhook_diagnostic::Diagnostic;
use moonhook_flows::{Flow, KeyKind};
use moonhook_snapshot::FlowTable;
use texts::Texts;

/// A flow table as `flow.new` got it.
#[derive(Clone)]
pub(crate) struct Made {
    pub name: String,
    pub key: KeyKind,
    /// [`FlowTable::key_code`].
    pub key_code: Vec<u8>,
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
    /// What its writer should know of it.
    pub warnings: Vec<Diagnostic>,
}

/// Who has the flows once programs run.
pub trait FlowOwner {
    /// The table of that name, or the only one, and the words of a key of it that a person has written.
    ///
    /// # Errors
    /// There is no such table, or the key is none of it.
    fn place(&self, table: Option<&str>, key: &str) -> Result<(usize, Vec<u64>), String>;
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
    texts: Texts,
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

    pub(crate) fn owner(&self) -> Option<Rc<dyn FlowOwner>> {
        self.0.borrow().owner.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.borrow().tables.len()
    }

    pub(crate) fn add(&self, made: Made) {
        self.0.borrow_mut().tables.push(made);
    }

    /// What is called for each packet, table by table.
    pub fn handlers(&self) -> Vec<Function> {
        self.0.borrow().tables.iter().map(|made| made.handler.clone()).collect()
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
        let all = inner.tables.get(table).into_iter().flat_map(|made| made.flows.values());
        let mut known = HashSet::new();
        let is_new = |own: &&FlowFunction| known.insert(own.function.to_pointer());
        all.filter(is_new).map(|own| own.function.clone()).collect()
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
            key_code: made.key_code.clone(),
            capacity: made.capacity,
            idle: made.idle,
            functions: Vec::new(),
        };
        self.0.borrow().tables.iter().map(table).collect()
    }
}
