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
            "from lua.module import sum\ndef plain():\n  pass\ndef outer(u8: a, u8: b):\n{body}  return sum(a, b)\n"
        );
        std::fs::write(folder.path("chains.eclat"), text).expect("there is room");
        let error =
            load(&[folder.path("script.lua")], &own_options()).map(|_| ()).expect_err("it is refused");
        let diagnostic = error.diagnostic();
        assert_eq!(diagnostic.code, "MH0323", "{}", diagnostic.render(false));
        assert!(diagnostic.help.is_some() && diagnostic.place.as_ref().is_some_and(|place| place.line == 4));
    }
}
