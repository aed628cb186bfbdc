//! Abstract values: what is known of a Lua value at a point of the program.
//!
//! A value whose type is known is spread over as many machine words as that type needs; a constant needs none. A value
//! whose type is not known is a [`Union`]: a tag word that says which of the listed variants it has, and two payload words.

pub use moonhook_ir::words::Word;
use moonhook_snapshot::{CellId, PrototypeId, TableId};
use std::rc::Rc;
use std::sync::Arc;

/// An abstract Lua value.
#[derive(Clone, Debug)]
pub enum Abs {
    Nil,
    /// 0 or 1.
    Bool(Word),
    Int(Word),
    /// The bits of an IEEE 754 double.
    Float(Word),
    Str(Str),
    Object(Object),
    /// An entry of a shared table, or a table in it: [`crate::shared::Path`] by number, and the entry's address.
    Entry {
        path: u32,
        base: Word,
    },
    /// A structure or an array in the kernel's memory: the number of its type ([`moonhook_btf::TypeId`]), and its address, which is not 0.
    Structure {
        type_id: u32,
        address: Word,
    },
    Union(Rc<Union>),
}

/// Whether they are represented alike: floats that are equal for Lua may differ (0.0 and -0.0), and one that is no number is itself.
impl PartialEq for Abs {
    fn eq(&self, other: &Abs) -> bool {
        match (self, other) {
            (Abs::Nil, Abs::Nil) => true,
            (Abs::Bool(a), Abs::Bool(b)) | (Abs::Int(a), Abs::Int(b)) | (Abs::Float(a), Abs::Float(b)) => {
                a == b
            }
            (Abs::Str(a), Abs::Str(b)) => a == b,
            (Abs::Object(a), Abs::Object(b)) => a == b,
            (Abs::Entry { path, base }, Abs::Entry { path: other, base: at }) => path == other && base == at,
            (Abs::Structure { type_id, address }, Abs::Structure { type_id: other, address: at }) => {
                type_id == other && address == at
            }
            (Abs::Union(a), Abs::Union(b)) => a == b,
            _ => false,
        }
    }
}

/// A value with each word replaced by the first that is the same: equal for values that are the same. Of a table made at packet
/// time, its fields as they are now.
pub type Identity = Vec<Abs>;

/// A string.
#[derive(Clone, PartialEq, Debug)]
pub enum Str {
    Const(Arc<[u8]>),
    /// Bytes `start .. start + length` of a space. Both are non-negative and within the space.
    Slice {
        space: Space,
        start: Word,
        length: Word,
    },
    /// What `lower` or `upper` makes of the bytes of a slice. It is written only where bytes in memory are needed ([`crate::cases`]).
    Cased {
        case: Case,
        space: Space,
        start: Word,
        length: Word,
    },
    /// The text of an IPv4 address (host order), made only where text is needed.
    Ipv4(Word),
    /// The text of an IPv6 address: high and low half, each in host order.
    Ipv6(Word, Word),
    /// The text of a MAC address: 48 bits in host order.
    Mac(Word),
}

/// Which case the 26 letters are in, as in the C locale; other bytes have none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Case {
    Lower,
    Upper,
}

/// Memory that string slices point into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Space {
    /// The frame; offset 0 is its first byte.
    Packet,
    /// The constant pool.
    Pool,
    /// The per-CPU string region, reset after each packet. In code that general code calls, all of the arena.
    Scratch,
}

/// What messages call the type of an [`Abs::Structure`].
pub const STRUCTURE: &str = "structure";

/// The tag of the type with number 0; those of others are below it.
const STRUCTURES: i64 = -(1 << 30);

/// Bytes of the handler's second argument.
pub const ARGUMENT_SIZE: i64 = 2;

/// Something with identity that is known now; it takes no machine word.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    Table(TableId),
    /// A table made at packet time: [`crate::state::State::tables`].
    Made(u32),
    /// One that is in memory ([`crate::stored`]), by the same number.
    Stored(u32),
    /// What `pairs` returned for a stored table; a cell says how far the traversal is.
    Entries {
        table: u32,
        position: u32,
    },
    Closure(Rc<Closure>),
    Builtin(&'static str),
    /// What `string.gmatch` returned.
    Matches(Rc<Matches>),
    /// What methods of DNS messages returned, an iterator.
    Records(Rc<Records>),
    Packet,
    /// The handler's second argument.
    Argument,
    /// A protocol header of this packet that is known to be there; the name is its row in the table of protocols.
    Header(&'static str),
    /// The iterator of a generic `for` over a shared table that is within `depth` others.
    Traversal {
        table: TableId,
        depth: u32,
    },
    /// A constant string, when it stands in a union.
    Text(Arc<[u8]>),
    /// Something of load time that packet code can only pass around: its Lua type, and a number of its own.
    Opaque(&'static str, u32),
}

/// A function with the variables it captured.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Closure {
    pub prototype: PrototypeId,
    pub upvalues: Vec<CellRef>,
    pub origin: Origin,
}

/// Where a function is made: those that are made at several places differ, though their code and variables be the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// At load time: functions that are alike are not told apart.
    LoadTime,
    /// At a place that each packet passes once at most, by number.
    Once(u32),
    /// In a loop that is not unrolled.
    Often,
}

/// The iterator over records of a DNS message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Records {
    /// The cells of its state: where the next record is, counted from the message's start; how many follow.
    pub cells: [u32; 2],
}

/// The iterator of `string.gmatch`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Matches {
    pub pattern: crate::patterns::parse::Pattern,
    /// The cells of its state: the subject; where the next search begins; whether there was a match.
    pub cells: [u32; 3],
}

/// A captured variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CellRef {
    /// Made at load time.
    Snapshot(CellId),
    /// Made at packet time: its content is part of the state.
    Local(u32),
}

/// A value of more than one possible variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Union {
    /// Which of the variants it has, as [`Variant::tag`] numbers it. Compared first: it nearly always tells two values
    /// apart, and there may be thousands of variants.
    pub tag: Word,
    pub payload: [Word; 2],
    /// Sorted. Usually two or more; a single one is a value whose type nobody should rely on.
    pub variants: Vec<Variant>,
}

/// What a tag stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variant {
    Nil,
    Bool,
    Int,
    Float,
    Slice(Space),
    Cased(Case, Space),
    Ipv4,
    Ipv6,
    Mac,
    /// The path of an [`Abs::Entry`]. Stands alone or with variants without words, whose payload is 0: the address tells itself
    /// whether it is one, and must not be computed with.
    Entry(u32),
    /// The type of an [`Abs::Structure`].
    Structure(u32),
    /// An interned [`Object`].
    Object(u32),
}

impl Variant {
    /// The tag word's value for this variant.
    pub fn tag(self) -> i64 {
        match self {
            Variant::Nil => 0,
            Variant::Bool => 1,
            Variant::Int => 2,
            Variant::Slice(Space::Packet) => 3,
            Variant::Slice(Space::Pool) => 4,
            Variant::Slice(Space::Scratch) => 5,
            Variant::Ipv4 => 6,
            Variant::Ipv6 => 7,
            Variant::Mac => 8,
            Variant::Cased(case, space) => 9 + 3 * case as i64 + space as i64,
            Variant::Float => 15,
            Variant::Entry(path) => -1 - i64::from(path),
            Variant::Structure(type_id) => STRUCTURES - i64::from(type_id),
            Variant::Object(id) => 16 + i64::from(id),
        }
    }

    /// How many payload words it uses.
    pub fn words(self) -> usize {
        match self {
            Variant::Nil | Variant::Object(_) => 0,
            Variant::Bool
            | Variant::Int
            | Variant::Float
            | Variant::Mac
            | Variant::Entry(_)
            | Variant::Structure(_) => 1,
            // The first one of an IPv4 address is 0: those of both families are what a key or value of type `ip` has.
            Variant::Slice(_) | Variant::Cased(..) | Variant::Ipv4 | Variant::Ipv6 => 2,
        }
    }

    /// The abstract value of this variant with the given payload; not for objects.
    pub fn value(self, payload: [Word; 2]) -> Option<Abs> {
        let [first, second] = payload;
        Some(match self {
            Variant::Nil => Abs::Nil,
            Variant::Bool => Abs::Bool(first),
            Variant::Int => Abs::Int(first),
            Variant::Float => Abs::Float(first),
            Variant::Slice(space) => Abs::Str(Str::Slice { space, start: first, length: second }),
            Variant::Cased(case, space) => Abs::Str(Str::Cased { case, space, start: first, length: second }),
            Variant::Ipv4 => Abs::Str(Str::Ipv4(second)),
            Variant::Ipv6 => Abs::Str(Str::Ipv6(first, second)),
            Variant::Mac => Abs::Str(Str::Mac(first)),
            Variant::Entry(path) => Abs::Entry { path, base: first },
            Variant::Structure(type_id) => Abs::Structure { type_id, address: first },
            Variant::Object(_) => return None,
        })
    }
}

impl Abs {
    pub const TRUE: Abs = Abs::Bool(Word::Imm(1));
    pub const FALSE: Abs = Abs::Bool(Word::Imm(0));

    pub fn text(bytes: impl AsRef<[u8]>) -> Abs {
        Abs::Str(Str::Const(Arc::from(bytes.as_ref())))
    }

    pub fn int(value: i64) -> Abs {
        Abs::Int(Word::Imm(value))
    }

    pub fn float(value: f64) -> Abs {
        Abs::Float(Word::Imm(value.to_bits() as i64))
    }

    /// The float, where it is known now.
    pub fn known_float(&self) -> Option<f64> {
        match self {
            Abs::Float(Word::Imm(bits)) => Some(float_of(*bits)),
            _ => None,
        }
    }

    pub fn bool(value: bool) -> Abs {
        Abs::Bool(Word::Imm(value.into()))
    }

    /// The Lua type name, where it is known. Packets and headers are userdata, as in the user tier.
    pub fn type_name(&self) -> Option<&'static str> {
        Some(match self {
            Abs::Nil => "nil",
            Abs::Bool(_) => "boolean",
            Abs::Int(_) | Abs::Float(_) => "number",
            Abs::Str(_) => "string",
            Abs::Object(object) => object.type_name(),
            Abs::Entry { .. } => "table",
            Abs::Structure { .. } => "userdata",
            Abs::Union(_) => return None,
        })
    }

    /// The type's name in error messages; of a value whose type is known.
    pub fn message_name(&self) -> &'static str {
        match self {
            Abs::Object(object) => object.message_name(),
            Abs::Structure { .. } => STRUCTURE,
            other => other.type_name().unwrap_or("?"),
        }
    }

    /// Truth (Lua manual § 3.3.4), where it is known.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Abs::Nil => Some(false),
            Abs::Bool(word) => word.constant().map(|imm| imm != 0),
            Abs::Union(_) => None,
            _ => Some(true),
        }
    }
}

impl Object {
    /// Whether it is a function that has variables of this packet.
    pub fn has_cells(&self) -> bool {
        match self {
            Object::Closure(closure) => closure.upvalues.iter().any(|cell| matches!(cell, CellRef::Local(_))),
            Object::Matches(_) | Object::Records(_) | Object::Entries { .. } => true,
            _ => false,
        }
    }

    /// What messages call its type: userdata have names of their own there (`luaT_objtypename`).
    pub fn message_name(&self) -> &'static str {
        match self {
            Object::Packet | Object::Argument => "data",
            Object::Header(_) => "header",
            other => other.type_name(),
        }
    }

    pub fn type_name(&self) -> &'static str {
        match self {
            Object::Table(_) | Object::Made(_) | Object::Stored(_) => "table",
            Object::Closure(_) | Object::Builtin(_) | Object::Matches(_) | Object::Records(_) => "function",
            Object::Entries { .. } | Object::Traversal { .. } => "function",
            Object::Packet | Object::Argument | Object::Header(_) => "userdata",
            Object::Text(_) => "string",
            Object::Opaque(name, _) => name,
        }
    }
}

/// The float with these bits.
pub fn float_of(bits: i64) -> f64 {
    f64::from_bits(bits as u64)
}

/// The integer that a float equals.
pub fn integral(x: f64) -> Option<i64> {
    let fits = x.floor() == x && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x);
    fits.then_some(x as i64)
}
