//! Chains of eCLAT that would go on for very long, or very deep: the packet's budget ends them.

use moonhook_load::{Options, load};
use moonhook_user::{Outcome, UserTier};

/// What handlers with this body do with a frame; `chains` are in `x.eclat`, of which it has the chain `c0`, and `module` is `m.lua`.
fn run(body: &str, chains: &str, module: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "local xdp, eclat, m = require 'xdp', require 'eclat', require 'm'
         local c0 = eclat.chain('x.eclat', 'c0')
         xdp.attach(function(pkt) {body} end)"
    );
    for (name, text) in [("x.lua", script.as_str()), ("x.eclat", chains), ("m.lua", module)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let loaded = load(&[folder.path().join("x.lua")], &Options::default());
    let loaded = loaded.unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    UserTier::new(loaded, Default::default()).unwrap().run(&[0; 60])
}

/// Chains of which each calls the next one twice.
fn doubling() -> String {
    let chain = |number: usize| format!("def c{number}():\n  return c{0}() + c{0}()\n", number + 1);
    (0..40).map(chain).collect::<String>() + "def c40(): pass\n"
}

#[test]
fn the_budget_ends_chains_whatever_catches_errors() {
    for body in [
        "c0(pkt)",
        "print(pcall(c0, pkt))",
        "pcall(c0, pkt) print 'behind'",
        "print(xpcall(c0, print, pkt))",
        "xpcall(function() c0(pkt) end, function(m) print(m) return m end) print 'behind'",
        "xpcall(function() pcall(c0, pkt) print 'within' end, print)",
        "local c <close> = setmetatable({}, { __close = function() print 'closed' end }) c0(pkt)",
    ] {
        let outcome = run(body, &doubling(), "return {}");
        let error = outcome.error.map(|error| error.lossy());
        assert_eq!((error.as_deref(), outcome.output.len()), (Some("step budget exhausted"), 0), "{body}");
    }
}

#[test]
fn loops_of_chains_take_steps() {
    let chains = "def c0(u64: n):\n  u64: sum = 0\n  for i in range(n): sum += i\n  return sum\n";
    let outcome = run("print(c0(pkt, 1000))", chains, "return {}");
    assert_eq!((outcome.output, outcome.error), (vec![b"499500".to_vec()], None));
    let outcome = run("for i = 1, 1000 do c0(pkt, 1000) end", chains, "return {}");
    assert_eq!(outcome.error.map(|error| error.lossy()).as_deref(), Some("step budget exhausted"));
}

#[test]
fn chains_and_functions_that_call_one_another_have_an_end() {
    let chains = "from lua.m import again\ndef c0(u64: n):\n  return again(n + 1)\n";
    let module = "local m = {} function m.again(n) return m.call(n) end return m";
    let outcome = run("m.call = function(n) return c0(pkt, n) end print(c0(pkt, 1))", chains, module);
    // They are Lua, whose stack has room for more calls than the budget has steps.
    assert_eq!(outcome.error.map(|error| error.lossy()).as_deref(), Some("step budget exhausted"));
    let ends = "m.call = function(n) if n > 10 then return n end return c0(pkt, n) end print(c0(pkt, 1))";
    let outcome = run(ends, chains, module);
    assert_eq!((outcome.output, outcome.error), (vec![b"11".to_vec()], None));
}
