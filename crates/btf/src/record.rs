//! Types as they are encoded, for who puts them among other ones.

use crate::reader::{TypeId, Types, kind};

/// A type's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'t> {
    pub name: &'t str,
    /// Kind, flag and number of members, as in `struct btf_type` (include/uapi/linux/btf.h).
    pub info: u32,
    /// A size in bytes, or a type.
    pub last: u32,
    /// What is behind the head.
    pub rest: Vec<u32>,
}

impl Record<'_> {
    fn kind(&self) -> u32 {
        self.info >> 24 & 0x1f
    }

    /// Whether [`Record::last`] is a type.
    fn ends_with_type(&self) -> bool {
        use kind::*;
        matches!(
            self.kind(),
            PTR | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNC | FUNC_PROTO | VAR | DECL_TAG | TYPE_TAG
        )
    }

    /// The words of [`Record::rest`] that are names, and those that are types.
    fn places(&self) -> (Vec<usize>, Vec<usize>) {
        let each =
            |size: usize, place: usize| (0..self.rest.len() / size).map(|at| at * size + place).collect();
        match self.kind() {
            kind::STRUCT | kind::UNION => (each(3, 0), each(3, 1)),
            kind::FUNC_PROTO => (each(2, 0), each(2, 1)),
            kind::ENUM => (each(2, 0), vec![]),
            kind::ENUM64 => (each(3, 0), vec![]),
            kind::ARRAY => (vec![], vec![0, 1]),
            kind::DATASEC => (vec![], each(3, 0)),
            _ => (vec![], vec![]),
        }
    }

    /// The types that it is made of.
    pub fn types(&self) -> Vec<TypeId> {
        let last = self.ends_with_type().then_some(self.last);
        let rest = self.places().1.into_iter().map(|place| self.rest[place]);
        rest.chain(last).map(TypeId).filter(|id| id.0 != 0).collect()
    }

    /// Puts others in the places of the types and of the names.
    pub fn renumber(&mut self, ty: impl Fn(TypeId) -> u32, mut name: impl FnMut(u32) -> u32) {
        let (names, types) = self.places();
        if self.ends_with_type() {
            self.last = ty(TypeId(self.last));
        }
        types.into_iter().for_each(|place| self.rest[place] = ty(TypeId(self.rest[place])));
        names.into_iter().for_each(|place| self.rest[place] = name(self.rest[place]));
    }
}

impl Types {
    /// A type as it is encoded; `None` of `void`, and where there is none.
    pub fn encoded(&self, id: TypeId) -> Option<Record<'_>> {
        let [_, info, last] = self.head(id)?;
        Some(Record { name: self.name(id), info, last, rest: self.rest(id) })
    }

    /// The type and all that it is made of, each once.
    pub fn made_of(&self, id: TypeId) -> Vec<TypeId> {
        let mut all: Vec<TypeId> = Vec::new();
        let mut work = vec![id];
        while let Some(id) = work.pop() {
            let Some(record) = self.encoded(id).filter(|_| !all.contains(&id)) else { continue };
            all.push(id);
            work.extend(record.types());
        }
        all
    }
}
