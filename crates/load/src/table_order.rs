//! The content of a table in the order of a snapshot, which does not depend on addresses or hash seeds.

use std::cmp::Ordering;

use mlua::{Table, Value};
use moonhook_snapshot::Value as Frozen;

/// What an entry holds.
pub(crate) enum Element {
    /// A value without an identity.
    Plain(Frozen),
    /// An object. It is got from the table by its key when it is its turn: a handle is not held for each, of which there can be about
    /// a million (`LUAI_MAXSTACK`).
    Object,
}

impl Element {
    fn of(value: &Value) -> Element {
        plain(value).map_or(Element::Object, Element::Plain)
    }
}

/// A table's raw entries.
#[derive(Default)]
pub(crate) struct Entries {
    /// The values of 1 … n for the largest n without a hole.
    pub array: Vec<Element>,
    /// Keys that are booleans, integers, floats, strings; in that order, each kind sorted.
    pub keyed: Vec<(Frozen, Element)>,
    /// How many keys have an identity; [`each_object`] gives them.
    pub objects: usize,
}

/// The snapshot's form of a value that has no identity.
fn plain(value: &Value) -> Option<Frozen> {
    match value {
        Value::Nil => Some(Frozen::Nil),
        Value::Boolean(boolean) => Some(Frozen::Boolean(*boolean)),
        Value::Integer(integer) => Some(Frozen::Integer(*integer)),
        Value::Number(float) => Some(Frozen::Float(*float)),
        Value::String(string) => Some(Frozen::string(string.as_bytes())),
        _ => None,
    }
}

/// What a table has for a key of [`Entries::keyed`].
pub(crate) fn get(table: &Table, key: &Frozen) -> mlua::Result<Value> {
    match key {
        Frozen::Boolean(boolean) => table.raw_get(*boolean),
        Frozen::Integer(integer) => table.raw_get(*integer),
        Frozen::Float(float) => table.raw_get(*float),
        Frozen::String(bytes) => table.raw_get(mlua::BString::from(bytes.as_ref())),
        _ => Ok(Value::Nil),
    }
}

/// Gives `body` the entries whose keys have an identity, in the order of the table.
pub(crate) fn each_object(
    table: &Table,
    mut body: impl FnMut(&Value, &Value) -> mlua::Result<()>,
) -> mlua::Result<()> {
    table.for_each(|key: Value, value: Value| match plain(&key) {
        Some(_) => Ok(()),
        None => body(&key, &value),
    })
}

pub(crate) fn entries(table: &Table) -> mlua::Result<Entries> {
    let mut entries = Entries::default();
    table.for_each(|key: Value, value: Value| {
        match plain(&key) {
            Some(key) => entries.keyed.push((key, Element::of(&value))),
            None => entries.objects += 1,
        }
        Ok(())
    })?;
    entries.keyed.sort_by(|(a, _), (b, _)| compare(a, b));
    split_sequence(&mut entries);
    Ok(entries)
}

/// Moves the values of the keys 1, 2, 3 … from `keyed` to `array`.
fn split_sequence(entries: &mut Entries) {
    let start = entries.keyed.partition_point(|(key, _)| compare(key, &Frozen::Integer(1)) == Ordering::Less);
    let sequence = entries.keyed[start..]
        .iter()
        .zip(1..)
        .take_while(|((key, _), expected)| *key == Frozen::Integer(*expected))
        .count();
    entries.array = entries.keyed.drain(start..start + sequence).map(|(_, value)| value).collect();
}

fn rank(key: &Frozen) -> u8 {
    match key {
        Frozen::Boolean(_) => 0,
        Frozen::Integer(_) => 1,
        Frozen::Float(_) => 2,
        Frozen::String(_) => 3,
        Frozen::Table(_) => 4,
        Frozen::Closure(_) => 5,
        Frozen::Builtin(_) => 6,
        Frozen::Opaque(..) | Frozen::Nil => 7,
    }
}

fn compare(a: &Frozen, b: &Frozen) -> Ordering {
    match (a, b) {
        (Frozen::Boolean(a), Frozen::Boolean(b)) => a.cmp(b),
        (Frozen::Integer(a), Frozen::Integer(b)) => a.cmp(b),
        (Frozen::Float(a), Frozen::Float(b)) => a.total_cmp(b),
        (Frozen::String(a), Frozen::String(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// The order of keys that are objects: tables, closures, functions of the library, the rest.
pub(crate) fn compare_objects(a: &Frozen, b: &Frozen) -> Ordering {
    match (a, b) {
        (Frozen::Table(a), Frozen::Table(b)) => a.cmp(b),
        (Frozen::Closure(a), Frozen::Closure(b)) => a.cmp(b),
        (Frozen::Builtin(a), Frozen::Builtin(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}
