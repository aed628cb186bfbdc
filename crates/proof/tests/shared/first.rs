//! Keys that two CPUs see for the first time at once: what each of them counts there is not lost.

use crate::support::{entries, few, frame, loaded_as, run_together, run_twice};
use moonhook_engine::Form;
use moonhook_install::Program;
use moonhook_ir::maps::sections;
use moonhook_proof::host;

/// How one packet counts at a key: the table's declaration, the handler's lines, and what is added. The frame has 49 bytes.
const WAYS: [(&str, &str, i64); 26] = [
    ("", "if t[k] then t[k] = t[k] + 1 else t[k] = 1 end", 1),
    ("", "if not t[k] then t[k] = 1 else t[k] = t[k] + 1 end", 1),
    ("", "if t[k] == nil then t[k] = 1 else t[k] = t[k] + 1 end", 1),
    ("", "if t[k] ~= nil then t[k] = 1 + t[k] else t[k] = 1 end", 1),
    ("", "local n = t[k] if n then t[k] = n + 1 else t[k] = 1 end", 1),
    ("", "local n = t[k] or 0 t[k] = n + 1", 1),
    ("", "t[k] = (t[k] or 0) + 1", 1),
    ("", "if not t[k] then t[k] = 0 end t[k] = t[k] + 1", 1),
    ("", "local by = #pkt if t[k] then t[k] = t[k] + by else t[k] = by end", 49),
    ("", "if t[k] then t[k] = t[k] + #pkt else t[k] = #pkt end", 49),
    ("", "if t[k] then t[k] = t[k] + pkt.ip.length else t[k] = pkt.ip.length end", 35),
    ("", "if t[k] then t[k] = t[k] - 2 else t[k] = -2 end", -2),
    ("", "local n = t[k] if n == nil then n = 0 end t[k] = n + 1", 1),
    ("", "local n = t[k] if not n then n = 0 end n = n + 1 t[k] = n", 1),
    ("", "local n = t[k] if n then n = n + 1 else n = 1 end t[k] = n", 1),
    ("", "t[k] = t[k] and t[k] + 1 or 1", 1),
    ("", "local function count() if not t[k] then t[k] = 1 return end t[k] = t[k] + 1 end count()", 1),
    ("", "for i = 1, 2 do local key = k + i if t[key] then t[key] = t[key] + 1 else t[key] = 1 end end", 2),
    (
        "",
        "if t[k] then t[k] = t[k] + 1 else if #pkt > 99 then print(k) elseif #pkt > 9 then event('new', k) end t[k] = 1 end",
        1,
    ),
    ("value = 'int', ttl = 1000", "if t[k] then t[k] = t[k] + 1 else t[k] = 1 end", 1),
    ("value = 'int', evict = 'lru'", "if t[k] then t[k] = t[k] + 1 else t[k] = 1 end", 1),
    (
        "value = { n = 'int', bytes = 'int' }",
        "t[k] = t[k] or { n = 0 } local r = t[k] if r.bytes then r.bytes = r.bytes + 7 else r.bytes = 7 end",
        7,
    ),
    (
        "value = { n = 'int', bytes = 'int' }",
        "local r = t[k] if not r then r = { n = 0 } t[k] = r end if r.n then r.n = r.n + 1 else r.n = 1 end",
        1,
    ),
    // Fields of a new table.
    (
        "value = { n = 'int', bytes = 'int' }",
        "local r = t[k] if r then r.n = r.n + 1 r.bytes = r.bytes + #pkt else t[k] = { n = 1, bytes = #pkt } end",
        50,
    ),
    (
        "value = { n = 'int', bytes = 'int', name = 'string:8' }, ttl = 1000",
        "if not t[k] then local r = { n = 1, bytes = #pkt, name = 'x' } t[k] = r else t[k].n, t[k].bytes = t[k].n + 1, t[k].bytes + #pkt end",
        50,
    ),
    (
        "value = { n = 'int', bytes = 'int' }",
        "local r = t[k] if r == nil then r = { n = 1, bytes = #pkt } t[k] = r return end r.n = r.n + 1 r.bytes = r.bytes + #pkt",
        50,
    ),
];

#[test]
fn first_counts_are_not_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    for form in [Form::Expanded, Form::General] {
        for (declaration, body, each) in WAYS {
            let declaration = if declaration.is_empty() { "value = 'int'" } else { declaration };
            let text = format!(
                "local xdp = require 'xdp'
                local t, turns = map {{ key = 'int', {declaration}, capacity = 100000 }}, {{}}
                xdp.attach(function(pkt)
                  turns[1] = (turns[1] or 0) + 1
                  local k = turns[1] >> 2
                  {body}
                end)"
            );
            let (program, module, name) = loaded_as(&text, Some(form));
            run_twice(&program, &name, &frame("udp:one\\stwo"), few());
            let found: i64 =
                entries(&program, &module, "t").iter().map(|entry| crate::counts::numbers(entry)).sum();
            assert_eq!(found, 2 * i64::from(few()) * each, "{form:?}: {declaration} {body}");
        }
    }
}

/// Fields of load time that are nil at first, in general code: two CPUs make the first sum of each.
#[test]
fn first_sums_of_variables_are_not_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let text = "local xdp = require 'xdp'
        local rows, turns = {}, 0
        for i = 1, 4000 do rows[i] = { name = 'row' } end
        xdp.attach(function(pkt)
          if pkt.tcp then
            local all = 0
            for i = 1, #rows do all = all + (rows[i].hits or 0) end
            pkt:setint64(0, all)
            return
          end
          turns = turns + 1
          local row = rows[(turns >> 2) % 4000 + 1]
          row.hits = (row.hits or 0) + 1
        end)";
    for _ in 0..10 {
        let (program, _, name) = loaded_as(text, Some(Form::General));
        run_twice(&program, &name, &frame("udp:one\\stwo"), 10_000);
        let all = program.test_run(&name, &frame("tcp"), 1).unwrap().data[..8].try_into().unwrap();
        assert_eq!(i64::from_le_bytes(all), 20_000);
    }
}

/// How one packet of 49 bytes adds to a variable N that is nil at first, and what it adds.
const SUMS: [(&str, i64); 11] = [
    ("N = (N or 0) + 1", 1),
    ("N = 1 + (N or 0)", 1),
    ("N = (N or 0) + #pkt", 49),
    ("N = (N or 0) - 2", -2),
    ("N = (N or 0) - #pkt", -49),
    ("local by = N or 0 by = by + 3 N = by + 4", 7),
    ("N = N and N + 1 or 1", 1),
    ("local old = N if old == nil then old = 0 end N = old + 1", 1),
    ("local old = N if old then old = old + 7 else old = 7 end N = old", 7),
    ("local function count(by) N = (N or 0) + by end count(1) count(#pkt)", 50),
    ("N = (N or 0) + 1 local seen = N N = (N or 0) + 1 if seen < 1 then N = nil end", 2),
];

/// Has the handler count for UDP, and for TCP do something else and show the variable.
fn counting((declaration, variable): (&str, &str), body: &str, other: &str) -> String {
    let text = format!(
        "local xdp = require 'xdp'
        {declaration}
        xdp.attach(function(pkt)
          if pkt.tcp then {other} pkt:setint64(0, N or 0) return end
          {body}
        end)"
    );
    text.replace('N', variable)
}

fn shown(program: &Program, name: &str, frame: &[u8]) -> i64 {
    let data = program.test_run(name, frame, 1).unwrap().data;
    i64::from_le_bytes(data[..8].try_into().unwrap())
}

#[test]
fn sums_of_variables_that_may_be_nil_are_not_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    for form in [Form::Expanded, Form::General] {
        // General code does not see that two branches add the same.
        for (body, each) in
            SUMS.into_iter().filter(|(body, _)| form == Form::Expanded || body.contains("(N or 0)"))
        {
            for variable in [("", "n"), ("local n", "n"), ("local all = {}", "all.n")] {
                let text = counting(variable, body, "");
                let (program, _, name) = loaded_as(&text, Some(form));
                run_twice(&program, &name, &frame("udp:one\\stwo"), few());
                let found = shown(&program, &name, &frame("tcp"));
                assert_eq!(found, 2 * i64::from(few()) * each, "{form:?}: {text}");
            }
        }
    }
}

/// One CPU adds and the other one assigns nil: behind nil nothing is left of what was added.
#[test]
fn nil_leaves_nothing_of_a_sum() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (one, other) = (frame("udp:one\\stwo"), frame("tcp"));
    for other_does in
        ["N = nil", "M = nil N = M M = 5 M = nil", "N = M if #pkt > 9 then M = nil end", "N = 7 N = nil"]
    {
        let text = counting(("local m", "n"), "N = (N or 0) + 1", other_does).replace('M', "m");
        for _ in 0..10 {
            let (program, _, name) = loaded_as(&text, Some(Form::Expanded));
            run_together(&program, &name, [&one, &other], few());
            assert_eq!(shown(&program, &name, &other), 0, "{text}");
            program.test_run(&name, &one, 3).unwrap();
            let read = program.section(sections::STATE).unwrap();
            let read = read.data();
            let words: Vec<u64> = (0..).step_by(8).map_while(|at| read.load(at)).collect();
            assert!(words.contains(&3), "{text}: {words:?}");
        }
    }
}
