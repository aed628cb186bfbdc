//! One test for each code: message, file, line, text and underlined name.

mod common;

use std::fs;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{Folder, load_text};
use moonhook_btf::{Event, Types};
use moonhook_hook::Hook;
use moonhook_load::{Kernel, LoadError, Options, Untold, load};

struct Case {
    script: &'static str,
    code: &'static str,
    message: &'static str,
    line: u32,
    name: Option<&'static str>,
}

const fn case(
    script: &'static str,
    code: &'static str,
    line: u32,
    name: Option<&'static str>,
    message: &'static str,
) -> Case {
    Case { script, code, message, line, name }
}

const CASES: &[Case] = &[
    case("local x = = 1", "MH0102", 1, Some("="), "unexpected symbol near '='"),
    case("\nreturn 'abc\n", "MH0102", 2, Some("'abc"), "unfinished string near ''abc'"),
    case("if x then", "MH0102", 1, None, "'end' expected near <eof>"),
    case("global print\nlocal x <const> = 1\ny = x", "MH0102", 3, Some("y"), "variable 'y' not declared"),
    case("local t\n\nt.x = 1", "MH0103", 3, Some("t"), "attempt to index a nil value (local 't')"),
    case("foo()", "MH0103", 1, Some("foo"), "attempt to call a nil value (global 'foo')"),
    case(
        "local s = ''\nreturn s:nope()",
        "MH0103",
        2,
        Some("nope"),
        "attempt to call a nil value (method 'nope')",
    ),
    case("debug.getinfo(1)", "MH0103", 1, Some("debug"), "attempt to index a nil value (global 'debug')"),
    case("\nlocal t, i = {}, 1; t[i].x = 1", "MH0103", 2, None, "attempt to index a nil value (field '?')"),
    case(
        "\nlocal t = {}; t[1].x = 1",
        "MH0103",
        2,
        None,
        "attempt to index a nil value (field 'integer index')",
    ),
    case("\nlocal function f() return 1 + f() end f()", "MH0103", 2, None, "stack overflow"),
    case(
        "require('xsk').receive(-1, print)",
        "MH0103",
        1,
        Some("receive"),
        "bad argument #1 to 'receive' (number of a queue expected)",
    ),
    case(
        "require('xsk').receive(0)",
        "MH0103",
        1,
        Some("receive"),
        "bad argument #2 to 'receive' (function expected, got no value)",
    ),
    case(
        "require('xsk').send('eth0', 'x')",
        "MH0103",
        1,
        None,
        "frames are sent by control code, once the script runs",
    ),
    case("redirect { cpu = 1 }", "MH0103", 1, None, "only handlers redirect packets"),
    case("error 'stop here'", "MH0103", 1, None, "stop here"),
    case("\nerror({code = 1})", "MH0103", 2, None, "(error object is a table value)"),
    case(
        "error(setmetatable({}, {__tostring = function() return 'described' end}))",
        "MH0103",
        1,
        None,
        "described",
    ),
    case("\nerror('no position', 0)", "MH0103", 2, None, "no position"),
    case("\ncoroutine.yield(1)", "MH0103", 2, None, "attempt to yield from outside a coroutine"),
    case(
        "\nrequire('xdp').attach('f')",
        "MH0103",
        2,
        Some("attach"),
        "bad argument #1 to 'attach' (function expected, got string)",
    ),
    case(
        "\nrequire 'absent.module'",
        "MH0107",
        2,
        Some("absent.module"),
        "module 'absent.module' not found:",
    ),
];

#[test]
fn messages_have_place_and_name() {
    for case in CASES {
        let error = load_text(case.script).err().unwrap_or_else(|| panic!("{:?} loads", case.script));
        let diagnostic = error.diagnostic();
        assert_eq!(error.code(), case.code, "{:?}: {error}", case.script);
        assert_eq!(diagnostic.code, case.code);
        assert_eq!(diagnostic.message, case.message, "{:?}", case.script);
        let place = diagnostic.place.unwrap_or_else(|| panic!("{:?} has no place", case.script));
        assert_eq!(place.line, case.line, "{:?}", case.script);
        assert_eq!(place.text, case.script.lines().nth(case.line as usize - 1).unwrap());
        assert!(place.file.ends_with("/x.lua"), "{}", place.file);
        assert_eq!(place.name.as_deref(), case.name, "{:?}", case.script);
        assert!(diagnostic.help.is_some() && diagnostic.reason.is_some());
    }
}

#[test]
fn errors_in_modules_are_shown_in_the_module() {
    let folder = Folder::new(&[
        ("bad.lua", "\nlocal = 1"),
        ("fails.lua", "\n\nerror('deep')"),
        ("ring.lua", "local ring = require 'ring'\nreturn ring"),
        ("x.lua", "require 'bad'"),
        ("y.lua", "require 'fails'"),
        ("z.lua", "require 'ring'"),
        ("tail.lua", "return require 'absent'"),
        ("t.lua", "\nrequire 'tail'"),
    ]);
    for (script, code, file, line, message) in [
        ("x.lua", "MH0102", "bad.lua", 2, "<name> expected near '='"),
        ("y.lua", "MH0103", "fails.lua", 3, "deep"),
        (
            "z.lua",
            "MH0103",
            "ring.lua",
            1,
            "module 'ring' requires itself, directly or through another module",
        ),
    ] {
        let error = folder.load(script).err().unwrap();
        let diagnostic = error.diagnostic();
        let place = diagnostic.place.unwrap();
        assert_eq!((error.code(), diagnostic.message.as_str()), (code, message));
        assert_eq!((place.file, place.line), (folder.path(file).to_string_lossy().into_owned(), line));
    }
}

#[test]
fn mh0101_a_script_that_is_not_there() {
    let folder = Folder::new(&[]);
    let error = folder.load("none.lua").err().unwrap();
    assert_eq!(error.code(), "MH0101");
    assert!(error.to_string().contains("none.lua: No such file"), "{error}");
    assert_eq!(load(&["/".into()], &Options::default()).err().unwrap().code(), "MH0101");
}

#[test]
fn mh0104_a_script_without_handler() {
    let error = load_text("local x = 1").err().unwrap();
    assert_eq!(error.code(), "MH0104");
    assert!(error.diagnostic().help.unwrap().contains("attach"));
}

/// A script of a library.
fn load_library(files: &[(&str, &str)]) -> Result<moonhook_load::Loaded, LoadError> {
    let folder = Folder::new(files);
    let scripts: Vec<_> = files.iter().map(|(name, _)| folder.path(name)).collect();
    load(&scripts, &Options { library: Some("lib".into()), ..Options::default() })
}

#[test]
fn mh0118_a_library_without_functions() {
    for script in ["local x = 1", "return 7", "return {1, 'x', {}}"] {
        let error = load_library(&[("x.lua", script)]).err().unwrap();
        assert_eq!(error.code(), "MH0118", "{script}");
        assert!(error.diagnostic().help.unwrap().contains("return {name = function"));
    }
    let with_handlers = load_library(&[("x.lua", "require('xdp').attach(function() end)")]).unwrap();
    assert_eq!(
        with_handlers.snapshot.points().len(),
        2,
        "the handlers, and the same with an argument of C's"
    );
    let with_functions =
        load_library(&[("x.lua", "return {b = function(p) end, a = function(p, x) end, n = 1}")]);
    let names: Vec<String> =
        with_functions.unwrap().snapshot.points().iter().map(|point| point.to_string()).collect();
    assert_eq!(names, ["xdp function a", "xdp function b"]);
}

#[test]
fn mh0119_a_function_that_c_cannot_call() {
    let cases = [
        ("return {\n['a.b'] = function(p) end}", 2, "its name is none in C", "letters, digits"),
        ("return {[''] = function(p) end}", 1, "its name is none in C", "letters, digits"),
        ("return {function(p) end}", 1, "its name is none in C", "letters, digits"),
        ("return {[('x'):rep(256)] = function(p) end}", 1, "has more than 255 bytes", "another name"),
        ("return {int = function(p) end}", 1, "means something else in programs in C", "another name"),
        (
            "return {\nbpf_printk = function(p) end}",
            2,
            "means something else in programs in C",
            "another name",
        ),
        ("return {exit = function(p) end}", 1, "means something else in programs in C", "another name"),
        ("return {lib__x = function(p) end}", 1, "those of the library's own symbols", "the object (`-o`)"),
        ("return {x = function() end}", 1, "it takes no packet", "function(pkt, a, b)"),
        ("return {x = function(p, ...) end}", 1, "it takes `...`", "function(pkt, a, b)"),
        (
            "return {x = function(p, a, b, c, d, e) end}",
            1,
            "it takes 5 integers behind the packet",
            "function(pkt, a, b)",
        ),
        ("return {x = print}", 0, "it is none of a script's", "a function that calls it"),
        (
            "require('xdp').attach(function() end) return {lib = function(p) end}",
            1,
            "the function that calls the handlers has that name",
            "the object (`-o`)",
        ),
        (
            "require('xdp').attach(function() end) return {bpf_luaxdp_run = function(p) end}",
            1,
            "programs written for Lunatik call all handlers at XDP by that name",
            "another name",
        ),
    ];
    for (script, line, problem, help) in cases {
        let error = load_library(&[("x.lua", script)]).err().unwrap();
        assert_eq!(error.code(), "MH0119", "{script}");
        assert!(error.to_string().ends_with(problem), "{error}");
        let diagnostic = error.diagnostic();
        assert_eq!(diagnostic.place.as_ref().map_or(0, |place| place.line), line, "{script}");
        assert!(diagnostic.help.as_ref().unwrap().contains(help), "{script}: {diagnostic:?}");
    }
    let folder = Folder::new(&[("x.lua", "return {x = function(p) end}")]);
    let hook = Some(&moonhook_hook::RAW_TRACEPOINT);
    let error =
        load(&[folder.path("x.lua")], &Options { library: Some("lib".into()), hook, ..Options::default() });
    let error = error.err().unwrap();
    assert!(error.to_string().ends_with("programs at the hook 'raw_tp' have no packets"));
    assert_eq!(error.diagnostic().place.map(|place| place.line), Some(1));
    let one = "return {x = function(p) end}";
    let error = load_library(&[("a.lua", one), ("b.lua", one)]).err().unwrap();
    assert!(error.to_string().contains("another script has one of that name"), "{error}");
    let folder = Folder::new(&[("x.lua", "\nrequire('xdp').attach(function(p) end)")]);
    let error = load(&[folder.path("x.lua")], &Options { library: Some("int".into()), ..Options::default() });
    let error = error.err().unwrap();
    assert!(error.to_string().contains("the handlers' function has the object's name"), "{error}");
    assert_eq!(error.diagnostic().place.map(|place| place.line), Some(2));
}

#[test]
fn mh0113_no_handler_for_the_hook_that_was_chosen() {
    let script = "require('tc').egress(function() end) require('xdp').attach(function() end)";
    let options = |hook| Options { hook: Some(hook), ..Options::default() };
    let folder = Folder::new(&[("x.lua", script)]);
    let load = |hook| load(&[folder.path("x.lua")], &options(hook));
    assert!(load(&moonhook_hook::XDP).is_ok());
    let error = load(&moonhook_hook::TC_INGRESS).err().unwrap();
    assert_eq!((error.code(), error.to_string().contains("tc.ingress")), ("MH0113", true), "{error}");
    assert!(error.diagnostic().help.unwrap().contains("tc.egress, xdp"));
}

#[test]
fn mh0114_nothing_comes_to_a_function_for_a_queue() {
    let folder = Folder::new(&[
        (
            "tc.lua",
            "require('tc').egress(function() end)\nlocal xsk = require('xsk')\nxsk.receive(3, function() end)",
        ),
        ("xdp.lua", "require('xsk').receive(3, function() end) require('xdp').attach(function() end)"),
    ]);
    assert!(folder.load("xdp.lua").is_ok());
    let error = folder.load("tc.lua").err().unwrap();
    let diagnostic = error.diagnostic();
    assert_eq!((error.code(), diagnostic.place.unwrap().line), ("MH0114", 3));
    assert!(
        diagnostic.message.contains("queue 3") && diagnostic.help.unwrap().contains("redirect{socket = 3}")
    );
    // Scripts that become one program are looked at together.
    assert!(load(&[folder.path("tc.lua"), folder.path("xdp.lua")], &Options::default()).is_ok());
}

#[test]
fn mh0116_nothing_is_known_of_tracepoints_where_there_is_no_kernel() {
    let error = load_text("\nrequire('trace').on('raw_tp/sys_enter', function() end)").err().unwrap();
    assert_eq!((error.code(), error.diagnostic().place.unwrap().line), ("MH0116", 2), "{error}");
    assert!(error.diagnostic().help.is_some());
}

#[test]
fn mh0117_functions_of_a_kernel_without_probes() {
    for name in ["kprobe/tcp_connect", "kretprobe/tcp_connect"] {
        let script = format!("require('trace').on('{name}', function() end)");
        let error = load_for_kernel(&script, Untold::Refused { problem: "no probes".into() });
        assert_eq!((error.code(), error.diagnostic().place.unwrap().line), ("MH0117", 1), "{error}");
        assert!(error.to_string().contains(&format!("'{name}' cannot be traced: no probes")), "{error}");
        assert!(error.diagnostic().help.unwrap().contains("raw_tp/"));
    }
}

#[test]
fn mh0115_names_are_of_functions_or_tracepoints() {
    for (name, noun) in [("kprobe/tcp_conect", "function"), ("raw_tp/sys_entr", "tracepoint")] {
        let script = format!("require('trace').on('{name}', function() end)");
        let error = load_for_kernel(&script, Untold::None { near: vec!["like_it".into()] });
        assert_eq!(error.code(), "MH0115");
        assert!(
            error.to_string().ends_with(&format!("x.lua:1: the kernel has no {noun} '{name}'")),
            "{error}"
        );
        assert!(error.diagnostic().help.unwrap().contains("like_it"));
    }
    for name in ["kprobe/", "kprobe/a/b", "kprobe/a.b", "kprobes/a", "kprobe"] {
        let error = load_text(&format!("require('trace').on('{name}', function() end)")).err().unwrap();
        assert!(error.code() == "MH0103" && error.to_string().contains("'kprobe/FUNCTION'"), "{error}");
    }
}

/// A kernel without types that says the same of every place.
#[derive(Debug)]
struct Says(Untold);

impl Kernel for Says {
    fn types(&self) -> Result<Arc<Types>, Untold> {
        let words = [0x0001_eb9f_u32, 24, 0, 0, 0, 1];
        let bytes = words.into_iter().flat_map(u32::to_ne_bytes).chain([0]).collect();
        Ok(Arc::new(Types::parse(bytes).expect("types")))
    }

    fn event(&self, _: &'static Hook, _: &str) -> Result<Event, Untold> {
        Err(self.0.clone())
    }
}

fn load_for_kernel(script: &str, says: Untold) -> LoadError {
    load_limited(script, &Options { kernel: Arc::new(Says(says)), ..Options::default() })
}

fn load_limited(script: &str, options: &Options) -> LoadError {
    let folder = Folder::new(&[("x.lua", script)]);
    load(&[folder.path("x.lua")], options).err().unwrap_or_else(|| panic!("{script} loads"))
}

#[test]
fn mh0105_scripts_that_do_not_finish_are_stopped_whatever_they_catch() {
    let options = Options { instruction_limit: 200_000, ..Options::default() };
    for script in [
        "\nwhile true do end",
        "\nwhile true do pcall(function() while true do end end) end",
        "\nwhile true do pcall(pcall, pcall, error) end",
        "\nwhile true do coroutine.wrap(function() while true do pcall(error) end end)() end",
        "\nwhile true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "\nlocal function f() while true do coroutine.resume(coroutine.create(f)) end end f()",
        "\nlocal t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
    ] {
        // On a thread of its own, so that a script that is not stopped fails the test instead of holding it up.
        let (sender, receiver) = mpsc::channel();
        let limited = options.clone();
        thread::spawn(move || sender.send(load_limited(script, &limited)));
        let error = receiver
            .recv_timeout(Duration::from_secs(20))
            .unwrap_or_else(|_| panic!("{script} is not stopped"));
        assert_eq!(error.code(), "MH0105", "{script}: {error}");
        let place = error.diagnostic().place.unwrap_or_else(|| panic!("{script}: no place"));
        assert_eq!(place.line, 2, "{script}");
    }
}

#[test]
fn mh0106_scripts_that_take_too_much_memory_are_stopped() {
    let options = Options { memory_limit: 4 << 20, ..Options::default() };
    for script in [
        "\nlocal t = {} for i = 1, 1e9 do t[i] = {} end",
        "\nlocal s = string.rep('x', 1 << 30)",
        "\nlocal s = 'x' while true do s = s .. s end",
        "\nlocal attach = require('xdp').attach for i = 1, 1e9 do attach(function() return i end) end",
    ] {
        let error = load_limited(script, &options);
        assert_eq!(error.code(), "MH0106", "{script}: {error}");
        assert_eq!(error.diagnostic().place.unwrap().line, 2, "{script}");
        assert!(error.to_string().contains("4 MiB"), "{error}");
    }
}

#[test]
fn mh0106_a_limit_that_is_too_low_for_lua_itself() {
    let script =
        "local t = {} for i = 1, 1000 do t[i] = {} end require('xdp').attach(function() return t end)";
    let folder = Folder::new(&[("x.lua", script)]);
    let mut failed = 0;
    for kibibytes in 1..=400 {
        let options = Options { memory_limit: kibibytes << 10, ..Options::default() };
        if let Err(error) = load(&[folder.path("x.lua")], &options) {
            assert_eq!(error.code(), "MH0106", "{kibibytes} KiB: {error}");
            failed += 1;
        }
    }
    assert!((50..400).contains(&failed), "{failed} limits were too low");
}

#[test]
fn a_caught_memory_error_does_not_end_loading() {
    let script = "assert(not pcall(string.rep, 'x', 1 << 30)); require('xdp').attach(function() end)";
    assert!(load_text(script).is_ok());
}

#[test]
fn mh0108_a_precompiled_script() {
    let folder = Folder::new(&[("x.lua", "")]);
    fs::write(folder.path("x.lua"), b"\x1bLua\x55").unwrap();
    assert_eq!(folder.load("x.lua").err().unwrap().code(), "MH0108");
}

#[test]
fn mh0109_and_mh0110_ask_for_a_report() {
    for (error, code) in [
        (LoadError::Chunk { reason: "r".into() }, "MH0109"),
        (LoadError::State { reason: "r".into() }, "MH0110"),
    ] {
        assert_eq!(error.code(), code);
        assert!(error.diagnostic().help.unwrap().contains("bug in Moonhook"));
    }
}

#[test]
fn every_code_has_a_page() {
    for number in 101..=110 {
        let path = format!("{}/../cli/explain/MH{number:04}.md", env!("CARGO_MANIFEST_DIR"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.starts_with(&format!("# MH{number:04}: ")), "{path}");
        assert!(page.lines().count() <= 25, "{path}");
    }
}

#[test]
fn long_paths_are_recognised_in_messages() {
    let long = format!("{}/x.lua", "folder".repeat(20));
    let folder = Folder::new(&[(long.as_str(), "\nerror('here')")]);
    let place = folder.load(&long).err().unwrap().diagnostic().place.unwrap();
    assert_eq!((place.line, place.file), (2, folder.path(&long).to_string_lossy().into_owned()));
}

/// Lua's parser names no line where it has met too many levels; and the script's line it is, not one of its end.
#[test]
fn mh0112_what_is_nested_too_deep_for_the_parser_has_a_line() {
    let chain = |count: usize| vec!["c"; count].join("..");
    let deep = [
        ("concatenations", format!("local c = 'a'\n\nlocal r = {}\nreturn r", chain(210)), 3),
        ("parentheses", format!("local x = 1\nx = {}x{}", "(".repeat(300), ")".repeat(300)), 2),
        ("operators", format!("x =\n{} x", "not\n".repeat(300)), 200),
        ("blocks", format!("{}{}", "do\n".repeat(300), "end\n".repeat(300)), 200),
        ("functions", format!("return\n{}{}", "function() return ".repeat(300), "end ".repeat(300)), 2),
    ];
    for (what, script, line) in deep {
        let error = load_text(&script).err().unwrap_or_else(|| panic!("{what} loads"));
        let LoadError::TooDeep(failure) = &error else { panic!("{what}: {error}") };
        assert!(failure.message.ends_with("too deep for Lua"), "{what}: {error}");
        let at = failure.place.as_ref().map(|place| place.line).unwrap_or_default();
        assert!(at.abs_diff(line) <= 10, "{what}: line {at}");
    }
    let folder = Folder::new(&[
        ("main.lua", "require 'deep'"),
        ("deep.lua", &format!("local c = 1\nreturn {}", chain(210))),
    ]);
    let error = folder.load("main.lua").err().expect("a module that is nested too deeply");
    assert_eq!(error.code(), "MH0112", "{error}");
    assert!(error.to_string().contains("deep.lua:2: "), "{error}");
}
