//! Scripts for processes: modules that go beyond the sandbox, which somebody else has.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use mlua::{Function, Lua, Table, Value};
use moonhook_hook::Point;
use moonhook_library::COMPUTING;

use crate::Options;

/// Modules for processes, and what scripts do with them.
pub trait ControlModules: Debug + Send + Sync {
    /// Puts the modules into a script's surroundings, before it runs.
    ///
    /// # Errors
    /// There is no memory.
    fn open(&self, lua: &Lua, globals: &Table) -> mlua::Result<()>;

    /// What sets metatables that have a finalizer (`__gc`) in a state, which scripts have none of otherwise: a function of a table and its
    /// metatable, which gives the table.
    ///
    /// # Errors
    /// There is no memory.
    fn finalizers(&self, lua: &Lua) -> mlua::Result<Function>;

    /// Calls what finalizers are left in a state that ends; says whether they have come to an end in that time, and were not ended.
    fn finish(&self, lua: &Lua, time: Duration) -> bool;

    /// Runs what a script has returned, until it ends or [`ControlModules::stop`].
    fn run_main(&self, lua: &Lua, name: &str, main: &Function);

    /// Calls what scripts have given to others to be called, until [`ControlModules::stop`] or `between` says `false`; returns at once if there is nothing.
    /// `between` is called behind each such call, and after [`ControlModules::wake`].
    fn serve(&self, lua: &Lua, between: &mut dyn FnMut() -> bool);

    /// There is something to be done between the calls of a state that is served.
    fn wake(&self);

    /// For how long such a call has been at work, if one is.
    fn called_for(&self) -> Option<Duration>;

    /// Whether a function that scripts have returned is at work.
    fn is_busy(&self) -> bool;

    /// Whether scripts have begun anything that goes on: functions, threads, states.
    fn has_begun(&self) -> bool;

    /// Handlers that are registered in states of their own from now on have their packets from that network namespace (`None`: the process's), by so many queues of
    /// each place.
    fn take_packets(&self, netns: Option<&str>, queues: u16);

    /// What such handlers are asked about, and have decided.
    fn decided(&self) -> Decided;

    /// Ends all that scripts have begun, within a few seconds.
    fn stop(&self);
}

/// What handlers in states of their own have to do with packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Where packets are taken from now, one for each handler.
    pub places: Vec<Point>,
    /// By verdict, for how many packets.
    pub verdicts: BTreeMap<i32, u64>,
    /// How often a handler has failed.
    pub errors: u64,
}

/// What a script has returned as its function for processes.
pub(crate) fn main(options: &Options, returned: &Value) -> Option<Function> {
    let is_for_processes = options.control.is_some() && options.library.is_none();
    returned.as_function().filter(|_| is_for_processes).cloned()
}

/// Modules that are there for processes only.
const NAMES: [&str; 21] = [
    "completion",
    "cpu",
    "data",
    "device",
    "fifo",
    "lunatik",
    "lunatik.runner",
    "mailbox",
    "netlink",
    "netlink.channel",
    "netlink.genl",
    "netlink.message",
    "netlink.nl80211",
    "netlink.rt",
    "netlink.session",
    "notifier",
    "signal",
    "socket.inet",
    "socket.raw",
    "socket.unix",
    "thread",
];

/// Whether a message says of such a module that there is none.
pub(crate) fn is_for_processes(message: &str) -> bool {
    NAMES.iter().any(|name| is_about(message, name))
}

/// Whether a message says of a module that all scripts for Lunatik have that there is none.
pub(crate) fn is_of_lunatik(message: &str) -> bool {
    COMPUTING.iter().any(|(name, _)| is_about(message, name))
}

fn is_about(message: &str, module: &str) -> bool {
    message.starts_with(&format!("module '{module}' not found:"))
}
