//! Probes, with counts that the tests set.

use std::time::{Duration, Instant};

use moonhook_lunatik::Counted;

use crate::place::Place;

/// The number of `getpriority`.
const GETPRIORITY: u32 = 140;

/// Runs a script in a state for what Lunatik does in hardirqs, the global variable `rt`; what it shares is the table `t`.
fn begin(place: &Place, script: &str) -> Vec<String> {
    let known = "local probe, syscall, numbers = require('probe'), require('syscall'), require('linux.syscall').numbers
        local t = require('lunatik')._ENV ";
    place.write("probed.lua", &format!("{known} {script}"));
    place.run(
        "t = require('lunatik')._ENV
         local up, problem = pcall(require('lunatik').runtime, 'probed', 'hardirq')
         rt = problem if not up then print(problem) end",
    )
}

/// Waits until the table has that number.
#[track_caller]
fn wait_for(place: &Place, key: &str, number: u64) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let seen = place.run(&format!("print(t.{key} or 0)"));
        if seen == [number.to_string()] {
            return;
        }
        assert!(Instant::now() < end, "{key} is {seen:?}, not {number}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn handlers_are_called_as_often_as_something_happens() {
    let place = Place::new();
    place.counters.add(&Counted::Calls, GETPRIORITY, 7);
    let lines = begin(
        &place,
        "local address = syscall.address(numbers.getpriority) local function count(key) return function(place, dump)
           assert(place == address and type(dump) == 'function') t[key] = (t[key] or 0) + 1 end end
         probe.new(address, {pre = count('begun'), post = count('returned')})
         probe.new('do_exit', {post = function(place) t[place] = (t[place] or 0) + 1 end})
         collectgarbage()",
    );
    assert_eq!(lines, [""; 0]);
    let counted = [Counted::Calls, Counted::Returns, Counted::FunctionReturns("do_exit".to_string())];
    assert_eq!(place.counters.counted(), counted);
    place.counters.add(&Counted::Calls, GETPRIORITY, 1000);
    place.counters.add(&Counted::Calls, GETPRIORITY + 1, 5);
    place.counters.add(&Counted::Returns, GETPRIORITY, 999);
    place.counters.add(&counted[2], 0, 3);
    for (key, times) in [("begun", 1000), ("returned", 999), ("do_exit", 3)] {
        wait_for(&place, key, times);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(place.run("print(t.begun, t.returned, t.do_exit) rt:stop()"), ["1000\t999\t3"]);
    let end = Instant::now() + Duration::from_secs(5);
    while !place.counters.counted().is_empty() {
        assert!(Instant::now() < end, "{:?}", place.counters.counted());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn probes_stop_and_pause() {
    let place = Place::new();
    // What the state is told by others: `stop` and `enable` belong to it.
    begin(
        &place,
        "local p = probe.new(syscall.address(1), {pre = function() t.seen = (t.seen or 0) + 1 end})
         local q q = probe.new(syscall.address(2), {pre = function() t.own = (t.own or 0) + 1 q:stop() end})
         local function off() p:enable(false) return function() p:enable(true) return function() p:stop() p:stop()
           local fine, problem = pcall(p.enable, p, true) t[problem] = fine end end end
         return off",
    );
    let add = |number, times| place.counters.add(&Counted::Calls, number, times);
    add(1, 5);
    // What has happened before is told before.
    assert_eq!(place.run("rt:resume() print(t.seen)"), ["5"]);
    add(1, 100);
    place.run("rt:resume()");
    add(1, 3);
    wait_for(&place, "seen", 8);
    add(2, 10);
    wait_for(&place, "own", 1);
    add(2, 10);
    add(1, 2);
    let error = "calling 'enable' on bad self (null pointer dereference)";
    let ended = format!("rt:resume() print(t.seen, t.own, t[\"{error}\"]) rt:stop()");
    assert_eq!(place.run(&ended), ["10\t1\tfalse"]);
    assert_eq!(place.counters.counted(), []);
}

#[test]
fn what_handlers_raise_is_told_and_others_go_on() {
    let place = Place::new();
    begin(
        &place,
        "local kept probe.new(syscall.address(3), {pre = function(_, dump) kept = dump dump() error('wrong') end})
         probe.new(syscall.address(4), {pre = function() t.fine, t.problem = 1, select(2, pcall(kept)):find('null pointer dereference') end})
         probe.new(syscall.address(5), {pre = function() while true do end end})",
    );
    place.counters.add(&Counted::Calls, 3, 2);
    let end = Instant::now() + Duration::from_secs(10);
    while place.lines.lock().unwrap().len() < 4 {
        assert!(Instant::now() < end, "{:?}", place.lines.lock().unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
    let lines = std::mem::take(&mut *place.lines.lock().unwrap());
    assert!(lines[0].ends_with("registers are gone when a handler is called"), "{lines:?}");
    assert!(lines[1].ends_with("probed.lua:2: wrong"), "{lines:?}");
    place.counters.add(&Counted::Calls, 4, 1);
    wait_for(&place, "fine", 1);
    // Nothing keeps a state from its end.
    place.counters.add(&Counted::Calls, 5, 1000);
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    let lines = place.run("rt:stop()");
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert_eq!(lines, ["the thread went on after it was to stop"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new();
    for (code, expected) in [
        ("require('probe').new('f', {})", "test:1: runtime context mismatch"),
        ("require('syscall').address(-1)", "test:1: bad argument #1 to 'address' (out of bounds)"),
        ("require('syscall').address(451)", "test:1: bad argument #1 to 'address' (out of bounds)"),
        (
            "require('syscall').address('x')",
            "test:1: bad argument #1 to 'address' (number expected, got string)",
        ),
    ] {
        assert_eq!(place.error(code), expected, "{code}");
    }
    for (code, expected) in [
        ("probe.new({}, {})", "bad argument #1 to 'new' (string expected, got table)"),
        ("probe.new('f')", "bad argument #2 to 'new' (table expected, got no value)"),
        ("probe.new('absent', {pre = print})", "failed to register probe (-2)"),
        ("probe.new(require('linux').lookup(''), {pre = print})", "failed to register probe (-22)"),
    ] {
        let lines = begin(&place, code);
        assert!(lines.last().is_some_and(|line| line.ends_with(expected)), "{code}: {lines:?}");
    }
    assert_eq!(place.counters.counted(), []);
    let lines = place.run(
        "local table, address = require('syscall.table'), require('syscall').address
         print(table.read == address(0), type(table.read), table.read == table.write, table.none)",
    );
    assert_eq!(lines, ["true\tuserdata\tfalse\tnil"]);
}
