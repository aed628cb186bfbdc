//! Tables made at packet time as the state knows them, and their keys.

use crate::value::{Abs, Object, Str, Word, integral};
use moonhook_ir::words::CopyOnWrite;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table made at packet time, as the state knows it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Made {
    /// The cell of each key. A key whose cell holds nil is not there.
    pub fields: CopyOnWrite<BTreeMap<Key, u32>>,
    pub metatable: Option<Object>,
}

/// A key that is known now.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    Boolean(bool),
    Integer(i64),
    Text(Arc<[u8]>),
}

impl Key {
    /// The key that `value` is, with integral floats as integers (manual § 2.1).
    pub fn of(value: &Abs) -> Option<Key> {
        match value {
            Abs::Bool(Word::Imm(imm)) => Some(Key::Boolean(*imm != 0)),
            Abs::Int(Word::Imm(imm)) => Some(Key::Integer(*imm)),
            Abs::Float(_) => value.known_float().and_then(integral).map(Key::Integer),
            Abs::Str(Str::Const(text)) => Some(Key::Text(text.clone())),
            _ => None,
        }
    }

    /// The key of the field of a record ([`moonhook_schema::position`]).
    pub fn of_field(name: &str) -> Key {
        moonhook_schema::position(name).map_or_else(|| Key::Text(Arc::from(name.as_bytes())), Key::Integer)
    }

    /// The name of the field of a record that has this key, if one can have it.
    pub fn field_name(&self) -> Option<String> {
        match self {
            Key::Boolean(_) => None,
            Key::Integer(position) => moonhook_schema::position_name(*position),
            Key::Text(name) => {
                // Names of fields are texts: a record has no others.
                let name = std::str::from_utf8(name).ok()?;
                moonhook_schema::position(name).is_none().then(|| name.to_string())
            }
        }
    }

    pub fn value(&self) -> Abs {
        match self {
            Key::Boolean(value) => Abs::bool(*value),
            Key::Integer(value) => Abs::int(*value),
            Key::Text(text) => Abs::Str(Str::Const(text.clone())),
        }
    }
}
