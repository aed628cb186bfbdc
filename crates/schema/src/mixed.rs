//! Values of several plain types in one table: each with its kind.

use crate::{Datum, Type};
use std::fmt;

/// The plain types that values may have, two or more. Their bytes are a word with the value's kind, a word
/// with the value unless it is a string, and where there may be strings a [`Type::Text`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Mixed {
    pub boolean: bool,
    pub integer: bool,
    pub float: bool,
    /// Strings of at most so many bytes.
    pub text: Option<u16>,
}

/// The low bits of the first word that say what the value is; 0 where there is none, in values of other CPUs.
pub const KIND_MASK: u64 = (1 << KIND_BITS) - 1;
pub(crate) const KIND_BITS: u32 = 3;

/// Where the word with the value is, and the string.
pub const WORD: usize = 8;
pub const STRING: usize = 16;

/// Bytes of a string where a declaration says only `any`.
const ANY: u16 = 64;

impl Mixed {
    /// Every plain type.
    pub const ALL: Mixed = Mixed { boolean: true, integer: true, float: true, text: Some(ANY) };

    /// The types, each with its kind.
    pub fn types(self) -> impl Iterator<Item = (u64, Type)> {
        let text = self.text.map(|capacity| Type::Text { capacity });
        let all = [
            (1, self.boolean.then_some(Type::Boolean)),
            (2, self.integer.then_some(Type::Integer)),
            (3, self.float.then_some(Type::Float)),
            (4, text),
        ];
        all.into_iter().filter_map(|(kind, ty)| Some((kind, ty?)))
    }

    /// The type that a value has among them, with its kind.
    pub fn of(self, datum: &Datum) -> Option<(u64, Type)> {
        self.types().find(|(_, ty)| match ty {
            Type::Boolean => matches!(datum, Datum::Boolean(_)),
            Type::Integer => matches!(datum, Datum::Integer(_)),
            Type::Float => matches!(datum, Datum::Float(_)),
            _ => matches!(datum, Datum::Text(_)),
        })
    }

    /// These and another type; `None` for one that is not plain.
    #[must_use]
    pub fn with(self, ty: &Type) -> Option<Mixed> {
        Some(match ty {
            Type::Boolean => Mixed { boolean: true, ..self },
            Type::Integer => Mixed { integer: true, ..self },
            Type::Float => Mixed { float: true, ..self },
            Type::Text { capacity } => Mixed { text: Some((*capacity).max(self.text.unwrap_or(0))), ..self },
            _ => return None,
        })
    }

    pub fn size(self) -> usize {
        STRING + self.text.map_or(0, |capacity| Type::Text { capacity }.size())
    }

    /// In words for a person: "boolean or integer".
    pub fn words(self) -> String {
        let names: Vec<&str> = self.types().map(|(_, ty)| ty.plain_name()).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }
}

/// As declarations write it: `boolean|int|string:64`.
impl fmt::Display for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.types().map(|(_, ty)| ty.to_string()).collect();
        f.write_str(&names.join("|"))
    }
}
