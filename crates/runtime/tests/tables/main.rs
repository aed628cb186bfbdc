//! Tables in runtime Lua against those of real Lua: random operations, the table library, traversals, values and hashes.
//!
//! `MOONHOOK_FUZZ_CASES` is the number of random operations of each test, `MOONHOOK_FUZZ_SEED` chooses others. A failure names the
//! seed of its round.

mod bridge;
mod image;
mod values;

use bridge::Bridge;

fn number(variable: &str, default: i64) -> i64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a script with the functions of the bridge, the number of operations and the seed; it fails at the first difference.
fn run(name: &str, text: &str, operations: i64) {
    let operations = number("MOONHOOK_FUZZ_CASES", operations);
    if let Err(error) = Bridge::new().run(name, text, (operations, number("MOONHOOK_FUZZ_SEED", 1))) {
        panic!("{error}");
    }
}

#[test]
fn random_operations() {
    run("operations.lua", include_str!("operations.lua"), 200_000);
}

#[test]
fn random_calls_of_the_library() {
    run("library.lua", include_str!("library.lua"), 20_000);
}

#[test]
fn functions_written_in_lua() {
    run("prelude.lua", include_str!("prelude.lua"), 30_000);
}
