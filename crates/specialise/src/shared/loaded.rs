//! What load time has left in a shared table.

use crate::fields::Key;
use moonhook_schema::Datum;
use moonhook_snapshot::{Snapshot, Table, Value};

/// All entries of a table of load time.
pub(super) fn entries(table: &Table) -> impl Iterator<Item = (Value, &Value)> {
    let array =
        table.array.iter().enumerate().map(|(index, value)| (Value::Integer(index as i64 + 1), value));
    array.chain(table.entries.iter().map(|(key, value)| (key.clone(), value)))
}

/// The name of the field of a record that has this key, if one can have it.
pub(super) fn field_name(key: &Value) -> Option<String> {
    match key {
        Value::Integer(position) => Key::Integer(*position).field_name(),
        Value::String(name) => Key::Text(name.as_ref().into()).field_name(),
        _ => None,
    }
}

pub(super) fn contents(snapshot: &Snapshot, table: &Table) -> Vec<(Datum, Datum)> {
    entries(table).map(|(key, value)| (datum(snapshot, &key), datum(snapshot, value))).collect()
}

pub(super) fn datum(snapshot: &Snapshot, value: &Value) -> Datum {
    match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::Float(value) => Datum::Float(value.to_bits()),
        Value::String(text) => Datum::Text(text.to_vec()),
        Value::Table(table) => {
            let mut fields: Vec<(String, Datum)> = entries(snapshot.table(*table))
                .filter_map(|(key, value)| Some((field_name(&key)?, datum(snapshot, value))))
                .collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Datum::Record(fields)
        }
        _ => Datum::Nil,
    }
}
