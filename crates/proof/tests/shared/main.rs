//! Tables that handlers share, where more than one frame at a time matters.

mod counts;
mod first;
mod generated;
mod records;
mod sums;
mod support;
mod variables;

use crate::support::{entries, few, frame, loaded, loaded_as, loaded_with, run_twice};
use moonhook_engine::{Form, Settings};
use moonhook_proof::host;
use std::time::{Duration, Instant};

/// Entries go when their time is over, and start anew.
#[test]
fn entries_expire() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local t = map { ttl = 1 }
        local old = map { ttl = 1 }
        local f = map { ttl = 1 }
        old[5] = 50
        xdp.attach(function(pkt)
          t[1] = (t[1] or 0) + 1
          f[1] = f[1] or { n = 0 }
          local e = f[1]
          e.n = e.n + 1
          if old[5] then return 1 end
        end)",
    );
    let frame = frame("tcp");
    let run = || program.test_run(&name, &frame, 1).unwrap().verdict;
    assert_eq!((run(), run()), (1, 1));
    assert_eq!(entries(&program, &module, "t"), ["1 2"]);
    assert_eq!(entries(&program, &module, "f"), ["1 n=2"]);
    until(|| entries(&program, &module, "t").is_empty() && entries(&program, &module, "f").is_empty());
    assert_eq!(run(), 2);
    assert_eq!(entries(&program, &module, "t"), ["1 1"]);
    assert_eq!(entries(&program, &module, "f"), ["1 n=1"]);
}

/// Waits until entries have ended.
fn until(ended: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !ended() {
        assert!(Instant::now() < deadline, "entries do not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the user tier's plain tables cannot show: longest prefixes, and old entries that give way.
#[test]
fn declared_kinds_of_maps() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local nets = map { key = 'ipv4', value = 'int', lpm = true }
        local recent = map { key = 'int', value = 'int', capacity = 64, evict = 'lru' }
        local by_end = map { key = { src = 'ip', port = 'int' }, value = 'int' }
        nets['192.0.0.0/8'] = 3
        nets['192.0.2.0/24'] = 1
        xdp.attach(function(pkt)
          nets['10.0.0.0/8'] = 9
          for i = 1, 1000 do recent[i] = i end
          local n = by_end[{ src = pkt.ip.src, port = pkt.tcp.dport }]
          by_end[{ src = pkt.ip.src, port = pkt.tcp.dport }] = (n or 0) + 5
          local key = { src = pkt.ip.src, port = 1 }
          by_end[key] = (by_end[key] or 0) + 1
          key.port = 2
          by_end[key] = (by_end[key] or 100) + 1
          return nets[pkt.ip.src]
        end)",
    );
    let run = || program.test_run(&name, &frame("tcp"), 1).unwrap().verdict;
    assert_eq!((run(), run()), (1, 1));
    assert_eq!(entries(&program, &module, "nets"), ["10.0.0.0/8 9", "192.0.0.0/8 3", "192.0.2.0/24 1"]);
    assert_eq!(
        entries(&program, &module, "by_end"),
        ["port=1,src=192.0.2.7 2", "port=2,src=192.0.2.7 102", "port=443,src=192.0.2.7 10"]
    );
    let recent = entries(&program, &module, "recent");
    assert!((1..=64).contains(&recent.len()) && recent.contains(&"1000 1000".to_string()), "{recent:?}");
}

/// Of a per-CPU table, each CPU has values of its own: none, where they have lifetimes, and else zeros, once another CPU has made
/// the entry.
#[test]
fn cpus_have_values_of_their_own() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local plain = map { key = 'int', value = 'int', percpu = true }
        local timed = map { key = 'int', value = 'int', percpu = true, ttl = 1000 }
        xdp.attach(function(pkt)
          local first, second = plain[1], timed[1]
          plain[1], timed[1] = 7, 8
          if first == nil and second == nil then return 1 end
          if first == 0 and second == nil then return 3 end
          if first == 7 and second == 8 then return 4 end
        end)",
    );
    let frame = frame("tcp");
    let run = |cpu: usize| {
        let mut cpus = nix::sched::CpuSet::new();
        cpus.set(cpu).unwrap();
        nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &cpus).ok()?;
        Some(program.test_run(&name, &frame, 1).unwrap().verdict)
    };
    // Without a second CPU there is nothing to see.
    let (first, Some(second)) = (run(0), run(1)) else { return };
    assert_eq!((first, second, run(0), run(1)), (Some(1), 3, Some(4), Some(4)));
    assert_eq!(entries(&program, &module, "plain"), ["1 14"]);
    assert_eq!(entries(&program, &module, "timed"), ["1 16"]);
}

/// Keys with fields are new tables in each tier, and cannot be compared.
#[test]
fn traversals_give_keys_with_fields() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local by_end = map { key = { src = 'ip', port = 'int', at = { length = 'int' } }, value = 'int' }
        local seen = map { key = 'ip', value = 'int' }
        xdp.attach(function(pkt)
          by_end[{ src = pkt.ip.src, port = 7, at = { length = #pkt } }] = 1
          for key, n in pairs(by_end) do
            by_end[key] = n + 1
            seen[key.src] = key.port + key.at.length * by_end[key]
          end
          local key = next(by_end)
          if key.port == 7 and next(by_end, key) == nil then return 1 end
        end)",
    );
    let frame = frame("tcp");
    let run = || program.test_run(&name, &frame, 1).unwrap().verdict;
    assert_eq!((run(), run()), (1, 1));
    let length = frame.len();
    assert_eq!(entries(&program, &module, "by_end"), [format!("at=length={length},port=7,src=192.0.2.7 2")]);
    assert_eq!(entries(&program, &module, "seen"), [format!("192.0.2.7 {}", 7 + 2 * length)]);
}

/// A traversal leaves out entries whose time is over, and so does `next`.
#[test]
fn traversals_leave_out_what_has_expired() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let text = "local xdp = require 'xdp'
        local t = map { ttl = 1 }
        for i = 1, 10 do t[i] = i end
        xdp.attach(function(pkt)
          local sum = 0
          for _, v in pairs(t) do sum = sum + v end
          if sum == 55 and next(t) and #t == 10 then return 1 end
          if sum == 0 and not next(t) and #t == 0 then return 4 end
        end)";
    for form in [None, Some(Form::General)] {
        let (program, _, name) = loaded_as(text, form);
        let run = || program.test_run(&name, &frame("tcp"), 1).unwrap().verdict;
        assert_eq!(run(), 1, "{form:?}");
        until(|| run() == 4);
    }
}

/// Keys that are more than the packet memory holds are an error, not a part of the table.
#[test]
fn traversals_need_room_for_all_keys() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let script = |count: usize| {
        format!(
            "local xdp = require 'xdp'
            local t, done = map {{ key = 'string:250', value = 'int' }}, {{}}
            for i = 1, {count} do t[tostring(i)] = i end
            xdp.attach(function(pkt)
              local n = 0
              for _ in pairs(t) do n = n + 1 end
              done[1] = n
              for i = 1, 5 do t['new ' .. i] = 1 end
              if next(t) then return 1 end
            end)"
        )
    };
    let (program, module, name) = loaded(&script(1020));
    let run = || program.test_run(&name, &frame("tcp"), 1).unwrap().verdict;
    assert_eq!(run(), 1, "256 bytes for each of 1020 keys");
    assert_eq!(entries(&program, &module, "done"), ["1 1020"]);
    // 1025 now: one more than there is room for.
    assert_eq!(run(), 2, "the verdict for errors");
    assert_eq!(entries(&program, &module, "done"), ["1 1020"]);
}

/// General code keeps all traversals' keys in packet memory, and gives it back when the next loop begins.
#[test]
fn traversals_of_general_code_give_memory_back() {
    if !host::kernel_available("shared tables") {
        return;
    }
    // A kernel ends loops after a quarter of a second, which emulated ones reach with more entries.
    let settings =
        Settings { form: Some(Form::General), budget: 10_000_000, memory: 32 << 10, ..Settings::default() };
    let (program, module, name) = loaded_with(
        "local xdp = require 'xdp'
        local t = map { key = 'int', value = 'int' }
        local done = map { key = 'string:16', value = 'int' }
        local said = map { key = 'int', value = 'string:90' }
        local nets = map { key = 'ipv4', value = { n = 'int' }, lpm = true }
        nets['10.0.0.0/8'] = { n = 1 }
        for i = 1, 1500 do t[i] = i end
        local function count(n, inner)
          for k, v in pairs(t) do
            n = n + 1
            if inner then break end
          end
          if inner and inner > 0 then return count(n, inner - 1) end
          return n
        end
        local function try(n, f, ...)
          local ok, message = pcall(f, ...)
          said[n] = message:match('^.*%.lua:%d+: (.*)$') or message
        end
        xdp.attach(function(pkt)
          -- 12,000 bytes each: two within one another fit, three do not.
          for i = 1, 20 do done.again = count(0) + i end
          for k in pairs(t) do
            done.nested = count(0)
            if k > 0 then break end
          end
          for a in pairs(t) do
            for b in pairs(t) do
              try(1, count, 0)
              break
            end
            break
          end
          done.after = count(0)
          done.tail = count(0, 50)
          try(2, next, t, {})
          try(3, function() for k in pairs(nets) do end end)
          try(4, next, nets)
          try(5, function() for k in pairs(nets['10.1.1.1']) do end end)
          try(6, function() for k in next, t, 'five' do end end)
          try(7, next, nets['10.1.1.1'])
        end)",
        &settings,
    );
    program.test_run(&name, &frame("tcp"), 1).unwrap();
    let done = entries(&program, &module, "done");
    assert_eq!(done, ["after 1500", "again 1520", "nested 1500", "tail 51"]);
    let next = "invalid key to 'next'";
    let entry = "the fields of an entry of a shared table cannot be traversed";
    let nets = "the prefixes of table 'nets' cannot be traversed";
    let said = ["table 't' has too many entries to traverse", next, nets, nets, entry, next, entry];
    let said: Vec<String> = said.iter().enumerate().map(|(n, text)| format!("{} {text}", n + 1)).collect();
    assert_eq!(entries(&program, &module, "said"), said);
}

/// While one CPU makes and deletes entries, the other visits what is there: nothing that was never there, and nothing ends badly.
#[test]
fn tables_change_while_they_are_traversed() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let text = "local xdp = require 'xdp'
        local t = map { key = 'int', value = 'int', capacity = 256 }
        local turns, wrong = { [1] = 0 }, { [1] = 0 }
        xdp.attach(function(pkt)
          local turn = (turns[1] or 0) + 1
          turns[1] = (turns[1] or 0) + 1
          t[turn % 97] = turn % 97
          t[(turn * 7) % 97] = nil
          for k, v in pairs(t) do
            if k ~= v or k < 0 or k > 96 then wrong[1] = wrong[1] + 1 end
          end
          if next(t) then return 1 end
        end)";
    for form in [None, Some(Form::General)] {
        let (program, module, name) = loaded_as(text, form);
        run_twice(&program, &name, &frame("tcp"), few());
        assert_eq!(entries(&program, &module, "turns"), [format!("1 {}", 2 * few())], "{form:?}");
        assert_eq!(entries(&program, &module, "wrong"), ["1 0"], "{form:?}");
    }
}

/// While one CPU makes, replaces and deletes entries, the other goes from key to key, and back to none.
#[test]
fn tables_change_while_keys_are_stepped_through() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local numbers = map { key = 'int', value = 'int', capacity = 128 }
        local words = map { key = 'string:20', value = 'string:8', capacity = 128 }
        local turns, wrong = {}, { [1] = 0 }
        xdp.attach(function(pkt)
          local turn = (turns[1] or 0) + 1
          turns[1] = (turns[1] or 0) + 1
          local new, old = turn % 61, turn * 7 % 61
          numbers[new], numbers[old] = new, nil
          words['the word ' .. new], words['the word ' .. old] = 'w' .. new, nil
          local last, key, value = -1, next(numbers)
          while key do
            if key ~= value or key <= last or key > 60 then wrong[1] = wrong[1] + 1 end
            last = key
            key, value = next(numbers, key)
          end
          local count, word, short = 0, next(words)
          while word do
            count = count + 1
            if word:sub(10) ~= short:sub(2) then wrong[1] = wrong[1] + 1 end
            word, short = next(words, word)
          end
          if count > 61 then wrong[1] = wrong[1] + 1 end
        end)",
    );
    run_twice(&program, &name, &frame("tcp"), 1_000);
    assert_eq!(entries(&program, &module, "turns"), ["1 2000"]);
    assert_eq!(entries(&program, &module, "wrong"), ["1 0"]);
}
