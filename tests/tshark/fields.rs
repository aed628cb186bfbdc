//! Which field of tshark is which field of ours.

/// One field of ours.
pub struct Row {
    /// `HEADER.FIELD` of `docs/packet.md`.
    pub path: &'static str,
    /// tshark's name under IPv4 or where the version does not matter; empty if there is none.
    pub field: &'static str,
    /// tshark's name under IPv6, where it differs.
    pub field_v6: &'static str,
    pub unit: Unit,
}

/// How tshark's value becomes ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Text, the same on both sides.
    Text,
    Number,
    Boolean,
    /// `ipv6.plen` does not count the 40 bytes of the header.
    Length,
    /// The second occurrence.
    Second,
    /// Where the walk over extension headers ended: the last `nxt` field (`Layers::protocol`).
    Protocol,
    /// IPv6: 40 and the extension headers that tshark went through (`Layers::header_length`).
    HeaderLength,
    /// tshark counts fragment offsets in units of 8 bytes.
    Blocks,
    /// Bytes of payload.
    Payload,
    /// Bytes in hexadecimal digits.
    Hex,
}

const fn row(path: &'static str, field: &'static str, unit: Unit) -> Row {
    Row { path, field, field_v6: field, unit }
}

const fn ip(path: &'static str, field: &'static str, field_v6: &'static str, unit: Unit) -> Row {
    Row { path, field, field_v6, unit }
}

pub const ROWS: &[Row] = &[
    row("eth.dst", "eth.dst", Unit::Text),
    row("eth.src", "eth.src", Unit::Text),
    row("eth.type", "eth.type", Unit::Number),
    row("vlan.id", "vlan.id", Unit::Number),
    row("vlan.priority", "vlan.priority", Unit::Number),
    row("vlan.dei", "vlan.dei", Unit::Boolean),
    row("vlan.type", "vlan.etype", Unit::Number),
    row("vlan.inner_id", "vlan.id", Unit::Second),
    row("arp.op", "arp.opcode", Unit::Number),
    row("arp.sender_mac", "arp.src.hw_mac", Unit::Text),
    row("arp.sender", "arp.src.proto_ipv4", Unit::Text),
    row("arp.target_mac", "arp.dst.hw_mac", Unit::Text),
    row("arp.target", "arp.dst.proto_ipv4", Unit::Text),
    ip("ip.version", "ip.version", "ipv6.version", Unit::Number),
    ip("ip.src", "ip.src", "ipv6.src", Unit::Text),
    ip("ip.dst", "ip.dst", "ipv6.dst", Unit::Text),
    ip("ip.tos", "ip.dsfield", "ipv6.tclass", Unit::Number),
    ip("ip.dscp", "ip.dsfield.dscp", "ipv6.tclass.dscp", Unit::Number),
    ip("ip.ecn", "ip.dsfield.ecn", "ipv6.tclass.ecn", Unit::Number),
    ip("ip.ttl", "ip.ttl", "ipv6.hlim", Unit::Number),
    ip("ip.proto", "ip.proto", "ipv6.nxt", Unit::Protocol),
    ip("ip.length", "ip.len", "ipv6.plen", Unit::Length),
    ip("ip.header_length", "ip.hdr_len", "", Unit::HeaderLength),
    ip("ip.id", "ip.id", "ipv6.fraghdr.ident", Unit::Number),
    ip("ip.dont_fragment", "ip.flags.df", "", Unit::Boolean),
    ip("ip.more_fragments", "ip.flags.mf", "ipv6.fraghdr.more", Unit::Boolean),
    ip("ip.fragment_offset", "ip.frag_offset", "ipv6.fraghdr.offset", Unit::Blocks),
    ip("ip.flow", "", "ipv6.flow", Unit::Number),
    ip("ip.checksum", "ip.checksum", "", Unit::Number),
    row("tcp.sport", "tcp.srcport", Unit::Number),
    row("tcp.dport", "tcp.dstport", Unit::Number),
    row("tcp.seq", "tcp.seq_raw", Unit::Number),
    row("tcp.ack", "tcp.ack_raw", Unit::Number),
    row("tcp.fin", "tcp.flags.fin", Unit::Boolean),
    row("tcp.syn", "tcp.flags.syn", Unit::Boolean),
    row("tcp.rst", "tcp.flags.reset", Unit::Boolean),
    row("tcp.psh", "tcp.flags.push", Unit::Boolean),
    row("tcp.urg", "tcp.flags.urg", Unit::Boolean),
    row("tcp.ece", "tcp.flags.ece", Unit::Boolean),
    row("tcp.cwr", "tcp.flags.cwr", Unit::Boolean),
    row("tcp.window", "tcp.window_size_value", Unit::Number),
    row("tcp.checksum", "tcp.checksum", Unit::Number),
    row("tcp.urgent", "tcp.urgent_pointer", Unit::Number),
    row("tcp.header_length", "tcp.hdr_len", Unit::Number),
    row("udp.sport", "udp.srcport", Unit::Number),
    row("udp.dport", "udp.dstport", Unit::Number),
    row("udp.length", "udp.length", Unit::Number),
    row("udp.checksum", "udp.checksum", Unit::Number),
    ip("icmp.type", "icmp.type", "icmpv6.type", Unit::Number),
    ip("icmp.code", "icmp.code", "icmpv6.code", Unit::Number),
    ip("icmp.checksum", "icmp.checksum", "icmpv6.checksum", Unit::Number),
    ip("icmp.id", "icmp.ident", "icmpv6.echo.identifier", Unit::Number),
    ip("icmp.seq", "icmp.seq", "icmpv6.echo.sequence_number", Unit::Number),
    row("icmp.link_address", "icmpv6.opt.linkaddr", Unit::Text),
    row("icmp.source_link_address", "icmpv6.opt.src_linkaddr", Unit::Text),
    row("icmp.target_link_address", "icmpv6.opt.target_linkaddr", Unit::Text),
    row("icmp.prefix", "icmpv6.opt.prefix", Unit::Text),
    row("icmp.prefix_length", "icmpv6.opt.prefix.length", Unit::Number),
    row("icmp.mtu", "icmpv6.opt.mtu", Unit::Number),
    row("icmp.dns_server", "icmpv6.opt.rdnss", Unit::Text),
    row("quic.version", "quic.version", Unit::Number),
    row("quic.dcid", "quic.dcid", Unit::Hex),
    row("payload", "tcp.len", Unit::Payload),
    row("dns.id", "dns.id", Unit::Number),
    row("dns.flags", "dns.flags", Unit::Number),
    row("dns.qr", "dns.flags.response", Unit::Boolean),
    row("dns.opcode", "dns.flags.opcode", Unit::Number),
    row("dns.aa", "dns.flags.authoritative", Unit::Boolean),
    row("dns.tc", "dns.flags.truncated", Unit::Boolean),
    row("dns.rd", "dns.flags.recdesired", Unit::Boolean),
    row("dns.ra", "dns.flags.recavail", Unit::Boolean),
    row("dns.ad", "dns.flags.authenticated", Unit::Boolean),
    row("dns.cd", "dns.flags.checkdisable", Unit::Boolean),
    row("dns.rcode", "dns.flags.rcode", Unit::Number),
    row("dns.qdcount", "dns.count.queries", Unit::Number),
    row("dns.ancount", "dns.count.answers", Unit::Number),
    row("dns.nscount", "dns.count.auth_rr", Unit::Number),
    row("dns.arcount", "dns.count.add_rr", Unit::Number),
    row("dns.qname", "dns.qry.name", Unit::Text),
    row("dns.qtype", "dns.qry.type", Unit::Number),
    row("dns.qclass", "dns.qry.class", Unit::Number),
    row("http.method", "http.request.method", Unit::Text),
    row("http.path", "http.request.uri", Unit::Text),
    row("http.status", "http.response.code", Unit::Number),
    row("http.host", "http.host", Unit::Text),
    row("http.user_agent", "http.user_agent", Unit::Text),
    row("sctp.sport", "sctp.srcport", Unit::Number),
    row("sctp.dport", "sctp.dstport", Unit::Number),
    row("sctp.vtag", "sctp.verification_tag", Unit::Number),
    row("sctp.checksum", "sctp.checksum", Unit::Number),
    row("gre.type", "gre.proto", Unit::Number),
    row("gre.checksum", "gre.checksum", Unit::Number),
    row("gre.key", "gre.key", Unit::Number),
    row("gre.seq", "gre.sequence_number", Unit::Number),
    row("vxlan.vni", "vxlan.vni", Unit::Number),
    row("mpls.label", "mpls.label", Unit::Number),
    row("mpls.tc", "mpls.exp", Unit::Number),
    row("mpls.bottom", "mpls.bottom", Unit::Boolean),
    row("mpls.ttl", "mpls.ttl", Unit::Number),
    row("dhcp.op", "dhcp.type", Unit::Number),
    row("dhcp.xid", "dhcp.id", Unit::Number),
    row("dhcp.ciaddr", "dhcp.ip.client", Unit::Text),
    row("dhcp.yiaddr", "dhcp.ip.your", Unit::Text),
    row("dhcp.siaddr", "dhcp.ip.server", Unit::Text),
    row("dhcp.giaddr", "dhcp.ip.relay", Unit::Text),
    row("dhcp.client_mac", "dhcp.hw.mac_addr", Unit::Text),
    row("dhcp.message_type", "dhcp.option.dhcp", Unit::Number),
    row("tls.sni", "tls.handshake.extensions_server_name", Unit::Text),
];

/// Fields of what is inside of a packet (`pkt.inner`).
pub const INNER: &[Row] = &[
    row("inner.eth.dst", "eth.dst", Unit::Text),
    row("inner.eth.src", "eth.src", Unit::Text),
    ip("inner.ip.src", "ip.src", "ipv6.src", Unit::Text),
    ip("inner.ip.dst", "ip.dst", "ipv6.dst", Unit::Text),
    ip("inner.ip.tos", "ip.dsfield", "ipv6.tclass", Unit::Number),
    ip("inner.ip.ttl", "ip.ttl", "ipv6.hlim", Unit::Number),
    ip("inner.ip.length", "ip.len", "ipv6.plen", Unit::Length),
    row("inner.tcp.sport", "tcp.srcport", Unit::Number),
    row("inner.tcp.dport", "tcp.dstport", Unit::Number),
    row("inner.tcp.seq", "tcp.seq_raw", Unit::Number),
    row("inner.tcp.syn", "tcp.flags.syn", Unit::Boolean),
    row("inner.udp.sport", "udp.srcport", Unit::Number),
    row("inner.udp.dport", "udp.dstport", Unit::Number),
    row("inner.udp.length", "udp.length", Unit::Number),
];

/// Fields that rules and layers look at besides.
pub const EXTRA: &[&str] = &[
    "frame.number",
    "frame.protocols",
    "tls.handshake.type",
    "tls.record.content_type",
    "ipv6.hopopts.nxt",
    "ipv6.routing.nxt",
    "ipv6.fraghdr.nxt",
    "ipv6.dstopts.nxt",
    "ah.next_header",
    "mip6.proto",
    "ipv6.hopopts.len_oct",
    "ipv6.routing.len_oct",
    "ipv6.dstopts.len_oct",
    "ah.length",
    "mip6.hlen",
    "tcp.flags.ace",
];

/// All names that tshark is asked for, each once.
pub fn names() -> Vec<&'static str> {
    let mut names = EXTRA.to_vec();
    for name in ROWS.iter().flat_map(|row| [row.field, row.field_v6]).chain(crate::records::names()) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
