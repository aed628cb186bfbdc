//! Tables of load time, as Rust writes them, are read by the routines.

use moonhook_runtime::image::{TableContent, table_size, write_table};
use moonhook_runtime::layout::*;
use moonhook_runtime::simulate::{Simulator, Value};
use moonhook_runtime::{text_hash, value_hash};
use std::collections::HashSet;

const NIL: Value = Value::Nil;

fn simulator(heap: usize) -> Simulator {
    Simulator::new(heap).unwrap_or_else(|error| panic!("{error}"))
}

fn call(simulator: &Simulator, routine: &str, arguments: &[i64]) -> i64 {
    simulator.call(routine, arguments).unwrap_or_else(|error| panic!("{routine}: {error}"))
}

/// The table in the simulator's memory, as one of load time.
fn place(simulator: &Simulator, content: &TableContent) -> i64 {
    let address = simulator.allocate(table_size(content.array.len(), content.entries.len()));
    simulator.set_bytes(address, &write_table(address as u64, content));
    simulator.set_field(L_IMAGE_END, simulator.field(L_HEAP));
    address
}

fn get(simulator: &Simulator, table: i64, key: &Value) -> Value {
    simulator.set_value(simulator.base(), key);
    simulator.value(call(simulator, "table_get", &[simulator.state(), table, simulator.base()]))
}

/// Keys of every kind, with values that are the numbers of the entries.
fn content(simulator: &Simulator, array: usize, entries: usize) -> (TableContent, Vec<Value>) {
    let (mut keys, mut content) = (Vec::new(), TableContent::default());
    content.array = (0..array).map(|index| (TAG_INT, index as u64 + 1000)).collect();
    for number in 0..entries {
        let key = match number % 4 {
            0 => Value::Integer(-(number as i64) - 1),
            1 => Value::Integer((number as i64) << 32),
            2 => Value::from(format!("key {number}").as_str()),
            _ => Value::Float(number as f64 + 0.5),
        };
        let at = simulator.base();
        simulator.set_value(at, &key);
        let (tag, payload) = (simulator.load(at, 8), simulator.load(at + 8, 8) as u64);
        let hash = match &key {
            Value::String(text) => text_hash(text),
            _ => value_hash(tag, payload),
        };
        content.entries.push(((tag, payload), hash, (TAG_INT, number as u64)));
        keys.push(key);
    }
    (content, keys)
}

fn check(array: usize, entries: usize, heap: usize) {
    let simulator = simulator(heap);
    let (content, keys) = content(&simulator, array, entries);
    let table = place(&simulator, &content);
    assert_eq!(call(&simulator, "table_length", &[table]), array as i64);
    for i in 1..=array as i64 {
        assert_eq!(get(&simulator, table, &Value::Integer(i)), Value::Integer(i + 999));
    }
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(get(&simulator, table, key), Value::Integer(number as i64), "{key:?}");
    }
    for absent in [Value::Integer(0), Value::Integer(array as i64 + 1), Value::from("absent"), NIL] {
        assert_eq!(get(&simulator, table, &absent), NIL, "{absent:?}");
    }
}

#[test]
fn every_key_is_found() {
    for (array, entries) in [(0, 0), (5, 0), (0, 3), (3, 8), (0, 9), (1, 300), (200, 17)] {
        check(array, entries, 1 << 20);
    }
}

#[test]
fn large_tables_are_found_too() {
    check(10, 100_000, 1 << 24);
}

#[test]
fn a_traversal_gives_everything_once() {
    let simulator = simulator(1 << 20);
    let (content, keys) = content(&simulator, 7, 50);
    let table = place(&simulator, &content);
    let (state, at) = (simulator.state(), simulator.base());
    simulator.set_value(at, &NIL);
    let mut seen = HashSet::new();
    while call(&simulator, "table_next", &[state, table, at, at]) == 1 {
        assert!(seen.insert(format!("{:?}", simulator.value(at))));
    }
    assert_eq!(seen.len(), 7 + keys.len());
}

#[test]
fn it_cannot_be_changed() {
    let simulator = simulator(1 << 20);
    let (content, keys) = content(&simulator, 2, 2);
    let table = place(&simulator, &content);
    let (state, at) = (simulator.state(), simulator.base());
    for key in [Value::Integer(1), Value::Integer(3), keys[0].clone(), Value::from("new")] {
        simulator.set_value(at, &key);
        simulator.set_value(at + 16, &Value::Boolean(true));
        assert_eq!(call(&simulator, "table_set", &[state, table, at, at + 16]), FAIL);
        let message = simulator.finish_error();
        assert_eq!(message.as_deref(), Some("a table of load time cannot be changed at packet time"));
    }
    assert_eq!(get(&simulator, table, &Value::Integer(1)), Value::Integer(1000));
}

#[test]
fn fields_that_packet_code_assigns_change() {
    let simulator = simulator(1 << 20);
    let (state, at) = (simulator.state(), simulator.base());
    let text = |name: &str| {
        simulator.set_value(at, &Value::from(name));
        (simulator.load(at + 8, 8) as u64, text_hash(name.as_bytes()))
    };
    let ((assigned, hash), (constant, other)) = (text("assigned"), text("constant"));
    let variable = simulator.allocate(V_SIZE as usize);
    simulator.set_bytes(variable, &[0; V_SIZE as usize]);
    simulator.store(variable, 8, TAG_STRING);
    simulator.store(variable + V_SLOTS + 8 * TAG_STRING, 8, assigned as i64);
    let entries = vec![
        ((TAG_STRING, assigned), hash, (TAG_VARIABLE, variable as u64)),
        ((TAG_STRING, constant), other, (TAG_INT, 1)),
    ];
    let content = TableContent { entries, ..TableContent::default() };
    let table = place(&simulator, &content);
    assert_eq!(get(&simulator, table, &Value::from("assigned")), Value::from("assigned"));
    for (key, result) in [("assigned", 0), ("constant", FAIL), ("other", FAIL)] {
        simulator.set_value(at, &Value::from(key));
        simulator.set_value(at + 16, &Value::Integer(7));
        assert_eq!(call(&simulator, "table_set", &[state, table, at, at + 16]), result, "{key}");
    }
    assert_eq!(get(&simulator, table, &Value::from("assigned")), Value::Integer(7));
    assert_eq!(get(&simulator, table, &Value::from("constant")), Value::Integer(1));
}
