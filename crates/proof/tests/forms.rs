//! Which form a script gets, and which line decides: scripts that have no expanded form, or none that the kernel takes, run as general
//! code, whatever else they use.

use moonhook_engine::Form;
use moonhook_proof::times::LONGEST;
use moonhook_proof::{Pair, frames, host};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A handler around these lines, which begin in line 3; `outside` is the second one.
fn script(outside: &str, lines: &str) -> String {
    format!("local xdp = require \"xdp\"\n{outside}\nxdp.attach(function(pkt)\n{lines}\nend)\n")
}

fn repeated(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

/// What is expected: expanded code, or general code for that code and line.
type Expected = Option<(&'static str, u32)>;

const EXPANDED: Expected = None;

fn table() -> Vec<(&'static str, String, Expected)> {
    let count = "hits[i] = (hits[i] or 0) + 1";
    let locals = repeated(110, |n| format!("local v{n} = pkt:getbyte({}) + {n}", n % 14));
    let names: Vec<String> = (0..110).map(|n| format!("v{n}")).collect();
    vec![
        ("plain", script("", "print(#pkt)"), EXPANDED),
        (
            "shared table before what has no expanded form",
            script(
                "local hits = {}",
                &format!("local i = pkt:getbyte(0)\n{count}\nprint(pcall(error, hits[i]))"),
            ),
            Some(("MH0204", 6)),
        ),
        (
            "shared table behind what has no expanded form",
            script(
                "local hits = {}",
                &format!("print(pcall(error, 1))\nlocal i = pkt:getbyte(0)\n{count}\nprint(hits[i])"),
            ),
            Some(("MH0204", 4)),
        ),
        (
            "shared table that a function has as its parameter",
            script(
                "local hits = {} local function count(t, i) t[i] = (t[i] or 0) + 1 return t[i] end",
                "print(pcall(error, 1))\nprint(count(hits, pkt:getbyte(0)))",
            ),
            Some(("MH0204", 4)),
        ),
        (
            "pattern from the packet with a shared table",
            script(
                "local seen = {}",
                "local s = pkt:getstring(0, 4)\nseen[s] = true\nprint(s:find(s), seen[s])",
            ),
            Some(("MH0209", 6)),
        ),
        (
            "gmatch of one of two strings",
            script(
                "",
                "local s = pkt:getstring(0, 4)\nfor w in (#pkt > 20 and s or 'a b'):gmatch('%w+') do print(w) end",
            ),
            EXPANDED,
        ),
        (
            "many values alive",
            script("local hits = {}", &format!("{locals}local i = v3\n{count}\nprint({})", names.join(", "))),
            Some(("MH0401", 116)),
        ),
        (
            "a long chain of calls",
            {
                let chain = repeated(80, |n| format!("function g{}(x) return g{n}(x + 1) + x end", n + 1));
                script(&format!("function g0(x) return x end\n{chain}"), "print(g80(#pkt))")
            },
            Some(("MH0212", 20)),
        ),
        (
            "recursion",
            script(
                "local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end",
                "print(f(#pkt & 7))",
            ),
            Some(("MH0206", 2)),
        ),
    ]
}

#[test]
fn scripts_get_their_forms() {
    if !host::kernel_available("scripts_get_their_forms") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forms.lua");
    for (name, text, expected) in table() {
        std::fs::write(&path, text).unwrap();
        let mut pair = Pair::in_form(&path, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let choice = pair.choice().cloned().expect("it was loaded");
        let reason = choice.reason.map(|reason| (reason.code, reason.place.map_or(0, |place| place.line)));
        assert_eq!(reason, expected, "{name}");
        let form = if expected.is_none() { Form::Expanded } else { Form::General };
        assert_eq!(choice.form, form, "{name}");
        for (frame, bytes) in
            frames::described("tcp").unwrap().into_iter().chain(frames::described("udp").unwrap())
        {
            pair.run(&bytes).unwrap_or_else(|error| panic!("{name}, {frame}: {error}"));
        }
    }
}

/// Scripts that once took the verifier many seconds, or that it rejected.
fn hard() -> Vec<(&'static str, String)> {
    let ifs = repeated(40, |n| format!("if k & {} ~= 0 then s = s .. '{}' end", 1 << (n % 8), n % 10));
    vec![
        (
            "hex dump",
            script(
                "",
                "local o = {}\nfor i = 0, 15 do o[#o+1] = string.format('%02x', pkt:getbyte(i)) end\nprint(table.concat(o))",
            ),
        ),
        ("many ifs", script("", &format!("local k, s = pkt:getbyte(0), ''\n{ifs}print(s)"))),
        ("doubling", script("", "local s = pkt:getstring(0, 2)\nfor i = 1, 8 do s = s .. s end\nprint(#s)")),
        (
            "rules",
            script(
                "local r = { function(p) return p.ip and p.ip.src:find('^192%.168%.') end, function(p) return p.ip and p.ip.dst:find('^10%.') end, \
                 function(p) return p.udp and p.udp.dport == 53 end, function(p) return p.tcp and p.tcp.dport == 80 end, \
                 function(p) return p.ip and p.ip.dst:find('%.255$') end }",
                "for i, f in ipairs(r) do if f(pkt) then print(i) return xdp.DROP end end",
            ),
        ),
        (
            "nested match",
            script(
                "",
                "local s = pkt:getstring(0, 14)\nfor i = 1, 5 do for j = 1, 5 do print(s:match('(%w+)=(%w+)', i * j)) end end",
            ),
        ),
    ]
}

/// What this thread has used so far; other work on the machine does not count.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("the thread's own clock").into()
}

#[test]
fn what_is_hard_to_verify_is_accepted_in_time() {
    if !host::kernel_available("what_is_hard_to_verify_is_accepted_in_time") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hard.lua");
    for (name, text) in hard() {
        std::fs::write(&path, text).unwrap();
        let start = processor_time();
        let mut pair = Pair::in_form(&path, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let taken = processor_time() - start;
        println!("{name}: {taken:?}, {}", pair.choice().expect("it was loaded"));
        assert!(taken < LONGEST, "{name}: {taken:?}");
        for (frame, bytes) in frames::described("tcp").unwrap() {
            pair.run(&bytes).unwrap_or_else(|error| panic!("{name}, {frame}: {error}"));
        }
    }
}

/// More maps than a program may have are found before the kernel is asked.
#[test]
fn too_many_tables_are_an_error_with_a_code() {
    if !host::kernel_available("too_many_tables_are_an_error_with_a_code") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("maps.lua");
    let tables = repeated(70, |n| format!("t{n} = map{{key = 'int', value = 'int', capacity = 16}}"));
    let uses = repeated(70, |n| format!("t{n}[#pkt] = (t{n}[#pkt] or 0) + 1"));
    std::fs::write(&path, script(&tables, &uses)).unwrap();
    let error = Pair::in_form(&path, None).err().expect("there are too many");
    assert_eq!(error.code(), Some("MH0409"), "{error}");
}

/// General code that makes text of values has that of a handler's second argument, too: a place in the packet, where there is one.
#[test]
fn connections_have_general_code() {
    if !host::kernel_available("connections in general code") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.lua");
    let text =
        "require('cgroup').connect('/', function(c, arg) print(c.peer.port, #c, c.tcp, tostring(arg)) end)";
    std::fs::write(&path, text).unwrap();
    for form in [Form::Expanded, Form::General] {
        Pair::in_form(&path, Some(form)).unwrap_or_else(|error| panic!("{form:?}: {error}"));
    }
}
