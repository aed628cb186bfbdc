//! What whoever loads an object has to know of it.

use moonhook_engine::{Compiled, Settings};
use moonhook_hook::Place;
use moonhook_ir::{Map, maps};
use moonhook_load::{ForwardingPlace, Loaded, MovedPlace, Request};
use moonhook_passes::without_arena;
use moonhook_snapshot::BY_KEY;
use moonhook_specialise::exported;

/// Maps with memory of each CPU.
const OF_CPUS: [&str; 3] = [without_arena::NAME, maps::REGION, maps::TAKEN];

/// Functions of a program (`BPF_MAX_SUBPROGS`, include/linux/bpf_verifier.h).
const MOST_FUNCTIONS: usize = 256;

/// Bytes of stack of a program and all that it calls (`MAX_BPF_STACK`, include/linux/filter.h).
const STACK: u32 = 512;

/// Of a library, which is one part of a program: so many are told.
const MANY: usize = 64;

/// What whoever loads the object has to know.
pub fn remarks(loaded: &Loaded, compiled: &Compiled, settings: &Settings) -> Vec<String> {
    let (snapshot, module) = (&loaded.snapshot, &compiled.module);
    let mut remarks: Vec<String> = loaded.moved.iter().map(MovedPlace::text).collect();
    let own_name = |name: &str| match &snapshot.library {
        Some(library) => moonhook_passes::library::name(library, name),
        None => name.to_string(),
    };
    let is_memory = |map: &Map| OF_CPUS.iter().any(|name| map.name == own_name(name));
    if module.maps.iter().any(is_memory) {
        let cpus = settings.cpus.unwrap_or_else(moonhook_engine::possible_cpus);
        let plural = if cpus == 1 { "" } else { "s" };
        remarks.push(format!("memory for {cpus} CPU{plural}; packets on others are errors (--cpus)"));
    }
    if snapshot.library.is_some() && module.functions.len() > MANY {
        let count = module.functions.len();
        remarks.push(format!(
            "{count} functions; those that a program reaches may be {MOST_FUNCTIONS}, with its own"
        ));
    }
    if snapshot.library.is_some() {
        let left = STACK.saturating_sub(compiled.object.stack);
        remarks.push(format!("leaves {left} bytes of stack to programs that call it"));
    }
    let is_control = |request: &Request| {
        matches!(request, Request::Timer { .. } | Request::Listen { .. } | Request::Signal { .. })
    };
    if loaded.requests.take().iter().any(is_control) {
        remarks.push(
            "timers and functions for events are not in the object: they are for `moonhook run`".into(),
        );
    }
    let is_called = snapshot.points().iter().any(|point| point.place == Place::Called);
    if is_called && !module.functions.iter().any(|function| function.name == BY_KEY) {
        let longest = exported::keyed::LONGEST;
        remarks.push(format!(
            "no {}: the script's path, which is its key, has more than {longest} bytes",
            BY_KEY
        ));
    }
    let of_objects = module.fillings.iter().filter(|filling| !filling.entries.is_empty()).map(|filling| {
        let (map, entries) = (&module.map(filling.map).name, filling.entries.len());
        let each = if entries == 1 {
            "entry that the script gives it is"
        } else {
            "entries that the script gives it are"
        };
        format!("map '{map}': {entries} {each} not in the object, to be added before attaching")
    });
    remarks.extend(of_objects);
    let filled = module.tables.iter().filter(|table| !table.contents.is_empty());
    remarks.extend(filled.map(|table| {
        let (name, map) = (&table.name, &module.map(table.map).name);
        let entries = table.contents.len();
        format!("table '{name}': its {entries} entries are not in the object, add them to the map {map} before attaching")
    }));
    remarks.extend(snapshot.flows.iter().map(|table| {
        let name = &table.name;
        format!("flow table '{name}': its flows and their functions are not in the object, all packets go to the default")
    }));
    let forwards =
        |place: &ForwardingPlace| format!("{}; without `moonhook run` nobody sends them", place.text());
    remarks.extend(loaded.forwarding.iter().map(forwards));
    remarks
}
