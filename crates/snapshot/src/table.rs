//! What a table of load time has under a key, as `rawget` gives it.

use crate::{Table, Value};
use std::cmp::Ordering;

impl Table {
    /// The value under a key; `None` where real Lua has nil.
    pub fn get(&self, key: &Value) -> Option<&Value> {
        if let Value::Integer(index) = key
            && let Some(value) =
                index.checked_sub(1).and_then(|index| self.array.get(usize::try_from(index).ok()?))
        {
            return Some(value);
        }
        match key {
            Value::String(name) => self.field(name),
            key => self.entries.iter().find(|(other, _)| other == key).map(|(_, value)| value),
        }
    }

    /// The value under a string: entries are sorted by the kinds of their keys, and strings among themselves.
    pub fn field(&self, name: &[u8]) -> Option<&Value> {
        let order = |key: &Value| match key {
            Value::String(key) => key.as_ref().cmp(name),
            Value::Nil | Value::Boolean(_) | Value::Integer(_) | Value::Float(_) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let found = self.entries.binary_search_by(|(key, _)| order(key)).ok()?;
        Some(&self.entries[found].1)
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.array.iter().chain(self.entries.iter().map(|(_, value)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClosureId, TableId};

    #[test]
    fn keys_of_all_kinds_are_found() {
        let keys = [
            Value::Boolean(true),
            Value::Integer(-1),
            Value::Integer(9),
            Value::string(b""),
            Value::string(b"a"),
            Value::string(b"ab"),
            Value::string(b"b"),
            Value::Table(TableId(3)),
            Value::Closure(ClosureId(1)),
        ];
        let entries =
            keys.iter().enumerate().map(|(n, key)| (key.clone(), Value::Integer(n as i64))).collect();
        let table = Table { array: vec![Value::Boolean(false)], entries, ..Table::default() };
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(table.get(key), Some(&Value::Integer(n as i64)), "{key:?}");
        }
        assert_eq!(table.get(&Value::Integer(1)), Some(&Value::Boolean(false)));
        let missing = [
            Value::Nil,
            Value::Integer(i64::MIN),
            Value::Integer(2),
            Value::string(b"aa"),
            Value::string(b"c"),
        ];
        assert!(missing.iter().all(|key| table.get(key).is_none()));
    }
}
