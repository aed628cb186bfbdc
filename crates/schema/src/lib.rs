//! Schemas of shared tables: what keys and values of a table look like as bytes of a BPF map.
//!
//! Compiled handlers, the process that installed them and tests agree on these bytes through this crate. All numbers are in
//! native byte order unless said otherwise, and everything is a multiple of 8 bytes:
//!
//! | type | bytes |
//! |---|---|
//! | integer | `i64` |
//! | float | the bits of an IEEE 754 double, `u64` |
//! | boolean | `u64`, 0 or 1 |
//! | string of at most n bytes | `u32` length, the bytes, zeros up to a multiple of 8 |
//! | IPv4 address | `u64`, host order in the low 32 bits |
//! | address of either family | `u64` 4 or 6, then two `u64`: high and low half in host order (IPv4: 0 and the address) |
//! | MAC address | `u64`, the low 48 bits in host order |
//! | one of several | `u64` whose low 3 bits are the kind: 1 boolean, 2 integer, 3 float, 4 string; then the `u64` of the first three or 0, and if there may be strings one, or zeros |
//! | record | `u64` whose bit i says that field i is there, then the fields in order; a missing field is zeros |
//!
//! The bits of a whole value's first word that stand for no field and no kind may be its *version* ([`Schema::version_start`]): any number that
//! differs from that of the last assignment, by which readers notice that a record was assigned while they read it.
//!
//! A list is a record whose fields have their positions as names, in decimal ([`position`]). A record as key has all its fields. Keys of tables of prefixes are `struct bpf_lpm_trie_key_u8` instead: `u32` prefix
//! length, then 4 or 16 bytes of address in network order; behind 4 bytes as many zeros, for the kernel puts the value right behind the key
//! (kernel/bpf/lpm_trie.c), and a word that crosses a cache line is added to some hundred times as slowly. With a lifetime, a `u64` comes before the value: the time of
//! `CLOCK_MONOTONIC`, in nanoseconds, from which on the entry is gone.

mod bytes;
pub mod mixed;
mod text;

pub use bytes::{decode_key, decode_value, encode_key, encode_value};
pub use mixed::Mixed;
pub use text::{mac, mac_text};

use moonhook_library::float_text;
use std::fmt;

/// The schema of a shared table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schema {
    pub key: Type,
    pub value: Type,
    /// Entries at most.
    pub capacity: u32,
    pub when_full: WhenFull,
    /// How long an entry lives after its last assignment, in nanoseconds.
    pub lifetime: Option<u64>,
    /// Each CPU has values of its own; readers outside of packets see the sum of integers.
    pub per_cpu: bool,
}

/// What assigning a new key to a full table does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenFull {
    /// A run-time error.
    #[default]
    Error,
    /// The entry that was not used for longest goes, about.
    Evict,
}

/// The type of a key, a value or a field.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Type {
    Boolean,
    Integer,
    /// Values only.
    Float,
    /// A string of at most `capacity` bytes.
    Text {
        capacity: u16,
    },
    /// The text of an IPv4 address.
    Ipv4,
    /// The text of an IPv4 or IPv6 address.
    Address,
    /// The text of a MAC address.
    Mac,
    /// Keys only: the longest prefix that contains an address; the text of a prefix (`10.0.0.0/8`) where entries are assigned.
    Prefix4,
    Prefix6,
    /// Values only: one of several plain types.
    Mixed(Mixed),
    /// A table with these fields, in order of their names. Those of a list are named by their positions.
    Record(Vec<Field>),
}

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Field {
    pub name: String,
    pub ty: Type,
}

/// Fields of one record at most: its first word has a bit for each.
pub const MAX_FIELDS: usize = 64;

/// How deep records are nested in a type at most: deeper than anyone writes, so that a table that holds itself is told from one.
pub const MAX_DEPTH: usize = 16;

/// Bytes of a key at most: keys are made on the stack, which has 512 (`MAX_BPF_STACK`). A name of the DNS has 255 bytes at most.
pub const MAX_KEY: usize = 264;

/// Bytes of a string as key at most.
pub const MAX_KEY_TEXT: usize = MAX_KEY - 4;

/// The position that a field's name stands for: fields of lists have the numbers 1 to [`MAX_FIELDS`] as names, in decimal. A
/// string like that is the name of no field.
pub fn position(name: &str) -> Option<i64> {
    let position = name.parse().ok()?;
    (position_name(position)? == name).then_some(position)
}

/// The name of the field at a position; `None` where a record has no field.
pub fn position_name(position: i64) -> Option<String> {
    (1..=MAX_FIELDS as i64).contains(&position).then(|| position.to_string())
}

/// Fields as a table constructor has them: the list first, then the others with what stands before their values, like `pkts = `.
pub fn constructed<'a, T>(fields: impl IntoIterator<Item = (&'a str, T)>) -> Vec<(String, T)> {
    let mut fields: Vec<_> =
        fields.into_iter().map(|(name, value)| (position(name).unwrap_or(i64::MAX), name, value)).collect();
    fields.sort_by_key(|(position, ..)| *position);
    let mut length = 0;
    let constructed = fields.into_iter().map(|(position, name, value)| match position {
        i64::MAX => (format!("{name} = "), value),
        position if position == length + 1 => {
            length = position;
            (String::new(), value)
        }
        position => (format!("[{position}] = "), value),
    });
    constructed.collect()
}

/// The integer that a float equals.
fn integral(x: f64) -> Option<i64> {
    const FAR: f64 = 9_223_372_036_854_775_808.0;
    (x.fract() == 0.0 && (-FAR..FAR).contains(&x)).then_some(x as i64)
}

/// How deep tables in events are nested at most: a table whose fields are no tables is 1 deep.
pub const MAX_NESTED: usize = 8;

/// A Lua value on its way into or out of a shared table, or in an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Datum {
    Nil,
    Boolean(bool),
    Integer(i64),
    /// The bits of a float.
    Float(u64),
    Text(Vec<u8>),
    /// Fields that are not nil, in order of their names. Those of a list are named by their positions.
    Record(Vec<(String, Datum)>),
}

/// Why a value does not fit a schema.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("{expected} expected, got {got}")]
    Type { expected: String, got: &'static str },
    #[error("the string has {length} bytes, the table takes {capacity}")]
    TooLong { length: usize, capacity: u16 },
    #[error("'{text}' is not {expected}")]
    NotAnAddress { text: String, expected: &'static str },
    #[error("there is no field '{name}' in the table's {what}")]
    NoSuchField { name: String, what: &'static str },
    #[error("field '{name}' of a key must not be nil")]
    MissingField { name: String },
}

/// What a script declares of a table with `map{…}`; what it leaves out is inferred or a default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Declaration {
    pub key: Option<Type>,
    pub value: Option<Type>,
    pub capacity: Option<u32>,
    pub when_full: WhenFull,
    /// In nanoseconds.
    pub lifetime: Option<u64>,
    pub per_cpu: bool,
    /// Keys are prefixes of addresses; [`Declaration::key`] then says of which family.
    pub prefixes: bool,
}

/// Entries of a table that declares no capacity.
pub const CAPACITY: u32 = 65_536;

impl Type {
    /// Bytes it takes, in a value; a multiple of 8.
    pub fn size(&self) -> usize {
        match self {
            Type::Boolean | Type::Integer | Type::Float | Type::Ipv4 | Type::Mac => 8,
            Type::Text { capacity } => (4 + usize::from(*capacity)).next_multiple_of(8),
            Type::Address => 24,
            Type::Prefix4 => 12,
            Type::Prefix6 => 20,
            Type::Mixed(mixed) => mixed.size(),
            Type::Record(fields) => 8 + fields.iter().map(|field| field.ty.size()).sum::<usize>(),
        }
    }

    /// Bytes it takes as a key: a record has no word that says which fields are there.
    pub fn key_size(&self) -> usize {
        match self {
            Type::Record(fields) => fields.iter().map(|field| field.ty.key_size()).sum(),
            other => other.size(),
        }
    }

    /// What people call a value of a plain type.
    pub(crate) fn plain_name(&self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Float => "float",
            _ => "string",
        }
    }

    /// How deep records are nested in it: 0 for what is no record.
    pub fn depth(&self) -> usize {
        match self {
            Type::Record(fields) => 1 + fields.iter().map(|field| field.ty.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether there is a list in it.
    pub fn has_list(&self) -> bool {
        let Type::Record(fields) = self else { return false };
        fields.iter().any(|field| position(&field.name).is_some() || field.ty.has_list())
    }

    /// Number, offset from the record's start and type of a field of a record in a value.
    pub fn field(&self, name: &str) -> Option<(usize, usize, &Type)> {
        let Type::Record(fields) = self else { return None };
        let mut offset = 8;
        for (number, field) in fields.iter().enumerate() {
            if field.name == name {
                return Some((number, offset, &field.ty));
            }
            offset += field.ty.size();
        }
        None
    }
}

impl Schema {
    /// The first bit of the version in the first word of a value that is a record or of one of several types; `None` where too few bits are left.
    pub fn version_start(&self) -> Option<u32> {
        const MOST: usize = 48;
        match &self.value {
            Type::Record(fields) if fields.len() <= MOST => Some(fields.len() as u32),
            Type::Mixed(_) => Some(mixed::KIND_BITS),
            _ => None,
        }
    }

    /// Puts the upper bits of a number into the bytes of a value, as its version.
    pub fn put_version(&self, bytes: &mut [u8], number: u64) {
        let start = self.value_offset();
        let word = bytes.get_mut(start..start + 8).and_then(|word| word.try_into().ok());
        if let (Some(fields), Some(word)) = (self.version_start(), word) {
            let word: &mut [u8; 8] = word;
            let mask = u64::MAX << fields;
            *word = (u64::from_ne_bytes(*word) & !mask | number & mask).to_ne_bytes();
        }
    }

    pub fn key_size(&self) -> usize {
        self.key.key_size()
    }

    /// Where the value begins behind the deadline.
    pub fn value_offset(&self) -> usize {
        if self.lifetime.is_some() { 8 } else { 0 }
    }

    pub fn value_size(&self) -> usize {
        self.value_offset() + self.value.size()
    }

    pub fn is_prefixes(&self) -> bool {
        matches!(self.key, Type::Prefix4 | Type::Prefix6)
    }
}

/// As declarations write it: `int`, `string:64`, `{pkts = "int"}`, `{"int", "int"}`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Boolean => f.write_str("boolean"),
            Type::Integer => f.write_str("int"),
            Type::Float => f.write_str("float"),
            Type::Text { capacity } => write!(f, "string:{capacity}"),
            Type::Ipv4 => f.write_str("ipv4"),
            Type::Address => f.write_str("ip"),
            Type::Mac => f.write_str("mac"),
            Type::Prefix4 => f.write_str("ipv4 prefix"),
            Type::Prefix6 => f.write_str("ipv6 prefix"),
            Type::Mixed(mixed) => mixed.fmt(f),
            Type::Record(fields) => {
                f.write_str("{")?;
                let fields = constructed(fields.iter().map(|field| (field.name.as_str(), &field.ty)));
                for (number, (label, ty)) in fields.into_iter().enumerate() {
                    let comma = if number > 0 { ", " } else { "" };
                    match ty {
                        Type::Record(_) => write!(f, "{comma}{label}{ty}")?,
                        ty => write!(f, "{comma}{label}\"{ty}\"")?,
                    }
                }
                f.write_str("}")
            }
        }
    }
}

impl Datum {
    /// As a key of a table: floats of integral value are integers (Lua manual § 2.1).
    #[must_use]
    pub fn as_key(self) -> Datum {
        match self {
            Datum::Float(bits) => integral(f64::from_bits(bits)).map_or(self, Datum::Integer),
            other => other,
        }
    }

    /// The same number as a type has it, in a record too: who writes from outside of handlers may write 3 for 3.0, and 3.0 for 3.
    #[must_use]
    pub fn as_of_type(self, ty: &Type) -> Datum {
        match (self, ty) {
            (Datum::Float(bits), Type::Integer) => Datum::Float(bits).as_key(),
            (Datum::Integer(value), Type::Float) if integral(value as f64) == Some(value) => {
                Datum::Float((value as f64).to_bits())
            }
            (datum, Type::Mixed(mixed)) => match mixed.of(&datum) {
                Some(_) => datum,
                None if mixed.float => datum.as_of_type(&Type::Float),
                None => datum.as_of_type(&Type::Integer),
            },
            (Datum::Record(fields), Type::Record(_)) => {
                let field = |(name, datum): (String, Datum)| {
                    let datum = match ty.field(&name) {
                        Some((.., ty)) => datum.as_of_type(ty),
                        None => datum,
                    };
                    (name, datum)
                };
                Datum::Record(fields.into_iter().map(field).collect())
            }
            (other, _) => other,
        }
    }

    /// As `print` shows it; a record with its fields: `{length = 60, src = 192.0.2.1}`.
    pub fn line(&self) -> Vec<u8> {
        match self {
            Datum::Nil => b"nil".to_vec(),
            Datum::Boolean(value) => value.to_string().into_bytes(),
            Datum::Integer(value) => value.to_string().into_bytes(),
            Datum::Float(bits) => float_text(f64::from_bits(*bits)).into_bytes(),
            Datum::Text(bytes) => bytes.clone(),
            Datum::Record(fields) => {
                let fields = constructed(fields.iter().map(|(name, value)| (name.as_str(), value)));
                let fields =
                    fields.iter().map(|(label, value)| [label.as_bytes(), value.line().as_slice()].concat());
                [b"{", fields.collect::<Vec<_>>().join(&b", "[..]).as_slice(), b"}"].concat()
            }
        }
    }

    /// Whether there is a list in it.
    pub fn has_list(&self) -> bool {
        let Datum::Record(fields) = self else { return false };
        fields.iter().any(|(name, value)| position(name).is_some() || value.has_list())
    }

    /// As [`Datum::type_name`], with the two kinds of numbers told apart.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Datum::Integer(_) => "integer",
            Datum::Float(_) => "float",
            other => other.type_name(),
        }
    }

    /// The Lua type name.
    pub fn type_name(&self) -> &'static str {
        match self {
            Datum::Nil => "nil",
            Datum::Boolean(_) => "boolean",
            Datum::Integer(_) | Datum::Float(_) => "number",
            Datum::Text(_) => "string",
            Datum::Record(_) => "table",
        }
    }
}
