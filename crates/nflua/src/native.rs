//! What the functions in Lua that are in every state have the process do.

use crate::functions::Outside;
use crate::held::{ACCEPT, DROP, Shared};
use crate::{connections, datagram, segment};
use mlua::{AnyUserData, Lua, LuaString, MultiValue, Table, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A table of them. None of these raises an error but for want of memory.
///
/// `spent` is the time that the state's functions have taken since they asked for it last.
pub fn open(lua: &Lua, name: &str, outside: &Outside, spent: &Rc<Cell<Duration>>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    add_packets(lua, &table, outside)?;
    add_connections(lua, &table)?;
    let (ports, state) = (Arc::clone(&outside.ports), Rc::<str>::from(name));
    let send = move |_: &Lua, (port, bytes): (i64, LuaString)| {
        // Ports are 32 bits; negative numbers are those with the highest one.
        let sent = ports.send(port as u32, &state, &bytes.as_bytes());
        Ok(sent.map_or_else(|errno| -(errno as i32), |()| 0))
    };
    table.raw_set("send", lua.create_function(send)?)?;
    let spent = Rc::clone(spent);
    let ask = move |lua: &Lua, ()| {
        let microseconds = i64::try_from(spent.take().as_micros()).unwrap_or(i64::MAX);
        Ok((lua.used_memory(), microseconds))
    };
    table.raw_set("spent", lua.create_function(ask)?)?;
    Ok(table)
}

/// What becomes of packets, and others that are made of them.
fn add_packets(lua: &Lua, table: &Table, outside: &Outside) -> mlua::Result<()> {
    let sockets = Arc::clone(&outside.sockets);
    let reply = move |_: &Lua, (packet, message, is_tcp): (LuaString, LuaString, bool)| {
        let (packet, message) = (packet.as_bytes(), message.as_bytes());
        let length = packet.len();
        Ok(match is_tcp {
            true => sockets.reply(&packet, length, &message),
            false => sockets.reply_datagram(&packet, length, &message),
        })
    };
    table.raw_set("reply", lua.create_function(reply)?)?;
    let sockets = Arc::clone(&outside.sockets);
    let forward = move |_: &Lua, packet: LuaString| Ok(sockets.forward(&packet.as_bytes()));
    table.raw_set("forward", lua.create_function(forward)?)?;
    let with_payload = |lua: &Lua, (packet, payload, is_tcp): (LuaString, LuaString, bool)| {
        let (packet, payload) = (packet.as_bytes(), payload.as_bytes());
        let changed = changed(&packet, packet.len(), &payload, is_tcp);
        changed.map(|bytes| lua.create_string(bytes)).transpose()
    };
    table.raw_set("with_payload", lua.create_function(with_payload)?)?;
    let answer = |_: &Lua, (held, verdict, bytes): (AnyUserData, LuaString, Option<LuaString>)| {
        let held = held.borrow::<Shared>()?;
        let verdict = if verdict.as_bytes() == b"accept" { ACCEPT } else { DROP };
        held.borrow_mut().answer(verdict, bytes.as_ref().map(|bytes| bytes.as_bytes()).as_deref());
        Ok(())
    };
    table.raw_set("answer", lua.create_function(answer)?)
}

/// The same packet, which has `length` bytes and begins with `head`, with another payload.
pub fn changed(head: &[u8], length: usize, payload: &[u8], is_tcp: bool) -> Option<Vec<u8>> {
    match is_tcp {
        true => segment::with_payload(head, length, payload),
        false => datagram::with_payload(head, length, payload),
    }
}

fn add_connections(lua: &Lua, table: &Table) -> mlua::Result<()> {
    table.raw_set("traffic", lua.create_function(traffic)?)?;
    let forget = |_: &Lua, arguments: MultiValue| {
        let arguments: Vec<Value> = arguments.into_iter().collect();
        Ok(connections::forget(&arguments).err().map(|(_, problem)| problem))
    };
    table.raw_set("forget", lua.create_function(forget)?)?;
    let forget_of = |_: &Lua, packet: LuaString| {
        let packet = packet.as_bytes();
        connections::forget_of(&packet, packet.len());
        Ok(())
    };
    table.raw_set("forget_of", lua.create_function(forget_of)?)
}

/// 0 where there is no such connection, 1 where it has no counters, or 2 and packets and bytes of both directions; or what is wrong with which argument.
fn traffic(lua: &Lua, arguments: MultiValue) -> mlua::Result<MultiValue> {
    let found = connections::traffic(arguments.into_iter().collect::<Vec<Value>>().as_slice());
    let values = match found {
        Ok(Some(Some(counters))) => {
            let counters = counters.map(|number| Value::Integer(number as i64));
            [Value::Integer(2)].into_iter().chain(counters).collect()
        }
        Ok(Some(None)) => MultiValue::from_iter([Value::Integer(1)]),
        Ok(None) => MultiValue::from_iter([Value::Integer(0)]),
        Err((number, problem)) => {
            MultiValue::from_iter([Value::String(lua.create_string(problem)?), Value::Integer(number)])
        }
    };
    Ok(values)
}
