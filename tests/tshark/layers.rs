//! The outermost layers of a frame as tshark lists them (`frame.protocols`).
//!
//! tshark's fields have one value for each layer of a protocol, tunnels and quoted packets included; only those of the
//! layers on the way from Ethernet to the first transport header are ours to compare.

use crate::run::Shown;

/// Extension headers of IPv6 by tshark's name, with the field that says what follows.
const EXTENSIONS: &[(&str, &str)] = &[
    ("ipv6.hopopts", "ipv6.hopopts.nxt"),
    ("ipv6.routing", "ipv6.routing.nxt"),
    ("ipv6.fraghdr", "ipv6.fraghdr.nxt"),
    ("ipv6.dstopts", "ipv6.dstopts.nxt"),
    ("ah", "ah.next_header"),
    ("mipv6", "mip6.proto"),
];

pub struct Layers {
    pub eth: bool,
    /// Tags passed over, at most 2.
    pub tags: usize,
    /// `ip` or `ipv6`, or empty.
    pub network: String,
    /// Extension headers, as indices into [`EXTENSIONS`].
    extensions: Vec<usize>,
    /// `tcp`, `udp`, `icmp` or `icmpv6`, or empty.
    pub transport: String,
    /// TLS directly on that.
    pub tls: bool,
    /// tshark found the frame too short or wrong somewhere.
    pub malformed: bool,
}

impl Layers {
    pub fn new(shown: &Shown) -> Layers {
        let list = shown.first("frame.protocols").unwrap_or_default();
        let mut names = list.split(':').peekable();
        let eth = names.next_if_eq(&"eth").is_some();
        names.next_if_eq(&"ethertype");
        let mut tags = 0;
        while tags < 2 && names.next_if(|name| matches!(*name, "vlan" | "ieee8021ad")).is_some() {
            names.next_if_eq(&"ethertype");
            tags += 1;
        }
        let network =
            names.next_if(|name| eth && matches!(*name, "ip" | "ipv6")).unwrap_or_default().to_owned();
        let mut extensions = Vec::new();
        while network == "ipv6" {
            let next = names.peek().and_then(|name| EXTENSIONS.iter().position(|(known, _)| known == name));
            let Some(index) = next else { break };
            extensions.push(index);
            names.next();
        }
        let ours = |name: &&str| match network.as_str() {
            "ip" => matches!(*name, "tcp" | "udp" | "icmp"),
            "ipv6" => matches!(*name, "tcp" | "udp" | "icmpv6"),
            _ => false,
        };
        let transport = names.next_if(ours).unwrap_or_default().to_owned();
        let tls = names.next_if_eq(&"tls").is_some();
        let malformed = list.contains("_ws.");
        Layers { eth, tags, network, extensions, transport, tls, malformed }
    }

    pub fn is_v6(&self) -> bool {
        self.network == "ipv6"
    }

    /// The layer that a header of ours stands for is among the outermost ones.
    pub fn has(&self, header: &str) -> bool {
        match header {
            "eth" => self.eth,
            "vlan" => self.tags > 0,
            "ip" => !self.network.is_empty(),
            "tcp" | "udp" => self.transport == header,
            "icmp" => self.transport.starts_with("icmp"),
            "payload" => self.transport == "tcp",
            "tls" => self.transport == "tcp" && self.tls,
            _ => false,
        }
    }

    /// What follows the last IPv6 extension header that tshark went through.
    pub fn protocol<'a>(&self, shown: &'a Shown) -> Option<&'a str> {
        let Some(last) = self.extensions.last() else { return shown.first("ipv6.nxt") };
        let before = self.extensions.iter().filter(|index| *index == last).count() - 1;
        shown.nth(EXTENSIONS[*last].1, before)
    }
}
