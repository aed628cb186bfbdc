//! Maps of objects in real Lua: at load time, in control code, and in the user tier.

use mlua::{Lua, MultiValue, Value};
use moonhook_snapshot::{Leaf, LoadedMap};

use super::super::flow::said;
use crate::map_limits::check_key;
use crate::object_maps::packed;
use crate::packet_time;
use crate::registry::Registry;

/// A map, and its definition.
type Map = (LoadedMap, moonhook_link::Map);

/// The map that the first argument is the number of.
fn map(registry: &Registry, arguments: &[Value]) -> Result<Map, String> {
    let number = arguments.first().and_then(Value::as_usize);
    let known = registry.chains.0.borrow();
    let map = number.and_then(|number| known.maps.get(number)).ok_or("there is no such map")?;
    Ok((map.clone(), known.objects[map.object].1.maps[map.map].clone()))
}

/// Arrays, of each CPU or not (`enum bpf_map_type`): their elements are there from the start, and stay.
fn is_array(map: &moonhook_link::Map) -> bool {
    [2, 6].contains(&map.map_type)
}

/// Whether an array has that element.
fn has_element(map: &moonhook_link::Map, key: &[u8]) -> bool {
    let index = key.try_into().map(u32::from_ne_bytes);
    is_array(map) && index.is_ok_and(|index| index < map.max_entries)
}

/// Integers among the arguments, from that number on: what scripts give was checked before ([`super::checks`]).
fn numbers(arguments: &[Value], first: usize, leaves: &[Leaf]) -> Result<Vec<i64>, String> {
    let number = |index: usize| match arguments.get(first + index) {
        Some(Value::Integer(number)) => Ok(*number),
        other => {
            let got = other.map_or("nil", |value| value.type_name());
            Err(format!("a map of C's has integers for keys and values, not a {got} value"))
        }
    };
    (0..leaves.len()).map(number).collect()
}

type Values = Result<MultiValue, String>;
type One = Result<Value, String>;

pub fn get(registry: &Registry) -> impl Fn(&Lua, &[Value]) -> Values + 'static {
    let registry = registry.clone();
    move |_, arguments| {
        let (map, definition) = map(&registry, arguments)?;
        let key = packed(definition.key.0, &map.key, &numbers(arguments, 1, &map.key)?);
        let found = registry.object_maps.with(|maps| maps.get((map.object, map.map), &key))?;
        // At load time nothing keeps the elements that have not been written.
        let found = found.or_else(|| has_element(&definition, &key).then(Vec::new));
        let mut values = vec![Value::Boolean(found.is_some())];
        // Of values of each CPU, the sums.
        let all = found.unwrap_or_default();
        let sum = |leaf: &Leaf| all.iter().map(|bytes| leaf.read(bytes)).fold(0, i64::wrapping_add);
        values.extend(map.value.iter().map(|leaf| Value::Integer(sum(leaf))));
        Ok(MultiValue::from_iter(values))
    }
}

pub fn set(registry: &Registry) -> impl Fn(&Lua, &[Value]) -> One + 'static {
    let registry = registry.clone();
    move |_, arguments| {
        let (map, definition) = map(&registry, arguments)?;
        let key = packed(definition.key.0, &map.key, &numbers(arguments, 1, &map.key)?);
        let value = numbers(arguments, 1 + map.key.len(), &map.value)?;
        let value = packed(definition.value.0, &map.value, &value);
        if !registry.declared.is_closed() {
            let wrong =
                |problem| format!("the map '{}' cannot have this entry: its key {problem}", definition.name);
            check_key(&definition, &key).map_err(wrong)?;
        }
        registry.object_maps.with(|maps| maps.set((map.object, map.map), &key, &value)).map(Value::Boolean)
    }
}

pub fn delete(registry: &Registry) -> impl Fn(&Lua, &[Value]) -> One + 'static {
    let registry = registry.clone();
    move |_, arguments| {
        let (map, definition) = map(&registry, arguments)?;
        let key = packed(definition.key.0, &map.key, &numbers(arguments, 1, &map.key)?);
        if is_array(&definition) {
            return Ok(Value::Boolean(false));
        }
        registry.object_maps.with(|maps| maps.delete((map.object, map.map), &key)).map(Value::Boolean)
    }
}

/// `(number) -> list`: the keys there are: lists of their integers.
pub fn each(registry: &Registry) -> impl Fn(&Lua, &[Value]) -> Values + 'static {
    let registry = registry.clone();
    move |lua, arguments| {
        if packet_time::hook().is_some() {
            return Err("`pairs` of a map of C's is not possible at packet time".to_string());
        }
        let (map, _) = map(&registry, arguments)?;
        let keys = registry.object_maps.with(|maps| maps.keys((map.object, map.map)))?;
        let list = lua.create_table().map_err(said)?;
        for key in keys {
            let parts = map.key.iter().map(|leaf| leaf.read(&key));
            let key = lua.create_sequence_from(parts).map_err(said)?;
            list.raw_push(key).map_err(said)?;
        }
        Ok(MultiValue::from_iter([Value::Table(list)]))
    }
}
