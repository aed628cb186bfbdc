//! Every function that scripts can call, as data: a function is a row in the file of its library, and a library is a file and an entry of
//! [`LIBRARIES`].
//!
//! What several implementations of a function have in common besides, is here as well: classes of characters, conversions of formats, texts of floats.
//!
//! The row says what a function is called, what it gives and who has an implementation. Whoever has one finds it by the canonical
//! name, and has a test that it implements exactly the rows that say so.

pub mod class;
mod computing;
pub mod conversion;
mod float_text;
mod function;
pub mod own;
pub mod standard;

pub use computing::{CLASS, COMPUTING, NET, STRUCT};
pub use float_text::float_text;
pub use function::{Callback, Function, General, Gives, Kind, With};

/// A table of functions, or functions that are found in the same way.
pub struct Library {
    /// The part of canonical names before the dot; `_G` for the globals of Lua, empty for those of Moonhook, whose names have none.
    pub name: &'static str,
    pub found: Found,
    /// Keys of the values that are not functions.
    pub constants: &'static [&'static str],
    pub functions: &'static [Function],
    /// What a handler does instead of calling a function that has no form at packet time.
    pub instead: &'static str,
}

/// How scripts get at a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Among the globals, as in Lua: a table, or the globals themselves.
    Standard,
    /// Among the globals, where Lua has nothing.
    Global,
    /// By `require`.
    Module,
    /// As methods of packets or headers.
    Methods,
}

/// All libraries. Those of Lua come first, in the order in which their functions get their names.
pub const LIBRARIES: &[&Library] = &[
    &standard::BASE,
    &standard::COROUTINE,
    &standard::IO,
    &standard::MATH,
    &standard::OS,
    &standard::STRING,
    &standard::TABLE,
    &standard::UTF8,
    &own::BYTEORDER,
    &own::DATA,
    &own::DNS,
    &own::DNS_MESSAGE,
    &own::BPF,
    &own::ECLAT,
    &own::FLOW,
    &own::GLOBALS,
    &own::HTTP,
    &own::IP,
    &own::LINUX,
    &own::MAC,
    &own::RCU,
    &own::SIGNAL,
    &own::CGROUP,
    &own::MATCH,
    &own::NETFILTER,
    &own::SOCKET,
    &own::TC,
    &own::TIMER,
    &own::TRACE,
    &own::XDP,
    &own::UPDATES,
    &own::XSK,
];

/// What most functions that have no form at packet time are replaced by.
const COMPUTED: &str = "compute the value at load time, outside the handler";

/// Libraries whose functions are methods of some values.
const METHODS: [&Library; 4] = [&standard::STRING, &own::DATA, &own::HTTP, &own::DNS_MESSAGE];

/// Lua's libraries.
pub fn standard() -> impl Iterator<Item = &'static Library> {
    LIBRARIES.iter().copied().filter(|library| library.is_standard())
}

/// All functions that scripts can name.
pub fn functions() -> impl Iterator<Item = &'static Function> {
    LIBRARIES.iter().flat_map(|library| library.functions)
}

/// The part of a canonical name that is the key in its table.
pub fn key(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The function of a canonical name.
pub fn find(name: &str) -> Option<&'static Function> {
    library_of(name)?.functions.iter().find(|function| function.name == name)
}

/// The same, or one that is in no table, such as an iterator: what a call at packet time may be of.
pub fn find_called(name: &str) -> Option<&'static Function> {
    let iterators = standard::ITERATORS.iter().copied().chain([
        &own::dns::NEXT_RECORD,
        &own::flow::CALL,
        &own::bpf::CALL,
        &own::bpf::DELETE,
        &own::bpf::GET,
        &own::bpf::KEYS,
        &own::bpf::MEMBER,
        &own::bpf::SET,
        &own::eclat::CALL,
        &own::eclat::LOAD,
        &own::kept::KEEP,
        &own::kept::KEPT,
    ]);
    let iterators = iterators.chain(&own::data::OF_OBJECTS).chain(&own::copies::FUNCTIONS);
    find(name).or_else(|| iterators.into_iter().find(|function| function.name == name))
}

/// The library that a canonical name is of, if it is one.
pub fn library_of(name: &str) -> Option<&'static Library> {
    let is = |library: &&&Library| match name.split_once('.') {
        Some((table, _)) => library.name == table,
        None => library.functions.iter().any(|function| function.name == name),
    };
    LIBRARIES.iter().find(is).copied()
}

/// The methods of an object: of a header by the name of its protocol, of packets by `data`.
pub fn methods_of(object: &str) -> Option<&'static Library> {
    let name = if object == own::dns::HEADER { own::DNS_MESSAGE.name } else { object };
    METHODS[1..].iter().copied().find(|library| library.name == name)
}

/// The function that a string, a packet or a header has as this method.
pub fn method(name: &str) -> Option<&'static Function> {
    methods(name).next()
}

/// The functions that strings, packets or headers have as this method.
pub fn methods(name: &str) -> impl Iterator<Item = &'static Function> + use<'_> {
    METHODS.into_iter().filter_map(move |library| library.function(name))
}

/// Whether a function with that key is in some library, of which this holds.
pub fn any_with_key(key: &[u8], holds: impl Fn(&Function) -> bool) -> bool {
    functions().any(|function| function.key().as_bytes() == key && holds(function))
}

/// What to write instead of a function that has no form at packet time.
pub fn instead_of(name: &str) -> &'static str {
    let own = find(name).and_then(|function| function.instead);
    own.or(library_of(name).map(|library| library.instead)).unwrap_or(COMPUTED)
}

impl Library {
    /// Whether Lua has it.
    pub fn is_standard(&self) -> bool {
        self.found == Found::Standard
    }

    /// The function with that key.
    pub fn function(&self, key: &str) -> Option<&'static Function> {
        self.functions.iter().find(|function| function.key() == key)
    }

    /// Whether general code has functions of it.
    pub fn has_routines(&self) -> bool {
        self.functions.iter().any(|function| function.general == General::Runtime)
    }
}

#[cfg(test)]
mod tests;
