//! What to write for a table that cannot become a map as it is.

use super::loaded::entries;
use super::seen::Seen;
use crate::region::MAX_VALUE;
use moonhook_schema::{CAPACITY, Declaration, MAX_FIELDS, MAX_KEY, MAX_KEY_TEXT, Type, WhenFull};
use moonhook_snapshot::{Snapshot, TableId, Value};

/// What to write for maps within a map.
const NESTED: &str = "use one table, with both keys in one string, like `seen[a .. \" \" .. b]` for `seen[a][b]`, or give the tables \
                      fields with constant names";

/// What to write instead: a declaration, where one takes what the table has and what was seen of it.
pub(super) fn help(snapshot: &Snapshot, id: TableId, key: &Seen, value: &Seen) -> String {
    if value.has_no_fields() {
        return NESTED.to_string();
    }
    let declared = snapshot.table(id).declaration.clone().unwrap_or_default();
    let sizes = [(&declared.key, key.key_ty()), (&declared.value, value.ty())]
        .map(|(declared, seen)| declared.clone().or_else(|| seen.ok()));
    let [key_size, value_size] = sizes.map(|ty| ty.map_or(0, |ty| ty.size()));
    match () {
        () if key.has_several_sorts() => {
            "use keys of one type, for example `tostring(key)` for all, or a table for each type".to_string()
        }
        () if value.mixed_kinds().is_some() => {
            format!("keep {} in tables of their own", value.mixed_kinds().unwrap_or_default())
        }
        () if value.is_mixed() => "give each field values of one type".to_string(),
        () if value.has_many_fields() => {
            format!("give the tables {MAX_FIELDS} fields at most, or use several tables with the same keys")
        }
        () if key_size > MAX_KEY || key.is_very_long() => {
            format!("use shorter keys: strings of {MAX_KEY_TEXT} bytes at most")
        }
        () if value.unknown_table().is_some() => {
            let field = value.unknown_table().unwrap_or_default();
            format!(
                "keep what is in `{field}` in a table of its own with the same keys, or give it fields with constant names"
            )
        }
        () if value_size > MAX_VALUE || value.is_very_long() => {
            "keep less in an entry, or use several tables with the same keys".to_string()
        }
        () => declaration(snapshot, id, key, value),
    }
}

/// A declaration that takes what the table has and what was seen of it.
fn declaration(snapshot: &Snapshot, id: TableId, key: &Seen, value: &Seen) -> String {
    let table = snapshot.table(id);
    let declared = table.declaration.clone().unwrap_or_default();
    let options = options(&declared, entries(table).count());
    let longest = |of: &dyn Fn((Value, &Value)) -> usize| entries(table).map(of).max().unwrap_or(0);
    let (key_bytes, value_bytes) = (longest(&|(key, _)| bytes(&key)), longest(&|(_, value)| bytes(value)));
    let longer = entries(table).count() > declared.capacity.unwrap_or(CAPACITY) as usize;
    let [same_key, same_value] = [(&declared.key, key, key_bytes), (&declared.value, value, value_bytes)]
        .map(|(declared, seen, longest)| {
            declared.is_some() && wanted(declared.clone(), seen, longest) == *declared
        });
    if same_key && same_value && !longer {
        return "change what load time puts into it, or the types that are declared".to_string();
    }
    let [key, value] = [
        ("keys", wanted(declared.key, key, key_bytes), key.guessed(Type::Text { capacity: 64 })),
        ("values", wanted(declared.value, value, value_bytes), value.guessed(Type::Integer)),
    ];
    let guessed: Vec<&str> =
        [&key, &value].iter().filter(|(_, wanted, _)| wanted.is_none()).map(|(what, ..)| *what).collect();
    let says = match guessed.as_slice() {
        [] => "say what it holds".to_string(),
        guessed => format!("say what it holds, with the types that its {} have", guessed.join(" and ")),
    };
    let [key, value] = [key, value].map(|(_, wanted, guess)| written(&wanted.unwrap_or(guess)));
    let variable = match table.name.as_deref() {
        None => "local t".to_string(),
        Some(name) if name.contains(['.', '[']) => name.to_string(),
        Some(name) => format!("local {name}"),
    };
    format!("{says}: `{variable} = map{{key = {key}, value = {value}{options}}}`")
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
        (declared @ (Type::Boolean | Type::Integer | Type::Float | Type::Mac), Ok(seen))
            if declared != seen =>
        {
            seen
        }
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
