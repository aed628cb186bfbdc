//! Patterns in runtime Lua against those of real Lua: `string.find`, `match`, `gmatch` and `gsub` have the same results and
//! errors, for the cases of `cases.lua` and for random patterns and subjects.
//!
//! `MOONHOOK_FUZZ_CASES` is the number of random cases (one case is a pattern, a subject and six calls each);
//! `MOONHOOK_FUZZ_SEED` chooses others.

mod library;

use library::Library;
use moonhook_runtime::layout::*;

fn number(variable: &str, default: i64) -> i64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a script, a function of the two libraries, that fails at the first difference.
fn run(name: &str, text: &str, arguments: impl mlua::IntoLuaMulti) {
    let library = Library::new();
    if let Err(error) = library.run(name, text, arguments) {
        panic!("{error}");
    }
}

#[test]
fn cases() {
    run("cases.lua", include_str!("cases.lua"), ());
}

#[test]
fn random_patterns() {
    let count = number("MOONHOOK_FUZZ_CASES", 10_000);
    let seed = number("MOONHOOK_FUZZ_SEED", 1);
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || run("fuzz.lua", include_str!("fuzz.lua"), (count / threads, seed + thread)));
        }
    });
}

/// The message of the call, in a state that `set_up` has changed.
fn failure(set_up: impl Fn(&Library), call: &str) -> String {
    let library = Library::new();
    set_up(&library);
    let text = format!(
        "local _, ours = ... ; local _, message = pcall(function() return {call} end) return message"
    );
    library.run("call", &text, ()).unwrap_or_else(|error| panic!("{call}: {error}")).unwrap_or_default()
}

#[test]
fn backtracking_ends_with_the_budget() {
    for call in [
        r#"ours.find(("a"):rep(60), ("a*"):rep(12) .. "b")"#,
        r#"ours.match(("a"):rep(60), ("a-"):rep(12) .. "b")"#,
        r#"ours.gsub(("a"):rep(400), ".-.-.-b", "")"#,
        r#"ours.gsub(("a"):rep(60), ("a?"):rep(40) .. "b", {})"#,
        r#"(function() for _ in ours.gmatch(("ab"):rep(200), "(.*)(.*)%1%2c") do end end)()"#,
    ] {
        assert_eq!(failure(|_| {}, call), "step budget exhausted", "{call}");
    }
}

#[test]
fn long_runs_take_steps() {
    let text = r#"local _, ours = ... ; ours.find(("a"):rep(6400), "^a*$") "#;
    let library = Library::new();
    let spent = || library.budget() - library.left();
    library.run("call", text, ()).unwrap_or_else(|error| panic!("{error}"));
    let steps = spent();
    assert!((400..410).contains(&steps), "{steps} steps");
}

#[test]
fn packet_memory_can_be_too_small() {
    for call in [
        r#"ours.find("x", ("[ab]x"):rep(300))"#,
        r#"ours.gsub(("x"):rep(100), "x", ("y"):rep(100))"#,
        r#"ours.gsub(("x"):rep(100), "(x)", ("%1"):rep(100))"#,
        r#"ours.gsub(("x"):rep(1000), "()", "%1%1%1%1")"#,
        r#"ours.gsub(("x"):rep(7900), "x", function() end)"#,
        r#"ours.gsub(("x"):rep(4000), "^x", { x = "y" })"#,
        r#"ours.gmatch("x", ("[ab]x"):rep(300))"#,
    ] {
        assert_eq!(failure(|library| library.limit_memory(8192), call), "not enough memory", "{call}");
    }
}

/// What the primitives leave in packet memory besides their results.
#[test]
fn matching_takes_no_packet_memory() {
    let library = Library::new();
    library.run("call", r#"local _, ours = ... ; ours.match("a=b", ("(%w*)"):rep(20) .. "=")"#, ()).unwrap();
    // The subject's 3 and the pattern's 101 bytes, in words of 8.
    assert_eq!(library.in_use(), 8 + 104);
}

#[test]
fn programs_of_load_time_patterns_are_kept() {
    let library = Library::new();
    library.keep_programs(true);
    let text =
        r#"local _, ours = ... ; for _ = 1, 5 do ours.reset() ours.find("key: value", "(%w+): (%w+)") end"#;
    library.run("call", text, ()).unwrap();
    let used = library.kept();
    assert!(used > 16 + PATTERN_SLOTS * 16, "{used}");
    library.run("call", text, ()).unwrap();
    assert_eq!(library.kept(), used);
}
