//! Chains that call functions in Lua.

use super::{Folder, own_options, run};
use moonhook_load::load;
use moonhook_proof::{Pair, ProofError, host};

const MODULE: &str = "local calls = 0\nlocal M = {}\n\
function M.sum(a, b) calls = calls + 1 if a == 3 then return 'x' elseif a == 4 then error('four') end return a * b + calls end\n\
function M.more(a) return a > 2 end\n\
function M.nothing() end\n\
return M\n";

/// Conditions that call, loops, numbers of all kinds, chains that call chains, bytes that are not there.
const CHAINS: &str = "from lua.module import sum, more, nothing\n\
def inner(u8: x):\n  u16: y = Packet.readU16(12)\n  return y + x\n\
def outer(s8: a,\n          u64: b):\n  u32: total = 0\n\
\x20 while total < 5 && more(total) == 0:\n    total += 1\n\
\x20 if more(a) && sum(a, b) > 10 || more(b):\n    total = sum(2, inner(a)) / 3\n\
\x20 elif a == 2:\n    total = 0 - 9 + nothing()\n\
\x20 else:\n    total += 100\n\
\x20 if b == 99:\n\
\x20   total = Packet.readU8(b * 1000)\n\
\x20 return total\n";

const SCRIPT: &str = "local xdp, eclat = require 'xdp', require 'eclat'\n\
local outer = eclat.chain('chains.eclat', 'outer')\n\
local guarded = CALL\n\
xdp.attach(function(pkt)\n\
\x20 if #pkt < 20 then return end\n\
\x20 print(guarded(pkt, pkt:getbyte(0), pkt:getbyte(1) & 7), 'behind')\n\
\x20 if pkt:getbyte(2) == 0 then print(guarded(pkt, 2, 99)) end\n\
end)\n";

fn folder(call: &str) -> Folder {
    let folder = Folder::new();
    for (name, text) in
        [("module.lua", MODULE), ("chains.eclat", CHAINS), ("script.lua", &SCRIPT.replace("CALL", call))]
    {
        std::fs::write(folder.path(name), text).expect("there is room");
    }
    folder
}

#[test]
fn errors_in_them_end_the_handler_and_can_be_caught() -> Result<(), ProofError> {
    if !host::kernel_available("chains that call Lua") {
        return Ok(());
    }
    run(&folder("outer").path("script.lua"), &own_options(), 200)?;
    // What catches errors has general code only.
    run(&folder("function(...) return pcall(outer, ...) end").path("script.lua"), &own_options(), 200)
        .map(|_| ())
}

#[test]
fn what_is_not_in_the_packet_is_told_with_the_line_of_the_chain() -> Result<(), ProofError> {
    if !host::kernel_available("errors of chains that call Lua") {
        return Ok(());
    }
    let folder = folder("outer");
    let mut pair = Pair::with_options(&folder.path("script.lua"), &own_options())?;
    let seen = pair.run(&[1; 60])?;
    assert!(seen.error.is_none() && seen.output.len() == 1, "{seen:?}");
    let seen = pair.run(&[[1, 1, 0], [0; 3]].concat().repeat(10))?;
    let error = seen.error.expect("the chain ends with an error");
    let text = String::from_utf8_lossy(&error.bytes);
    assert!(text.ends_with("chains.eclat:17: `Packet.readU8`: the packet ends before"), "{text}");
    Ok(())
}

#[test]
fn chains_that_are_more_than_lua_takes_are_refused_where_they_stand() {
    let variables: String = (0..250).map(|number| format!("  u8: v{number} = {number}\n")).collect();
    let deep: String = (1..100).map(|depth| format!("{}if a > {depth}:\n", "  ".repeat(depth))).collect();
    for body in [variables, deep + &"  ".repeat(100) + "a = 1\n"] {
        let folder = folder("outer");
        let text = format!(
            "from lua.module import sum\ndef plain():\n  sum(1, 2)\ndef outer(u8: a, u8: b):\n{body}  return sum(a, b)\n"
        );
        std::fs::write(folder.path("chains.eclat"), text).expect("there is room");
        let script = std::fs::read_to_string(folder.path("script.lua")).expect("it is there");
        // However often it is asked for.
        let again = "local ok = pcall(require 'eclat'.chain, 'chains.eclat', 'outer')\nassert(not ok)\n";
        for script in [script.clone(), format!("{again}{script}")] {
            std::fs::write(folder.path("script.lua"), script).expect("there is room");
            let error =
                load(&[folder.path("script.lua")], &own_options()).map(|_| ()).expect_err("it is refused");
            let diagnostic = error.diagnostic();
            assert_eq!(diagnostic.code, "MH0323", "{}", diagnostic.render(false));
            let line = diagnostic.place.as_ref().map(|place| place.line);
            assert!(diagnostic.help.is_some() && line == Some(4), "{}", diagnostic.render(false));
        }
    }
}

/// Names are those of Lua's words, too.
#[test]
fn there_can_be_many_chains_and_functions() -> Result<(), ProofError> {
    if !host::kernel_available("many chains that call Lua") {
        return Ok(());
    }
    let folder = folder("outer");
    let names: Vec<String> =
        (0..250).map(|number| format!("f{number}")).chain(["end".into(), "local".into()]).collect();
    let functions: String = names
        .iter()
        .enumerate()
        .map(|(of, name)| format!("M['{name}'] = function(a) return a + {of} end\n"))
        .collect();
    let chains: String =
        names.iter().map(|name| format!("def c_{name}(u64: a):\n  return {name}(a)\n")).collect();
    let module = format!("local M = {{}}\n{functions}return M\n");
    let text = format!(
        "from lua.module import {}\n{chains}def nil(u64: a):\n  return c_end(a)\ndef outer(u64: a, u64: b):\n  return nil(a) * 1000 + c_f249(b)\n",
        names.join(", ")
    );
    for (name, text) in [("module.lua", module), ("chains.eclat", text)] {
        std::fs::write(folder.path(name), text).expect("there is room");
    }
    let mut pair = Pair::with_options(&folder.path("script.lua"), &own_options())?;
    let seen = pair.run(&[3; 60])?;
    assert_eq!(String::from_utf8_lossy(&seen.output[0].bytes), "253252\tbehind", "{seen:?}");
    Ok(())
}

/// What functions give at a hook, and what becomes of the packet: a verdict of the hook, or an error in the chain's line.
#[test]
fn verdicts_of_functions_are_those_of_the_hook() -> Result<(), ProofError> {
    if !host::kernel_available("verdicts of functions") {
        return Ok(());
    }
    let folder = folder("outer");
    for (hook, given, expected) in [
        ("xdp.attach", "0, 1", Ok(1)),
        ("xdp.attach", "'x', 4", Ok(4)),
        ("xdp.attach", "0, -1", Err("-1, expected a verdict")),
        ("xdp.attach", "0, 5", Err("5, expected a verdict")),
        ("xdp.attach", "0, 1 << 32 | 1", Err("4294967297, expected a verdict")),
        ("xdp.attach", "0, math.mininteger", Err("-9223372036854775808, expected a verdict")),
        ("xdp.attach", "0, 1.0", Err("a number value, expected a verdict")),
        ("xdp.attach", "0, 'x'", Err("a string value, expected a verdict")),
        ("xdp.attach", "1.0", Err("a number value, expected an integer")),
        ("xdp.attach", "true", Ok(2)),
        ("tc.ingress", "0, -1", Ok(-1)),
        ("tc.ingress", "0, 2", Ok(2)),
        ("tc.ingress", "0, 1", Err("1, expected a verdict")),
        ("tc.ingress", "0, -2", Err("-2, expected a verdict")),
    ] {
        let (module, _) = hook.split_once('.').expect("it is a function of a module");
        let script = format!(
            "local outer = require 'eclat'.chain('chains.eclat', 'outer')\n\
             require '{module}'.{hook_name}(function(pkt) outer(pkt) return {pass} end)\n",
            hook_name = &hook[module.len() + 1..],
            pass = if module == "xdp" { 2 } else { 0 },
        );
        let files = [
            ("module.lua", format!("return {{ gives = function() return {given} end }}\n")),
            (
                "chains.eclat",
                "from lua.module import gives\ndef inner():\n  gives()\n\ndef outer():\n  inner()\n".into(),
            ),
            ("script.lua", script),
        ];
        for (name, text) in files {
            std::fs::write(folder.path(name), text).expect("there is room");
        }
        let mut pair = Pair::with_options(&folder.path("script.lua"), &own_options())?;
        assert!(pair.take_refused().is_none());
        let seen = pair.run(&[0; 60])?;
        match (expected, seen.error) {
            (Ok(verdict), None) => assert_eq!(seen.verdict, verdict, "{hook}: {given}"),
            (Err(problem), Some(error)) => {
                let text = String::from_utf8_lossy(&error.bytes).into_owned();
                let message = format!("chains.eclat:3: the function 'gives' gives a chain {problem}");
                assert!(text.ends_with(&message), "{hook}: {given}: {text}");
            }
            (_, error) => panic!("{hook}: {given}: verdict {}, {error:?}", seen.verdict),
        }
    }
    Ok(())
}

/// What a person reads of an error: the lines of the script and of the functions that it calls, by their names.
#[test]
fn traces_have_the_script_alone() {
    let folder = folder("outer");
    for (name, text) in [
        ("module.lua", "return { fails = function() error('no') end, text = function() return 'x' end }\n"),
        (
            "script.eclat",
            "from lua.module import fails, text\n\ndef inner():\n  if Packet.readU8(0) == 0:\n    fails()\n  text()\n\ndef main():\n  inner()\n",
        ),
    ] {
        std::fs::write(folder.path(name), text).expect("there is room");
    }
    let loaded = load(&[folder.path("script.eclat")], &own_options()).expect("it is a script");
    let mut user = moonhook_user::UserTier::new(loaded, Default::default()).expect("it can be run");
    let path = folder.path("").display().to_string();
    for (byte, first, message) in [
        (0, "module.lua:1: in field 'fails'", "module.lua:1: no"),
        (1, "", "script.eclat:6: the function 'text' gives a chain a string value, expected an integer"),
    ] {
        let error = user.run(&[byte; 60]).error.expect("it is an error");
        let text = String::from_utf8_lossy(&error.message).replace(&path, "");
        assert_eq!(text, message);
        let calls = error.traceback.iter().map(|call| call.replace(&path, ""));
        let calls: Vec<String> = calls.filter(|call| !call.starts_with("[C]")).collect();
        let line = if byte == 0 { 5 } else { 6 };
        let inner = format!("script.eclat:{line}: in field 'inner'");
        let rest =
            [&*inner, "script.eclat:9: in field 'main'", "script.eclat:8: in function <script.eclat:8>"];
        let expected: Vec<&str> = [first].into_iter().filter(|call| !call.is_empty()).chain(rest).collect();
        assert_eq!(calls, expected);
    }
}
