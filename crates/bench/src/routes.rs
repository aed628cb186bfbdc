//! A network namespace of this process's own, with ways for all addresses: what programs look up in test runs.

use nix::sched::{CloneFlags, unshare};

use crate::error::Error;
use crate::process;

/// The next hop's addresses are known, so that nobody is asked for them.
const COMMANDS: [&str; 12] = [
    "ip link set lo up",
    "ip link add way0 type veth peer name way1",
    "ip link set way0 up",
    "ip link set way1 up",
    "ip address add 203.0.113.1/24 dev way0",
    "ip -6 address add 2001:db8:ffff::1/64 dev way0 nodad",
    "ip neigh add 203.0.113.2 lladdr 02:00:00:00:00:02 dev way0",
    "ip -6 neigh add 2001:db8:ffff::2 lladdr 02:00:00:00:00:02 dev way0",
    "ip route add default via 203.0.113.2",
    "ip -6 route add default via 2001:db8:ffff::2",
    "sysctl -q net.ipv4.ip_forward=1",
    "sysctl -q net.ipv6.conf.all.forwarding=1",
];

/// Moves this thread there; threads and processes that it starts follow.
pub fn enter() -> Result<(), Error> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|errno| Error::System { what: "make a network namespace".into(), error: errno.into() })?;
    for command in COMMANDS {
        process::words(&command.split(' ').collect::<Vec<_>>())?;
    }
    Ok(())
}
