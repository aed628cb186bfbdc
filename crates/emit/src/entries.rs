//! BTF types of the keys and values of tables, laid out as `moonhook_schema` says: what `bpftool map dump` prints entries by.

use crate::btf::{Btf, Member, TypeId};
use moonhook_schema::{Field, Schema, Type, mixed};

/// The types of a table's keys and values, which have the sizes that the schema says.
pub fn types(schema: &Schema, btf: &mut Btf) -> (TypeId, TypeId) {
    let key = key(&schema.key, btf);
    let value = of(&schema.value, btf);
    if schema.lifetime.is_none() {
        return (key, value);
    }
    let members = [("expires", btf.u64(), 0), ("value", value, 8)];
    (key, structure(btf, schema.value_size(), &members))
}

/// A record that is a key has no word that says which fields are there.
fn key(ty: &Type, btf: &mut Btf) -> TypeId {
    match ty {
        Type::Record(fields) => record(fields, 0, ty.key_size(), (key, Type::key_size), btf),
        ty => of(ty, btf),
    }
}

fn of(ty: &Type, btf: &mut Btf) -> TypeId {
    match ty {
        Type::Integer => btf.i64(),
        // bpftool prints no floats of BTF: the bits.
        Type::Boolean | Type::Float | Type::Ipv4 | Type::Mac => btf.u64(),
        Type::Text { .. } => {
            let (length, bytes) = (btf.u32(), btf.array(btf.char(), ty.size() as u32 - 4));
            structure(btf, ty.size(), &[("length", length, 0), ("bytes", bytes, 4)])
        }
        Type::Address => {
            let word = btf.u64();
            structure(btf, ty.size(), &[("family", word, 0), ("high", word, 8), ("low", word, 16)])
        }
        Type::Prefix4 => {
            let (number, address) = (btf.u32(), btf.array(btf.byte(), 4));
            structure(btf, ty.size(), &[("length", number, 0), ("address", address, 4), ("zero", number, 8)])
        }
        Type::Prefix6 => {
            let (length, address) = (btf.u32(), btf.array(btf.byte(), 16));
            structure(btf, ty.size(), &[("length", length, 0), ("address", address, 4)])
        }
        Type::Mixed(mixed) => {
            let word = btf.u64();
            let mut members = vec![("kind", word, 0), ("word", word, mixed::WORD)];
            if let Some(capacity) = mixed.text {
                members.push(("string", of(&Type::Text { capacity }, btf), mixed::STRING));
            }
            structure(btf, ty.size(), &members)
        }
        Type::Record(fields) => record(fields, 8, ty.size(), (of, Type::size), btf),
    }
}

type Make = (fn(&Type, &mut Btf) -> TypeId, fn(&Type) -> usize);

/// A structure of the fields, the first of which begins at `start`; before it is the word that says which are there.
fn record(fields: &[Field], start: usize, size: usize, (make, size_of): Make, btf: &mut Btf) -> TypeId {
    let mut members = Vec::with_capacity(fields.len() + 1);
    if start > 0 {
        members.push(("present".to_string(), btf.u64(), 0));
    }
    let mut offset = start;
    for field in fields {
        members.push((identifier(&field.name), make(&field.ty, btf), offset));
        offset += size_of(&field.ty);
    }
    structure(btf, size, &members)
}

fn structure<N: AsRef<str>>(btf: &mut Btf, size: usize, members: &[(N, TypeId, usize)]) -> TypeId {
    let members: Vec<Member> = (members.iter())
        .map(|(name, type_id, offset)| Member {
            name: name.as_ref(),
            type_id: *type_id,
            offset: *offset as u32,
        })
        .collect();
    btf.structure("", size as u32, &members)
}

/// The kernel takes names of C only (`btf_name_valid_identifier`); the fields of lists have numbers.
fn identifier(name: &str) -> String {
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if identifier.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    // `KSYM_NAME_LEN` bounds the kernel's names.
    identifier.truncate(100);
    identifier
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn names_of_fields_become_names_of_c() {
        let names = ["pkts", "1", "a-b", "größe", "", &"x".repeat(300)];
        let expected = ["pkts", "_1", "a_b", "gr__e", "_", &"x".repeat(100)];
        assert_eq!(names.map(identifier), expected.map(str::to_string));
    }
}
