//! Timers, signals and events.

use crate::support::{control, expect, kernel, line, record, schema, turn};
use moonhook_schema::{Datum, Type};
use std::time::{Duration, Instant};

const ATTACH: &str = "\nrequire('xdp').attach(function() end)";

#[test]
fn timers_go_off_until_they_are_cancelled() {
    if !kernel() {
        return;
    }
    let script = format!(
        "local n = 0
         local t
         t = timer.every(0.02, function()
           n = n + 1
           print('tick', n)
           if n == 3 then timer.cancel(t); timer.after(0.01, function() print('last') end) end
         end)
         timer.after(0, function() print('first') end){ATTACH}"
    );
    let mut state = control(&script, &[]);
    let (mut lines, end) = (Vec::new(), Instant::now() + Duration::from_secs(5));
    while Instant::now() < end {
        let next = state.turn(&mut |report| lines.push(line(report)));
        let Some(next) = next else { break };
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    assert_eq!(lines, ["first", "tick\t1", "tick\t2", "tick\t3", "last"]);
}

#[test]
fn errors_end_their_function_only() {
    if !kernel() {
        return;
    }
    let script = format!(
        "local function inner() error('broken') end
         timer.after(0, function() print('before'); inner() end)
         timer.after(0, function() while true do end end)
         timer.after(0, function() print('after') end){ATTACH}"
    );
    let mut state = control(&script, &[]);
    let lines = turn(&mut state);
    assert_eq!((lines.len(), lines[0].as_str(), lines[3].as_str()), (4, "before", "after"));
    assert!(lines[1].starts_with("error: ") && lines[1].ends_with("x.lua:1: broken"), "{lines:?}");
    assert_eq!(lines[2], "error: the function was stopped: it ran for more than 2 seconds");
}

#[test]
fn events_reach_those_who_listen() {
    if !kernel() {
        return;
    }
    let script = "local seen = map()
         on('alarm', function(who, n, ok, none) print(who, n, ok, none); seen[who] = n; event('echo', n) end)
         on('alarm', function(...) print(select('#', ...)) end)
         on('echo', function(n) print('echo', n) end)
         require('xdp').attach(function() return seen.x end)";
    let mut state = control(script, &[("seen", schema(Type::Text { capacity: 8 }, Type::Integer))]);
    let mut lines = Vec::new();
    let values = [Datum::Text(b"me".to_vec()), Datum::Integer(7), Datum::Boolean(true), Datum::Nil];
    state.event(b"alarm", &values, &mut |report| lines.push(line(report)));
    state.event(b"nobody", &[], &mut |report| lines.push(line(report)));
    lines.extend(turn(&mut state));
    assert_eq!(lines, ["me\t7\ttrue\tnil", "4", "echo\t7"]);
    expect(&mut state, &[("seen.me", "7")]);
}

#[test]
fn events_carry_records() {
    if !kernel() {
        return;
    }
    let script = "local flows = map()
         local function shown(t)
           if type(t) ~= 'table' then return tostring(t) end
           local names, texts = {}, {}
           for name in pairs(t) do names[#names + 1] = name end
           table.sort(names)
           for i, name in ipairs(names) do texts[i] = name .. '=' .. shown(t[name]) end
           return '{' .. table.concat(texts, ',') .. '}'
         end
         on('flow', function(t, ...)
           print(shown(t), ...)
           if t then t.new = true end
         end)
         on('flow', function(t) print(shown(t)) end)
         on('store', function(t)
           flows.x = t
           local held = flows.x
           event('flow', held, 1)
           event('flow', {inner = held.last, held = held})
           flows.x = nil
           event('flow', held)
           event('flow', {held = held})
         end)
         local function send(...) event(...) end
         on('whole', function() print(pcall(send, 'flow', flows)) end)
         on('whole', function() print(pcall(send, 'flow', 1, {flows = flows})) end)
         require('xdp').attach(function() return flows.x end)";
    let value = record(&[("n", Type::Integer), ("last", record(&[("length", Type::Integer)]))]);
    let mut state = control(script, &[("flows", schema(Type::Text { capacity: 8 }, value))]);
    let last = Datum::Record(vec![("length".into(), Datum::Integer(60))]);
    let flow = Datum::Record(vec![("last".into(), last), ("n".into(), Datum::Integer(7))]);
    let mut lines = Vec::new();
    state.event(b"flow", std::slice::from_ref(&flow), &mut |report| lines.push(line(report)));
    assert_eq!(lines, ["{last={length=60},n=7}"; 2]);
    lines.clear();
    state.event(b"store", &[flow], &mut |report| lines.push(line(report)));
    lines.extend(turn(&mut state));
    let held = "{last={length=60},n=7}";
    let nested = format!("{{held={held},inner={{length=60}}}}");
    let first = format!("{held}\t1");
    assert_eq!(lines, [&first, held, &nested, &nested, "nil", "nil", "{}", "{}"]);
    lines.clear();
    state.event(b"whole", &[], &mut |report| lines.push(line(report)));
    let problem = "(number, string, boolean, nil or record of those expected, got table)";
    for (line, number) in lines.iter().zip([2, 3]) {
        assert!(line.ends_with(&format!(": bad argument #{number} to 'event' {problem}")), "{line}");
    }
    assert_eq!(lines.len(), 2);
}

#[test]
fn signals_reach_the_script() {
    if !kernel() {
        return;
    }
    let script = format!("signal.on('USR1', function(name) print('got', name) end){ATTACH}");
    let mut state = control(&script, &[]);
    assert!(turn(&mut state).is_empty());
    nix::sys::signal::raise(nix::sys::signal::SIGUSR1).unwrap();
    assert_eq!(turn(&mut state), ["got\tUSR1"]);
    assert!(turn(&mut state).is_empty());
}
