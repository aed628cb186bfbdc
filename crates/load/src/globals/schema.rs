//! Types of keys and values as declarations write them.

use mlua::{Table, Value};
use moonhook_schema::{Field, MAX_DEPTH, MAX_FIELDS, Mixed, Type, position, position_name};

use crate::modules::module::type_name;

const POSSIBLE: &str = "\"int\", \"float\", \"boolean\", \"string:N\", \"ipv4\", \"ip\", \"mac\", several of the first four as in \"int|string:N\", \"any\" or a table of named fields";

/// The type of keys.
pub(super) fn parse_key(value: &Value) -> Result<Type, String> {
    let ty = parse("key", value)?;
    match values_only(&ty) {
        Some(ty) => Err(format!(
            "\"{ty}\" is a type of values; keys are \"int\", \"boolean\", \"string:N\" or addresses"
        )),
        None => Ok(ty),
    }
}

/// A type in it that keys cannot have.
fn values_only(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Float | Type::Mixed(_) => Some(ty),
        Type::Record(fields) => fields.iter().find_map(|field| values_only(&field.ty)),
        _ => None,
    }
}

/// The type that `value` describes; `what` is it that has the type: `key`, `value`, `value.pkts`.
pub(super) fn parse(what: &str, value: &Value) -> Result<Type, String> {
    nested(what, value, 0)
}

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
        "float" => Type::Float,
        "any" => Type::Mixed(Mixed::ALL),
        text if text.contains('|') => mixed(what, text)?,
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

/// Several plain types, between bars.
fn mixed(what: &str, text: &str) -> Result<Type, String> {
    let mut all = Mixed::default();
    for name in text.split('|') {
        let plain = all.with(&named(what, name)?);
        all = plain.ok_or_else(|| format!("'{name}' of {what} cannot be one of several types; \"int\", \"float\", \"boolean\" and \"string:N\" can"))?;
    }
    let mut types = all.types().map(|(_, ty)| ty);
    match (types.next(), types.next()) {
        (Some(only), None) => Ok(only),
        _ => Ok(Type::Mixed(all)),
    }
}

/// The name of the field that has the key in a table.
fn field_name(what: &str, key: &Value) -> Result<String, String> {
    match key {
        Value::Integer(place) => position_name(*place).ok_or_else(|| {
            format!("the places of a list, as {what} is one, are 1 to {MAX_FIELDS}, not {place}")
        }),
        Value::String(name) => {
            let name =
                name.to_str().map_err(|_| format!("a field of {what} has a name that is not UTF-8"))?;
            match position(&name) {
                None => Ok(name.to_string()),
                Some(place) => Err(format!("a field of {what} cannot have the name '{place}'")),
            }
        }
        other => Err(format!("the fields of {what} have names or places, not {} keys", type_name(other))),
    }
}

fn record(what: &str, table: &Table, depth: usize) -> Result<Type, String> {
    let mut fields = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        fields.push((field_name(what, &name)?, value));
    }
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    if fields.is_empty() || fields.len() > MAX_FIELDS {
        return Err(format!("{what} has {} fields; 1 to {MAX_FIELDS} are possible", fields.len()));
    }
    let fields = fields.into_iter().map(|(name, value)| {
        let what = position(&name).map_or(format!("{what}.{name}"), |place| format!("{what}[{place}]"));
        let ty = nested(&what, &value, depth + 1)?;
        Ok(Field { name, ty })
    });
    Ok(Type::Record(fields.collect::<Result<_, String>>()?))
}
