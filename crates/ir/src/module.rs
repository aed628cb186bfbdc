//! Modules: functions, maps and events.

use crate::{Function, FunctionKind, Sums};
use moonhook_btf::{TypeId, Types};
use moonhook_diagnostic::Diagnostic;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that becomes one object file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Source files that [`crate::Loc`] refers to, by index: path and text.
    pub sources: Vec<SourceFile>,
    pub maps: Vec<Map>,
    /// Programs and the subprograms they call, in any order.
    pub functions: Vec<Function>,
    /// What event records mean; an event's id is its index.
    pub events: Vec<Event>,
    /// The maps that are tables of the script, which user space reaches too.
    pub tables: Vec<SharedTable>,
    /// What lies in the data section `state`; of a module with an arena, in its first part.
    pub variables: Vec<Variable>,
    /// Where programs look for functions of flows.
    pub flows: Vec<FlowCalls>,
    /// The maps of C objects. Several objects can have one map.
    pub object_maps: Vec<ObjectMap>,
    /// What maps that are no tables of the script begin with.
    pub fillings: Vec<Filling>,
    /// The types of what is in maps that are no tables of the script, as far as they are known.
    pub map_types: Vec<MapTypes>,
    /// What a person should know of the script, although it is compiled.
    pub warnings: Vec<Diagnostic>,
}

/// A map of a C object, by the numbers of the object in the snapshot and of the map there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectMap {
    pub map: MapId,
    pub object: usize,
    pub number: usize,
}

/// Entries of a map: bytes of keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filling {
    pub map: MapId,
    pub entries: Vec<[Vec<u8>; 2]>,
}

/// What keys and values of a map are, by numbers in types that came with it.
#[derive(Clone, Debug, PartialEq)]
pub struct MapTypes {
    pub map: MapId,
    pub types: Arc<Types>,
    pub key: TypeId,
    pub value: TypeId,
}

/// The calls of a flow table's functions by one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowCalls {
    /// The table's number in the snapshot.
    pub table: usize,
    /// The program's number among those of the module.
    pub program: usize,
    /// The memory of the table: an array of one value, which processes can map.
    pub keys: MapId,
    /// The programs that the functions are, by the numbers that the table has of them.
    pub functions: MapId,
    /// No other program comes between it and a function on the same CPU.
    pub is_undisturbed: bool,
    /// Functions are told where headers are ([`crate::maps::flow_told`]).
    pub says_headers: bool,
    /// Nothing in the program's region is needed after a call.
    pub leaves_region: bool,
}

/// A variable of the script that handlers assign: a tag and two payload words in the data section `state`, or a tag and one payload word in
/// the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As the script calls it: `count`, `limits.burst`.
    pub name: String,
    /// In bytes from the start of the section or arena.
    pub offset: u32,
    /// The types that its values have, as a person reads them.
    pub ty: String,
    /// Its words mean the same in every program where it has this type, and no other variable has its name.
    pub portable: bool,
    pub home: VariableHome,
    /// Its words of each CPU, if it has some.
    pub sums: Option<Sums>,
    /// Handlers add to it where it is nil, too: behind a nil, its integer is 0.
    pub is_summed: bool,
    /// What its words can stand for. A single kind with a payload is meant whatever the tag is.
    pub kinds: Arc<[VariableKind]>,
}

/// Where the Lua state of load time has a variable; numbers of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableHome {
    /// A variable that functions share.
    Cell(u32),
    /// A field of a table; of the globals too.
    Field { table: u32, key: Vec<u8> },
}

/// The values of one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableKind {
    pub tag: u64,
    /// Where the variable has the payload of this tag, in bytes from its first word.
    pub payload: u32,
    pub content: VariableContent,
}

/// An object of load time, by its number in the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectId {
    Table(u32),
    Closure(u32),
}

/// What stands in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableContent {
    Nil,
    /// 0 or 1.
    Boolean,
    Integer,
    /// An address in host order, whose text is the value.
    Ipv4,
    /// 48 bits in host order; the value is the text.
    Mac,
    /// Nothing: the value is this string.
    Text(Vec<u8>),
    /// Nothing: the value is this table or function; `None` for what only handlers can have.
    Object(Option<ObjectId>),
    /// The address of one of these tables or functions in the arena.
    Objects(Arc<BTreeMap<u64, ObjectId>>),
    /// Nothing: the value is this boolean.
    Truth(bool),
    /// The bits of a number that handlers do not compute with.
    Float,
    /// Where the string is in the arena: the address in the low half, the length in the high one. What can be assigned is one of these.
    Texts(Arc<BTreeMap<Vec<u8>, u64>>),
}

impl VariableContent {
    /// The payload means something.
    pub fn has_payload(&self) -> bool {
        use VariableContent::*;
        matches!(self, Boolean | Integer | Ipv4 | Mac | Float | Texts(_) | Objects(_))
    }
}

impl Variable {
    /// Bytes of a variable in the data section `state`.
    pub const SIZE: u32 = 48;
    /// The type of one that is always an integer.
    pub const INTEGER: &str = "integer";
    /// Where an integer that handlers add to has its payload, in the section, and what is always of one type.
    pub const PAYLOAD: u32 = 8;
}

/// A table of the script that lives in a map.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedTable {
    /// What a person calls it: the variable that holds it.
    pub name: String,
    pub map: MapId,
    pub schema: moonhook_schema::Schema,
    /// Its number in the snapshot, by which the Lua state of load time knows it.
    pub table: u32,
    /// The entries that load time left in it.
    pub contents: Vec<(moonhook_schema::Datum, moonhook_schema::Datum)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFile {
    pub name: String,
    pub text: String,
}

/// Index into [`Module::maps`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MapId(pub u32);

/// How many functions the kernel takes in one program, itself included: `BPF_MAX_SUBPROGS` (include/linux/bpf_verifier.h).
pub const MAX_FUNCTIONS: usize = 256;

/// Index into [`Module::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionId(pub u32);

/// A map, or a data section (which the kernel also sees as a map of one value).
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// A C identifier, unique in the module. For data sections it is the section's suffix: `.rodata.NAME`, `.data.NAME`.
    pub name: String,
    pub kind: MapKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MapKind {
    /// Constant data, frozen before the program runs: the verifier knows its bytes.
    ReadOnlyData(Vec<u8>),
    /// Writable data with its initial bytes, shared by all CPUs.
    Data(Vec<u8>),
    /// Writable data that begins with so many bytes of zeros, and of which an object has none.
    Zeros(u32),
    /// A `.maps` entry.
    Map(MapDefinition),
    /// Memory that programs reach by 32-bit offsets ([`crate::UnaryOp::Arena`]): so many pages of [`PAGE`] bytes, which
    /// begin with `image` and are 0 otherwise. A module has one at most.
    Arena { pages: u32, image: Vec<u8> },
}

impl MapKind {
    /// Bytes of a data section, before it is made a multiple of words; `None` for other maps.
    pub fn data_size(&self) -> Option<usize> {
        match self {
            MapKind::ReadOnlyData(bytes) | MapKind::Data(bytes) => Some(bytes.len()),
            MapKind::Zeros(size) => Some(*size as usize),
            MapKind::Map(_) | MapKind::Arena { .. } => None,
        }
    }
}

impl Map {
    /// Whether this is the section [`crate::maps::OPAQUE`].
    pub fn is_opaque_zero(&self) -> bool {
        self.name == crate::maps::OPAQUE && matches!(&self.kind, MapKind::Data(bytes) if *bytes == [0; 8])
    }
}

/// The size of an arena's pages, in bytes.
pub const PAGE: usize = 4096;

/// A map as `bpf(BPF_MAP_CREATE)` takes it; sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDefinition {
    pub map_type: MapType,
    /// 0 for ring buffers.
    pub key_size: u32,
    /// 0 for ring buffers.
    pub value_size: u32,
    /// Entries; for ring buffers bytes (a power of two and a multiple of the page size).
    pub max_entries: u32,
    /// `BPF_F_…` flags of map creation.
    pub flags: u32,
}

/// Map types, with the numbers of `enum bpf_map_type` (include/uapi/linux/bpf.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    Hash,
    Array,
    ProgramArray,
    PerCpuHash,
    PerCpuArray,
    LruHash,
    LruPerCpuHash,
    LpmTrie,
    CpuMap,
    XskMap,
    DevMapHash,
    RingBuf,
    /// By its number: of a map that somebody else has defined.
    Other(u32),
}

impl MapType {
    pub fn number(self) -> u32 {
        match self {
            MapType::Hash => 1,
            MapType::Array => 2,
            MapType::ProgramArray => 3,
            MapType::PerCpuHash => 5,
            MapType::PerCpuArray => 6,
            MapType::LruHash => 9,
            MapType::LruPerCpuHash => 10,
            MapType::LpmTrie => 11,
            MapType::CpuMap => 16,
            MapType::XskMap => 17,
            MapType::DevMapHash => 25,
            MapType::RingBuf => 27,
            MapType::Other(number) => number,
        }
    }
}

/// A kind of record that the program can put into the event ring.
///
/// The record's layout (native byte order): `u32` event id, `u32` payload length in bytes, then the arguments one after
/// another: each a `u64` tag and the payload of [`ArgumentKind`], padded to 8 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    pub kind: EventKind,
    pub source: u16,
    /// Line in that source, from 1.
    pub line: u32,
    /// Literal text and arguments, in the order in which a person reads them.
    pub format: Vec<Piece>,
    /// For [`EventKind::Error`]: the active calls, innermost first, as `(source, line, function name)`.
    pub traceback: Vec<(u16, u32, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A run-time error; its format is the message without position.
    Error,
    /// `print`; its format is the line without the line end.
    Print,
    /// A run-time error; its format is the message with position, if it has one. The traceback stands in the record, behind
    /// the format's arguments: an integer, how many calls were active, and for each of them, innermost first, an integer,
    /// the index of the source, an integer, the line, and a string, the function's name. Calls may be left out at the end.
    Raised,
    /// `event`; its format is empty. The record has the event's name, a string, and its values, as many as there is room for.
    Event,
}

/// A part of an event's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Bytes that are always the same.
    Text(Vec<u8>),
    /// The record's next argument, by a conversion of C's printf for the receiver to apply (`%d`, `%-8x`, `%s`, …);
    /// what Lua's `string.format` means by it.
    Argument(String),
}

/// The tag of an argument in an event record, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Nothing.
    Nil = 0,
    /// `u64`, 0 or 1.
    Boolean = 1,
    /// `i64`.
    Integer = 2,
    /// `u64` length, then the bytes.
    String = 3,
    /// `u64` whose low 32 bits are an IPv4 address in host order; text: dotted quad.
    Ipv4 = 4,
    /// Two `u64`, the high half of the address first, each in host order; text: RFC 5952.
    Ipv6 = 5,
    /// `u64` whose low 48 bits are a MAC address in host order; text: `aa:bb:cc:dd:ee:ff`.
    Mac = 6,
    /// `u64` length, then the bytes of a string that was cut to fit the record.
    CutString = 7,
    /// `u64` number of fields, then for each of them, in order of the names, an argument that is a string, its name, and an
    /// argument that is its value. A field whose value is nil is not there. Where the record has no room for all fields it
    /// ends behind some name or value.
    Record = 8,
    /// `u64`, the bits of an IEEE 754 double; text: what `tostring` makes of it (manual § 3.4.3).
    Float = 10,
    /// Nothing: an entry of a shared table; text: `table: entry`, where real Lua has an address (manual § 6.2, `tostring`).
    Entry = 9,
}

impl Module {
    pub fn map(&self, id: MapId) -> &Map {
        &self.maps[id.0 as usize]
    }

    /// The sections of the module's programs.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().filter_map(|function| match &function.kind {
            FunctionKind::Program { section } => Some(section.as_str()),
            FunctionKind::Subprogram { .. } => None,
        })
    }

    /// Whether its programs are functions for programs of others.
    pub fn is_library(&self) -> bool {
        self.functions.iter().any(|function| function.prototype.is_some())
    }

    /// The module's arena.
    pub fn arena(&self) -> Option<MapId> {
        let position = self.maps.iter().position(|map| matches!(map.kind, MapKind::Arena { .. }));
        position.map(|index| MapId(index as u32))
    }

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }
}
