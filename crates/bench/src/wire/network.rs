//! The network namespace in which frames travel: interfaces that contestants are attached to, and two ways out that end in a sink.

use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};

use crate::error::Error;
use crate::process;

/// Names of the ways out, as examples/load_balancer.lua has them, and of their other ends.
pub const WAYS: [(&str, &str); 2] = [("lan1", "far1"), ("lan2", "far2")];

/// Of every interface that contestants are attached to; frames are sent to it.
const MAC: &str = "02:00:00:00:00:01";

/// What frames that a contestant lets pass are for: they end in a blackhole behind the IP layer's counters.
const COMMANDS: [&str; 8] = [
    "ip link set lo up",
    "sysctl -q net.ipv4.ip_forward=1",
    "sysctl -q net.ipv6.conf.all.disable_ipv6=1",
    "sysctl -q net.ipv6.conf.default.disable_ipv6=1",
    "sysctl -q net.ipv4.conf.all.rp_filter=0",
    "sysctl -q net.ipv4.conf.default.rp_filter=0",
    "ip route add blackhole 192.0.2.0/24",
    "ip route add blackhole 198.51.100.0/24",
];

/// The next hop of all routes, behind the first way out.
const NEXT_HOP: [&str; 2] =
    ["ip address add 203.0.113.1/24 dev lan1", "ip neigh add 203.0.113.2 lladdr 02:00:00:00:00:02 dev lan1"];

/// Moves this thread into a namespace of its own; threads and processes that it starts follow.
pub fn enter() -> Result<(), Error> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|errno| Error::System { what: "make a network namespace".into(), error: errno.into() })?;
    COMMANDS.iter().try_for_each(|line| command(line))?;
    WAYS.iter().try_for_each(|(near, far)| pair(near, far))?;
    NEXT_HOP.iter().try_for_each(|line| command(line))
}

/// A route for each of these /24 networks (their first address).
pub fn add_routes(networks: &[u32]) -> Result<(), Error> {
    let address = |network: &u32| std::net::Ipv4Addr::from(*network);
    networks.iter().try_for_each(|network| {
        command(&format!("ip route add {}/24 via 203.0.113.2 dev lan1", address(network)))
    })
}

/// A veth of two queues in each direction, which takes frames as XDP programs send them.
fn pair(near: &str, far: &str) -> Result<(), Error> {
    command(&format!(
        "ip link add {near} numtxqueues 2 numrxqueues 2 type veth peer name {far} numtxqueues 2 numrxqueues 2"
    ))?;
    [near, far].into_iter().try_for_each(|end| command(&format!("ip link set {end} up")))?;
    // With GRO a veth polls its ring even without an XDP program, as the kernel's own ways need it. Only of an end that is up is the
    // other one told (drivers/net/veth.c, veth_set_features).
    [near, far].into_iter().try_for_each(|end| command(&format!("ethtool -K {end} gro on")))
}

/// Where a contestant is attached, and where frames for it are sent.
pub struct Port {
    pub inside: String,
    /// Index of the other end.
    pub outside: u32,
}

impl Port {
    pub fn new(number: usize) -> Result<Self, Error> {
        let (outside, inside) = (format!("out{number}"), format!("in{number}"));
        pair(&outside, &inside)?;
        command(&format!("ip link set {inside} address {MAC}"))?;
        Ok(Port { inside, outside: index(&outside)? })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = process::words(&["ip", "link", "delete", &self.inside]);
    }
}

pub fn index(name: &str) -> Result<u32, Error> {
    if_nametoindex(name)
        .map_err(|errno| Error::System { what: format!("find the interface {name}"), error: errno.into() })
}

/// Frames that an interface has received so far, whatever became of them.
pub fn received(interface: &str) -> Result<u64, Error> {
    let text = read("dev")?;
    let row = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(1)?.parse().ok()).ok_or_else(|| missing("dev", interface))
}

/// Packets that have reached the IP layer so far: those that no program dropped or sent elsewhere.
pub fn delivered() -> Result<u64, Error> {
    let text = read("snmp")?;
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Ip: ")).map(str::split_whitespace);
    let (titles, values) = rows.next().zip(rows.next()).ok_or_else(|| missing("snmp", "Ip"))?;
    let found = titles.zip(values).find(|(title, _)| *title == "InReceives");
    found.and_then(|(_, value)| value.parse().ok()).ok_or_else(|| missing("snmp", "InReceives"))
}

fn read(file: &str) -> Result<String, Error> {
    let path = format!("/proc/thread-self/net/{file}");
    std::fs::read_to_string(&path).map_err(Error::system(format!("read {path}")))
}

fn missing(file: &str, what: &str) -> Error {
    Error::Peer { contestant: format!("/proc/thread-self/net/{file}"), message: format!("has no {what}") }
}

fn command(line: &str) -> Result<(), Error> {
    process::words(&line.split(' ').collect::<Vec<_>>()).map(|_| ())
}
