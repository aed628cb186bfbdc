//! Tables by name, for callers that are not Lua.

use crate::support::{control, kernel, one_table, record, schema, text};
use moonhook_schema::{Datum, Schema, Type};

fn int(number: i64) -> Datum {
    Datum::Integer(number)
}

#[test]
fn entries_come_and_go() {
    if !kernel() {
        return;
    }
    let state = one_table(schema(Type::Ipv4, record(&[("n", Type::Integer)])));
    let table = state.table("t").unwrap();
    let key = Datum::Text(b"192.0.2.7".to_vec());
    let value = Datum::Record(vec![("n".into(), int(7))]);
    assert_eq!(table.get(&key).unwrap(), Datum::Nil);
    table.set(&key, &value).unwrap();
    assert_eq!(table.get(&key).unwrap(), value);
    assert_eq!(table.entries().map(Result::unwrap).collect::<Vec<_>>(), [(key.clone(), value)]);
    assert!(table.delete(&key).unwrap() && !table.delete(&key).unwrap());
    assert_eq!(table.count().unwrap(), 0);
    let unfit = table.set(&int(1), &int(1)).unwrap_err();
    assert_eq!(
        (unfit.code(), unfit.to_string().as_str()),
        ("MH0701", "bad key for table 't' (string expected, got number)")
    );
    assert_eq!(table.get(&int(1)).unwrap(), Datum::Nil);
    let absent = state.table("u").unwrap_err();
    assert_eq!((absent.code(), absent.diagnostic().help.as_deref()), ("MH0704", Some("there are t")));
}

#[test]
fn many_entries_are_loaded_at_once() {
    if !kernel() {
        return;
    }
    const MANY: i64 = 20_000;
    let state = one_table(Schema { capacity: MANY as u32, ..schema(text(12), Type::Integer) });
    let table = state.table("t").unwrap();
    let key = |number: i64| Datum::Text(format!("key {number}").into_bytes());
    assert_eq!(table.load((0..MANY).map(|number| (key(number), int(number)))).unwrap(), MANY as usize);
    assert_eq!(table.count().unwrap(), MANY as usize);
    assert_eq!(table.get(&key(4711)).unwrap(), int(4711));
    let sum: i64 = table
        .entries()
        .map(|entry| match entry.unwrap() {
            (_, Datum::Integer(number)) => number,
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(sum, MANY * (MANY - 1) / 2);
    let full = table.set(&key(MANY), &int(0)).unwrap_err();
    assert_eq!((full.code(), full.to_string().as_str()), ("MH0702", "table 't' is full"));
    let full = table.load((MANY..MANY + 3).map(|number| (key(number), int(number)))).unwrap_err();
    assert_eq!(full.code(), "MH0702");
    assert_eq!(table.clear().unwrap(), MANY as usize);
    assert_eq!(table.count().unwrap(), 0);
}

#[test]
fn tables_are_in_the_order_of_the_module() {
    if !kernel() {
        return;
    }
    let script = "local a, b = map(), map()\nrequire('xdp').attach(function() return a[1], b[1] end)";
    let int = || schema(Type::Integer, Type::Integer);
    let state = control(script, &[("b", int()), ("a", int())]);
    let names: Vec<&str> = state.tables().iter().map(|table| table.name()).collect();
    assert_eq!(names, ["b", "a"]);
}
