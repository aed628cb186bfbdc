//! The modules, each in a file: those in Rust here, those in Lua in `src/lua`.

pub(crate) mod byteorder;
pub(crate) mod completion;
pub(crate) mod cpu;
pub(crate) mod data;
pub(crate) mod device;
pub(crate) mod fifo;
pub(crate) mod linux;
pub(crate) mod lunatik;
pub(crate) mod notifier;
pub(crate) mod rcu;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod thread;

use crate::host::Module;

pub(crate) const MODULES: [Module; 13] = [
    byteorder::MODULE,
    completion::MODULE,
    cpu::MODULE,
    data::MODULE,
    device::MODULE,
    fifo::MODULE,
    linux::MODULE,
    lunatik::MODULE,
    notifier::MODULE,
    rcu::MODULE,
    signal::MODULE,
    socket::MODULE,
    thread::MODULE,
];

/// Modules in Lua, with their text.
pub(crate) const WRITTEN: [(&str, &str); 9] = [
    ("class", include_str!("../lua/class.lua")),
    ("lunatik.runner", include_str!("../lua/runner.lua")),
    ("mailbox", include_str!("../lua/mailbox.lua")),
    ("net", include_str!("../lua/net.lua")),
    ("socket.inet", include_str!("../lua/socket_inet.lua")),
    ("socket.raw", include_str!("../lua/socket_raw.lua")),
    ("socket.unix", include_str!("../lua/socket_unix.lua")),
    ("struct", include_str!("../lua/struct.lua")),
    ("util", include_str!("../lua/util.lua")),
];
