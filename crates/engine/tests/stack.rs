//! The kernel's stack that general code takes does not depend on the script: Lua's registers and frames are in arena memory, so what
//! a chain of calls takes is what the program, a unit and the routines take.

use moonhook_engine::{Attempt, Learned, Settings, emit, lower};

/// Of the 512 bytes that the kernel has for all nested frames (`MAX_BPF_STACK`).
const MOST: u32 = 352;

fn repeated(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// Kinds of chains and of values that live across calls: what stands outside of the handler, and in it.
fn chains() -> Vec<(&'static str, String, String)> {
    let locals = repeated(150, |n| format!("local v{n} = f(pkt:getbyte(3) + {n})\n"));
    let sum = repeated(149, |n| format!("v{n} + ")) + "v149";
    let steps = repeated(60, |n| {
        let live = "local a, b, c, d, e = x, x + 1, x + 2, x + 3, x + 4";
        format!("function g{}(x) {live} local r = g{n}(x + 1) return r + a + b + c + d + e end\n", n + 1)
    });
    let bytes = repeated(119, |n| format!("pkt:getbyte({}), ", n % 14)) + "1";
    let kinds = [
        ("locals", "local function f(x) return x * 3 end", format!("{locals}print({sum})")),
        ("calls", "function g0(x) return x end", "print(g60(#pkt))".into()),
        ("arguments", "local function g(...) return select('#', ...), ... end", format!("print(g({bytes}))")),
        ("recursion", "local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end", "print(f(#pkt))".into()),
        (
            "nested pcall",
            "local function f(n) if n == 0 then error('x', 0) end return pcall(f, n - 1) end",
            "print(pcall(f, 20)) print(select(2, xpcall(f, function(e) return e .. 'y' end, 0)))".into(),
        ),
        (
            "sort with gsub with a function",
            "local function h(a) return (string.format('%03d', a):gsub('%d', function(c) return c .. 'x' end)) end",
            "local t = {3, 1, 2} table.sort(t, function(a, b) return h(a) < h(b) end) print(table.concat(t, ','))".into(),
        ),
        (
            "gsub in gsub",
            "",
            "print((('ab cd'):gsub('%a+', function(x) return (x:gsub('.', function(c) return (c:rep(2):gsub('a', {a = 'b'})) end)) end)))".into(),
        ),
        (
            "metamethods",
            "local meta = {__concat = function() return 'c' end, __eq = function() return true end, \
             __lt = function(a, b) return #tostring(a) < 9 end, __call = function(_, ...) return ... end, \
             __tostring = function() return ('t'):rep(3) end, __index = setmetatable({}, {__index = function(_, k) return k end})}",
            "local a, b = setmetatable({}, meta), setmetatable({}, meta) print(a .. b, a == b, a < b, a(1, 2), tostring(a), a.x)".into(),
        ),
        ("format", "", format!("print(string.format(('%d'):rep(120), {bytes}))")),
        (
            "closures",
            "",
            "local f = {} for i = 1, 9 do local a = i f[i] = function(x) a = a + x return function(y) return a + y end end end \
             print(f[3](#pkt)(4))"
                .into(),
        ),
        (
            "most of the library",
            "local hits = {}",
            "for w in ('a b'):gmatch('%a') do print(w, utf8.char(228), ('>I2'):pack(513):byte(1, -1)) end \
             print(tostring(pkt.ip and pkt.ip.src), pkt.tls and pkt.tls.sni, pkt.dns and pkt.dns.name, ('k=v'):match('(%w)=(%w)')) \
             hits[pkt:getstring(0, 9)] = {n = 1, s = 'abc'} for k, v in pairs(hits) do print(k, v.n, next(hits)) end"
                .into(),
        ),
    ];
    let outside =
        |name: &str, text: &str| if name == "calls" { format!("{text}\n{steps}") } else { text.to_string() };
    kinds.into_iter().map(|(name, before, body)| (name, outside(name, before), body)).collect()
}

#[test]
fn no_chain_takes_more_than_the_runtime_does() {
    let folder = tempfile::tempdir().expect("a folder for the script");
    let path = folder.path().join("chain.lua");
    let settings = Settings { cpus: Some(2), ..Settings::default() };
    for (name, before, body) in chains() {
        let text = format!("local xdp = require 'xdp'\n{before}\nxdp.attach(function(pkt)\n{body}\nend)\n");
        std::fs::write(&path, text).expect("the script can be written");
        let loaded = moonhook_load::load(std::slice::from_ref(&path), &settings.load);
        let snapshot = loaded.unwrap_or_else(|error| panic!("{name}: {error}")).snapshot;
        for attempt in [Attempt::GENERAL, Attempt::COMPACT] {
            let module = lower(&snapshot, &settings, attempt, &mut Learned::default());
            let mut module = module.unwrap_or_else(|error| panic!("{name}: {error}"));
            moonhook_passes::optimise(&mut module);
            let stack = emit(&module).unwrap_or_else(|error| panic!("{name}: {error}")).stack;
            println!("{name}: {stack} bytes");
            assert!(stack <= MOST, "{name} takes {stack} bytes of stack");
        }
    }
}
