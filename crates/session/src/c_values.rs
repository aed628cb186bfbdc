//! Keys and values of maps of C objects, as their types (BTF) say: bytes ↔ values as tables have them.
//!
//! Integers, enumerations and pointers are integers, `char` arrays are strings, structures are records, and other arrays are records whose
//! fields have their positions as names. Of a union the first member counts. What has no type is a string of its bytes.

use moonhook_btf::{Kind, Member, TypeId, Types};
use moonhook_schema::Datum;
use moonhook_snapshot::Leaf;
use std::sync::Arc;

/// How deep types are nested, at most: those in a file can go round in a circle.
const DEEPEST: usize = 16;

/// What keys or values of a map are.
#[derive(Clone, Debug)]
pub struct CType {
    /// Bytes.
    pub size: usize,
    ty: Option<(Arc<Types>, TypeId)>,
}

impl CType {
    /// # Errors
    /// What cannot be shown, in words that follow `keys` or `values`.
    pub fn new(types: &Arc<Types>, (size, id): (u32, Option<TypeId>)) -> Result<CType, String> {
        id.map_or(Ok(()), |id| check(types, id, 0))?;
        Ok(CType { size: size as usize, ty: id.map(|id| (Arc::clone(types), id)) })
    }

    /// The type in the words of C, with the fields of structures.
    pub fn name(&self) -> String {
        match &self.ty {
            Some((types, id)) => name(types, *id),
            None => format!("{} bytes", self.size),
        }
    }

    /// The names of the fields, if it is a structure.
    pub fn fields(&self) -> Vec<String> {
        let Some((types, id)) = &self.ty else { return Vec::new() };
        match types.kind(types.resolved(*id)) {
            Kind::Structure { .. } => {
                fields(types, *id).into_iter().map(|field| field.name.to_string()).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn decode(&self, bytes: &[u8]) -> Datum {
        match &self.ty {
            Some((types, id)) => decode(types, *id, bytes),
            None => Datum::Text(bytes.to_vec()),
        }
    }

    /// The bytes of a value; fields that it does not have are 0.
    ///
    /// # Errors
    /// What does not fit.
    pub fn encode(&self, datum: &Datum) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; self.size];
        match &self.ty {
            Some((types, id)) => encode(types, *id, datum, &mut bytes)?,
            None => whole(datum, &mut bytes)?,
        }
        Ok(bytes)
    }
}

/// The members of a structure; those of one without a name are the outer one's, at their places there.
fn fields(types: &Types, id: TypeId) -> Vec<Member<'_>> {
    let id = types.resolved(id);
    let is_union = matches!(types.kind(id), Kind::Structure { is_union: true, .. });
    let mut all = Vec::new();
    for member in types.members(id).into_iter().take(if is_union { 1 } else { usize::MAX }) {
        let inner = types.resolved(member.type_id);
        match (member.name, types.kind(inner)) {
            ("", Kind::Structure { .. }) => {
                let moved = |own: Member<'_>| own.offset.saturating_add(member.offset);
                for own in types.members(inner) {
                    let offset = moved(own);
                    all.push(Member { offset, ..own });
                }
            }
            _ => all.push(member),
        }
    }
    all
}

fn check(types: &Types, id: TypeId, depth: usize) -> Result<(), String> {
    if depth == DEEPEST {
        return Err("are nested too deeply".to_string());
    }
    let id = types.resolved(id);
    match types.kind(id) {
        Kind::Array { of, .. } if types.size(types.resolved(of)) == 0 => {
            Err("have an array of what has no size".to_string())
        }
        Kind::Array { of, .. } => check(types, of, depth + 1),
        Kind::Structure { .. } => fields(types, id).into_iter().try_for_each(|member| match member {
            Member { name: "", .. } => Err("have a field without a name".to_string()),
            Member { bits: 1.., name, .. } => {
                Err(format!("have a field '{name}' that is some bits of a word"))
            }
            Member { type_id, .. } => check(types, type_id, depth + 1),
        }),
        _ => Ok(()),
    }
}

fn name(types: &Types, id: TypeId) -> String {
    let resolved = types.resolved(id);
    match types.kind(resolved) {
        Kind::Array { of, length } => format!("{}[{length}]", name(types, of)),
        Kind::Pointer(_) => "pointer".to_string(),
        Kind::Structure { .. } => {
            let fields = fields(types, resolved).into_iter();
            let fields = fields.map(|field| format!("{} = {}", field.name, name(types, field.type_id)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        _ if !types.name(id).is_empty() => types.name(id).to_string(),
        _ if !types.name(resolved).is_empty() => types.name(resolved).to_string(),
        _ => format!("{} bytes", types.size(resolved)),
    }
}

/// An integer, as it lies in memory.
fn integer(types: &Types, id: TypeId) -> Option<Leaf> {
    let (bytes, is_signed) = match types.kind(id) {
        Kind::Integer { bytes, signed } | Kind::Enumeration { bytes, signed } => (bytes, signed),
        Kind::Pointer(_) => (8, false),
        _ => return None,
    };
    let is_flag = types.name(id) == "_Bool";
    [1, 2, 4, 8].contains(&bytes).then_some(Leaf { offset: 0, bytes, is_signed, is_flag })
}

/// Whether arrays of it are texts.
fn is_char(types: &Types, id: TypeId) -> bool {
    let id = types.resolved(id);
    types.name(id) == "char" && types.size(id) == 1
}

/// The elements of an array that have room in the bytes, with their positions.
fn elements(types: &Types, of: TypeId, length: u32, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let each = (types.size(types.resolved(of)) as usize).max(1);
    (0..(length as usize).min(bytes / each)).map(move |index| (index + 1, index * each))
}

fn decode(types: &Types, id: TypeId, bytes: &[u8]) -> Datum {
    let id = types.resolved(id);
    let bytes = bytes.get(..types.size(id) as usize).unwrap_or(bytes);
    if let Some(leaf) = integer(types, id) {
        let number = leaf.read(bytes);
        return if leaf.is_flag { Datum::Boolean(number != 0) } else { Datum::Integer(number) };
    }
    match types.kind(id) {
        Kind::Array { of, .. } if is_char(types, of) => {
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            Datum::Text(bytes[..end].to_vec())
        }
        Kind::Array { of, length } => {
            let element = |(position, from): (usize, usize)| {
                (position.to_string(), decode(types, of, bytes.get(from..).unwrap_or_default()))
            };
            record(elements(types, of, length, bytes.len()).map(element).collect())
        }
        Kind::Structure { .. } => {
            let part = |offset: u32| bytes.get((offset / 8) as usize..).unwrap_or_default();
            let field = |field: Member<'_>| {
                (field.name.to_string(), decode(types, field.type_id, part(field.offset)))
            };
            record(fields(types, id).into_iter().map(field).collect())
        }
        _ => Datum::Text(bytes.to_vec()),
    }
}

fn record(mut fields: Vec<(String, Datum)>) -> Datum {
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    Datum::Record(fields)
}

fn encode(types: &Types, id: TypeId, datum: &Datum, bytes: &mut [u8]) -> Result<(), String> {
    let named = id;
    let id = types.resolved(id);
    let length = (types.size(id) as usize).min(bytes.len());
    let bytes = &mut bytes[..length];
    if let Some(leaf) = integer(types, id) {
        return encode_integer(leaf, datum, bytes)
            .map_err(|got| format!("{} expected, got {got}", name(types, named)));
    }
    match (types.kind(id), datum) {
        (Kind::Array { of, .. }, Datum::Text(text)) if is_char(types, of) && text.len() <= bytes.len() => {
            bytes[..text.len()].copy_from_slice(text);
            Ok(())
        }
        (Kind::Array { of, .. }, Datum::Text(_)) if types.size(types.resolved(of)) == 1 => {
            whole(datum, bytes)
        }
        (Kind::Array { of, length }, Datum::Record(given)) => {
            for (key, value) in given {
                let place = elements(types, of, length, bytes.len()).find(|(at, _)| at.to_string() == *key);
                let (_, from) = place.ok_or_else(|| format!("there is no position {key}"))?;
                encode(types, of, value, &mut bytes[from..])?;
            }
            Ok(())
        }
        (Kind::Structure { .. }, Datum::Record(given)) => {
            let fields = fields(types, id);
            for (key, value) in given {
                let field = fields.iter().find(|field| field.name == key);
                let field = field.ok_or_else(|| format!("there is no field '{key}'"))?;
                let from = ((field.offset / 8) as usize).min(bytes.len());
                encode(types, field.type_id, value, &mut bytes[from..])?;
            }
            Ok(())
        }
        (Kind::Array { .. } | Kind::Structure { .. }, other) => {
            Err(format!("{} expected, got a {}", name(types, named), other.type_name()))
        }
        _ => whole(datum, bytes),
    }
}

/// What was given instead, if it does not fit.
fn encode_integer(leaf: Leaf, datum: &Datum, bytes: &mut [u8]) -> Result<(), String> {
    let number = match datum {
        Datum::Integer(number) => *number,
        Datum::Boolean(flag) => (*flag).into(),
        other => return Err(format!("a {}", other.type_name())),
    };
    leaf.write(bytes, number);
    // What would be another number when it is read again.
    if leaf.read(bytes) == number { Ok(()) } else { Err(number.to_string()) }
}

/// A string that is the bytes.
fn whole(datum: &Datum, bytes: &mut [u8]) -> Result<(), String> {
    match datum {
        Datum::Text(text) if text.len() == bytes.len() => {
            bytes.copy_from_slice(text);
            Ok(())
        }
        _ => Err(format!("{} bytes expected, as a list of numbers", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF: 1: u32, 2: char, 3: long, 4: char[4], 5: u32[2],
    /// 6: struct { u32 id; char name[4]; struct { u32 list[2]; }; long change; }, 7: that within, 8: struct { u32 few:3; }.
    fn types() -> Arc<Types> {
        let strings = "\0u32\0char\0long\0id\0name\0list\0change\0few\0";
        let at = |name: &str| strings.find(&format!("\0{name}\0")).unwrap() as u32 + 1;
        let int = |name: &str, size: u32, sign: u32| vec![at(name), 1 << 24, size, (sign << 24) | (8 * size)];
        let records = [
            int("u32", 4, 0),
            int("char", 1, 1),
            int("long", 8, 1),
            vec![0, 3 << 24, 0, 2, 1, 4],
            vec![0, 3 << 24, 0, 1, 1, 2],
            vec![0, (4 << 24) | 4, 24, at("id"), 1, 0, at("name"), 4, 32, 0, 7, 64, at("change"), 3, 128],
            vec![0, (4 << 24) | 1, 8, at("list"), 5, 0],
            vec![0, (1 << 31) | (4 << 24) | 1, 4, at("few"), 1, 3 << 24],
        ]
        .concat();
        let (size, texts) = (4 * records.len() as u32, strings.len() as u32);
        let head = [0x0001_eb9f, 24, 0, size, size, texts];
        let mut bytes: Vec<u8> = head.into_iter().chain(records).flat_map(u32::to_ne_bytes).collect();
        bytes.extend(strings.as_bytes());
        Arc::new(Types::parse(bytes).unwrap())
    }

    fn record(fields: &[(&str, Datum)]) -> Datum {
        Datum::Record(fields.iter().map(|(name, datum)| (name.to_string(), datum.clone())).collect())
    }

    #[test]
    fn structures_are_records_and_come_back_whole() {
        let ty = CType::new(&types(), (24, Some(TypeId(6)))).unwrap();
        assert_eq!(ty.name(), "{id = u32, name = char[4], list = u32[2], change = long}");
        assert_eq!(ty.fields(), ["id", "name", "list", "change"]);
        let list = record(&[("1", Datum::Integer(8)), ("2", Datum::Integer(0xffff_ffff))]);
        let whole = record(&[
            ("change", Datum::Integer(-2)),
            ("id", Datum::Integer(7)),
            ("list", list),
            ("name", Datum::Text(b"ab".to_vec())),
        ]);
        let bytes = ty.encode(&whole).unwrap();
        assert_eq!(bytes[..12], [7, 0, 0, 0, b'a', b'b', 0, 0, 8, 0, 0, 0]);
        assert_eq!(bytes[12..], [[0xff; 4], [0xfe, 0xff, 0xff, 0xff], [0xff; 4]].concat());
        assert_eq!(ty.decode(&bytes), whole);
        // Fields that are not given are 0.
        assert_eq!(ty.encode(&record(&[])).unwrap(), [0; 24]);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let ty = |id: u32, size: u32| CType::new(&types(), (size, Some(TypeId(id))));
        let (text, number) = (|text: &str| Datum::Text(text.into()), Datum::Integer);
        for (id, size, datum, problem) in [
            (1, 4, number(1 << 32), "u32 expected, got 4294967296"),
            (1, 4, number(-1), "u32 expected, got -1"),
            (1, 4, text("x"), "u32 expected, got a string"),
            (4, 4, text("abcde"), "4 bytes expected, as a list of numbers"),
            (5, 8, record(&[("3", number(1))]), "there is no position 3"),
            (5, 8, number(1), "u32[2] expected, got a number"),
            (6, 24, record(&[("none", number(1))]), "there is no field 'none'"),
        ] {
            assert_eq!(ty(id, size).unwrap().encode(&datum).unwrap_err(), problem);
        }
        assert_eq!(ty(8, 4).unwrap_err(), "have a field 'few' that is some bits of a word");
        let plain = CType::new(&types(), (2, None)).unwrap();
        assert_eq!(plain.decode(&[1, 2]), Datum::Text(vec![1, 2]));
        assert_eq!(
            (plain.encode(&Datum::Text(vec![1, 2])).unwrap(), plain.name()),
            (vec![1, 2], "2 bytes".into())
        );
    }
}
