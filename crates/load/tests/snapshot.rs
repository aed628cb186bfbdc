//! What a snapshot holds: closures, variables, tables, names; and that it is the same each time.

mod common;

use common::{Folder, handler, load_handler, load_text, upvalue, upvalue_of};
use moonhook_hook::XDP;
use moonhook_snapshot::{Value, dump};

#[test]
fn a_minimal_script_has_one_handler() {
    let loaded = load_text("require('xdp').attach(function(pkt) return 2 end)").unwrap();
    assert_eq!(loaded.snapshot.handlers.len(), 1);
    assert_eq!(loaded.snapshot.handlers[0].point.hook, &XDP);
    assert_eq!(loaded.handlers[0].call::<i64>(()).unwrap(), 2);
    let prototype = loaded.snapshot.prototype(handler(&loaded.snapshot).prototype);
    assert_eq!((prototype.parameters, prototype.line_defined), (1, 1));
    assert!(!prototype.is_vararg);
}

#[test]
fn upvalues_hold_values_of_every_kind() {
    let loaded = load_handler(
        "local a, b, c, d, e, f = nil, true, -7, 0.5, 'a\\0b', coroutine.create(print)
         local builtin, iterator = string.find, ipairs{}
         function handler() return a, b, c, d, e, f, builtin, iterator end",
    );
    for (name, expected) in [
        ("a", Value::Nil),
        ("b", Value::Boolean(true)),
        ("c", Value::Integer(-7)),
        ("d", Value::Float(0.5)),
        ("e", Value::string("a\0b")),
        ("f", Value::Opaque("thread", 0)),
        ("builtin", Value::Builtin("string.find")),
        ("iterator", Value::Opaque("function", 1)),
    ] {
        assert_eq!(*upvalue(&loaded.snapshot, name), expected, "{name}");
    }
}

#[test]
fn closures_share_cells_exactly_if_they_share_the_variable() {
    let loaded = load_handler(
        "local function pair() local n = 0; return function() n = n + 1 end, function() return n end end
         local up, get = pair()
         local _, other = pair()
         function handler() return up, get, other end",
    );
    let snapshot = &loaded.snapshot;
    let cell = |name| match upvalue(snapshot, name) {
        Value::Closure(id) => snapshot.closure(*id).upvalues[0],
        other => panic!("{name} is {other}"),
    };
    assert_eq!(cell("up"), cell("get"));
    assert_ne!(cell("get"), cell("other"));
    let prototype = |name| match upvalue(snapshot, name) {
        Value::Closure(id) => snapshot.closure(*id).prototype,
        other => panic!("{name} is {other}"),
    };
    assert_eq!(prototype("get"), prototype("other"), "closures of one function have one prototype");
}

#[test]
fn a_closure_made_at_load_time_and_the_function_inside_its_maker_are_one_prototype() {
    let loaded = load_handler(
        "local function make(n) return function(x) return x + n end end
         local made = make(1)
         function handler() return make(2), made end",
    );
    let snapshot = &loaded.snapshot;
    let (Value::Closure(make), Value::Closure(made)) = (upvalue(snapshot, "make"), upvalue(snapshot, "made"))
    else {
        panic!("not closures");
    };
    let maker = snapshot.prototype(snapshot.closure(*make).prototype);
    assert_eq!(maker.prototypes, [snapshot.closure(*made).prototype]);
}

#[test]
fn tables_are_sorted_and_split_into_sequence_and_rest() {
    let loaded = load_handler(
        "local key = {}
         local t = {10, 20, nil, 40, z = 1, a = 2, [-1] = 3, [1.5] = 4, [true] = 5, [key] = 6, [print] = 7}
         function handler() return t end",
    );
    let snapshot = &loaded.snapshot;
    let Value::Table(id) = upvalue(snapshot, "t") else { panic!("not a table") };
    let table = snapshot.table(*id);
    assert_eq!(table.array, [Value::Integer(10), Value::Integer(20)]);
    let keys: Vec<String> = table.entries.iter().map(|(key, _)| key.to_string()).collect();
    let object = keys[6].clone();
    assert!(object.starts_with("table"), "{object}");
    assert_eq!(keys, ["true", "-1", "4", "1.5", "\"a\"", "\"z\"", &object, "<print>"]);
}

#[test]
fn cycles_and_metatables_are_kept() {
    let loaded = load_handler(
        "local t = setmetatable({}, {__index = string})
         t.self = t
         function handler() return t, handler end",
    );
    let snapshot = &loaded.snapshot;
    let Value::Table(id) = upvalue(snapshot, "t") else { panic!("not a table") };
    assert_eq!(snapshot.table(*id).entries, [(Value::string("self"), Value::Table(*id))]);
    let metatable = snapshot.table(snapshot.table(*id).metatable.unwrap());
    let (_, Value::Table(string)) = &metatable.entries[0] else { panic!("not a table") };
    assert_eq!(snapshot.table(*string).name.as_deref(), Some("string"));
}

#[test]
fn a_long_chain_of_tables_needs_no_deep_recursion() {
    let loaded =
        load_handler("local t = {}; for i = 1, 100000 do t = {t} end; function handler() return t end");
    assert!(loaded.snapshot.tables.len() >= 100_001);
}

#[test]
fn names_of_tables_and_functions() {
    let folder = Folder::new(&[
        ("lib/lists.lua", "return {deep = {}}"),
        (
            "x.lua",
            "local lists, action = require 'lib.lists', require 'linux.xdp'
             local settings = {ports = {}}
             colours = {}
             local byteorder = require 'byteorder'
             require('xdp').attach(function() return lists, action, settings, colours, byteorder end)",
        ),
    ]);
    let loaded = folder.load("x.lua").unwrap();
    let names: Vec<&str> = loaded.snapshot.tables.iter().filter_map(|table| table.name.as_deref()).collect();
    for expected in
        ["_G", "string", "lib.lists", "lib.lists.deep", "linux.xdp", "settings", "settings.ports", "colours"]
    {
        assert!(names.contains(&expected), "{expected} is missing in {names:?}");
    }
    let shown = dump(&loaded.snapshot);
    for expected in ["[\"hton16\"] = <byteorder.hton16>", "[\"attach\"] = <xdp.attach>", "[\"DROP\"] = 1"] {
        assert!(shown.contains(expected), "{expected} is missing in\n{shown}");
    }
}

#[test]
fn every_function_a_script_can_reach_has_a_name() {
    let loaded = load_text(
        "require 'byteorder'
         require('xdp').attach(function() return _G end)",
    )
    .unwrap();
    for table in &loaded.snapshot.tables {
        for (key, value) in &table.entries {
            assert!(!matches!(value, Value::Opaque(..)), "{key} of {:?} is {value}", table.name);
        }
    }
    let Value::Builtin(name) = upvalue_of_global(&loaded.snapshot, "print") else {
        panic!("print has no name")
    };
    assert_eq!(name, "print");
}

fn upvalue_of_global(snapshot: &moonhook_snapshot::Snapshot, name: &str) -> Value {
    let Value::Table(globals) = upvalue_of(snapshot, handler(snapshot), "_ENV") else { panic!("no globals") };
    let entries = &snapshot.table(*globals).entries;
    entries.iter().find(|(key, _)| *key == Value::string(name)).map(|(_, value)| value.clone()).unwrap()
}

#[test]
fn equal_scripts_give_equal_snapshots() {
    let script = "
        local set, order, keys = {}, {}, {}
        for i = 1, 500 do set['name' .. math.random(1, 1000000)] = true end
        for name in pairs(set) do order[#order + 1] = name end
        local k, v = next(set)
        for i = 1, 5 do keys[{i}] = i end
        local function get() return set, order, k end
        function handler() return get() end
        require('xdp').attach(handler)";
    let folder = Folder::new(&[("x.lua", script)]);
    let first = folder.load("x.lua").unwrap();
    for _ in 0..5 {
        assert_eq!(first.snapshot, folder.load("x.lua").unwrap().snapshot);
    }
    let dumped = dump(&first.snapshot);
    assert_eq!(dumped, dump(&folder.load("x.lua").unwrap().snapshot));
}

#[test]
fn a_large_set_is_read_whole() {
    let loaded = load_handler(
        "local set = {}
         for i = 1, 10000 do set['host' .. i .. '.example.org'] = true end
         function handler() return set end",
    );
    let Value::Table(id) = upvalue(&loaded.snapshot, "set") else { panic!("not a table") };
    assert_eq!(loaded.snapshot.table(*id).entries.len(), 10_000);
}

#[test]
fn two_attach_calls_keep_both_in_order() {
    let loaded = load_text(
        "local xdp = require 'xdp'
         xdp.attach(function() return 9 end)
         xdp.detach()
         xdp.attach(function() return 1 end)
         xdp.attach(function() return 2 end)",
    )
    .unwrap();
    let results: Vec<i64> = loaded.handlers.iter().map(|handler| handler.call(()).unwrap()).collect();
    assert_eq!(results, [1, 2]);
    assert_eq!(loaded.snapshot.handlers.len(), 2);
}

#[test]
fn a_table_with_several_module_names_has_the_first() {
    let script =
        "package.loaded.zebra = {}; package.loaded.ant = package.loaded.zebra; package.loaded[{}] = {}
                  local both = package.loaded.zebra
                  require('xdp').attach(function() return both end)";
    for _ in 0..8 {
        let loaded = load_text(script).unwrap();
        let Value::Table(id) = upvalue(&loaded.snapshot, "both") else { panic!("not a table") };
        assert_eq!(loaded.snapshot.table(*id).name.as_deref(), Some("ant"));
    }
}

#[test]
fn sources_have_the_text_of_every_function() {
    let folder = Folder::new(&[
        ("m.lua", "return function()\n  return 'in module'\nend"),
        (
            "x.lua",
            "#!/usr/bin/moonhook\nlocal m = require 'm'
local text, named = load('return 1'), load('return 2', '=named')
require('xdp').attach(function() return m, text, named end)",
        ),
    ]);
    let loaded = folder.load("x.lua").unwrap();
    let sources = &loaded.snapshot.sources;
    let find = |end: &str| {
        sources.iter().find(|source| source.name.ends_with(end)).unwrap_or_else(|| panic!("{end}"))
    };
    assert_eq!(find("/m.lua").line(2), "  return 'in module'");
    assert!(find("/x.lua").line(4).starts_with("require('xdp')"));
    assert_eq!(find("[string \"return 1\"]").text(), "return 1");
    assert_eq!(find("named").text(), "");
}

#[test]
fn dropping_what_was_loaded_closes_the_state() {
    let loaded = load_text("local t = {}; require('xdp').attach(function() return t end)").unwrap();
    let weak = loaded.lua.weak();
    assert!(weak.try_upgrade().is_some());
    drop(loaded);
    assert!(weak.try_upgrade().is_none());
}

#[test]
fn an_empty_list_of_scripts_has_no_handlers() {
    let loaded = moonhook_load::load(&[], &moonhook_load::Options::default()).unwrap();
    assert!(loaded.snapshot.handlers.is_empty() && loaded.files.is_empty());
}

#[test]
fn random_numbers_are_the_same_each_time_and_the_clock_runs() {
    let script = "local n, now = math.random(1 << 60), os.time()
                  assert(now > 1000000000 and os.clock() >= 0 and #os.date('%Y') == 4)
                  require('xdp').attach(function() return n end)";
    let numbers: Vec<Value> =
        (0..3).map(|_| upvalue(&load_text(script).unwrap().snapshot, "n").clone()).collect();
    assert_eq!(numbers[0], numbers[1]);
    assert_eq!(numbers[1], numbers[2]);
}

/// A handle of the state's binding takes a place of a stack, which has about a million of them.
#[test]
fn a_table_has_more_entries_than_there_are_handles() {
    const COUNT: usize = 1_100_000;
    let fillings =
        ["t[i] = 'n' .. i", "t[i] = {}", "t[i] = function() return i end", "t['n' .. i] = {}", "t[{}] = i"];
    for filling in fillings {
        let text = format!(
            "local t = {{}} for i = 1, {COUNT} do {filling} end
             require('xdp').attach(function(pkt) return t end)"
        );
        let folder = Folder::new(&[("many.lua", &text)]);
        let options = moonhook_load::Options { memory_limit: 1 << 30, ..Default::default() };
        let loaded = moonhook_load::load(&[folder.path("many.lua")], &options).unwrap();
        let Value::Table(id) = upvalue(&loaded.snapshot, "t") else { panic!("{filling}: no table") };
        let table = loaded.snapshot.table(*id);
        assert_eq!(table.array.len() + table.entries.len(), COUNT, "{filling}");
    }
}
