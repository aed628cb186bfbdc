//! What load time leaves behind: the registered handlers and everything they can reach.
//!
//! The load stage fills a [`Snapshot`]; both compilers read it. What both forms of code ask of bytecode is answered here: how control
//! flows, what things are called in the source, which operator an instruction is, which instructions are about the same place.
//! Nothing here knows how Lua is run or what a BPF program is.
//!
//! Objects are arena-allocated and refer to one another by index, so cycles cost nothing and equal scripts give equal
//! snapshots (objects are numbered in the order in which a breadth-first walk from the handlers first meets them; a
//! prototype comes after those inside it).

mod dump;
pub mod first_sums;
pub mod flow;
mod flow_table;
mod handlers;
pub mod instruction;
mod linked;
mod lookup;
pub mod names;
mod opcode;
pub mod operation;
mod owners;
pub mod same_word;
mod source;
mod symbols;
mod table;
mod traced;

use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::tree::Chains;
use moonhook_hook::{CLONE, Point};
use moonhook_link::Object;
use std::fmt;
use std::sync::Arc;

pub use dump::dump;
pub use flow_table::FlowTable;
pub use handlers::Handlers;
pub use linked::{
    Leaf, LoadedCallee, LoadedFunction, LoadedLoader, LoadedMap, LoadedProgram, MapContents, ObjectTable,
    Parameter, Startable,
};
pub use lookup::Lookup;
pub use owners::{Owners, qualified};
pub use source::Source;
pub use symbols::{BY_KEY, identifier};
pub use traced::Traced;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);
        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

id!(
    /// A Lua closure: [`Snapshot::closures`].
    ClosureId,
    /// A variable that closures share (what Lua calls an upvalue): [`Snapshot::cells`].
    CellId,
    /// A table: [`Snapshot::tables`].
    TableId,
    /// A function prototype, the compiled body: [`Snapshot::prototypes`].
    PrototypeId,
    /// A file that was run or required: [`Snapshot::sources`].
    SourceId
);

/// The whole result of the load stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The script's path as the person gave it; several are separated by spaces.
    pub script: String,
    /// The name of the library that it is for programs in C, if it is one: a C identifier.
    pub library: Option<String>,
    /// Whether a text of no bytes is out of bounds of every packet, as the scripts understand it.
    pub empty_texts_are_outside: bool,
    pub handlers: Handlers,
    pub closures: Vec<Closure>,
    pub cells: Vec<Cell>,
    pub tables: Vec<Table>,
    pub prototypes: Vec<Prototype>,
    pub sources: Vec<Source>,
    /// Where methods of strings are found, if the script has changed that table of the library.
    pub strings: Option<TableId>,
    /// Which script has what.
    pub owners: Owners,
    /// Queues whose frames functions of the scripts take from sockets (`xsk.receive`), in order.
    pub receivers: Vec<u32>,
    /// What the kernel tells handlers of tracepoints.
    pub traced: Traced,
    /// Tables that give a function to each flow, in the order in which the scripts made them.
    pub flows: Vec<FlowTable>,
    /// Chains of eCLAT that the scripts have loaded.
    pub chains: Vec<LoadedChain>,
    /// C objects that the scripts, and their chains, have loaded.
    pub objects: Vec<Arc<Object>>,
    /// Loaders that are handlers.
    pub loaders: Vec<LoadedLoader>,
    /// What maps of objects begin with.
    pub contents: Vec<MapContents>,
    /// Functions and maps of objects that packet code knows by their numbers here.
    pub functions: Vec<LoadedFunction>,
    pub maps: Vec<LoadedMap>,
    /// Tables with functions or maps of objects; their metatables have their numbers here ([`ObjectTable::NUMBER`]).
    pub object_tables: Vec<ObjectTable>,
    /// What a person should know of the scripts, which run all the same.
    pub warnings: Vec<Diagnostic>,
}

/// A chain of eCLAT: the script that it is of, and its number there.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedChain {
    pub script: Arc<Chains>,
    pub number: usize,
    /// By program of the script, what it is.
    pub programs: Arc<[LoadedCallee]>,
    /// By read of a map in the script, the map.
    pub maps: Arc<[LoadedMap]>,
}

impl Snapshot {
    /// Whether something may end the packet with a verdict while a handler runs: functions of C objects, and what chains call.
    pub fn has_deciders(&self) -> bool {
        !self.objects.is_empty() || !self.chains.is_empty()
    }

    /// Whether handlers may send copies of packets: their code names the function that does, or a variable or a table of the script's has it.
    pub fn clones(&self) -> bool {
        let key = CLONE.rsplit('.').next().unwrap_or_default().as_bytes();
        let is_key = |value: &Value| matches!(value, Value::String(text) if **text == *key);
        let is_function = |value: &Value| matches!(value, Value::Builtin(CLONE));
        let mut constants = self.prototypes.iter().flat_map(|prototype| &prototype.constants);
        let own = self.tables.iter().filter(|table| !table.is_library);
        let mut kept =
            own.flat_map(|table| table.array.iter().chain(table.entries.iter().flat_map(|(k, v)| [k, v])));
        constants.any(is_key)
            || kept.any(is_function)
            || self.cells.iter().any(|cell| is_function(&cell.value))
    }
}

/// A function that the script registered for a hook.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    pub point: Point,
    pub closure: ClosureId,
    /// The function that the script has registered, which the closure may only call.
    pub written: ClosureId,
}

/// A Lua value. Strings are byte strings and may hold NULs.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    String(Arc<[u8]>),
    Table(TableId),
    Closure(ClosureId),
    /// A function of the standard library or of Moonhook's own modules, by its canonical name: `"string.find"`,
    /// `"print"`, `"xdp.attach"`.
    Builtin(&'static str),
    /// Something packet code can only pass around (a thread, a foreign userdata, …): its Lua type name, and a number of its own.
    Opaque(&'static str, u32),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    pub prototype: PrototypeId,
    /// One cell for each entry of the prototype's `upvalues`, in that order.
    pub upvalues: Vec<CellId>,
}

/// A variable shared by closures. Two upvalues are the same variable exactly if they have the same cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub value: Value,
}

/// A table with all its raw entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// `t[1] … t[n]` for the largest n without a hole.
    pub array: Vec<Value>,
    /// The other entries, sorted: booleans, integers, floats, strings (bytewise), tables and closures in order of
    /// their ids, functions of the library by name, then the rest.
    pub entries: Vec<(Value, Value)>,
    pub metatable: Option<TableId>,
    /// What a person would call it, as far as known: `_G`, `string`, `linux.xdp`, or the variable that holds it.
    pub name: Option<String>,
    /// It is one of the library's or of a module's, by that name.
    pub is_library: bool,
    /// What the script declares of it, if it was made by `map{…}`.
    pub declaration: Option<moonhook_schema::Declaration>,
}

/// A function body as PUC-Rio Lua 5.5 compiled it (`lopcodes.h`, `lundump.c`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prototype {
    pub source: Option<SourceId>,
    /// First and last line of the definition; both 0 for a main chunk.
    pub line_defined: u32,
    pub last_line_defined: u32,
    pub parameters: u8,
    /// The function takes `...` (5.5: `PF_VAHID` or `PF_VATAB` is set).
    pub is_vararg: bool,
    /// The extra arguments are a table: `function f(...t)` uses `t` otherwise than by indexing it (5.5).
    pub vararg_table: bool,
    /// Registers needed.
    pub stack_size: u8,
    /// Instructions in the format of `lopcodes.h`.
    pub code: Vec<u32>,
    /// One source line for each instruction.
    pub lines: Vec<u32>,
    pub constants: Vec<Value>,
    pub upvalues: Vec<UpvalueDescription>,
    /// The functions defined inside, as `OP_CLOSURE` numbers them.
    pub prototypes: Vec<PrototypeId>,
    pub locals: Vec<LocalVariable>,
    /// What is looked up of all this, once it is asked for.
    pub lookup: Lookup,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UpvalueDescription {
    pub name: String,
    /// The captured variable is a register of the enclosing function, else one of its upvalues.
    pub in_stack: bool,
    /// Number of that register or upvalue.
    pub index: u8,
}

/// Debug information: a name that a register has while `start_pc <= pc < end_pc`.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalVariable {
    pub name: String,
    pub start_pc: u32,
    pub end_pc: u32,
}

/// A file's name as it stands in messages: names of 60 bytes and more lose their beginning (`lobject.c`, `luaO_chunkid`,
/// with `LUA_IDSIZE` 60).
pub fn short_name(name: &str) -> String {
    const SIZE: usize = 60;
    match name.len() {
        ..SIZE => name.to_string(),
        length => format!("...{}", String::from_utf8_lossy(&name.as_bytes()[length - (SIZE - 1 - 3)..])),
    }
}

impl Snapshot {
    /// Whether code has that string among its constants: names of fields and methods are.
    pub fn mentions(&self, name: &str) -> bool {
        let is_name = |value: &Value| matches!(value, Value::String(bytes) if **bytes == *name.as_bytes());
        self.prototypes.iter().any(|prototype| prototype.constants.iter().any(is_name))
    }

    pub fn closure(&self, id: ClosureId) -> &Closure {
        &self.closures[id.index()]
    }
    pub fn cell(&self, id: CellId) -> &Cell {
        &self.cells[id.index()]
    }
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.index()]
    }
    /// What a person calls a table.
    pub fn table_name(&self, id: TableId) -> &str {
        self.table(id).name.as_deref().unwrap_or("?")
    }
    pub fn prototype(&self, id: PrototypeId) -> &Prototype {
        &self.prototypes[id.index()]
    }
    pub fn source(&self, id: SourceId) -> &Source {
        &self.sources[id.index()]
    }
}

impl Value {
    /// The Lua type name (Lua manual § 2.1).
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Boolean(_) => "boolean",
            Value::Integer(_) | Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::Table(_) => "table",
            Value::Closure(_) | Value::Builtin(_) => "function",
            Value::Opaque(name, _) => name,
        }
    }

    pub fn string(bytes: impl AsRef<[u8]>) -> Value {
        Value::String(Arc::from(bytes.as_ref()))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Boolean(b) => write!(f, "{b}"),
            Value::Integer(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::String(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Value::Table(id) => write!(f, "table{}", id.0),
            Value::Closure(id) => write!(f, "closure{}", id.0),
            Value::Builtin(name) => write!(f, "<{name}>"),
            Value::Opaque(name, _) => write!(f, "<{name}>"),
        }
    }
}
