//! Between Lua values and bytes of a map.

use crate::mixed::{KIND_MASK, STRING, WORD};
use crate::{Datum, Field, Mixed, Schema, SchemaError, Type, text};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The bytes of a key.
///
/// # Errors
/// The value does not fit the schema's key.
pub fn encode_key(schema: &Schema, key: &Datum) -> Result<Vec<u8>, SchemaError> {
    let mut bytes = Vec::with_capacity(schema.key_size());
    match &schema.key {
        Type::Record(fields) => encode_fields(fields, key, Place::Key, &mut bytes)?,
        ty => encode(ty, key, &mut bytes)?,
    }
    Ok(bytes)
}

/// The bytes of a value that lives until `deadline`, of which nothing is stored if the table has no lifetimes.
///
/// # Errors
/// The value does not fit the schema's value; nil fits none.
pub fn encode_value(schema: &Schema, value: &Datum, deadline: u64) -> Result<Vec<u8>, SchemaError> {
    let mut bytes = Vec::with_capacity(schema.value_size());
    if schema.lifetime.is_some() {
        bytes.extend(deadline.to_ne_bytes());
    }
    encode(&schema.value, value, &mut bytes)?;
    Ok(bytes)
}

/// The key in `bytes`, which [`Schema::key_size`] counts.
pub fn decode_key(schema: &Schema, bytes: &[u8]) -> Datum {
    match &schema.key {
        Type::Record(fields) => decode_fields(fields, u64::MAX, Place::Key, bytes),
        ty => decode(ty, bytes),
    }
}

/// Deadline (0 if there are none) and value in `bytes`, which [`Schema::value_size`] counts.
pub fn decode_value(schema: &Schema, bytes: &[u8]) -> (u64, Datum) {
    let start = schema.value_offset();
    let deadline = if start > 0 { word(bytes, 0) } else { 0 };
    (deadline, decode(&schema.value, &bytes[start..]))
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Key,
    Value,
}

fn encode(ty: &Type, datum: &Datum, out: &mut Vec<u8>) -> Result<(), SchemaError> {
    match (ty, datum) {
        (Type::Boolean, Datum::Boolean(value)) => out.extend(u64::from(*value).to_ne_bytes()),
        (Type::Integer, Datum::Integer(value)) => out.extend(value.to_ne_bytes()),
        (Type::Float, Datum::Float(bits)) => out.extend(bits.to_ne_bytes()),
        (Type::Text { capacity }, Datum::Text(bytes)) => {
            if bytes.len() > usize::from(*capacity) {
                return Err(SchemaError::TooLong { length: bytes.len(), capacity: *capacity });
            }
            let end = out.len() + ty.size();
            out.extend((bytes.len() as u32).to_ne_bytes());
            out.extend(bytes);
            out.resize(end, 0);
        }
        (Type::Ipv4, Datum::Text(text)) => out.extend(u64::from(u32::from(text::ipv4(text)?)).to_ne_bytes()),
        (Type::Address, Datum::Text(text)) => {
            let (family, high, low) = match text::address(text)? {
                IpAddr::V4(address) => (4, 0, u64::from(u32::from(address))),
                IpAddr::V6(address) => (6, (u128::from(address) >> 64) as u64, u128::from(address) as u64),
            };
            [family, high, low].iter().for_each(|word: &u64| out.extend(word.to_ne_bytes()));
        }
        (Type::Mac, Datum::Text(text)) => out.extend(text::mac(text)?.to_ne_bytes()),
        (Type::Prefix4, Datum::Text(text)) => {
            let (address, length) = text::prefix4(text)?;
            out.extend(length.to_ne_bytes());
            out.extend(address);
            out.extend([0; 4]);
        }
        (Type::Prefix6, Datum::Text(text)) => {
            let (address, length) = text::prefix6(text)?;
            out.extend(length.to_ne_bytes());
            out.extend(address);
        }
        (Type::Record(fields), Datum::Record(_)) => encode_fields(fields, datum, Place::Value, out)?,
        (Type::Mixed(mixed), datum) if mixed.of(datum).is_some() => encode_mixed(*mixed, datum, out)?,
        (ty, datum) => {
            let got = match ty {
                Type::Integer | Type::Float | Type::Mixed(_) => datum.kind_name(),
                _ => datum.type_name(),
            };
            return Err(SchemaError::Type { expected: expected(ty), got });
        }
    }
    Ok(())
}

fn encode_mixed(mixed: Mixed, datum: &Datum, out: &mut Vec<u8>) -> Result<(), SchemaError> {
    let Some((kind, ty)) = mixed.of(datum) else { return Ok(()) };
    let end = out.len() + mixed.size();
    out.extend(kind.to_ne_bytes());
    if let Type::Text { .. } = ty {
        out.extend([0; STRING - WORD]);
    }
    encode(&ty, datum, out)?;
    out.resize(end, 0);
    Ok(())
}

fn expected(ty: &Type) -> String {
    match ty {
        Type::Record(_) => format!("a table {ty}"),
        Type::Mixed(mixed) => mixed.words(),
        ty => ty.plain_name().to_string(),
    }
}

fn encode_fields(
    fields: &[Field],
    datum: &Datum,
    place: Place,
    out: &mut Vec<u8>,
) -> Result<(), SchemaError> {
    let Datum::Record(given) = datum else {
        let ty = Type::Record(fields.to_vec());
        return Err(SchemaError::Type { expected: expected(&ty), got: datum.type_name() });
    };
    if let Some((name, _)) = given.iter().find(|(name, _)| !fields.iter().any(|field| field.name == *name)) {
        let what = if place == Place::Key { "key" } else { "value" };
        return Err(SchemaError::NoSuchField { name: name.clone(), what });
    }
    let find = |field: &Field| given.iter().find(|(name, _)| *name == field.name).map(|(_, datum)| datum);
    if place == Place::Value {
        let there =
            fields.iter().enumerate().filter(|(_, field)| find(field).is_some_and(|d| *d != Datum::Nil));
        out.extend(there.fold(0u64, |bits, (number, _)| bits | 1 << number).to_ne_bytes());
    }
    for field in fields {
        match (find(field), &field.ty, place) {
            (None | Some(Datum::Nil), _, Place::Key) => {
                return Err(SchemaError::MissingField { name: field.name.clone() });
            }
            (None | Some(Datum::Nil), ty, Place::Value) => out.resize(out.len() + ty.size(), 0),
            (Some(datum), Type::Record(inner), Place::Key) => encode_fields(inner, datum, place, out)?,
            (Some(datum), ty, _) => encode(ty, datum, out)?,
        }
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

fn decode(ty: &Type, bytes: &[u8]) -> Datum {
    let text = |text: String| Datum::Text(text.into_bytes());
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    match ty {
        Type::Boolean => Datum::Boolean(word(bytes, 0) != 0),
        Type::Integer => Datum::Integer(word(bytes, 0) as i64),
        Type::Float => Datum::Float(word(bytes, 0)),
        Type::Text { capacity } => {
            let length = (half(0) as usize).min(usize::from(*capacity));
            Datum::Text(bytes[4..4 + length].to_vec())
        }
        Type::Ipv4 => text(Ipv4Addr::from(word(bytes, 0) as u32).to_string()),
        Type::Address if word(bytes, 0) == 4 => text(Ipv4Addr::from(word(bytes, 16) as u32).to_string()),
        Type::Address => {
            let address = u128::from(word(bytes, 8)) << 64 | u128::from(word(bytes, 16));
            text(Ipv6Addr::from(address).to_string())
        }
        Type::Mac => text(text::mac_text(word(bytes, 0))),
        Type::Prefix4 => {
            let address: [u8; 4] = bytes[4..8].try_into().unwrap_or_default();
            text(format!("{}/{}", Ipv4Addr::from(address), half(0)))
        }
        Type::Prefix6 => {
            let address: [u8; 16] = bytes[4..20].try_into().unwrap_or_default();
            text(format!("{}/{}", Ipv6Addr::from(address), half(0)))
        }
        Type::Mixed(mixed) => {
            let kind = word(bytes, 0) & KIND_MASK;
            match mixed.types().find(|(known, _)| *known == kind) {
                Some((_, ty @ Type::Text { .. })) => decode(&ty, &bytes[STRING..]),
                Some((_, ty)) => decode(&ty, &bytes[WORD..]),
                None => Datum::Nil,
            }
        }
        Type::Record(fields) => decode_fields(fields, word(bytes, 0), Place::Value, &bytes[8..]),
    }
}

fn decode_fields(fields: &[Field], there: u64, place: Place, bytes: &[u8]) -> Datum {
    let mut record = Vec::new();
    let mut at = 0;
    for (number, field) in fields.iter().enumerate() {
        let size = if place == Place::Key { field.ty.key_size() } else { field.ty.size() };
        if there >> number & 1 != 0 {
            let bytes = &bytes[at..at + size];
            let datum = match (&field.ty, place) {
                (Type::Record(inner), Place::Key) => decode_fields(inner, u64::MAX, place, bytes),
                (ty, _) => decode(ty, bytes),
            };
            record.push((field.name.clone(), datum));
        }
        at += size;
    }
    Datum::Record(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WhenFull;

    fn schema(key: Type, value: Type) -> Schema {
        Schema { key, value, capacity: 16, when_full: WhenFull::Error, lifetime: None, per_cpu: false }
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.as_bytes().to_vec())
    }

    fn record(fields: &[(&str, Datum)]) -> Datum {
        Datum::Record(fields.iter().map(|(name, datum)| (name.to_string(), datum.clone())).collect())
    }

    fn fields(fields: &[(&str, Type)]) -> Type {
        Type::Record(
            fields.iter().map(|(name, ty)| Field { name: name.to_string(), ty: ty.clone() }).collect(),
        )
    }

    /// A node of the kernel's trie is a multiple of 8 bytes with the length in its last 4 (kernel/bpf/lpm_trie.c).
    #[test]
    fn values_behind_prefixes_are_aligned() {
        for ty in [Type::Prefix4, Type::Prefix6] {
            assert_eq!(ty.key_size() % 8, 4, "{ty}");
        }
    }

    #[test]
    fn keys_come_back() {
        let both = fields(&[("a", Type::Integer), ("b", fields(&[("c", Type::Text { capacity: 5 })]))]);
        for (ty, datum) in [
            (Type::Integer, Datum::Integer(-1)),
            (Type::Boolean, Datum::Boolean(true)),
            (Type::Text { capacity: 9 }, text("a\0b")),
            (Type::Ipv4, text("192.0.2.7")),
            (Type::Address, text("192.0.2.7")),
            (Type::Address, text("2001:db8::1")),
            (Type::Mac, text("02:00:5e:10:00:0a")),
            (Type::Prefix4, text("10.0.0.0/8")),
            (Type::Prefix6, text("2001:db8::/32")),
            (both, record(&[("a", Datum::Integer(1)), ("b", record(&[("c", text("x"))]))])),
        ] {
            let schema = schema(ty, Type::Integer);
            let bytes = encode_key(&schema, &datum).unwrap();
            assert_eq!(bytes.len(), schema.key_size(), "{datum:?}");
            assert_eq!(decode_key(&schema, &bytes), datum);
        }
    }

    #[test]
    fn fields_that_are_nil_are_missing() {
        let ty = fields(&[("a", Type::Integer), ("b", Type::Text { capacity: 3 })]);
        let mut schema = schema(Type::Integer, ty);
        schema.lifetime = Some(1);
        let value = record(&[("b", text("xyz"))]);
        let bytes = encode_value(&schema, &value, 77).unwrap();
        assert_eq!(bytes.len(), schema.value_size());
        assert_eq!(decode_value(&schema, &bytes), (77, value));
        assert_eq!(schema.value.field("b").map(|(number, offset, _)| (number, offset)), Some((1, 16)));
    }

    #[test]
    fn floats_are_told_from_integers() {
        let floats = schema(Type::Integer, fields(&[("x", Type::Float)]));
        let float = |x: f64| Datum::Float(x.to_bits());
        for x in [0.1, -0.0, f64::INFINITY, 5e-324] {
            let value = record(&[("x", float(x))]);
            assert_eq!(decode_value(&floats, &encode_value(&floats, &value, 0).unwrap()), (0, value));
        }
        let problem = |value| encode_value(&floats, &record(&[("x", value)]), 0).unwrap_err().to_string();
        assert_eq!(problem(Datum::Integer(3)), "float expected, got integer");
        assert_eq!(
            record(&[("x", Datum::Integer(3))]).as_of_type(&floats.value),
            record(&[("x", float(3.0))])
        );
        let far = Datum::Integer(i64::MAX);
        assert_eq!(far.clone().as_of_type(&Type::Float), far);
        assert_eq!(float(3.0).as_of_type(&Type::Integer), Datum::Integer(3));
        assert_eq!(float(3.5).as_of_type(&Type::Integer), float(3.5));
        assert_eq!(
            (float(-0.0).as_key(), float(2f64.powi(63)).as_key()),
            (Datum::Integer(0), float(2f64.powi(63)))
        );
    }

    #[test]
    fn values_of_several_types_have_their_kinds() {
        let mixed = Mixed { boolean: true, float: true, text: Some(5), integer: false };
        let mut any = schema(Type::Integer, Type::Mixed(mixed));
        assert_eq!((any.value.to_string(), any.value.size()), ("boolean|float|string:5".into(), 32));
        let half = Datum::Float(0.5f64.to_bits());
        for value in [Datum::Boolean(true), Datum::Boolean(false), half.clone(), text(""), text("abcde")] {
            let mut bytes = encode_value(&any, &value, 0).unwrap();
            any.put_version(&mut bytes, u64::MAX);
            assert_eq!((bytes.len(), decode_value(&any, &bytes)), (32, (0, value)));
        }
        assert_eq!(decode_value(&any, &[0; 32]), (0, Datum::Nil));
        let problem = |value: Datum| encode_value(&any, &value, 0).unwrap_err().to_string();
        assert_eq!(problem(Datum::Integer(1)), "boolean, float or string expected, got integer");
        assert_eq!(problem(text("abcdef")), "the string has 6 bytes, the table takes 5");
        assert_eq!(Datum::Integer(3).as_of_type(&any.value), Datum::Float(3f64.to_bits()));
        any.value = Type::Mixed(Mixed { float: false, integer: true, ..mixed });
        assert_eq!(
            (Datum::Float(3f64.to_bits()).as_of_type(&any.value), half.clone().as_of_type(&any.value)),
            (Datum::Integer(3), half)
        );
    }

    #[test]
    fn lists_are_records_of_positions() {
        for (name, place) in [("1", 1), ("10", 10), ("64", 64)] {
            assert_eq!(crate::position(name), Some(place));
            assert_eq!(crate::position_name(place).as_deref(), Some(name));
        }
        for name in ["0", "65", "01", "+1", "-1", "1 ", "", "x"] {
            assert_eq!(crate::position(name), None, "{name}");
        }
        assert_eq!((crate::position_name(0), crate::position_name(65)), (None, None));
        let ty = fields(&[("1", Type::Integer), ("10", Type::Mac), ("2", Type::Ipv4), ("n", Type::Boolean)]);
        assert_eq!(ty.to_string(), "{\"int\", \"ipv4\", [10] = \"mac\", n = \"boolean\"}");
        assert!(ty.has_list() && fields(&[("a", ty.clone())]).has_list() && !fields(&[]).has_list());
        let schema = schema(Type::Integer, ty);
        let list = record(&[("1", Datum::Integer(7)), ("2", text("192.0.2.1")), ("n", Datum::Boolean(true))]);
        let bytes = encode_value(&schema, &list, 0).unwrap();
        assert_eq!(decode_value(&schema, &bytes), (0, list.clone()));
        assert_eq!(list.line(), b"{7, 192.0.2.1, n = true}");
        assert!(list.has_list());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let problem = |ty: &Type, datum: &Datum| {
            encode_key(&schema(ty.clone(), Type::Integer), datum).unwrap_err().to_string()
        };
        let short = Type::Text { capacity: 2 };
        assert_eq!(problem(&short, &text("abc")), "the string has 3 bytes, the table takes 2");
        assert_eq!(problem(&short, &Datum::Integer(1)), "string expected, got number");
        assert_eq!(problem(&Type::Ipv4, &text("::1")), "'::1' is not an IPv4 address");
        assert_eq!(problem(&Type::Prefix4, &text("10.0.0.0/33")), "'10.0.0.0/33' is not an IPv4 prefix");
        let key = fields(&[("a", Type::Integer)]);
        assert_eq!(problem(&key, &record(&[])), "field 'a' of a key must not be nil");
        let unknown = record(&[("a", Datum::Integer(1)), ("z", Datum::Integer(1))]);
        assert_eq!(problem(&key, &unknown), "there is no field 'z' in the table's key");
    }
}
