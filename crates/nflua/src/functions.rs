//! What states have beside Lua's library: the functions in Lua that matches and targets are made by, and what the process does for them.

use crate::Generation;
use crate::held::Shared;
use crate::native;
use crate::ports::Ports;
use crate::question::Question;
use crate::raw::RawSockets;
use mlua::{Function, Lua, Table};
use moonhook_load::{ForHandlers, Living};
use moonhook_snapshot::{Snapshot, Value as Frozen};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Formats of `unpack` that are prepared for, in bytes at most.
const LONGEST_FORMAT: usize = 64;

/// Makes the table of the match bits that are set, which states and packet code have in common, in one by which it has that name.
const BITS: &str =
    "local lib = ... return { match_bits = lib.map{ key = 'int', value = 'boolean', capacity = 32 } }";

/// Puts a module of that name where NFLua has it, and its own where they can be asked for by name.
const PRELOADED: &str = "local lib, nf = ... lib.nf, lib.data = nf, lib.require('data') \
    for _, name in lib.ipairs { 'nf', 'timer' } do lib.package.loaded[name] = lib[name] end";

/// What a state's functions use of the process.
#[derive(Clone)]
pub struct Outside {
    pub ports: Arc<Ports>,
    /// Where answers leave by.
    pub sockets: Arc<RawSockets>,
    /// By how many seconds the kernel's clock of atomic time is ahead of UTC.
    pub ahead: i64,
}

/// Bytes that a message has at most: of a state's, and of one for it.
const LONGEST: usize = crate::protocol::DATA;

/// Functions of a state, in Lua.
pub struct Functions {
    make_match: Function,
    waiting: Function,
    pub decide: Function,
    pub decide_by_objects: Function,
    decided: Function,
    end_of: Function,
    plan: Function,
    timers: Function,
    set_packet_time: Function,
    miss: Function,
    spent: Rc<Cell<Duration>>,
}

impl Functions {
    /// Fills the global variables of a state of that name.
    ///
    /// # Errors
    /// There is no memory.
    pub fn open(lua: &Lua, living: &mut Living, name: &str, outside: &Outside) -> mlua::Result<Functions> {
        let ForHandlers { keep, kept, link, object } = living.for_handlers(lua)?;
        let globals = living.globals();
        let own = |text| living.own(lua, text);
        let (is_packet_time, set_packet_time): (Function, Function) =
            own(include_str!("lua/flag.lua"))?.call(())?;
        let (memory, bytes_of, position): (Table, Function, Function) =
            own(include_str!("lua/memory.lua"))?.call(globals)?;
        globals.raw_set("memory", &memory)?;
        let spent = Rc::<Cell<Duration>>::default();
        let native = native::open(lua, name, outside, &spent)?;
        let packets = own(include_str!("lua/packet.lua"))?;
        let packets: Table =
            packets.call((globals, &native, &is_packet_time, memory, &bytes_of, position, &link))?;
        let system = own(include_str!("lua/system.lua"))?;
        let timers = system.call((globals, &native, &is_packet_time, bytes_of, outside.ahead, LONGEST))?;
        let bits = own(BITS)?.call::<Table>(globals)?;
        let rules = own(include_str!("lua/rules.lua"))?;
        let rules: Table = rules.call((globals, &packets, keep, object, link, &bits))?;
        let connid: Function = packets.get("connid")?;
        let nf = own(include_str!("lua/nf.lua"))?;
        let nf: Table =
            nf.call((globals, native, is_packet_time, kept, connid, bits, outside.ahead, LONGEST))?;
        own(PRELOADED)?.call::<()>((globals, nf))?;
        Ok(Functions {
            make_match: rules.get("match")?,
            waiting: packets.get("waiting")?,
            decide: rules.get("decide")?,
            decide_by_objects: rules.get("decide_by_objects")?,
            decided: rules.get("decided")?,
            end_of: packets.get("end_of")?,
            plan: packets.get("plan")?,
            miss: own("return false")?,
            timers,
            set_packet_time,
            spent,
        })
    }

    /// A handler of packets that a rule asks about.
    pub fn handler(&self, question: &Question) -> mlua::Result<Function> {
        let Question { function, generation, has_payload, mask } = question;
        let gets_objects = *generation == Generation::Cujo;
        self.make_match.call((function.as_str(), gets_objects, *has_payload, *mask))
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
    pub fn packet(&self, lua: &Lua, held: &Shared, link: Option<&[u8]>) -> mlua::Result<Table> {
        let bytes = lua.create_string(held.borrow().bytes())?;
        let link = link.map(|link| lua.create_string(link)).transpose()?;
        self.waiting.call((bytes, link, lua.create_any_userdata(Shared::clone(held))?))
    }

    /// What a packet can do ends, unless it is stolen.
    pub fn end_of(&self, packet: &Table, is_stolen: bool) -> mlua::Result<()> {
        self.end_of.call((packet, is_stolen))
    }

    /// Nothing is decided any more.
    pub fn decided(&self) -> mlua::Result<()> {
        self.decided.call(())
    }

    /// Functions of the state have been at work for so long.
    pub fn note_time(&self, time: Duration) {
        self.spent.set(self.spent.get().saturating_add(time));
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
