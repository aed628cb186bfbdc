//! What is in a field, as far as programs can read it.

use crate::reader::{Kind, TypeId, Types};

/// What is in a field, an argument, or an element of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Content {
    /// An integer or an enumeration, of 1, 2, 4 or 8 bytes.
    Number { bytes: u32, signed: bool, is_enumeration: bool },
    /// `bool`: one byte.
    Flag,
    /// The address of something that is not read: code, what has no type, memory of a process or of each CPU.
    Address,
    /// The address of a structure, or 0.
    Structure(TypeId),
    /// The address of a text of the kernel's that ends with a NUL, or 0.
    Text,
    /// A structure, or an array, that lies there itself.
    Part(TypeId),
    /// A text in so many bytes, which a NUL may end.
    Characters(u32),
    /// So many bytes that are no text.
    Bytes(u32),
    /// What programs cannot read.
    Nothing,
}

/// Tags of what an address does not point to in the kernel's own memory (include/linux/compiler_types.h).
const ELSEWHERE: [&str; 2] = ["user", "percpu"];

impl Types {
    /// What a value of the type is.
    pub fn content(&self, id: TypeId) -> Content {
        let (id, name) = self.named(id);
        match self.kind(id) {
            Kind::Integer { bytes: 1, .. } if name == "_Bool" => Content::Flag,
            Kind::Integer { bytes, signed } => number(bytes, signed, false),
            Kind::Enumeration { bytes, signed } => number(bytes, signed, true),
            Kind::Pointer(to) => self.pointer(to),
            Kind::Structure { .. } => Content::Part(id),
            Kind::Array { of, length } => self.array(id, of, length),
            _ => Content::Nothing,
        }
    }

    /// What elements of an array are; `None` where the type is none.
    pub fn element(&self, array: TypeId) -> Option<Content> {
        match self.kind(array) {
            Kind::Array { of, .. } => Some(self.content(of)),
            _ => None,
        }
    }

    /// Whether a type is the kernel's `char`, of which texts are made; bytes of other names are numbers.
    fn is_character(&self, id: TypeId) -> bool {
        let id = self.resolved(id);
        matches!(self.kind(id), Kind::Integer { bytes: 1, .. }) && self.name(id) == "char"
    }

    fn pointer(&self, to: TypeId) -> Content {
        let mut next = to;
        loop {
            match self.kind(next) {
                Kind::Tag(_) if ELSEWHERE.contains(&self.name(next)) => return Content::Address,
                Kind::Alias(behind) | Kind::Tag(behind) => next = behind,
                Kind::Structure { .. } => return Content::Structure(next),
                _ if self.is_character(next) => return Content::Text,
                _ => return Content::Address,
            }
        }
    }

    fn array(&self, id: TypeId, of: TypeId, length: u32) -> Content {
        let element = self.resolved(of);
        match self.kind(element) {
            // The last member of a structure, which is as long as there is memory.
            _ if length == 0 => Content::Nothing,
            Kind::Integer { bytes: 1, .. } if self.is_character(element) => Content::Characters(length),
            Kind::Integer { bytes: 1, signed: false } if self.name(element) != "_Bool" => {
                Content::Bytes(length)
            }
            _ => Content::Part(id),
        }
    }

    /// The type behind names, and the name of that.
    fn named(&self, id: TypeId) -> (TypeId, &str) {
        let id = self.resolved(id);
        (id, self.name(id))
    }
}

fn number(bytes: u32, signed: bool, is_enumeration: bool) -> Content {
    match bytes {
        1 | 2 | 4 | 8 => Content::Number { bytes, signed, is_enumeration },
        _ => Content::Nothing,
    }
}
