//! Fields of structures by name.

use crate::content::Content;
use crate::reader::{Kind, TypeId, Types};

/// A field of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'t> {
    pub name: &'t str,
    pub type_id: TypeId,
    /// Bytes from the structure's beginning; of bit-fields, to the beginning of the word of their type.
    pub offset: u32,
    pub content: Content,
    /// `None` unless it is a bit-field, whose content is the number that the word is.
    pub bits: Option<Bits>,
}

/// Which bits of a word a field is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Counted from the lowest.
    pub first: u32,
    pub count: u32,
}

impl Types {
    /// The field of that name, of the structure or of what lies in it without a name of its own.
    pub fn field(&self, structure: TypeId, name: &str) -> Option<Field<'_>> {
        self.fields(structure).into_iter().find(|field| field.name == name)
    }

    /// All fields of a structure that have names, with those of what lies in it without a name of its own.
    pub fn fields(&self, structure: TypeId) -> Vec<Field<'_>> {
        let mut fields = Vec::new();
        self.add_fields(structure, 0, &mut fields);
        fields
    }

    fn add_fields<'t>(&'t self, structure: TypeId, base: u32, fields: &mut Vec<Field<'t>>) {
        for member in self.members(structure) {
            let start = base + member.offset;
            if member.name.is_empty() {
                let inner = self.resolved(member.type_id);
                if let Kind::Structure { .. } = self.kind(inner) {
                    self.add_fields(inner, start, fields);
                }
                continue;
            }
            let (name, type_id, content) = (member.name, member.type_id, self.content(member.type_id));
            let size = 8 * self.size(type_id);
            let word = start - start.checked_rem(size).unwrap_or(0);
            let field = match member.bits {
                0 => Field { name, type_id, offset: start / 8, content, bits: None },
                count => {
                    let bits = Some(Bits { first: start - word, count });
                    Field { name, type_id, offset: word / 8, content, bits }
                }
            };
            fields.push(field);
        }
    }
}
