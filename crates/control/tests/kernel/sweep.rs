//! Entries whose time is over leave their maps.

use crate::support::{control, expect, kernel, run, schema, turn};
use moonhook_control::Control;
use moonhook_install::Cursor;
use moonhook_schema::{Datum, Schema, Type, WhenFull};
use std::time::{Duration, Instant};

/// How long what has to happen may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets turns happen until something is so.
fn until(state: &mut Control, what: &str, mut is_so: impl FnMut(&mut Control) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so(state) {
        assert!(Instant::now() < end, "it did not happen: {what}");
        let due = state.turn(&mut |report| panic!("{report:?}"));
        let next = due.expect("a table with a lifetime is looked after");
        std::thread::sleep(next.min(end).saturating_duration_since(Instant::now()));
    }
}

/// How many entries a table's map has, those included whose time is over.
fn entries(state: &Control, table: &str) -> usize {
    let map = state.table(table).unwrap().map();
    let (mut cursor, mut count) = (Cursor::default(), 0);
    loop {
        let keys = map.read(&mut cursor).unwrap().keys.len() / map.key_size();
        count += keys;
        if keys == 0 {
            return count;
        }
    }
}

#[test]
fn expired_entries_make_room() {
    if !kernel() {
        return;
    }
    let kept = Schema { capacity: 3000, ..schema(Type::Integer, Type::Integer) };
    let short = Schema { lifetime: Some(50_000_000), ..kept.clone() };
    let long = Schema { lifetime: Some(3_600_000_000_000), ..kept.clone() };
    let each = Schema { per_cpu: true, ..short.clone() };
    let evicting = Schema { when_full: WhenFull::Evict, ..short.clone() };
    let prefixes = Schema { key: Type::Prefix4, capacity: 2, ..short.clone() };
    let script = "local short, long, kept, each, evicting, prefixes = {}, {}, {}, {}, {}, {}
        require('xdp').attach(function() return short, long, kept, each, evicting, prefixes end)";
    let tables = [
        ("short", short),
        ("long", long),
        ("kept", kept),
        ("each", each),
        ("evicting", evicting),
        ("prefixes", prefixes),
    ];
    let mut state = control(script, &tables);
    let some = |from: i64| (from..from + 3000).map(|n| (Datum::Integer(n), Datum::Integer(n)));
    for table in ["short", "long", "kept", "each"] {
        assert_eq!(state.table(table).unwrap().load(some(0)).unwrap(), 3000);
    }
    state.table("evicting").unwrap().load(some(0).take(100)).unwrap();
    expect(&mut state, &[("prefixes['10.0.0.0/8'] = 1; prefixes['10.1.0.0/16'] = 2", "")]);
    // A pass is one of many steps; entries are removed some time after their end.
    for table in ["short", "each", "evicting", "prefixes"] {
        until(&mut state, table, |state| entries(state, table) == 0);
    }
    for table in ["short", "each"] {
        let table = state.table(table).unwrap();
        assert_eq!(table.load(some(10_000)).unwrap(), 3000);
    }
    expect(&mut state, &[("prefixes['10.0.0.0/9'] = 1; prefixes['10.1.0.0/17'] = 2", "")]);
    for table in ["long", "kept"] {
        assert_eq!(state.table(table).unwrap().clear().unwrap(), 3000);
    }
}

#[test]
fn entries_that_are_assigned_again_stay() {
    if !kernel() {
        return;
    }
    let timed = Schema { lifetime: Some(200_000_000), ..schema(Type::Integer, Type::Integer) };
    // Where a machine is so busy that the entry's time passes between two turns, it begins anew.
    let script = "local t = {}; require('xdp').attach(function() return t end)
        local n = 0
        timer.every(0.02, function()
          if not t[1] then n, t[2] = 0, 0 end
          n = n + 1; t[1] = n
        end)";
    let mut state = control(script, &[("t", timed)]);
    until(&mut state, "the entry that is assigned once goes, the other stays", |state| {
        run(state, "t[1] and t[1] > 5, t[2]") == "true nil" && entries(state, "t") == 1
    });
}

#[test]
fn nothing_is_due_without_lifetimes() {
    if !kernel() {
        return;
    }
    let mut state = control(
        "local t = {}; require('xdp').attach(function() return t end)",
        &[("t", schema(Type::Integer, Type::Integer))],
    );
    assert!(turn(&mut state).is_empty());
    assert_eq!(state.turn(&mut |_| {}), None);
}
