//! Maps, data sections and events of a loaded object.

use crate::support::{kernel, load_c};
use moonhook_install::{InstallError, MapInfo};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn maps_have_sizes_and_memory() {
    if !kernel() {
        return;
    }
    let maps = load_c("basic.c").maps();
    let find = |name: &str| maps.iter().find(|map| map.name == name).unwrap();
    let schema = |map: &MapInfo| (map.map_type.clone(), map.key_size, map.value_size, map.max_entries);
    assert_eq!(schema(find("counters")), ("percpu_array".into(), 4, 16, 2));
    assert_eq!(schema(find("limits")), ("hash".into(), 4, 8, 16));
    assert_eq!(schema(find("ring")), ("ringbuf".into(), 0, 0, 4096));
    assert_eq!(schema(find(".data.state")), ("array".into(), 4, 8, 1));
    assert!(maps.iter().all(|map| map.memory > 0), "{maps:?}");
}

#[test]
fn entries_come_and_go() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    assert_eq!(program.map_lookup("limits", &[1, 0, 0, 0]).unwrap(), None);
    program.map_update("limits", &[1, 0, 0, 0], &[9; 8]).unwrap();
    assert_eq!(program.map_lookup("limits", &[1, 0, 0, 0]).unwrap(), Some(vec![9; 8]));
    assert_eq!(program.map_keys("limits").unwrap(), [[1, 0, 0, 0]]);
    assert!(program.map_delete("limits", &[1, 0, 0, 0]).unwrap());
    assert!(!program.map_delete("limits", &[1, 0, 0, 0]).unwrap());
    for key in 0u32..16 {
        program.map_update("limits", &key.to_ne_bytes(), &[0; 8]).unwrap();
    }
    let full = program.map_update("limits", &16u32.to_ne_bytes(), &[0; 8]).unwrap_err();
    assert!(matches!(full, InstallError::MapAccess { .. }), "{full:?}");
    let short = program.map_lookup("limits", &[1]).unwrap_err();
    assert!(matches!(short, InstallError::MapAccess { .. }), "{short:?}");
    let absent = program.map_lookup("limit", &[1]).unwrap_err().diagnostic();
    assert_eq!(absent.help.as_deref(), Some("did you mean 'limits'?"));
}

#[test]
fn counters_are_summed_over_cpus() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    program.test_run("count", &[7; 60], 10).unwrap();
    program.test_run("count", &[7; 100], 1).unwrap();
    assert_eq!(program.counters("counters", &1u32.to_ne_bytes()).unwrap(), Some(vec![11, 700]));
    assert_eq!(program.counter_array("counters").unwrap(), [[0, 0], [11, 700]]);
    let cpus = program.map_lookup("counters", &1u32.to_ne_bytes()).unwrap().unwrap().len() / 16;
    program.map_update("counters", &1u32.to_ne_bytes(), &[1; 16]).unwrap();
    let each = u64::from_ne_bytes([1; 8]).wrapping_mul(cpus as u64);
    assert_eq!(program.counters("counters", &1u32.to_ne_bytes()).unwrap(), Some(vec![each, each]));
    assert!(matches!(program.counters("limits", &[0; 4]), Err(InstallError::MapAccess { .. })));
}

#[test]
fn data_sections_are_shared_with_the_program() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    let state = program.data_section(".data.state").unwrap();
    assert_eq!((state.len(), state.load(0), state.load(1), state.load(8)), (8, Some(40), None, None));
    program.test_run("count", &[7; 60], 3).unwrap();
    assert_eq!(state.load(0), Some(46));
    assert!(state.store(0, 100) && !state.store(4, 0));
    program.test_run("count", &[7; 60], 1).unwrap();
    assert_eq!(state.bytes(), 102u64.to_ne_bytes());
    let constants = program.data_section(".rodata.constants").unwrap();
    assert_eq!(constants.bytes(), 0x1122_3344u32.to_ne_bytes());
    assert!(!constants.store(0, 1));
    assert!(matches!(program.data_section("limits"), Err(InstallError::MapAccess { .. })));
}

#[test]
fn events_arrive_in_order_and_outlive_the_program() {
    if !kernel() {
        return;
    }
    let program = load_c("basic.c");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let mut events =
        program.events("ring", move |record| sink.lock().unwrap().push(record.to_vec())).unwrap();
    assert_eq!(events.poll(Duration::ZERO).unwrap(), 0);
    for first in [5, 6, 7] {
        program.test_run("count", &[first; 60], 1).unwrap();
    }
    assert_eq!(events.poll(Duration::from_secs(1)).unwrap(), 3);
    program.test_run("count", &[8; 60], 1).unwrap();
    let not_a_ring = program.events("limits", |_| ()).unwrap_err();
    assert!(matches!(not_a_ring, InstallError::MapAccess { .. }), "{not_a_ring:?}");
    drop(program);
    assert_eq!(events.consume().unwrap(), 1);
    assert_eq!(*seen.lock().unwrap(), [[5], [6], [7], [8]]);
}
