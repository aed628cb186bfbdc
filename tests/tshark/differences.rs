//! The differences that have a reason. A rule says exactly which differences it explains; one that explains none of a
//! folder of traces is not in the summary.

use moonhook_capture::Frame;

use crate::compare::number;
use crate::layers::Layers;
use crate::record_differences;
use crate::run::Shown;

/// A field that the two sides show differently.
pub struct Difference<'a> {
    pub frame: &'a Frame,
    pub shown: &'a Shown,
    pub layers: &'a Layers,
    pub path: &'static str,
    pub ours: Option<String>,
    pub theirs: Option<String>,
}

pub struct Rule {
    /// A few words that name the class.
    pub name: &'static str,
    pub reason: &'static str,
    pub explains: fn(&Difference) -> bool,
}

static RULES: &[Rule] = &[
    Rule {
        name: "802.3 length",
        reason: "A type below 0x600 is a length (IEEE 802.3 § 3.2.6), which tshark shows as `eth.len` or `vlan.len`; \
                 `type` is the two bytes, whatever they mean",
        explains: |d| {
            ["eth.type", "vlan.type"].contains(&d.path) && d.theirs.is_none() && d.ours_number() < Some(0x600)
        },
    },
    Rule {
        name: "FabricPath",
        reason: "tshark lists the Ethernet header inside Cisco FabricPath (0x8903) before the outer one",
        explains: |d| d.path.starts_with("eth.") && d.protocols().starts_with("eth:cfp:eth:"),
    },
    Rule {
        name: "IPv6 behind 0x0800",
        reason: "tshark shows a packet of version 6 behind the type of IPv4 as if it were inside of one; `pkt.ip` and `pkt.inner` are nil",
        explains: |d| {
            let first = d.frame.data.get(d.layers.network_start() as usize);
            d.path.starts_with("inner.")
                && d.ours.is_none()
                && first.is_some_and(|first| first >> 4 == 6)
                && !d.layers.is_v6()
        },
    },
    Rule {
        name: "Accurate ECN",
        reason: "In a connection that negotiated AccECN tshark shows the ECN flags as one counter, `tcp.flags.ace`; it \
                 remembers the connection, we see one frame",
        explains: |d| {
            ["tcp.ece", "tcp.cwr"].contains(&d.path)
                && d.theirs.is_none()
                && d.shown.first("tcp.flags.ace").is_some()
        },
    },
    Rule {
        name: "ICMP id and seq",
        reason: "tshark shows them where the message type has them (echo, timestamp, …), else those of the packet that \
                 the message quotes, or none; `id` and `seq` are bytes 4–5 and 6–7, whatever the type",
        explains: |d| ["icmp.id", "icmp.seq"].contains(&d.path) && d.ours.is_some() && !d.is_query(),
    },
    Rule {
        name: "other ARP",
        reason: "ARP for something else than IPv4 over Ethernet, or not whole: `pkt.arp` is nil then, tshark shows the fields that it finds",
        explains: |d| d.path.starts_with("arp.") && d.ours.is_none() && !d.is_plain_arp(),
    },
    Rule {
        name: "header not whole",
        reason: "tshark shows the first fields of a header that is cut off, has a length below its minimum or the wrong \
                 version; to us it is nil, since code that tests `pkt.tcp` relies on all of it",
        explains: |d| d.ours.is_none() && d.theirs.is_some() && d.is_partial(),
    },
    Rule {
        name: "header beyond the IP length",
        reason: "The IP packet is by its own account shorter than the headers that follow in the frame; tshark stops at \
                 that length, we at the frame's end (only `payload` heeds the length)",
        explains: |d| d.ours.is_some() && d.theirs.is_none() && d.ends_before_transport(),
    },
    Rule {
        name: "IP length 0",
        reason: "tshark takes a total length of 0 for segmentation offload and counts the captured bytes; `length` is \
                 what the header says, and `payload` is empty then",
        explains: |d| {
            (["ip.length", "payload"].contains(&d.path) || d.path.starts_with("http."))
                && d.layers.network == "ip"
                && d.stated_length() == Some(0)
        },
    },
    Rule {
        name: "cut payload",
        reason: "`tcp.len` follows from the IP length also where the capture holds fewer bytes (or is absent, where that \
                 length is more than the frame's); `payload` is what is there",
        explains: |d| d.path == "payload" && d.is_cut(),
    },
    Rule {
        name: "truncated extension header",
        reason: "The walk ends at an IPv6 extension header that is not whole, and `proto` is its number; tshark shows \
                 nothing of it",
        explains: |d| {
            let walked = ["ip.proto", "ip.header_length", "ip.fragment_offset", "ip.more_fragments"];
            walked.contains(&d.path) && d.layers.has_extensions() && d.theirs.is_none() && d.ours.is_some()
        },
    },
    Rule {
        name: "protocol 62",
        reason: "tshark takes 62 for the mobility header, whose number it was in drafts; RFC 6275 § 6.1.1 has 135",
        explains: |d| d.path.starts_with("ip.") && d.shown.first("ipv6.nxt") == Some("62"),
    },
    Rule {
        name: "not the first record",
        reason: "The ClientHello follows another TLS record in the segment (a second hello, after ChangeCipherSpec); \
                 `pkt.tls` looks at the first record only",
        explains: |d| {
            d.path == "tls.sni"
                && d.ours.is_none()
                && d.shown.first("tls.record.content_type").is_some_and(|t| t != "22")
        },
    },
    Rule {
        name: "unfinished record",
        reason: "The name is whole in this segment, the record is not; without reassembly tshark shows nothing of it",
        explains: |d| d.path == "tls.sni" && d.theirs.is_none() && d.record_is_longer(),
    },
    Rule {
        name: "QUIC of other versions",
        reason: "tshark shows Google's versions, and what it does not take for QUIC at port 443, by other names or not at all",
        explains: |d| d.path.starts_with("quic.") && d.theirs.is_none() && d.ours.is_some(),
    },
    Rule {
        name: "QUIC with short headers",
        reason: "tshark remembers from the connection's first packets how long its ids are; `pkt.quic` is packets with a long header",
        explains: |d| {
            let first = d.datagram().and_then(|datagram| datagram.get(8));
            d.path == "quic.dcid" && d.ours.is_none() && first.is_some_and(|byte| byte & 0x80 == 0)
        },
    },
    Rule {
        name: "QUIC at other ports",
        reason: "tshark guesses; `pkt.quic` is what is sent from or to 443",
        explains: |d| d.path.starts_with("quic.") && d.ours.is_none() && !d.has_port(&[443]),
    },
    Rule {
        name: "BOOTP without a cookie",
        reason: "No magic cookie stands before the options: not DHCP, of which tshark shows the fields of BOOTP",
        explains: |d| {
            let cookie = d.datagram().and_then(|datagram| datagram.get(8 + 236..8 + 240));
            d.path.starts_with("dhcp.") && d.ours.is_none() && cookie != Some(&[0x63, 0x82, 0x53, 0x63])
        },
    },
    Rule {
        name: "TLS behind another protocol's port",
        reason: "tshark takes what a port is usually for (SOCKS, TPKT) for what is there; the bytes are a TLS record",
        explains: |d| {
            let protocols = d.shown.first("frame.protocols").unwrap_or_default();
            let is_other = protocols.split(':').any(|name| matches!(name, "socks" | "tpkt"));
            d.path == "tls.sni" && d.theirs.is_none() && is_other
        },
    },
    Rule {
        name: "reserved bits of GRE",
        reason: "RFC 2784 § 2.3 has such packets discarded; `pkt.gre` is nil",
        explains: |d| {
            let flags =
                d.datagram().and_then(|header| header.first_chunk()).map(|flags| u16::from_be_bytes(*flags));
            let is_reserved = flags.is_some_and(|flags| flags & 0x4c00 != 0);
            d.path.starts_with("gre.") && d.ours.is_none() && is_reserved
        },
    },
    Rule {
        name: "enhanced GRE",
        reason: "Version 1, which PPTP has (RFC 2637 § 4.1), has other fields; `pkt.gre` is version 0",
        explains: |d| {
            let version = d.datagram().and_then(|header| header.get(1)).map(|byte| byte & 7);
            d.path.starts_with("gre.") && d.ours.is_none() && version == Some(1)
        },
    },
    Rule {
        name: "no first line of HTTP/1",
        reason: "The segment goes on with a message that began in an earlier one, or has another version in its first line; tshark shows what it \
                 takes for parts of a message",
        explains: |d| d.path.starts_with("http.") && d.ours.is_none() && !d.first_line_has_version(),
    },
    Rule {
        name: "HTTP values with a NUL",
        reason: "tshark ends a value at its first byte of 0",
        explains: |d| {
            d.path.starts_with("http.") && d.ours.as_deref().is_some_and(|text| text.contains('\0'))
        },
    },
    Rule {
        name: "HTTP at other ports",
        reason: "`pkt.http` is any payload that begins as a message does; tshark looks for HTTP at some ports, and otherwise shows what is \
                 carried in it, or nothing",
        explains: |d| d.path.starts_with("http.") && d.theirs.is_none() && d.ours.is_some(),
    },
    Rule {
        name: "DNS at other ports",
        reason: "tshark guesses, or knows other ports; `pkt.dns` is what is sent from or to 53 or 5353",
        explains: |d| d.path.starts_with("dns.") && d.ours.is_none() && !d.has_port(&[53, 5353]),
    },
    Rule {
        name: "DNS flags of answers",
        reason: "tshark shows these only where they mean something, in answers; to us they are bits of the header in questions, too",
        explains: |d| {
            ["dns.aa", "dns.ra", "dns.ad", "dns.rcode"].contains(&d.path)
                && d.theirs.is_none()
                && d.shown
                    .first("dns.flags.response")
                    .is_some_and(|answer| answer == "0" || answer == "False")
        },
    },
    Rule {
        name: "DNS updates",
        reason: "In dynamic updates (opcode 5, RFC 2136) tshark calls the four counts and the zone by other names",
        explains: |d| {
            d.path.starts_with("dns.") && d.theirs.is_none() && d.shown_number("dns.flags.opcode") == Some(5)
        },
    },
    Rule {
        name: "how names are written",
        reason: "tshark shows the root as `<Root>`, escapes bytes of names that cannot be printed, and takes names for UTF-8; `qname` has \
                 the bytes, and `.`",
        explains: |d| {
            let plain = |c: char| c.is_ascii_graphic() && c != '\\';
            let ours = d.ours.as_deref().unwrap_or_default();
            d.path == "dns.qname" && (ours == "." || !ours.is_empty() && !ours.chars().all(plain))
        },
    },
    Rule {
        name: "names that are not whole",
        reason: "tshark follows pointers and shows what there is of a broken name, and what it takes for the fields behind it; `qname` is nil \
                 where the question's own labels do not end in the message",
        explains: |d| {
            ["dns.qname", "dns.qtype", "dns.qclass"].contains(&d.path)
                && d.ours.is_none()
                && !d.name_is_whole()
        },
    },
    Rule {
        name: "multicast DNS classes",
        reason: "The highest bit of a class asks for an answer by unicast (RFC 6762 § 5.4), which tshark shows apart",
        explains: |d| {
            let class = |text: &Option<String>| text.as_deref().and_then(number);
            d.path == "dns.qclass" && class(&d.ours).map(|class| class & 0x7fff) == class(&d.theirs)
        },
    },
    Rule {
        name: "DNS beyond the datagram",
        reason: "By the lengths of UDP and IP the datagram has no room for a message's header; tshark looks at the bytes behind it",
        explains: |d| d.path.starts_with("dns.") && d.ours.is_none() && d.datagram_length() < Some(8 + 12),
    },
];

/// The first rule that explains the difference, by its number.
pub fn rule(difference: &Difference) -> Option<usize> {
    rules().position(|rule| (rule.explains)(difference))
}

/// All rules, by their numbers.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(record_differences::RULES)
}

/// What rules ask, answered from the bytes and from what tshark shows, not from our parser.
impl Difference<'_> {
    fn protocols(&self) -> &str {
        self.shown.first("frame.protocols").unwrap_or_default()
    }

    fn shown_number(&self, field: &str) -> Option<u64> {
        number(self.shown.first(field)?)
    }

    fn ours_number(&self) -> Option<u64> {
        number(self.ours.as_deref()?)
    }

    fn captured(&self) -> u64 {
        self.frame.data.len() as u64
    }

    /// The 16 bits of the IP header with the (total or payload) length.
    fn stated_length(&self) -> Option<u64> {
        let at = self.layers.network_start() as usize + if self.layers.is_v6() { 4 } else { 2 };
        Some(u16::from_be_bytes(*self.frame.data.get(at..)?.first_chunk()?).into())
    }

    /// Where the IP packet ends by its own account, counted in the frame.
    fn stated_end(&self) -> Option<u64> {
        let fixed = if self.layers.is_v6() { 40 } else { 0 };
        Some(self.layers.network_start() + fixed + self.stated_length()?)
    }

    /// Length of the IP header, extension headers included.
    fn ip_header(&self) -> Option<u64> {
        if self.layers.is_v6() {
            self.layers.header_length(self.shown)
        } else {
            self.shown_number("ip.hdr_len")
        }
    }

    fn transport_start(&self) -> Option<u64> {
        Some(self.layers.network_start() + self.ip_header()?)
    }

    /// Whether all of an ARP packet is there, and begins as one for IPv4 over Ethernet.
    fn is_plain_arp(&self) -> bool {
        let start = self.layers.network_start() as usize;
        let packet = self.frame.data.get(start..start + 28);
        packet.is_some_and(|packet| packet.starts_with(&[0, 1, 8, 0, 6, 4]))
    }

    /// Types with an identifier and a sequence number: RFC 792, RFC 950, RFC 4443 § 4.
    fn is_query(&self) -> bool {
        let kind = |field| self.shown_number(field);
        match self.layers.is_v6() {
            true => matches!(kind("icmpv6.type"), Some(128 | 129)),
            false => matches!(kind("icmp.type"), Some(0 | 8 | 13..=18)),
        }
    }

    fn is_partial(&self) -> bool {
        let captured = self.captured();
        let shorter_than = |length: u64| self.transport_start().is_none_or(|start| start + length > captured);
        match (self.path.split('.').next(), self.layers.is_v6()) {
            (Some("ip"), true) => self.layers.network_start() + 40 > captured,
            (Some("ip"), false) => {
                let length = self.shown_number("ip.hdr_len").unwrap_or(0);
                let end = self.layers.network_start() + length;
                length < 20 || end > captured || self.shown_number("ip.version") != Some(4)
            }
            (Some("tcp" | "payload"), _) => {
                self.shown_number("tcp.hdr_len").is_none_or(|length| length < 20 || shorter_than(length))
            }
            (Some("udp" | "icmp"), _) => shorter_than(8),
            _ => false,
        }
    }

    /// The stated length leaves no room for what the field is part of.
    fn ends_before_transport(&self) -> bool {
        let needed = match self.path.split('.').next() {
            Some("tcp" | "payload") => 20,
            Some("udp" | "icmp") => 8,
            Some("ip") => 0,
            _ => return false,
        };
        let empty_v6 = self.layers.is_v6() && self.stated_length() == Some(0);
        let header = self.ip_header().unwrap_or(20);
        empty_v6 || self.stated_end() < Some(self.layers.network_start() + header + needed)
    }

    /// Our payload is all that the frame holds after the TCP header, and the IP packet claims more.
    fn is_cut(&self) -> bool {
        let all = || {
            let start = self.transport_start()? + self.shown_number("tcp.hdr_len")?;
            Some(start + self.ours_number()? == self.captured())
        };
        all() == Some(true) && self.stated_end() > Some(self.captured())
    }

    fn first_line_has_version(&self) -> bool {
        let line = || {
            let start = (self.transport_start()? + self.shown_number("tcp.hdr_len")?) as usize;
            self.frame.data.get(start..)?.split(|byte| *byte == b'\n').next()
        };
        line().is_some_and(|line| {
            line.windows(8).any(|part| part.starts_with(b"HTTP/1.") && part[7].is_ascii_digit())
        })
    }

    /// The transport header, and what follows it in the frame.
    fn datagram(&self) -> Option<&[u8]> {
        self.frame.data.get(self.transport_start()? as usize..)
    }

    fn has_port(&self, ports: &[u16]) -> bool {
        let header = self.datagram().unwrap_or_default();
        header.chunks(2).take(2).any(|port| ports.iter().any(|known| port == known.to_be_bytes()))
    }

    /// How long the datagram is, header included, by what UDP, IP and the frame say.
    fn datagram_length(&self) -> Option<u64> {
        let datagram = self.datagram()?;
        let stated = u64::from(u16::from_be_bytes(*datagram.get(4..)?.first_chunk()?));
        let of_ip = self.stated_end()?.saturating_sub(self.transport_start()?);
        let longest = (datagram.len() as u64).min(of_ip);
        Some(if stated >= 8 { stated.min(longest) } else { longest })
    }

    /// Whether the labels of the first question end in the message, without a pointer.
    fn name_is_whole(&self) -> bool {
        let walk = || {
            let datagram = self.datagram()?.get(..self.datagram_length()? as usize)?;
            let mut rest = datagram.get(8 + 12..)?;
            while *rest.first()? != 0 {
                let label = usize::from(*rest.first().filter(|length| **length < 64)?);
                rest = rest.get(1 + label..)?;
            }
            Some(())
        };
        walk().is_some()
    }

    /// The first TLS record of the segment does not end in it.
    fn record_is_longer(&self) -> bool {
        let record = || {
            let start = (self.transport_start()? + self.shown_number("tcp.hdr_len")?) as usize;
            let length: [u8; 2] = *self.frame.data.get(start + 3..)?.first_chunk()?;
            Some(start + 5 + usize::from(u16::from_be_bytes(length)) > self.frame.data.len())
        };
        record() == Some(true)
    }
}
