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
    for contents in &snapshot.contents {
        let name = map_name(snapshot, contents.object, contents.map);
        let map = module.maps.iter().position(|map| map.name == name).map(|map| MapId(map as u32));
        module.fillings.extend(map.map(|map| Filling { map, entries: contents.entries.clone() }));
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
pub fn map_name(snapshot: &Snapshot, object: usize, index: usize) -> String {
    let map = &snapshot.objects[object].maps[index];
    let same = |other: &Map| other.is_weak && map.is_weak && definition(other) == definition(map);
    let earlier = snapshot.objects[..object].iter().flat_map(|object| &object.maps);
    let is_free = !ir::maps::is_taken(&map.name) && earlier.filter(|other| other.name == map.name).all(same);
    if is_free { map.name.clone() } else { format!("c{object}_{}", map.name) }
}
