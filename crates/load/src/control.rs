//! Scripts for processes: modules that go beyond the sandbox, which somebody else has.

use std::fmt::Debug;

use mlua::{Function, Lua, Table, Value};

use crate::Options;

/// Modules for processes, and what scripts do with them.
pub trait ControlModules: Debug + Send + Sync {
    /// Puts the modules into a script's surroundings, before it runs.
    ///
    /// # Errors
    /// There is no memory.
    fn open(&self, lua: &Lua, globals: &Table) -> mlua::Result<()>;

    /// Runs what a script has returned, until it ends or [`ControlModules::stop`].
    fn run_main(&self, lua: &Lua, name: &str, main: &Function);

    /// Calls what scripts have given to others to be called, until [`ControlModules::stop`]; returns at once if there is nothing.
    fn serve(&self, lua: &Lua);

    /// Whether such a function is at work, or a state is served.
    fn is_busy(&self) -> bool;

    /// Whether scripts have begun anything that goes on: functions, threads, states.
    fn has_begun(&self) -> bool;

    /// Ends all that scripts have begun, within a few seconds.
    fn stop(&self);
}

/// What a script has returned as its function for processes.
pub(crate) fn main(options: &Options, returned: &Value) -> Option<Function> {
    let is_for_processes = options.control.is_some() && options.library.is_none();
    returned.as_function().filter(|_| is_for_processes).cloned()
}

/// Modules that are there for processes only.
const NAMES: [&str; 24] = [
    "class",
    "completion",
    "cpu",
    "data",
    "device",
    "fifo",
    "lunatik",
    "lunatik.runner",
    "mailbox",
    "net",
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
    "struct",
    "thread",
];

/// Whether a message says of such a module that there is none.
pub(crate) fn is_for_processes(message: &str) -> bool {
    NAMES.iter().any(|name| message.starts_with(&format!("module '{name}' not found:")))
}
