//! What is there after load time: declarations, requests, and calls of the scripts' functions.

mod common;

use std::time::{Duration, Instant};

use common::{load_handler, load_text, upvalue};
use mlua::{Function, MultiValue, Value};
use moonhook_load::{CallLimit, Loaded, Request};
use moonhook_schema::{Declaration, Type, WhenFull};
use moonhook_snapshot::Value as Frozen;

/// What a script declares with `declaration`.
fn declared(declaration: &str) -> Declaration {
    let loaded = load_handler(&format!("local t = map{declaration}\nfunction handler() return t[1] end"));
    let Frozen::Table(id) = upvalue(&loaded.snapshot, "t") else { panic!("no table") };
    assert!(loaded.table(*id).is_some_and(|table| table.is_empty()));
    loaded.snapshot.table(*id).declaration.clone().expect("a declaration")
}

#[test]
fn declarations_are_part_of_the_snapshot() {
    assert_eq!(declared("()"), Declaration::default());
    let declaration = declared(
        "{key = 'string:64', value = {pkts = 'int', from = {ip = 'ip', mac = 'mac'}}, capacity = 1e6, evict = 'lru',
          ttl = 0.5, percpu = true}",
    );
    assert_eq!(declaration.key, Some(Type::Text { capacity: 64 }));
    assert_eq!(
        declaration.value.map(|ty| ty.to_string()).as_deref(),
        Some("{from = {ip = \"ip\", mac = \"mac\"}, pkts = \"int\"}")
    );
    assert_eq!((declaration.capacity, declaration.when_full), (Some(1_000_000), WhenFull::Evict));
    assert_eq!((declaration.lifetime, declaration.per_cpu), (Some(500_000_000), true));
    let shared = |call: &str| {
        let loaded =
            load_handler(&format!("local t = require('rcu').{call}\nfunction handler() return t[1] end"));
        let Frozen::Table(id) = upvalue(&loaded.snapshot, "t") else { panic!("no table") };
        loaded.snapshot.table(*id).declaration.clone().and_then(|declaration| declaration.capacity)
    };
    assert_eq!((shared("table()"), shared("table(100000)")), (Some(65_536), Some(100_000)));
    let prefixes = declared("{lpm = true, value = 'boolean'}");
    assert_eq!((prefixes.key, prefixes.prefixes), (Some(Type::Prefix4), true));
    assert_eq!(declared("{key = 'ipv6', lpm = true}").key, Some(Type::Prefix6));
}

#[test]
fn bad_declarations_say_what_is_possible() {
    for (declaration, expected) in [
        (
            "map{kye = 'int'}",
            "map: there is no option 'kye'; there are key, value, capacity, evict, ttl, percpu, lpm",
        ),
        ("map('int')", "bad argument #1 to 'map' (table expected, got string)"),
        (
            "map{key = 'integer'}",
            "map: there is no type 'integer' for key; there are \"int\", \"float\", \"boolean\", \"string:N\", \"ipv4\", \"ip\", \"mac\", several of the first four as in \"int|string:N\", \"any\" or a table of named fields",
        ),
        (
            "map{value = {a = 'string'}}",
            "map: 'string' of value.a: write \"string:N\" with the most bytes, 1 to 65535",
        ),
        ("map{value = {}}", "map: value has 0 fields; 1 to 64 are possible"),
        ("map{value = {[true] = 'int'}}", "map: the fields of value have names or places, not boolean keys"),
        ("map{value = {['1'] = 'int'}}", "map: a field of value cannot have the name '1'"),
        ("map{value = {[0] = 'int'}}", "map: the places of a list, as value is one, are 1 to 64, not 0"),
        (
            "map{value = 7}",
            "map: the type of value is \"int\", \"float\", \"boolean\", \"string:N\", \"ipv4\", \"ip\", \"mac\", several of the first four as in \"int|string:N\", \"any\" or a table of named fields, not a number value",
        ),
        (
            "map{key = 'string:261'}",
            "map: keys of string:261 take 272 bytes, and 264 are possible: `string:260` is the longest",
        ),
        ("map{capacity = 0}", "map: capacity is a whole number of entries from 1 to 4294967295"),
        ("map{capacity = 1.5}", "map: capacity is a whole number of entries from 1 to 4294967295"),
        ("map{evict = 'fifo'}", "map: evict is \"lru\", or is left out: a full table is then an error"),
        ("map{ttl = 0}", "map: ttl is a positive number of seconds"),
        ("map{percpu = 1}", "map: percpu is true or false"),
        ("map{lpm = true, key = 'int'}", "map: the key of a table of prefixes is \"ipv4\" or \"ipv6\""),
        (
            "map{lpm = true, percpu = true}",
            "map: tables of prefixes cannot be per CPU: leave out `lpm` or `percpu`",
        ),
        (
            "map{lpm = true, evict = 'lru'}",
            "map: tables of prefixes cannot evict entries: leave out `lpm` or `evict`",
        ),
        ("timer.every(0, print)", "bad argument #1 to 'every' (at least 0.001 seconds expected)"),
        ("timer.after(-1, print)", "bad argument #1 to 'after' (a number of seconds expected)"),
        ("require('rcu').table(0)", "bad argument #1 to 'table' (out of bounds)"),
        ("timer.after(1)", "bad argument #2 to 'after' (function expected, got no value)"),
        ("on(1, print)", "bad argument #1 to 'on' (string expected, got number)"),
        (
            "signal.on('KILL', print)",
            "bad argument #1 to 'on' (there is no signal 'KILL'; there are HUP, USR1, USR2)",
        ),
        (
            "event('x', 1, {1})",
            "bad argument #3 to 'event' (number, string, boolean, nil or record of those expected, got table)",
        ),
        (
            "event('x', {a = {b = print}})",
            "bad argument #2 to 'event' (number, string, boolean, nil or record of those expected, got table)",
        ),
        (
            "local t = {}; t.t = t; event('x', t)",
            "bad argument #2 to 'event' (number, string, boolean, nil or record of those expected, got table)",
        ),
        (
            "event('x', {a = print})",
            "bad argument #2 to 'event' (number, string, boolean, nil or record of those expected, got table)",
        ),
        (
            "event('x', setmetatable({1}, {__name = 'list'}))",
            "bad argument #2 to 'event' (number, string, boolean, nil or record of those expected, got list)",
        ),
        ("event({}, print)", "bad argument #1 to 'event' (string expected, got table)"),
    ] {
        let error = load_text(&format!("\n{declaration}")).err().expect(declaration);
        let place = error.diagnostic().place.expect("a place");
        assert_eq!((place.line, error.diagnostic().message.as_str()), (2, expected));
    }
}

#[test]
fn requests_are_kept_in_order() {
    let loaded = load_handler(
        "local t = timer.every(0.25, print); timer.after(1, print); timer.cancel(t)
         on('alarm', print); signal.on('USR1', print); event('alarm', 1, 'x', true)
         event(7, {b = 1, a = {c = 'x'}}, nil, setmetatable({}, {__index = {d = 1}, __pairs = print}))
         function handler() end",
    );
    let shown: Vec<String> = loaded.requests.take().iter().map(shown).collect();
    let expected = [
        "timer 1 250ms true",
        "timer 2 1s false",
        "cancel 1",
        "listen alarm",
        "signal USR1",
        "event alarm 1 x true",
        "event 7 {a = {c = x}, b = 1} nil {}",
    ];
    assert_eq!(shown, expected);
    assert!(loaded.requests.take().is_empty());
}

fn shown(request: &Request) -> String {
    match request {
        Request::Timer { id, delay, repeats, .. } => format!("timer {id} {delay:?} {repeats}"),
        Request::Cancel { id } => format!("cancel {id}"),
        Request::Listen { event, .. } => format!("listen {}", String::from_utf8_lossy(event)),
        Request::Signal { signal, .. } => format!("signal {}", signal.name()),
        Request::Event { name, values } => {
            let values: Vec<_> = values.iter().map(|value| value.line()).collect();
            format!(
                "event {} {}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(&values.join(&b' '))
            )
        }
    }
}

fn call(loaded: &Loaded, name: &str, limit: Duration) -> Result<MultiValue, moonhook_load::CallError> {
    let function: Function = loaded.scripts[0].globals.get(name).unwrap();
    loaded.call(&function, MultiValue::from_iter([Value::Integer(20)]), Some(CallLimit::Time(limit)))
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn functions_are_called_after_load_time() {
    let loaded = load_handler(
        "function twice(x) return x * 2, 'ok' end
         function inner() error('broken') end
         function bad() inner(); return 1 end
         function index() local x; return x.y end
         function yields() coroutine.yield(1) end
         function late() return map() end
         function value() error({}) end
         function handler() end",
    );
    let results = call(&loaded, "twice", LONG).unwrap();
    assert_eq!(results.front(), Some(&Value::Integer(40)));
    let error = call(&loaded, "bad", LONG).unwrap_err();
    assert!(error.message.ends_with("x.lua:2: broken"), "{error}");
    assert_eq!(error.traceback.len(), 2, "{:?}", error.traceback);
    assert!(error.traceback[0].contains("x.lua:2: in global 'inner'"), "{:?}", error.traceback);
    let message = |name| call(&loaded, name, LONG).unwrap_err().message;
    assert!(message("index").ends_with("x.lua:4: attempt to index a nil value (local 'x')"));
    assert_eq!(message("yields"), "attempt to yield from outside a coroutine");
    assert!(message("late").contains("shared tables are made at load time"));
    assert_eq!(message("value"), "(error object is a table value)");
}

/// Inside a library function no instruction is counted.
#[test]
fn library_functions_that_do_not_end_are_stopped() {
    let loaded = load_handler(
        "function find() return ('a'):rep(300):find('.-.-.-.-.-b$') end
         function caught() for i = 1, 1e9 do pcall(find) end end
         function each() for _ in ('a'):rep(300):gmatch('.-.-.-.-.-b') do end end
         function plain() return ('x'):rep(1e7):find(('x'):rep(1e6) .. 'y', 1, true) end
         function move() return table.move({}, 1, 1 << 60, 2) end
         function quick() return ('a'):rep(300):find('^a-$') end
         function handler() end",
    );
    for name in ["find", "caught", "each", "plain", "move"] {
        let begin = Instant::now();
        let error = call(&loaded, name, Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.message, "the function was stopped: it ran for more than 0.1 seconds", "{name}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{name}");
        assert!(call(&loaded, "quick", Duration::from_millis(100)).is_ok(), "after {name}");
    }
}

#[test]
fn functions_that_do_not_end_are_stopped() {
    let loaded = load_handler(
        "co = coroutine.create(function() while true do end end)
         function endless() while true do pcall(function() while true do end end) end end
         function resumed() coroutine.resume(co); while true do coroutine.wrap(function() while true do end end)() end end
         function shown() error(setmetatable({}, { __tostring = function() while true do end end })) end
         function fine() return 1 end
         function hungry() local t = {}; for i = 1, 1e9 do t[i] = i end end
         function handler() end",
    );
    for name in ["endless", "resumed", "shown"] {
        let start = Instant::now();
        let error = call(&loaded, name, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.message, "the function was stopped: it ran for more than 0.05 seconds");
        assert!(start.elapsed() < Duration::from_secs(10));
        assert!(!error.traceback.is_empty());
        assert!(call(&loaded, "fine", LONG).is_ok());
    }
    assert_eq!(call(&loaded, "hungry", LONG).unwrap_err().message, "not enough memory");
    assert!(call(&loaded, "fine", LONG).is_ok());
}

#[test]
fn walkers_are_what_next_calls() {
    let loaded = load_handler(
        "t = setmetatable({}, {__name = 'walked'})
         function walk() local keys = ''; for k, v in next, t do keys = keys .. k .. v end; return keys end
         function handler() end",
    );
    let table: mlua::Table = loaded.scripts[0].globals.get("t").unwrap();
    let step = loaded.lua.create_function(|_, (_, key): (Value, Option<i64>)| {
        Ok(match key.unwrap_or(0) {
            2 => (None, None),
            key => (Some(key + 1), Some("x")),
        })
    });
    loaded.steppers.raw_set(table.metatable().unwrap(), step.unwrap()).unwrap();
    let results = call(&loaded, "walk", LONG).unwrap();
    assert_eq!(results.front().and_then(|value| value.to_string().ok()).as_deref(), Some("1x2x"));
}
