//! The outermost layers of a frame as tshark lists them (`frame.protocols`).
//!
//! tshark's fields have one value for each layer of a protocol, tunnels and quoted packets included; only those of the
//! layers on the way from Ethernet to the first transport header are ours to compare.

use crate::compare::number;
use crate::run::Shown;

/// An extension header of IPv6.
struct Extension {
    /// As `frame.protocols` has it.
    name: &'static str,
    /// The field that says what follows.
    next: &'static str,
    /// The field with its length, and how many bytes that means.
    length: &'static str,
    bytes: fn(u64) -> u64,
}

const EXTENSIONS: &[Extension] = &[
    Extension {
        name: "ipv6.hopopts",
        next: "ipv6.hopopts.nxt",
        length: "ipv6.hopopts.len_oct",
        bytes: |bytes| bytes,
    },
    Extension {
        name: "ipv6.routing",
        next: "ipv6.routing.nxt",
        length: "ipv6.routing.len_oct",
        bytes: |bytes| bytes,
    },
    Extension { name: "ipv6.fraghdr", next: "ipv6.fraghdr.nxt", length: "ipv6.fraghdr.nxt", bytes: |_| 8 },
    Extension {
        name: "ipv6.dstopts",
        next: "ipv6.dstopts.nxt",
        length: "ipv6.dstopts.len_oct",
        bytes: |bytes| bytes,
    },
    Extension { name: "ah", next: "ah.next_header", length: "ah.length", bytes: |words| (words + 2) * 4 },
    Extension { name: "mipv6", next: "mip6.proto", length: "mip6.hlen", bytes: |blocks| (blocks + 1) * 8 },
];

/// What frames begin with whose Ethernet header the capture does not have.
const OTHER_LINKS: [&str; 9] =
    ["sll", "raw", "null", "loop", "radiotap", "wlan_radio", "wlan", "wlan_aggregate", "llc"];

/// Layers of what is inside.
pub struct Inside {
    pub has_eth: bool,
    pub network: String,
    pub transport: String,
}

pub struct Layers {
    pub eth: bool,
    /// The capture has another link header, in the place of which an Ethernet header was made.
    pub is_made: bool,
    /// Tags passed over, at most 2.
    pub tags: usize,
    /// `ip`, `ipv6` or `arp`, or empty.
    pub network: String,
    /// Extension headers, as indices into [`EXTENSIONS`].
    extensions: Vec<usize>,
    /// `tcp`, `udp`, `icmp` or `icmpv6`, or empty.
    pub transport: String,
    /// TLS directly on that.
    /// What follows the transport header.
    pub application: String,
    /// What follows that.
    rest: Vec<String>,
}

impl Layers {
    pub fn new(shown: &Shown) -> Layers {
        let list = shown.first("frame.protocols").unwrap_or_default();
        let mut names = list.split(':').peekable();
        let eth = names.next_if_eq(&"eth").is_some();
        // Of link types for one version of IP, nothing stands in front of it.
        let is_other = |name: &&str| OTHER_LINKS.contains(name) || matches!(*name, "ip" | "ipv6");
        let is_made = !eth && names.peek().is_some_and(is_other);
        while is_made && names.next_if(|name| OTHER_LINKS.contains(name)).is_some() {}
        names.next_if_eq(&"ethertype");
        let mut tags = 0;
        while tags < 2 && names.next_if(|name| matches!(*name, "vlan" | "ieee8021ad")).is_some() {
            names.next_if_eq(&"ethertype");
            tags += 1;
        }
        let network = names
            .next_if(|name| (eth || is_made) && matches!(*name, "ip" | "ipv6" | "arp" | "mpls"))
            .unwrap_or_default()
            .to_owned();
        let mut extensions = Vec::new();
        let extension = |name: &&str| EXTENSIONS.iter().position(|known| known.name == *name);
        while let Some(index) = names.peek().and_then(extension).filter(|_| network == "ipv6") {
            extensions.push(index);
            names.next();
        }
        let ours = |name: &&str| match network.as_str() {
            "ip" => matches!(*name, "tcp" | "udp" | "icmp" | "sctp" | "gre"),
            "ipv6" => matches!(*name, "tcp" | "udp" | "icmpv6" | "sctp" | "gre"),
            _ => false,
        };
        let transport = names.next_if(ours).unwrap_or_default().to_owned();
        let application = names.next().unwrap_or_default().to_owned();
        let rest = names.map(str::to_owned).collect();
        Layers { eth, is_made, tags, network, extensions, transport, application, rest }
    }

    /// What is inside, where that is an IP packet or a frame in one of the ways that `pkt.inner` knows.
    pub fn inside(&self) -> Option<Inside> {
        let behind: Vec<&str> = self.rest.iter().map(String::as_str).collect();
        let application = self.application.as_str();
        let (has_eth, mut names) = match (self.network.as_str(), self.transport.as_str()) {
            ("ip" | "ipv6", "") if matches!(application, "ip" | "ipv6") => {
                (false, [&[application], &behind[..]].concat())
            }
            (_, "gre") if matches!(application, "ip" | "ipv6") => {
                (false, [&[application], &behind[..]].concat())
            }
            (_, "gre") if application == "eth" => (true, behind),
            (_, "udp") if application == "vxlan" && behind.first() == Some(&"eth") => {
                (true, behind[1..].to_vec())
            }
            _ => return None,
        };
        if names.first() == Some(&"ethertype") {
            names.remove(0);
        }
        let ours = |name: Option<&&str>, known: &[&str]| {
            name.filter(|name| known.contains(*name)).copied().unwrap_or_default().to_owned()
        };
        let network = ours(names.first(), &["ip", "ipv6"]);
        let transport = if network.is_empty() { String::new() } else { ours(names.get(1), &["tcp", "udp"]) };
        Some(Inside { has_eth, network, transport })
    }

    pub fn is_v6(&self) -> bool {
        self.network == "ipv6"
    }

    /// The layer that a header of ours stands for is among the outermost ones.
    pub fn has(&self, header: &str) -> bool {
        match header {
            "eth" => self.eth,
            "vlan" => self.tags > 0,
            "arp" => self.network == "arp",
            "ip" => matches!(self.network.as_str(), "ip" | "ipv6"),
            "tcp" | "udp" | "sctp" | "gre" => self.transport == header,
            "icmp" => self.transport.starts_with("icmp"),
            "payload" => self.transport == "tcp",
            "tls" => self.transport == "tcp" && self.application == "tls",
            "mpls" => self.network == "mpls",
            "vxlan" | "dhcp" | "quic" => self.transport == "udp" && self.application == header,
            "http" => self.transport == "tcp" && self.application == "http",
            "dns" => self.transport == "udp" && matches!(self.application.as_str(), "dns" | "mdns"),
            _ => false,
        }
    }

    /// IPv6 without a fragment header.
    pub fn is_whole_v6(&self) -> bool {
        self.is_v6() && !self.extensions.iter().any(|index| EXTENSIONS[*index].name == "ipv6.fraghdr")
    }

    /// Where the IP header starts.
    pub fn network_start(&self) -> u64 {
        14 + 4 * self.tags as u64
    }

    /// What follows the last IPv6 extension header that tshark went through.
    pub fn protocol<'a>(&self, shown: &'a Shown) -> Option<&'a str> {
        let Some(last) = self.extensions.len().checked_sub(1) else { return shown.first("ipv6.nxt") };
        self.of_extension(shown, last, |extension| extension.next)
    }

    /// The IPv6 header and the extension headers that tshark went through, in bytes.
    pub fn header_length(&self, shown: &Shown) -> Option<u64> {
        let length = |index: usize| {
            let stated = number(self.of_extension(shown, index, |extension| extension.length)?)?;
            Some((EXTENSIONS[self.extensions[index]].bytes)(stated))
        };
        shown.first("ipv6.nxt")?;
        (0..self.extensions.len()).try_fold(40, |sum, index| Some(sum + length(index)?))
    }

    /// A field of the extension header at `index`: its n-th occurrence, for the n-th header of that kind.
    fn of_extension<'a>(
        &self,
        shown: &'a Shown,
        index: usize,
        field: fn(&Extension) -> &str,
    ) -> Option<&'a str> {
        let kind = self.extensions[index];
        let before = self.extensions[..index].iter().filter(|other| **other == kind).count();
        shown.nth(field(&EXTENSIONS[kind]), before)
    }

    /// Whether tshark went through any extension header.
    pub fn has_extensions(&self) -> bool {
        !self.extensions.is_empty()
    }
}
