//! Names of what is inside of a packet, and of what is parsed of it.

pub const NAME: &str = "inner";

/// What the names of headers that are inside begin with.
const PREFIX: &str = "inner.";

/// What the packet inside has, in the order of its protocols: the name, and that of the header there.
pub const MEMBERS: [(&str, &str); 17] = [
    ("eth", "inner.eth"),
    ("vlan", "inner.vlan"),
    ("arp", "inner.arp"),
    ("ip", "inner.ip"),
    ("tcp", "inner.tcp"),
    ("udp", "inner.udp"),
    ("icmp", "inner.icmp"),
    ("payload", "inner.payload"),
    ("tls", "inner.tls"),
    ("dns", "inner.dns"),
    ("http", "inner.http"),
    ("sctp", "inner.sctp"),
    ("gre", "inner.gre"),
    ("vxlan", "inner.vxlan"),
    ("mpls", "inner.mpls"),
    ("dhcp", "inner.dhcp"),
    ("quic", "inner.quic"),
];

/// What is parsed besides.
const OTHERS: [(&str, &str); 4] = [
    ("link", "inner.link"),
    ("sni", "inner.sni"),
    ("gue", "inner.gue"),
    ("dns.question", "inner.dns.question"),
];

/// The name under which is kept what was parsed of what is inside.
pub fn key(name: &'static str) -> &'static str {
    let known = MEMBERS.iter().chain(&OTHERS).find(|(outer, _)| *outer == name);
    known.map_or(name, |(_, inner)| *inner)
}

/// Whether the name is that of what is inside, or of a header there.
pub fn is_inner(name: &str) -> bool {
    name == NAME || name.starts_with(PREFIX)
}

/// The name of a header as its packet has it, inside or not.
pub fn plain_name(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// What is kept of where it is.
pub const INSIDE: &str = "inside";

/// The type of what is inside where that is a frame: none of a link's header.
pub const FRAME: i64 = 0;
