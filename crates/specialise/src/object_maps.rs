//! Maps of C objects in modules: all of them, under their names, as far as no other object has one of that name.

use moonhook_ir as ir;
use moonhook_ir::{Filling, MapDefinition, MapId, MapKind, MapType, MapTypes, ObjectMap};
use moonhook_link::Map;
use moonhook_snapshot::Snapshot;

/// Adds the maps of all objects to a module, under their names, with what they begin with.
pub fn add_maps(snapshot: &Snapshot, module: &mut ir::Module) {
    for (number, object) in snapshot.objects.iter().enumerate() {
        for (index, map) in object.maps.iter().enumerate() {
            let name = map_name(snapshot, number, index);
            let known = module.maps.iter().position(|known| known.name == name);
            let id = MapId(known.unwrap_or(module.maps.len()) as u32);
            module.object_maps.push(ObjectMap { map: id, object: number, number: index });
            if known.is_some() {
                continue; // A weak one, which several objects have.
            }
            module.maps.push(ir::Map { name, kind: MapKind::Map(definition(map)) });
            if let (Some(key), Some(value)) = (map.key.1, map.value.1) {
                module.map_types.push(MapTypes { map: id, types: object.types.clone(), key, value });
            }
        }
    }
    if !snapshot.flows.is_empty() {
        add_variables(snapshot, module);
    }
    for contents in &snapshot.contents {
        let name = map_name(snapshot, contents.object, contents.map);
        let map = module.maps.iter().position(|map| map.name == name).map(|map| MapId(map as u32));
        module.fillings.extend(map.map(|map| Filling { map, entries: contents.entries.clone() }));
    }
}

/// Adds the variables of all objects: functions of flows, which are made later, have those of the program.
fn add_variables(snapshot: &Snapshot, module: &mut ir::Module) {
    for (number, object) in snapshot.objects.iter().enumerate() {
        for (index, data) in object.data.iter().enumerate().filter(|(_, data)| !data.is_constant) {
            let kind = MapKind::Data(data.bytes.clone());
            module.maps.push(ir::Map { name: data_name(number, index, &data.section), kind });
        }
    }
}

/// What a map is.
pub fn definition(map: &Map) -> MapDefinition {
    MapDefinition {
        map_type: MapType::Other(map.map_type),
        key_size: map.key.0,
        value_size: map.value.0,
        max_entries: map.max_entries,
        flags: map.flags,
    }
}

/// What a map of an object is called in modules. Weak ones of the same name and definition are one.
///
/// Names that are made of an object's number and of what is called so there are nobody else's: a map that has one by itself gets another.
pub fn map_name(snapshot: &Snapshot, object: usize, index: usize) -> String {
    name_among(|object| &snapshot.objects[object].maps, object, index)
}

/// The same of the maps that objects have.
fn name_among<'m>(maps: impl Fn(usize) -> &'m [Map], object: usize, index: usize) -> String {
    let map = &maps(object)[index];
    let same = |other: &Map| other.is_weak && map.is_weak && definition(other) == definition(map);
    let named = |object: usize| maps(object).iter().find(|other| other.name == map.name);
    let owner = (0..object).find(|earlier| named(*earlier).is_some_and(same)).unwrap_or(object);
    let is_free = (0..owner).all(|earlier| named(earlier).is_none());
    match is_free && !ir::maps::is_taken(&map.name) && !is_made(&map.name) {
        true => map.name.clone(),
        false => format!("{MAP}{owner}_{}", map.name),
    }
}

/// What a section with data of an object is called in modules.
pub fn data_name(object: usize, index: usize, section: &str) -> String {
    let plain: String = section.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{DATA}{object}_{index}{plain}")
}

/// What names begin with that are made here; the number of an object follows.
const MAP: char = 'c';
const DATA: char = 'd';

fn is_made(name: &str) -> bool {
    has_number(name.strip_prefix([MAP, DATA]))
}

/// Whether the name is that of a section with data of an object.
pub fn is_data_of_object(name: &str) -> bool {
    has_number(name.strip_prefix(DATA))
}

fn has_number(rest: Option<&str>) -> bool {
    let number = rest.and_then(|rest| rest.split_once('_'));
    number.is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the maps of objects that have these; `~` says that one is weak.
    fn names(objects: &[&[&str]]) -> Vec<Vec<String>> {
        let map = |name: &&str| Map {
            name: name.trim_start_matches('~').into(),
            map_type: 1,
            key: (4, None),
            value: (8, None),
            max_entries: 1,
            flags: 0,
            is_weak: name.starts_with('~'),
        };
        let maps: Vec<Vec<Map>> = objects.iter().map(|names| names.iter().map(map).collect()).collect();
        let of_object =
            |object: usize| (0..maps[object].len()).map(move |index| (object, index)).collect::<Vec<_>>();
        let name = |(object, index)| name_among(|object| &maps[object], object, index);
        (0..maps.len()).map(|object| of_object(object).into_iter().map(name).collect()).collect()
    }

    #[test]
    fn no_two_maps_have_one_name() {
        for (objects, expected) in [
            ([&["counts", "c1_counts"][..], &["counts"], &[]], ["counts c0_c1_counts", "c1_counts", ""]),
            ([&["d0_0_data", "c", "c_x", "cx1_y"], &[], &[]], ["c0_d0_0_data c c_x cx1_y", "", ""]),
            ([&["~a"], &["a"], &["~a"]], ["a", "c1_a", "a"]),
            ([&["a"], &["~a"], &["~a"]], ["a", "c1_a", "c1_a"]),
            ([&["state"], &["~state"], &["~state"]], ["c0_state", "c1_state", "c1_state"]),
        ] {
            let names: Vec<String> = names(&objects).iter().map(|names| names.join(" ")).collect();
            assert_eq!(names, expected);
        }
        assert_ne!(data_name(0, 1, ".data.x"), data_name(0, 2, ".data_x"));
    }
}
