//! Graphs of load-time objects, of any depth and with any cycles: handlers that use them compile or are refused with a code. None
//! makes the compiler panic, hang or overflow its stack, which is far smaller here than a process's.

mod forms;

use moonhook_engine::Form;
use moonhook_specialise::Options;
use std::fmt::Write as _;
use std::path::Path;

/// Bytes of stack for the compiler.
const STACK: usize = 2 << 20;

/// Objects in a row, each of which refers to the one before.
const DEPTH: usize = 20_000;

/// Random graphs.
const GRAPHS: u64 = 150;

/// `compiles`, or the code of the refusal.
fn outcome(text: &str, form: Form) -> String {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("graph.lua");
    std::fs::write(&script, text).unwrap();
    let work = move || lowered(&script, form);
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

fn lowered(script: &Path, form: Form) -> String {
    let loaded = moonhook_load::load(&[script.to_path_buf()], &Default::default())
        .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    match forms::lower(&loaded.snapshot, &Options::default(), form) {
        Ok(_) => "compiles".to_string(),
        Err(error) => {
            assert_ne!(error.code(), "MH0216", "{error}\n{}", std::fs::read_to_string(script).unwrap());
            error.code().to_string()
        }
    }
}

fn script(objects: &str, handler: &str) -> String {
    format!(
        "local xdp = require \"xdp\"\n{objects}\nxdp.attach(function(pkt)\n  local n = #pkt\n  {handler}\nend)\n"
    )
}

#[test]
fn the_graph_of_the_library_is_used_whole() {
    for (handler, expected) in [
        ("for k, v in pairs(_G) do print(k) end", ["MH0204", "compiles"]),
        ("_G['x' .. n] = 1", ["MH0208", "compiles"]),
        ("package.loaded['x' .. n] = nil", ["MH0208", "MH0208"]),
        ("local t = package.loaded[n] print(t == nil)", ["compiles", "compiles"]),
        ("print(next(package))", ["MH0204", "compiles"]),
        ("event('all', _G)", ["compiles", "compiles"]),
        ("local t = {} t.t = t event('t', t)", ["compiles", "compiles"]),
    ] {
        let text = script("", handler);
        assert_eq!([outcome(&text, Form::Expanded), outcome(&text, Form::General)], expected, "{handler}");
    }
}

#[test]
fn deep_graphs_compile_or_are_refused() {
    let tables = format!("local t = {{n = 1}} for i = 1, {DEPTH} do t = {{x = t, i}} end");
    let chain =
        format!("local t = {{n = 1}} for i = 1, {DEPTH} do t = setmetatable({{}}, {{__index = t}}) end");
    let closures = format!(
        "local f = function(x) return x end for i = 1, {DEPTH} do local g = f f = function(x) return g(x) + 1 end end"
    );
    let keyed = format!("{tables} local hits = {{t}}");
    for (objects, handler, expected) in [
        (&tables, "print(t.x.x[1])", ["compiles", "compiles"]),
        (&tables, "for k, v in pairs(t) do print(k) end", ["MH0204", "compiles"]),
        (&tables, "t[n] = 1", ["MH0208", "MH0208"]),
        (&chain, "print(t.n)", ["MH0212", "compiles"]),
        (&closures, "print(f(n))", ["MH0206", "compiles"]),
        (&keyed, "hits[n] = 1", ["MH0208", "MH0208"]),
    ] {
        let text = script(objects, handler);
        assert_eq!([outcome(&text, Form::Expanded), outcome(&text, Form::General)], expected, "{handler}");
    }
}

#[test]
fn tables_of_the_packet_may_hold_themselves() {
    for (handler, expected) in [
        ("local k = {} k.k = k hits[n] = k", "MH0212"),
        ("local k = {} for i = 1, 20 do k = {k = k} end hits[n] = k", "MH0212"),
        // Keys of another type: errors at packet time.
        ("local k = {} k.k = {k} declared[k] = 1", "compiles"),
        ("local k = {} k.k = k declared[k] = (declared[k] or 0) + 1", "compiles"),
    ] {
        let tables = "local hits = {} local declared = map{key = {k = 'int'}, value = 'int'}";
        let text = script(tables, handler);
        assert_eq!(outcome(&text, Form::Expanded), expected, "{handler}");
        outcome(&text, Form::General);
    }
}

/// Tables, functions and metatables that refer to one another at random.
#[test]
fn random_graphs_compile_or_are_refused() {
    for seed in 0..GRAPHS {
        let text = random_graph(seed);
        for form in [Form::Expanded, Form::General] {
            outcome(&text, form);
        }
    }
}

const USES: [&str; 14] = [
    "print(o[A] == o[B])",
    "for k, v in pairs(o[A]) do print(k) end",
    "print(next(o[A]))",
    "o[A][n] = n",
    "o[A].x = o[B]",
    "o[A][n] = o[B]",
    "event('o', o[A])",
    "local t = {a = o[A], b = o[B]} t.t = t hits[n] = t",
    "hits[n] = o[A]",
    "print(o[A].a, o[A].b == o[B])",
    "print(#o[A], rawget(o[A], 'c'))",
    "local t = o[n % 7 + 1] print(t and t.a)",
    "print(pcall(o[A].f, n))",
    "kept = o[A]",
];

fn random_graph(seed: u64) -> String {
    // Marsaglia's xorshift, which needs a word that is not 0.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % bound
    };
    let count = 2 + below(7);
    let mut objects = "local hits, o = {}, {}\n".to_string();
    for i in 1..=count {
        writeln!(objects, "o[{i}] = {{f = function(x) return o[{i}].a or x end}}").unwrap();
    }
    for _ in 0..3 * count {
        let (a, b) = (1 + below(count), 1 + below(count));
        let field = ["a", "b", "c"][below(3) as usize];
        let line = match below(7) {
            0 => format!("o[{a}][#o[{a}] + 1] = o[{b}]"),
            1 => format!("if not getmetatable(o[{a}]) then setmetatable(o[{a}], {{__index = o[{b}]}}) end"),
            2 => format!("o[{a}][o[{b}]] = {a}"),
            3 => format!("rawset(o[{a}], '{field}', {b})"),
            4 => format!("rawset(o[{a}], '{field}', _G)"),
            _ => format!("rawset(o[{a}], '{field}', o[{b}])"),
        };
        objects.push_str(&line);
        objects.push('\n');
    }
    let mut handler = String::new();
    for _ in 0..1 + below(3) {
        let uses = USES[below(USES.len() as u64) as usize];
        let (a, b) = ((1 + below(count)).to_string(), (1 + below(count)).to_string());
        handler.push_str(&uses.replace('A', &a).replace('B', &b));
        handler.push_str("\n  ");
    }
    script(&objects, &handler)
}
