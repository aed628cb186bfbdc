//! What to write for a table that cannot become a map as it is.

use super::loaded::entries;
use super::seen::Seen;
use moonhook_shape::{CAPACITY, Declaration, Type, WhenFull};
use moonhook_snapshot::{Snapshot, TableId, Value};

/// A declaration that takes what the table has and what was seen of it.
pub(super) fn declaration(snapshot: &Snapshot, id: TableId, key: &Seen, value: &Seen) -> String {
    let table = snapshot.table(id);
    let declared = table.declaration.clone().unwrap_or_default();
    let options = options(&declared, entries(table).count());
    let longest = |of: &dyn Fn((Value, &Value)) -> usize| entries(table).map(of).max().unwrap_or(0);
    let (key_bytes, value_bytes) = (longest(&|(key, _)| bytes(&key)), longest(&|(_, value)| bytes(value)));
    let key = wanted(declared.key, key, key_bytes).map_or("\"string:64\"".to_string(), |ty| written(&ty));
    let value = wanted(declared.value, value, value_bytes).map_or("\"int\"".to_string(), |ty| written(&ty));
    let name = table.name.as_deref().unwrap_or("?");
    let variable = name.rsplit('.').next().unwrap_or("t");
    format!("say what it holds: `local {variable} = map{{key = {key}, value = {value}{options}}}`")
}

/// Bytes of a string.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        _ => 0,
    }
}

/// The type to declare: the one that is declared, unless what was seen does not fit it; `longest` is of strings in the table.
fn wanted(declared: Option<Type>, seen: &Seen, longest: usize) -> Option<Type> {
    let Some(declared) = declared else { return seen.ty().ok() };
    let longest = longest.next_multiple_of(4);
    Some(match (declared, seen.ty()) {
        (Type::Text { capacity }, _) => {
            Type::Text { capacity: capacity.max(u16::try_from(longest).unwrap_or(capacity)) }
        }
        (declared @ (Type::Boolean | Type::Integer | Type::Mac), Ok(seen)) if declared != seen => seen,
        (Type::Ipv4, Ok(seen)) if seen != Type::Ipv4 => seen,
        (Type::Address, Ok(seen)) if !matches!(seen, Type::Ipv4 | Type::Address) => seen,
        (declared, _) => declared,
    })
}

/// As a declaration has it; of prefixes the family, which `lpm` makes a prefix.
fn written(ty: &Type) -> String {
    match ty {
        Type::Record(_) => ty.to_string(),
        Type::Prefix4 => "\"ipv4\"".to_string(),
        Type::Prefix6 => "\"ipv6\"".to_string(),
        ty => format!("\"{ty}\""),
    }
}

/// The other options, with room for what the table has.
fn options(declared: &Declaration, entries: usize) -> String {
    let mut text = String::new();
    let room = declared.capacity.unwrap_or(CAPACITY);
    match u32::try_from(entries) {
        Ok(entries) if entries > room => text += &format!(", capacity = {entries}"),
        _ => text += &declared.capacity.map_or(String::new(), |room| format!(", capacity = {room}")),
    }
    if declared.when_full == WhenFull::Evict {
        text += ", evict = \"lru\"";
    }
    if let Some(nanoseconds) = declared.lifetime {
        text += &format!(", ttl = {}", nanoseconds as f64 / 1e9);
    }
    for (name, _) in [("percpu", declared.per_cpu), ("lpm", declared.prefixes)].iter().filter(|(_, set)| *set)
    {
        text += &format!(", {name} = true");
    }
    text
}
