//! Maps as libbpf has them defined: a variable in the section `.maps`, whose type says what the map is (`parse_btf_map_def`, libbpf.c).
//!
//! Numbers are the lengths of arrays that members point to (`__uint`), types what members point to (`__type`).

use crate::error::LinkErrorKind;
use crate::object::{File, Map};
use moonhook_btf::{Kind, Member, TypeId, Types};
use object::{LittleEndian, Object as _, ObjectSymbol as _};

type ElfSymbol64<'d, 'f> = object::read::elf::ElfSymbol64<'d, 'f, LittleEndian>;

const SECTION: &str = ".maps";

pub fn read(file: &File<'_>, types: &Types) -> Result<Vec<Map>, LinkErrorKind> {
    let section = types.all().find(|id| types.kind(*id) == Kind::Section && types.name(*id) == SECTION);
    let variables = section.map(|section| types.members(section)).unwrap_or_default();
    let mut maps =
        variables.into_iter().map(|variable| map(types, variable)).collect::<Result<Vec<Map>, _>>()?;
    for map in &mut maps {
        let named = |symbol: &ElfSymbol64<'_, '_>| symbol.name() == Ok(&map.name);
        map.is_weak = file.symbols().any(|symbol| symbol.is_weak() && named(&symbol));
    }
    Ok(maps)
}

fn map(types: &Types, variable: Member<'_>) -> Result<Map, LinkErrorKind> {
    let name = variable.name.to_string();
    let wrong = |problem| LinkErrorKind::Map { map: name.clone(), problem };
    let definition = types.resolved(variable.type_id);
    if !matches!(types.kind(definition), Kind::Structure { is_union: false, .. }) {
        return Err(wrong("is no structure"));
    }
    let (mut map_type, mut max_entries, mut flags) = (0, 0, 0);
    let (mut key, mut value) = ((0, None), (0, None));
    for member in types.members(definition) {
        let number = || number(types, member.type_id).ok_or_else(|| wrong("has a member that is no number"));
        let described =
            || described(types, member.type_id).ok_or_else(|| wrong("has a member that is no type"));
        match member.name {
            "type" => map_type = number()?,
            "max_entries" => max_entries = number()?,
            "map_flags" => flags = number()?,
            "key_size" => key.0 = number()?,
            "value_size" => value.0 = number()?,
            "key" => key = described()?,
            "value" => value = described()?,
            // Where it is pinned is said by who runs the script.
            "pinning" => {}
            "values" => return Err(wrong("has maps or programs in it")),
            _ => return Err(wrong("has a member that is not known")),
        }
    }
    match map_type {
        0 => Err(wrong("has no type")),
        map_type => Ok(Map { name, map_type, key, value, max_entries, flags, is_weak: false }),
    }
}

/// The length of the array that a member points to.
fn number(types: &Types, id: TypeId) -> Option<u32> {
    match pointed(types, id).map(|to| types.kind(types.resolved(to))) {
        Some(Kind::Array { length, .. }) => Some(length),
        _ => None,
    }
}

/// Size and type of what a member points to.
fn described(types: &Types, id: TypeId) -> Option<(u32, Option<TypeId>)> {
    let to = pointed(types, id)?;
    Some((types.size(to), Some(to)))
}

fn pointed(types: &Types, id: TypeId) -> Option<TypeId> {
    match types.kind(types.resolved(id)) {
        Kind::Pointer(to) => Some(to),
        _ => None,
    }
}
