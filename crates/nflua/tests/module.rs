//! The Lua module `nflua`, in the interpreters that are there: what it sends, what it makes of answers, and its errors.

mod common;

use common::daemon::Daemon;
use common::{Installed, skipped};
use moonhook_nflua::install::{Generation, Lua};
use std::process::Command;

/// What every script begins with: buffers as lua-memory has them, and asking as its users do.
const PRELUDE: &str = r#"
local contents = setmetatable({}, {__mode = "k"})
package.loaded.memory = {
    create = function(bytes)
        local object = io.tmpfile()
        contents[object] = type(bytes) == "number" and string.rep("\0", bytes) or bytes
        return object
    end,
    type = function(object) return contents[object] and "fixed" end,
    len = function(object) return #contents[object] end,
    tostring = function(object, i, j) return contents[object]:sub(i or 1, j or -1) end,
    fill = function(object, bytes, i, j)
        local old = contents[object]
        assert(#bytes == j - i + 1 and j <= #old)
        contents[object] = old:sub(1, i - 1) .. bytes .. old:sub(j + 1)
    end,
}
memory = require "memory"
nflua = require "nflua"
function fails(expected, f, ...)
    local ok, message = pcall(f, ...)
    assert(not ok and message == expected, message)
end
function refused(expected, ...)
    local result, message, number = ...
    assert(result == nil and message == expected and number < 0, message)
end
function run(socket, command, ...)
    local ok, message = socket[command](socket, ...)
    if not ok then return ok, message end
    assert(socket:getstate() == "waiting")
    return socket:receive()
end
"#;

/// Runs a script with the module of that version, and a daemon that answers so; gives what was asked.
fn in_lua(
    test: &str,
    script: &str,
    answers: impl Fn(&[&[u8]]) -> Vec<Vec<u8>> + Send + Sync + Clone + 'static,
    asked: &[&str],
) {
    for (lua, interpreter) in [(Lua::V5_3, "lua5.3"), (Lua::V5_4, "lua5.4")] {
        let name = format!("{test} in {interpreter}");
        if !Command::new(interpreter).arg("-v").output().is_ok_and(|run| run.status.success()) {
            skipped(&name, "it is not installed");
            continue;
        }
        let Some(installed) = Installed::new(&name, Generation::Of2019, Some(lua)) else { continue };
        let daemon = Daemon::new(installed.socket(), answers.clone());
        let ran = installed.command(interpreter).args(["-e", &format!("{PRELUDE}{script}")]).output();
        let ran = ran.expect("it runs");
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(daemon.asked(), asked, "{name}");
    }
}

/// A daemon that knows one state, and one pid that is taken.
fn answers(fields: &[&[u8]]) -> Vec<Vec<u8>> {
    let answer = match fields {
        [b"control" | b"data", b"0"] => message!("ok", "2147483649"),
        [b"control" | b"data", b"77"] => message!("error", "98", "taken"),
        [b"control" | b"data", pid] => message!("ok", pid),
        [b"create" | b"execute", b"st", ..] => message!("ok"),
        [b"list"] => message!("ok", "a", "65536", "123", "b", "32768", "7"),
        _ => message!("error", "2", "there is no such state"),
    };
    vec![answer]
}

#[test]
fn sockets_are_opened_and_closed() {
    let script = r#"
    for _, kind in ipairs {"control", "data"} do
        local open = nflua[kind]
        local socket = assert(open())
        assert(socket:getpid() == 2147483649 and math.type(socket:getpid()) == "integer")
        assert(type(socket:getfd()) == "number" and socket:close() == true)
        for name in pairs(getmetatable(socket).__index) do
            if not name:find "^__" then fails("bad argument #1 to '?' (socket closed)", socket[name], socket) end
        end
        local other = assert(open(123))
        assert(other:getpid() == 123)
        refused("Address already in use", open(77))
        local name = "bad argument #1 to 'nflua." .. kind .. "' "
        fails(name .. "(must be in range [0, 2^31))", open, 2 ^ 31)
        fails(name .. "(must be in range [0, 2^31))", open, -1)
        fails(name .. "(must be integer or nil)", open, "7")
    end
    assert(nflua.datamaxsize == 4012 and nflua.defaultmaxallocbytes == 32768 and nflua.maxstates == 128)
    assert(nflua.scriptnamemaxsize == 255 and nflua.statenamemaxsize == 64)
    "#;
    let asked = ["control|0", "control|123", "control|77", "data|0", "data|123", "data|77"];
    in_lua("sockets_are_opened_and_closed", script, answers, &asked);
}

#[test]
fn states_are_made_executed_and_listed() {
    let script = r#"
    local socket = assert(nflua.control())
    assert(socket:getstate() == "ready")
    refused("Operation not permitted", socket:receive())
    assert(run(socket, "create", "st") == true)
    assert(run(socket, "create", "st", 2 ^ 17) == true)
    assert(run(socket, "execute", "st", "print()\0") == true)
    assert(run(socket, "execute", "st", "print()", "a.lua") == true)
    local list = run(socket, "list")
    assert(#list == 2 and list[1].name == "a" and list[2].name == "b")
    assert(list[1].maxalloc == 65536 and list[1].curralloc == 123 and list[2].curralloc == 7)
    assert(socket:destroy "none")
    refused("Operation not permitted", socket:list())
    local result, message, number, text = socket:receive()
    refused("operation could not be completed", result, message, number)
    assert(number == -2 and text == "there is no such state" and socket:getstate() == "ready")
    refused("Invalid argument", socket:execute("st", ""))
    refused("Invalid argument", socket:execute("st", ("x"):rep(59969)))
    assert(run(socket, "execute", "st", ("x"):rep(59968), "b.lua") == true)
    for _, name in ipairs {"create", "destroy", "execute"} do
        fails("bad argument #2 to '?' (name too long)", socket[name], socket, ("a"):rep(64), "")
        fails("bad argument #2 to '?' (name contains zeros)", socket[name], socket, "a\0b", "")
    end
    fails("bad argument #4 to '?' (name too long)", socket.execute, socket, "st", "x", ("a"):rep(255))
    fails("bad argument #3 to '?' (must be in range [0, 2^32))", socket.create, socket, "st", -1)
    "#;
    let long = format!("execute|st|b.lua|{}", "x".repeat(59968));
    let asked = [
        "control|0",
        "create|st|32768",
        "create|st|131072",
        "execute|st|print()|print()|",
        "execute|st|a.lua|print()",
        "list",
        "destroy|none",
        long.as_str(),
    ];
    in_lua("states_are_made_executed_and_listed", script, answers, &asked);
}

#[test]
fn data_go_to_states_and_come_from_them() {
    let script = r#"
    local socket = assert(nflua.data())
    assert(socket:send("st", memory.create "a\0b") == true)
    local buffer = memory.create(nflua.datamaxsize + 1)
    local length, state = socket:receive(buffer, 1)
    assert(length == 3 and state == "st" and memory.tostring(buffer, 1, 4) == "\0a\0b")
    assert(socket:send("empty", memory.create "x"))
    length, state = socket:receive(buffer, 0)
    assert(length == 0 and state == "empty")
    assert(socket:send("long", memory.create "x"))
    refused("Message too long", socket:receive(buffer, 0))
    assert(socket:send("st", memory.create(nflua.datamaxsize)))
    assert(socket:receive(buffer, 0) == nflua.datamaxsize)
    refused("Operation not permitted", socket:send("st", memory.create ""))
    refused("Operation not permitted", socket:send("st", memory.create(nflua.datamaxsize + 1)))
    fails("bad argument #3 to '?' (memory expected, got number)", socket.send, socket, "st", 0)
    fails("bad argument #2 to '?' (memory expected, got userdata)", socket.receive, socket, io.stdout, 0)
    fails("bad argument #3 to '?' (not enough space in buffer)", socket.receive, socket, buffer, 2)
    fails("bad argument #3 to '?' (not enough space in buffer)", socket.receive, socket, buffer, -1)
    "#;
    let echo = |fields: &[&[u8]]| match fields {
        [b"data", ..] => answers(fields),
        [b"empty", ..] => vec![message!("empty", "")],
        [b"long", ..] => vec![message!("s".repeat(63), "x".repeat(4013))],
        _ => vec![fields.join(&b"\0"[..])],
    };
    let long = format!("st|{}", "|".repeat(4012));
    let asked = ["data|0", "st|a|b", "empty|x", "long|x", long.as_str()];
    in_lua("data_go_to_states_and_come_from_them", script, echo, &asked);
}

#[test]
fn a_daemon_that_cannot_be_understood_is_an_error() {
    let script = r#"
    for _, pid in ipairs {1, 2, 3, 4} do refused("Protocol error", nflua.control(pid)) end
    local socket = assert(nflua.control())
    refused("Bad message", run(socket, "create", "strange"))
    assert(socket:getstate() == "failed")
    refused("Operation not permitted", socket:list())
    socket = assert(nflua.control())
    refused("Protocol error", run(socket, "list"))
    "#;
    let strange = |fields: &[&[u8]]| match fields {
        [_, b"0"] => answers(fields),
        [b"control", b"1"] => vec![message!("hello")],
        [b"control", b"2"] => vec![message!("ok")],
        [b"control", b"3"] => vec![message!("ok", "4294967296")],
        [b"control", b"4"] => vec![message!("error", "0")],
        [b"list"] => vec![message!("ok", "a", "1")],
        _ => vec![message!("what")],
    };
    let asked = [
        "control|1",
        "control|2",
        "control|3",
        "control|4",
        "control|0",
        "create|strange|32768",
        "control|0",
        "list",
    ];
    in_lua("a_daemon_that_cannot_be_understood_is_an_error", script, strange, &asked);
}
