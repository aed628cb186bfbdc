//! Types of keys and values as declarations write them.

use mlua::{Table, Value};
use moonhook_shape::{Field, MAX_FIELDS, Type};

use crate::modules::type_name;

const POSSIBLE: &str =
    "\"int\", \"boolean\", \"string:N\", \"ipv4\", \"ip\", \"mac\" or a table of named fields";

/// The type that `value` describes; `what` is it that has the type: `key`, `value`, `value.pkts`.
pub(super) fn parse(what: &str, value: &Value) -> Result<Type, String> {
    nested(what, value, 0)
}

/// Deeper records than anyone writes; a table that holds itself ends here.
const MAX_DEPTH: usize = 16;

fn nested(what: &str, value: &Value, depth: usize) -> Result<Type, String> {
    match value {
        Value::String(text) => named(what, &text.to_string_lossy()),
        Value::Table(_) if depth == MAX_DEPTH => Err(format!("{what} is nested too deeply")),
        Value::Table(fields) => record(what, fields, depth),
        other => Err(format!("the type of {what} is {POSSIBLE}, not a {} value", type_name(other))),
    }
}

fn named(what: &str, text: &str) -> Result<Type, String> {
    Ok(match text {
        "int" => Type::Integer,
        "boolean" => Type::Boolean,
        "ipv4" => Type::Ipv4,
        "ip" => Type::Address,
        "mac" => Type::Mac,
        text if text == "string" || text.starts_with("string:") => {
            let capacity = text.strip_prefix("string:").and_then(|digits| digits.parse().ok());
            let capacity = capacity.filter(|capacity| *capacity > 0);
            let help =
                || format!("'{text}' of {what}: write \"string:N\" with the most bytes, 1 to {}", u16::MAX);
            Type::Text { capacity: capacity.ok_or_else(help)? }
        }
        other => return Err(format!("there is no type '{other}' for {what}; there are {POSSIBLE}")),
    })
}

fn record(what: &str, table: &Table, depth: usize) -> Result<Type, String> {
    let mut fields = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(name) = &name else {
            let example = "as in {first = \"int\", second = \"int\"}";
            return Err(format!("the fields of {what} have names, not {} keys: {example}", type_name(&name)));
        };
        let name = name.to_str().map_err(|_| format!("a field of {what} has a name that is not UTF-8"))?;
        fields.push((name.to_string(), value));
    }
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    if fields.is_empty() || fields.len() > MAX_FIELDS {
        return Err(format!("{what} has {} fields; 1 to {MAX_FIELDS} are possible", fields.len()));
    }
    let fields = fields.into_iter().map(|(name, value)| {
        let ty = nested(&format!("{what}.{name}"), &value, depth + 1)?;
        Ok(Field { name, ty })
    });
    Ok(Type::Record(fields.collect::<Result<_, String>>()?))
}
