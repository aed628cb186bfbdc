//! Finalizers (`__gc`): in order, with all that scripts have, and for a limited time, whether the collector calls them or the end of the state does.

use std::time::{Duration, Instant};

use crate::place::Place;

/// Runs a script in a runtime, which is stopped; gives what it has printed.
fn of_runtime(place: &Place, script: &str) -> Vec<String> {
    place.write("it.lua", script);
    place.run("require('lunatik').runtime('it'):stop()")
}

/// The first lines: those that a script has printed while it began others, or the next ones.
fn first(place: &Place, mut lines: Vec<String>) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while lines.is_empty() {
        assert!(Instant::now() < deadline, "nothing is printed");
        std::thread::sleep(Duration::from_millis(5));
        lines = std::mem::take(&mut *place.lines.lock().unwrap());
    }
    lines
}

#[test]
fn they_use_sockets_and_print_when_their_state_ends() {
    let place = Place::new();
    let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "local socket, fifo = require('socket.inet').udp(), require('fifo').new(8)
         object = setmetatable({{}}, {{ __gc = function(o) fifo:push('bye') socket:sendto((fifo:pop(3)), '127.0.0.1', {port}) print('sent', o == object) end }})",
    );
    assert_eq!(of_runtime(&place, &script), ["sent\ttrue"]);
    let mut bytes = [0; 10];
    assert_eq!(server.recv(&mut bytes).unwrap(), 3);
    assert_eq!(&bytes[..3], b"bye");
}

#[test]
fn they_are_called_once_and_as_lua_calls_them() {
    let place = Place::new();
    let lines = of_runtime(
        &place,
        "local meta = { __gc = function(o) print('gc', o.name) end, __index = function() return 'of the index' end }
         all = {}
         for i = 1, 3 do all[i] = setmetatable({ name = i }, meta) end
         setmetatable(all[1], meta)
         setmetatable({}, meta)
         collectgarbage()
         all[2] = nil collectgarbage() collectgarbage()
         -- A finalizer counts that is there when the metatable is set, and is the one that is there at the end.
         late = { __index = meta.__index } l = setmetatable({}, late) late.__gc = function() print('never') end
         other = { __gc = true } o = setmetatable({}, other) other.__gc = function() print('the other') end
         removed = { __gc = function() print('never') end } r = setmetatable({}, removed) removed.__gc = nil
         again = { __gc = function(o) print('again') setmetatable(o, again) kept = o end } a = setmetatable({}, again)
         debug.setmetatable(late, { __gc = function() print('debug') end })
         print(meta.__gc == getmetatable(all[1]).__gc, next({}, nil))
         a = nil collectgarbage()
         error_ = setmetatable({}, { __gc = function() error('broken', 0) end })
         yields = setmetatable({}, { __gc = function() coroutine.yield() print('never') end })",
    );
    let expected = [
        "gc\tof the index",
        "gc\t2",
        "true\tnil",
        "again",
        "__gc: attempt to yield across a C-call boundary",
        "__gc: broken",
        "again",
        "debug",
        "the other",
        "gc\t3",
        "gc\t1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn setting_metatables_has_luas_errors() {
    let place = Place::new();
    let lines = of_runtime(
        &place,
        "local function told(...) print(select(2, pcall(...))) end
         told(function() setmetatable(1, {}) end)
         told(function() setmetatable({}) end)
         told(function() setmetatable() end)
         told(function() setmetatable({}, 'x') end)
         told(function() setmetatable(setmetatable({}, { __metatable = false }), { __gc = print }) end)
         print(getmetatable(setmetatable({}, nil)), setmetatable(_G, nil) == _G)",
    );
    let at = |number: usize, text: &str| format!("{}/it.lua:{number}: {text}", place.folder.path().display());
    let expected = [
        at(2, "bad argument #1 to 'setmetatable' (table expected, got number)"),
        at(3, "bad argument #2 to 'setmetatable' (nil or table expected, got no value)"),
        at(4, "bad argument #1 to 'setmetatable' (table expected, got no value)"),
        at(5, "bad argument #2 to 'setmetatable' (nil or table expected, got string)"),
        at(6, "cannot change a protected metatable"),
        "nil\ttrue".to_string(),
    ];
    assert_eq!(lines, expected);
}

/// Runs scripts whose finalizer goes on, each in one way; none may take longer than that, and what comes next is called.
#[test]
fn those_that_go_on_are_ended() {
    for endless in [
        "while true do end",
        "while true do pcall(string.rep, 'x', 10) end",
        "require('socket.inet').udp():receive(10)",
        "require('completion').new():wait()",
        "require('linux').schedule(100000)",
    ] {
        let place = Place::new();
        let begin = Instant::now();
        let lines = of_runtime(
            &place,
            &format!(
                "first = setmetatable({{}}, {{ __gc = function() print('the next one') end }})
                 second = setmetatable({{}}, {{ __gc = function() {endless} end }})"
            ),
        );
        assert!(begin.elapsed() < Duration::from_secs(10), "{endless}: {:?}", begin.elapsed());
        assert!(lines.len() <= 2, "{endless}: {lines:?}");
    }
}

/// A runtime that nobody has any more: its thread ends, too.
#[test]
fn a_state_ends_that_nobody_waits_for() {
    let place = Place::new();
    place.write("it.lua", "o = setmetatable({}, { __gc = function() while true do end end })");
    let lines = place.run("require('lunatik').runtime('it') collectgarbage() collectgarbage()");
    let lines = first(&place, lines);
    assert!(lines[0].starts_with("__gc: the thread went on"), "{lines:?}");
}

/// One that the collector calls while the script is at work: the script can be stopped.
#[test]
fn a_script_whose_finalizer_goes_on_can_be_stopped() {
    let place = Place::new();
    place.write(
        "it.lua",
        "return function() setmetatable({}, { __gc = function() print('begins') while true do end end }) collectgarbage() end",
    );
    let lines = place.run("t = require('thread').run(require('lunatik').runtime('it'), 'it')");
    assert_eq!(first(&place, lines), ["begins"]);
    let begin = Instant::now();
    place.host.stop();
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(
        place
            .lines
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("the thread went on after it was to stop"))
    );
}
