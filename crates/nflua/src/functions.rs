//! What states have beside Lua's library: the functions in Lua that matches and targets are made by, and what the process does for them.

use crate::held::Held;
use crate::ports::Ports;
use crate::raw::RawSockets;
use crate::segment;
use mlua::{AnyUserData, Function, Lua, LuaString, MultiValue, Table, Value};
use moonhook_load::Living;
use moonhook_snapshot::{Snapshot, Value as Frozen};
use std::rc::Rc;
use std::sync::Arc;

/// Formats of `unpack` that are prepared for, in bytes at most.
const LONGEST_FORMAT: usize = 64;

/// What a state's functions use of the process.
#[derive(Clone)]
pub struct Outside {
    pub ports: Arc<Ports>,
    /// Where answers leave by.
    pub sockets: Arc<RawSockets>,
    /// By how many seconds the kernel's clock of atomic time is ahead of UTC.
    pub ahead: i64,
}

/// Functions of a state, in Lua.
pub struct Functions {
    make_match: Function,
    waiting: Function,
    pub decide: Function,
    end_of: Function,
    plan: Function,
    timers: Function,
    set_packet_time: Function,
    miss: Function,
}

impl Functions {
    /// Fills the global variables of a state of that name.
    ///
    /// # Errors
    /// There is no memory.
    pub fn open(lua: &Lua, living: &Living, name: &str, outside: &Outside) -> mlua::Result<Functions> {
        let globals = living.globals();
        let own = |text| living.own(lua, text);
        let (is_packet_time, set_packet_time): (Function, Function) =
            own(include_str!("lua/flag.lua"))?.call(())?;
        let (memory, bytes_of, position): (Table, Function, Function) =
            own(include_str!("lua/memory.lua"))?.call(globals)?;
        globals.raw_set("memory", &memory)?;
        let native = native(lua, name, outside)?;
        let made: Table = own(include_str!("lua/packet.lua"))?.call((
            globals,
            &native,
            &is_packet_time,
            memory,
            &bytes_of,
            position,
        ))?;
        let system = own(include_str!("lua/system.lua"))?;
        let timers = system.call((globals, native, is_packet_time, bytes_of, outside.ahead))?;
        Ok(Functions {
            make_match: made.get("match")?,
            waiting: made.get("waiting")?,
            decide: made.get("decide")?,
            end_of: made.get("end_of")?,
            plan: made.get("plan")?,
            miss: own("return false")?,
            timers,
            set_packet_time,
        })
    }

    /// A handler of packets that a rule asks about.
    pub fn handler(&self, function: &str, has_payload: bool) -> mlua::Result<Function> {
        self.make_match.call((function, has_payload))
    }

    /// Prepares for the formats of `unpack` among the strings of a snapshot; says whether there were new ones.
    pub fn plan(&self, lua: &Lua, snapshot: &Snapshot) -> mlua::Result<bool> {
        let is_format = |text: &[u8]| {
            (1..=LONGEST_FORMAT).contains(&text.len())
                && text.iter().all(|byte| b"<>= bBhHiIlLjJTcx0123456789".contains(byte))
        };
        let constants = snapshot.prototypes.iter().flat_map(|prototype| &prototype.constants);
        let values = constants.chain(snapshot.cells.iter().map(|cell| &cell.value));
        let mut has_new = false;
        for value in values {
            let Frozen::String(text) = value else { continue };
            if is_format(text) {
                has_new |= self.plan.call::<bool>(lua.create_string(&**text)?)?;
            }
        }
        Ok(has_new)
    }

    /// A handler that finds nothing.
    pub fn miss(&self) -> Function {
        self.miss.clone()
    }

    /// A packet that waits for what a target says.
    pub fn packet(
        &self,
        lua: &Lua,
        bytes: &[u8],
        link: Option<&[u8]>,
        held: Held,
    ) -> mlua::Result<(Table, AnyUserData)> {
        let held = lua.create_any_userdata(held)?;
        let (bytes, link) =
            (lua.create_string(bytes)?, link.map(|link| lua.create_string(link)).transpose()?);
        Ok((self.waiting.call((bytes, link, &held))?, held))
    }

    /// What a packet can do ends, unless it is stolen.
    pub fn end_of(&self, packet: &Table, is_stolen: bool) -> mlua::Result<()> {
        self.end_of.call((packet, is_stolen))
    }

    /// Timers that have not gone off.
    pub fn timers(&self) -> usize {
        self.timers.call(()).unwrap_or(0)
    }

    /// Runs `work` while functions are what packet code is made of.
    pub fn for_packets<R>(&self, work: impl FnOnce() -> R) -> mlua::Result<R> {
        self.set_packet_time.call::<()>(true)?;
        let result = work();
        self.set_packet_time.call::<()>(false)?;
        Ok(result)
    }
}

/// What functions in Lua call. None of these raises an error but for want of memory.
fn native(lua: &Lua, name: &str, outside: &Outside) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let sockets = Arc::clone(&outside.sockets);
    let reply = move |_: &Lua, (packet, message): (LuaString, LuaString)| {
        Ok(sockets.reply(&packet.as_bytes(), &message.as_bytes()))
    };
    table.raw_set("reply", lua.create_function(reply)?)?;
    let (ports, state) = (Arc::clone(&outside.ports), Rc::<str>::from(name));
    let send = move |_: &Lua, (port, bytes): (i64, LuaString)| {
        // Ports are 32 bits; negative numbers are those with the highest one.
        let sent = ports.send(port as u32, &state, &bytes.as_bytes());
        Ok(sent.map_or_else(|errno| -(errno as i32), |()| 0))
    };
    table.raw_set("send", lua.create_function(send)?)?;
    let with_payload = |lua: &Lua, (packet, payload): (LuaString, LuaString)| {
        let changed = segment::with_payload(&packet.as_bytes(), &payload.as_bytes());
        changed.map(|bytes| lua.create_string(bytes)).transpose()
    };
    table.raw_set("with_payload", lua.create_function(with_payload)?)?;
    let answer = |_: &Lua, (held, verdict, bytes): (AnyUserData, LuaString, Option<LuaString>)| {
        let mut held = held.borrow_mut::<Held>()?;
        let is_accepted = verdict.as_bytes() == b"accept";
        held.answer(u32::from(is_accepted), bytes.as_ref().map(|bytes| bytes.as_bytes()).as_deref());
        Ok(())
    };
    table.raw_set("answer", lua.create_function(answer)?)?;
    table.raw_set("traffic", lua.create_function(traffic)?)?;
    Ok(table)
}

/// 0 where there is no such connection, 1 where it has no counters, or 2 and packets and bytes of both directions; or what is wrong with which argument.
fn traffic(lua: &Lua, arguments: MultiValue) -> mlua::Result<MultiValue> {
    let found = crate::connections::traffic(arguments.into_iter().collect::<Vec<Value>>().as_slice());
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
