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
pub(crate) mod probe;
pub(crate) mod rcu;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod syscall;
pub(crate) mod thread;

use crate::host::Module;

pub(crate) const MODULES: [Module; 15] = [
    byteorder::MODULE,
    completion::MODULE,
    cpu::MODULE,
    data::MODULE,
    device::MODULE,
    fifo::MODULE,
    linux::MODULE,
    lunatik::MODULE,
    notifier::MODULE,
    probe::MODULE,
    rcu::MODULE,
    signal::MODULE,
    socket::MODULE,
    syscall::MODULE,
    thread::MODULE,
];

/// Modules in Lua, with their text.
pub(crate) const WRITTEN: [(&str, &str); 27] = [
    moonhook_library::CLASS,
    ("lunatik.runner", include_str!("../lua/runner.lua")),
    ("mailbox", include_str!("../lua/mailbox.lua")),
    moonhook_library::NET,
    ("netlink", include_str!("../lua/netlink/netlink.lua")),
    ("netlink.channel", include_str!("../lua/netlink/channel.lua")),
    ("netlink.genl", include_str!("../lua/netlink/genl.lua")),
    ("netlink.message", include_str!("../lua/netlink/message.lua")),
    ("netlink.nl80211", include_str!("../lua/netlink/nl80211.lua")),
    ("netlink.nl80211.ap", include_str!("../lua/netlink/nl80211_ap.lua")),
    ("netlink.nl80211.interface", include_str!("../lua/netlink/nl80211_interface.lua")),
    ("netlink.nl80211.object", include_str!("../lua/netlink/nl80211_object.lua")),
    ("netlink.nl80211.station", include_str!("../lua/netlink/nl80211_station.lua")),
    ("netlink.nl80211.wiphy", include_str!("../lua/netlink/nl80211_wiphy.lua")),
    ("netlink.rt", include_str!("../lua/netlink/rt.lua")),
    ("netlink.rt.addr", include_str!("../lua/netlink/rt_addr.lua")),
    ("netlink.rt.link", include_str!("../lua/netlink/rt_link.lua")),
    ("netlink.rt.object", include_str!("../lua/netlink/rt_object.lua")),
    ("netlink.rt.route", include_str!("../lua/netlink/rt_route.lua")),
    ("netlink.rt.rule", include_str!("../lua/netlink/rt_rule.lua")),
    ("netlink.session", include_str!("../lua/netlink/session.lua")),
    ("socket.inet", include_str!("../lua/socket_inet.lua")),
    ("socket.raw", include_str!("../lua/socket_raw.lua")),
    ("socket.unix", include_str!("../lua/socket_unix.lua")),
    moonhook_library::STRUCT,
    ("syscall.table", include_str!("../lua/syscall_table.lua")),
    ("util", include_str!("../lua/util.lua")),
];
