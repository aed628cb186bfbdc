//! BTF, the type information that libbpf and the kernel read (Documentation/bpf/btf.rst): an encoder for the kinds that
//! objects of this compiler need.

mod extension;

pub use extension::{FieldInfo, FunctionInfo, LineInfo, SectionInfo, extension};

use moonhook_btf::Types;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
const HEADER_LEN: u32 = 24;

/// `BTF_KIND_…` (include/uapi/linux/btf.h).
mod kind {
    pub const INT: u32 = 1;
    pub const PTR: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FUNC: u32 = 12;
    pub const FUNC_PROTO: u32 = 13;
    pub const VAR: u32 = 14;
    pub const DATASEC: u32 = 15;
    pub const ENUM64: u32 = 19;
}

/// `BTF_INT_…`, encodings of integers.
const SIGNED: u32 = 1;
const CHAR: u32 = 2;

/// In the number of a structure's members: some are bits of a word.
const HAS_BITS: u32 = 1 << 31;

/// The number of a type; 0 is `void`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(pub u32);

/// Who sees a function (`enum btf_func_linkage`). Variables are always global.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    Static = 0,
    Global = 1,
    /// The kernel has it.
    Extern = 2,
}

/// A member of a structure, or a variable in a section: its type and first byte.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    pub name: &'a str,
    pub type_id: TypeId,
    pub offset: u32,
}

/// Types and strings under construction.
pub struct Btf {
    types: Vec<u8>,
    count: u32,
    strings: Vec<u8>,
    string_offsets: HashMap<String, u32>,
    arrays: HashMap<(TypeId, u32), TypeId>,
    int: TypeId,
    u64: TypeId,
    byte: TypeId,
    i64: TypeId,
    u32: TypeId,
    u16: TypeId,
    char: TypeId,
}

impl Default for Btf {
    fn default() -> Self {
        let mut btf = Btf {
            types: Vec::new(),
            count: 0,
            strings: vec![0],
            string_offsets: HashMap::new(),
            arrays: HashMap::new(),
            int: TypeId(0),
            u64: TypeId(0),
            byte: TypeId(0),
            i64: TypeId(0),
            u32: TypeId(0),
            u16: TypeId(0),
            char: TypeId(0),
        };
        btf.int = btf.add_int("int", 4, SIGNED);
        btf.u64 = btf.add_int("unsigned long long", 8, 0);
        btf.byte = btf.add_int("unsigned char", 1, 0);
        btf.i64 = btf.add_int("long long", 8, SIGNED);
        btf.u32 = btf.add_int("unsigned int", 4, 0);
        btf.u16 = btf.add_int("unsigned short", 2, 0);
        btf.char = btf.add_int("char", 1, CHAR);
        btf
    }
}

impl Btf {
    /// The offset of a string in the string section; a NUL in it ends it.
    pub fn string(&mut self, text: &str) -> u32 {
        let text = text.split('\0').next().unwrap_or_default();
        if text.is_empty() {
            return 0;
        }
        if let Some(offset) = self.string_offsets.get(text) {
            return *offset;
        }
        let offset = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        self.string_offsets.insert(text.to_string(), offset);
        offset
    }

    pub fn int(&self) -> TypeId {
        self.int
    }

    pub fn u64(&self) -> TypeId {
        self.u64
    }

    pub fn byte(&self) -> TypeId {
        self.byte
    }

    pub fn i64(&self) -> TypeId {
        self.i64
    }

    pub fn u32(&self) -> TypeId {
        self.u32
    }

    pub fn u16(&self) -> TypeId {
        self.u16
    }

    /// A byte of text.
    pub fn char(&self) -> TypeId {
        self.char
    }

    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.add("", kind::PTR, 0, to.0, &[])
    }

    pub fn array(&mut self, of: TypeId, len: u32) -> TypeId {
        if let Some(id) = self.arrays.get(&(of, len)) {
            return *id;
        }
        let id = self.add("", kind::ARRAY, 0, 0, &[of.0, self.int.0, len]);
        self.arrays.insert((of, len), id);
        id
    }

    /// A structure of so many bytes.
    pub fn structure(&mut self, name: &str, size: u32, members: &[Member]) -> TypeId {
        let mut words = Vec::with_capacity(members.len() * 3);
        for member in members {
            words.extend([self.string(member.name), member.type_id.0, member.offset * 8]);
        }
        self.add(name, kind::STRUCT, members.len() as u32, size, &words)
    }

    /// A union of so many bytes.
    pub fn union(&mut self, name: &str, size: u32, members: &[Member]) -> TypeId {
        let mut words = Vec::with_capacity(members.len() * 3);
        for member in members {
            words.extend([self.string(member.name), member.type_id.0, 0]);
        }
        self.add(name, kind::UNION, members.len() as u32, size, &words)
    }

    /// A structure of so many bytes whose one member is so many bits of the word at its beginning, the lowest ones.
    pub fn structure_of_bits(&mut self, name: &str, size: u32, (member, count): (&Member, u32)) -> TypeId {
        let words = [self.string(member.name), member.type_id.0, count << 24];
        self.add(name, kind::STRUCT, HAS_BITS | 1, size, &words)
    }

    /// An enumeration of so many bytes, of which nothing is said.
    pub fn enumeration(&mut self, size: u32) -> TypeId {
        self.add("", kind::ENUM, 0, size, &[])
    }

    /// An enumeration with one enumerator, which is 64 bits wide: how a map's definition holds a wide number.
    pub fn wide_number(&mut self, enumerator: &str, value: u64) -> TypeId {
        let name = self.string(enumerator);
        self.add("", kind::ENUM64, 1, 8, &[name, value as u32, (value >> 32) as u32])
    }

    /// A function and its prototype; parameters have names so that the kernel accepts it for a program.
    pub fn function(
        &mut self,
        name: &str,
        linkage: Linkage,
        result: TypeId,
        params: &[(&str, TypeId)],
    ) -> TypeId {
        let mut words = Vec::with_capacity(params.len() * 2);
        for (param, type_id) in params {
            words.extend([self.string(param), type_id.0]);
        }
        let prototype = self.add("", kind::FUNC_PROTO, params.len() as u32, result.0, &words);
        self.add(name, kind::FUNC, linkage as u32, prototype.0, &[])
    }

    /// A global variable.
    pub fn variable(&mut self, name: &str, type_id: TypeId) -> TypeId {
        self.add(name, kind::VAR, 0, type_id.0, &[Linkage::Global as u32])
    }

    /// A section of so many bytes, of variables: each with its size in bytes.
    pub fn section(&mut self, name: &str, size: u32, variables: &[(Member, u32)]) -> TypeId {
        let words: Vec<u32> =
            variables.iter().flat_map(|(v, bytes)| [v.type_id.0, v.offset, *bytes]).collect();
        self.add(name, kind::DATASEC, variables.len() as u32, size, &words)
    }

    /// Types of another object, and all that they are made of; gives their numbers here. `known` are those that were copied before.
    pub fn copy(
        &mut self,
        types: &Types,
        ids: [moonhook_btf::TypeId; 2],
        known: &mut HashMap<u32, TypeId>,
    ) -> [TypeId; 2] {
        let mut new = Vec::new();
        for id in ids.iter().flat_map(|id| types.made_of(*id)) {
            if let Entry::Vacant(place) = known.entry(id.0) {
                new.push(id);
                place.insert(TypeId(self.count + new.len() as u32));
            }
        }
        let number = |id: moonhook_btf::TypeId| known.get(&id.0).map_or(0, |id| id.0);
        for mut record in new.into_iter().filter_map(|id| types.encoded(id)) {
            record.renumber(number, |name| self.string(types.text(name)));
            let head = [self.string(record.name), record.info, record.last];
            self.append(head, &record.rest);
        }
        ids.map(|id| TypeId(number(id)))
    }

    fn add_int(&mut self, name: &str, bytes: u32, encoding: u32) -> TypeId {
        self.add(name, kind::INT, 0, bytes, &[encoding << 24 | (bytes * 8)])
    }

    fn add(&mut self, name: &str, kind: u32, len: u32, size_or_type: u32, rest: &[u32]) -> TypeId {
        let head = [self.string(name), kind << 24 | len, size_or_type];
        self.append(head, rest)
    }

    fn append(&mut self, head: [u32; 3], rest: &[u32]) -> TypeId {
        for word in head.iter().chain(rest) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.count += 1;
        TypeId(self.count)
    }

    /// The `.BTF` section.
    pub fn finish(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut out = header(HEADER_LEN);
        for word in [0, types, types, strings] {
            out.extend_from_slice(&u32::to_le_bytes(word));
        }
        out.extend_from_slice(&self.types);
        out.extend_from_slice(&self.strings);
        out
    }
}

/// The start of the headers of `.BTF` and `.BTF.ext`.
fn header(len: u32) -> Vec<u8> {
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.extend([VERSION, 0]);
    out.extend_from_slice(&len.to_le_bytes());
    out
}
