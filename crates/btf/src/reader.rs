//! BTF records: a header, types one after the other, which refer to one another by number, and strings.

use std::fmt;
use std::ops::Range;

/// BTF that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BtfError {
    #[error("it does not begin as BTF does")]
    Magic,
    #[error("it ends in the middle of a type")]
    Cut,
    #[error("it has a kind of type, {0}, that is not known")]
    Kind(u32),
}

/// The number of a type; 0 is `void`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u32);

/// All types of a kernel.
pub struct Types {
    bytes: Vec<u8>,
    /// Where the strings are among them.
    strings: Range<usize>,
    /// Where each type's record begins; that of `void` is none.
    records: Vec<usize>,
}

/// What a type is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Void,
    Integer {
        bytes: u32,
        signed: bool,
    },
    Pointer(TypeId),
    Array {
        of: TypeId,
        length: u32,
    },
    Structure {
        bytes: u32,
        is_union: bool,
    },
    Enumeration {
        bytes: u32,
        signed: bool,
    },
    /// A structure of which nothing but the name is known.
    Forward,
    /// A name of, or something said of another type, that makes no difference for what is in memory.
    Alias(TypeId),
    /// The same, said by a tag of that name (`user`, `percpu`, …).
    Tag(TypeId),
    Function(TypeId),
    Prototype(TypeId),
    /// A variable of an object file, of that type.
    Variable(TypeId),
    /// A section of an object file: its members are variables.
    Section,
    /// What no field of a structure is, or no program can compute with.
    Other,
}

/// A member of a structure, or a parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member<'t> {
    /// Empty where it has none.
    pub name: &'t str,
    pub type_id: TypeId,
    /// In bits; of parameters 0.
    pub offset: u32,
    /// Of bit-fields, how many bits; else 0.
    pub bits: u32,
}

/// `BTF_KIND_…` (include/uapi/linux/btf.h).
pub(crate) mod kind {
    pub const INT: u32 = 1;
    pub const PTR: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FWD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNC: u32 = 12;
    pub const FUNC_PROTO: u32 = 13;
    pub const VAR: u32 = 14;
    pub const DATASEC: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const DECL_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

const MAGIC: u16 = 0xeb9f;
/// Bytes of what all records begin with: name, information, size or type.
const HEAD: usize = 12;

impl Types {
    /// Reads the file that the kernel has as /sys/kernel/btf/vmlinux.
    ///
    /// # Errors
    /// It is no BTF, or has types of kinds that are not known.
    pub fn parse(bytes: Vec<u8>) -> Result<Types, BtfError> {
        if bytes.get(..2) != Some(&MAGIC.to_ne_bytes()) {
            return Err(BtfError::Magic);
        }
        let header = |number: usize| word(&bytes, 4 + 4 * number).map(|word| word as usize);
        let [length, types, types_length, strings, strings_length] =
            [header(0)?, header(1)?, header(2)?, header(3)?, header(4)?];
        let (start, strings) = (length + types, length + strings..length + strings + strings_length);
        let end = start + types_length;
        if bytes.len() < end.max(strings.end) {
            return Err(BtfError::Cut);
        }
        let mut records = vec![0];
        let mut at = start;
        while at < end {
            records.push(at);
            at += HEAD + more(word(&bytes, at + 4)?)?;
        }
        if at > end { Err(BtfError::Cut) } else { Ok(Types { bytes, strings, records }) }
    }

    /// All types but `void`.
    pub fn all(&self) -> impl Iterator<Item = TypeId> {
        (1..self.records.len() as u32).map(TypeId)
    }

    /// The name of a type; empty where it has none.
    pub fn name(&self, id: TypeId) -> &str {
        self.record(id).map_or("", |at| self.string(self.word(at)))
    }

    pub fn kind(&self, id: TypeId) -> Kind {
        let Some(at) = self.record(id) else { return Kind::Void };
        let (info, last) = (self.word(at + 4), self.word(at + 8));
        let flag = info >> 31 != 0;
        match kind_of(info) {
            kind::INT => Kind::Integer { bytes: last, signed: self.word(at + HEAD) >> 24 & 1 != 0 },
            kind::PTR => Kind::Pointer(TypeId(last)),
            kind::ARRAY => Kind::Array { of: TypeId(self.word(at + HEAD)), length: self.word(at + HEAD + 8) },
            kind::STRUCT => Kind::Structure { bytes: last, is_union: false },
            kind::UNION => Kind::Structure { bytes: last, is_union: true },
            kind::ENUM | kind::ENUM64 => Kind::Enumeration { bytes: last, signed: flag },
            kind::FWD => Kind::Forward,
            kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT => Kind::Alias(TypeId(last)),
            kind::TYPE_TAG => Kind::Tag(TypeId(last)),
            kind::FUNC => Kind::Function(TypeId(last)),
            kind::FUNC_PROTO => Kind::Prototype(TypeId(last)),
            kind::VAR => Kind::Variable(TypeId(last)),
            kind::DATASEC => Kind::Section,
            _ => Kind::Other,
        }
    }

    /// Whether a type, or what it is a name of, may not be written.
    pub fn is_constant(&self, mut id: TypeId) -> bool {
        for _ in 0..self.records.len() {
            let Some(at) = self.record(id) else { return false };
            match (kind_of(self.word(at + 4)), self.kind(id)) {
                (kind::CONST, _) => return true,
                (_, Kind::Alias(next) | Kind::Tag(next)) => id = next,
                _ => return false,
            }
        }
        false
    }

    /// What lies behind names and qualifiers; `void` where they go round in a circle.
    pub fn resolved(&self, mut id: TypeId) -> TypeId {
        for _ in 0..self.records.len() {
            match self.kind(id) {
                Kind::Alias(next) | Kind::Tag(next) => id = next,
                _ => return id,
            }
        }
        TypeId(0)
    }

    /// The string at that offset, to which other sections of an object file refer; empty where there is none.
    pub fn text(&self, offset: u32) -> &str {
        self.string(offset)
    }

    /// The members of a structure, the parameters of a prototype, or the variables of a section with their types; of other types none.
    pub fn members(&self, id: TypeId) -> Vec<Member<'_>> {
        let Some(at) = self.record(id) else { return Vec::new() };
        let info = self.word(at + 4);
        let (count, has_bits) = ((info & 0xffff) as usize, info >> 31 != 0);
        let place = |number: usize, size: usize| at + HEAD + number * size;
        let named = |place: usize| (self.string(self.word(place)), TypeId(self.word(place + 4)));
        let member = |number| {
            let place = place(number, 12);
            let ((name, type_id), at) = (named(place), self.word(place + 8));
            match has_bits {
                true => Member { name, type_id, offset: at & 0xff_ffff, bits: at >> 24 },
                false => Member { name, type_id, offset: at, bits: 0 },
            }
        };
        let parameter = |number| {
            let (name, type_id) = named(place(number, 8));
            Member { name, type_id, offset: 0, bits: 0 }
        };
        let variable = |number| {
            let place = place(number, 12);
            let id = TypeId(self.word(place));
            let (name, offset) = (self.name(id), self.word(place + 4).saturating_mul(8));
            let type_id = if let Kind::Variable(of) = self.kind(id) { of } else { id };
            Member { name, type_id, offset, bits: 0 }
        };
        match kind_of(info) {
            kind::STRUCT | kind::UNION => (0..count).map(member).collect(),
            kind::FUNC_PROTO => (0..count).map(parameter).collect(),
            kind::DATASEC => (0..count).map(variable).collect(),
            _ => Vec::new(),
        }
    }

    /// The name that an enumeration has for a number; of several the first.
    pub fn enumerator(&self, id: TypeId, number: i64) -> Option<&str> {
        let at = self.record(id)?;
        let info = self.word(at + 4);
        let size = match kind_of(info) {
            kind::ENUM => 8,
            kind::ENUM64 => 12,
            _ => return None,
        };
        let of = |place: usize| match size {
            8 if info >> 31 == 0 => i64::from(self.word(place + 4)),
            8 => i64::from(self.word(place + 4) as i32),
            _ => (u64::from(self.word(place + 8)) << 32 | u64::from(self.word(place + 4))) as i64,
        };
        let places = (0..(info & 0xffff) as usize).map(|index| at + HEAD + index * size);
        let found = places.into_iter().find(|place| of(*place) == number)?;
        Some(self.string(self.word(found)))
    }

    /// Bytes of a value of the type; 0 where it has none.
    pub fn size(&self, mut id: TypeId) -> u32 {
        let mut count = 1u32;
        // Arrays of arrays end, unless they go round in a circle.
        for _ in 0..self.records.len() {
            match self.kind(self.resolved(id)) {
                Kind::Array { of, length } => (id, count) = (of, count.saturating_mul(length)),
                Kind::Integer { bytes, .. }
                | Kind::Structure { bytes, .. }
                | Kind::Enumeration { bytes, .. } => {
                    return bytes.saturating_mul(count);
                }
                Kind::Pointer(_) => return count.saturating_mul(8),
                _ => return 0,
            }
        }
        0
    }

    /// What is where in a type, as a text: ` {packets: 8 @0, last: 2 @8}`; empty for what is no structure.
    pub fn layout(&self, id: TypeId) -> String {
        let id = self.resolved(id);
        let Kind::Structure { .. } = self.kind(id) else { return String::new() };
        let members = self.members(id);
        let member = |member: &Member<'_>| {
            format!("{}: {} @{}", member.name, self.size(member.type_id), member.offset / 8)
        };
        format!(" {{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
    }

    /// The first type with that name that is wanted.
    pub fn find(&self, name: &str, is_wanted: impl Fn(Kind) -> bool) -> Option<TypeId> {
        self.all().find(|id| self.name(*id) == name && is_wanted(self.kind(*id)))
    }

    /// The structure of that name.
    pub fn structure(&self, name: &str) -> Option<TypeId> {
        self.find(name, |kind| matches!(kind, Kind::Structure { is_union: false, .. }))
    }

    /// The three words that all records begin with.
    pub(crate) fn head(&self, id: TypeId) -> Option<[u32; 3]> {
        self.record(id).map(|at| [0, 4, 8].map(|word| self.word(at + word)))
    }

    /// The words behind them.
    pub(crate) fn rest(&self, id: TypeId) -> Vec<u32> {
        let Some(at) = self.record(id) else { return Vec::new() };
        let length = more(self.word(at + 4)).unwrap_or_default();
        (0..length / 4).map(|number| self.word(at + HEAD + 4 * number)).collect()
    }

    fn record(&self, id: TypeId) -> Option<usize> {
        self.records.get(id.0 as usize).copied().filter(|_| id.0 > 0)
    }

    /// A word of a record, all of which lie within the bytes.
    fn word(&self, at: usize) -> u32 {
        word(&self.bytes, at).unwrap_or_default()
    }

    fn string(&self, offset: u32) -> &str {
        let strings = self.bytes.get(self.strings.clone()).unwrap_or_default();
        let rest = strings.get(offset as usize..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
        std::str::from_utf8(&rest[..length]).unwrap_or_default()
    }
}

fn word(bytes: &[u8], at: usize) -> Result<u32, BtfError> {
    let word = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    word.map(u32::from_ne_bytes).ok_or(BtfError::Cut)
}

fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// Bytes of a record behind its head.
fn more(info: u32) -> Result<usize, BtfError> {
    let count = (info & 0xffff) as usize;
    Ok(match kind_of(info) {
        kind::INT | kind::VAR | kind::DECL_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * count,
        kind::ENUM | kind::FUNC_PROTO => 8 * count,
        kind::PTR | kind::FWD | kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT => 0,
        kind::FUNC | kind::FLOAT | kind::TYPE_TAG => 0,
        unknown => return Err(BtfError::Kind(unknown)),
    })
}

/// Two are equal if they have the same bytes.
impl PartialEq for Types {
    fn eq(&self, other: &Types) -> bool {
        std::ptr::eq(self, other) || self.bytes == other.bytes
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} types", self.records.len())
    }
}
