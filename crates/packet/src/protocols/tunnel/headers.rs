//! The headers that are put in front of a packet.

use super::super::network::IPV4;
use super::outgoing::Inner;
use crate::checksum::Checksum;
use crate::{Access, Machine, Value};
use moonhook_hook::lengths::{ENCAP_ETHERNET, ENCAP_GRE, ENCAP_UDP};
use moonhook_ir::words::{Address, Word};
use moonhook_ir::{BinaryOp, Size, UnaryOp};

/// Bytes of headers.
const UDP: u32 = 8;
const VXLAN: u32 = 8;
const GUE: u32 = 4;
const ETHERNET: u32 = super::ETHERNET;

/// What is between the outer IP header and what is inside.
#[derive(Clone, Copy, Debug)]
pub enum Carrier {
    /// Nothing.
    Ip,
    Gre {
        key: Option<Word>,
    },
    /// Carries frames.
    Vxlan {
        identifier: Word,
        ports: Ports,
    },
    Gue {
        ports: Ports,
    },
}

/// Those of a header of UDP.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// If there is none, it says which flow the packet is of.
    pub source: Option<Word>,
    pub destination: Word,
}

impl Carrier {
    /// How many bytes it takes.
    pub fn bytes(&self) -> u32 {
        match self {
            Carrier::Ip => 0,
            Carrier::Gre { key } => {
                if key.is_some() {
                    8
                } else {
                    4
                }
            }
            Carrier::Vxlan { .. } => UDP + VXLAN,
            Carrier::Gue { .. } => UDP + GUE,
        }
    }

    /// Whether it carries frames, and not IP packets.
    pub fn takes_frames(&self) -> bool {
        matches!(self, Carrier::Vxlan { .. })
    }

    /// Whether the source port is to say which flow a packet is of.
    pub fn asks_for_flow(&self) -> bool {
        matches!(self, Carrier::Vxlan { ports, .. } | Carrier::Gue { ports } if ports.source.is_none())
    }

    /// Bytes of the inner frame's header.
    pub fn link(&self) -> u32 {
        if self.takes_frames() { ETHERNET } else { 0 }
    }

    /// What the helper that makes room is told of it.
    pub fn flags(&self) -> i64 {
        match self {
            Carrier::Ip => 0,
            Carrier::Gre { .. } => ENCAP_GRE,
            Carrier::Vxlan { .. } => ENCAP_UDP | ENCAP_ETHERNET,
            Carrier::Gue { .. } => ENCAP_UDP,
        }
    }

    /// What follows the outer IP header.
    fn protocol(&self, inner: &Inner) -> Word {
        match self {
            Carrier::Ip => inner.protocol,
            Carrier::Gre { .. } => Word::Imm(47),
            Carrier::Vxlan { .. } | Carrier::Gue { .. } => Word::Imm(17),
        }
    }
}

/// Words, and how many bytes of each, one behind the other.
type Words = Vec<(Word, Size)>;

/// Writes the headers at `start`.
pub fn write<M: Machine>(
    machine: &mut M,
    start: u32,
    (addresses, ttl): ([Value; 2], Word),
    (carrier, inner): (&Carrier, &Inner),
) -> Result<(), M::Stop> {
    let payload = machine.add(inner.length, i64::from(carrier.bytes()));
    let outer = Outer { class: inner.class, ttl, payload, protocol: carrier.protocol(inner) };
    let mut words = match addresses {
        [Value::Ipv4(source), Value::Ipv4(target)] => ipv4(machine, [source, target], &outer),
        [Value::Ipv6(a, b), Value::Ipv6(c, d)] => ipv6(machine, [a, b, c, d], &outer),
        _ => return Ok(()),
    };
    words.extend(carrier_words(machine, carrier, payload, inner));
    let whole = words.iter().map(|(_, size)| *size as u32).sum();
    let first = machine.known_address(Word::Imm(start.into()), whole)?;
    let mut at = 0;
    for (word, size) in words {
        let Address { base, disp } = first.plus(at);
        let place = Word::Imm(i64::from(start) + i64::from(at));
        machine.write_word(Address { base, disp }, place, size, word);
        at += size as i16;
    }
    Ok(())
}

/// What an outer IP header says.
struct Outer {
    class: Word,
    ttl: Word,
    /// Bytes behind it.
    payload: Word,
    protocol: Word,
}

/// One word of several parts, each shifted to the left.
fn joined<M: Machine>(machine: &mut M, parts: &[(Word, i64)]) -> Word {
    parts.iter().fold(Word::Imm(0), |all, (word, shift)| {
        let word = machine.shl(*word, *shift);
        machine.binary(BinaryOp::Or, word, all)
    })
}

/// The words of a header as they are in memory (RFC 791 § 3.1).
fn ipv4<M: Machine>(machine: &mut M, addresses: [Word; 2], outer: &Outer) -> Words {
    let length = machine.add(outer.payload, i64::from(IPV4));
    let length = machine.unary(UnaryOp::Swap16, length);
    let first = joined(machine, &[(Word::Imm(0x45), 0), (outer.class, 8), (length, 16)]);
    // "Don't fragment", so that the identification means nothing (RFC 6864 § 4.1).
    let fragment = Word::Imm(0x40 << 16);
    let third = joined(machine, &[(outer.ttl, 0), (outer.protocol, 8)]);
    let [source, target] = addresses.map(|address| machine.unary(UnaryOp::Swap32, address));
    let sum = [fragment, third, source, target].into_iter().fold(first, |sum, word| machine.add(sum, word));
    let sum = machine.checksum_of(sum);
    let third = joined(machine, &[(third, 0), (sum, 16)]);
    [first, fragment, third, source, target].map(|word| (word, Size::B4)).into()
}

/// The same of IPv6 (RFC 8200 § 3).
fn ipv6<M: Machine>(machine: &mut M, addresses: [Word; 4], outer: &Outer) -> Words {
    let high = machine.shr(outer.class, 4);
    let low = machine.and(outer.class, 15);
    let first = joined(machine, &[(Word::Imm(0x60), 0), (high, 0), (low, 12)]);
    let length = machine.unary(UnaryOp::Swap16, outer.payload);
    let second = joined(machine, &[(length, 0), (outer.protocol, 16), (outer.ttl, 24)]);
    let addresses = addresses.map(|half| (machine.unary(UnaryOp::Swap64, half), Size::B8));
    [(first, Size::B4), (second, Size::B4)].into_iter().chain(addresses).collect()
}

/// The words between the outer IP header, behind which there are `payload` bytes, and what is inside.
fn carrier_words<M: Machine>(machine: &mut M, carrier: &Carrier, payload: Word, inner: &Inner) -> Words {
    match *carrier {
        Carrier::Ip => vec![],
        Carrier::Gre { key } => {
            // The first byte has the flag of a key (RFC 2890 § 2).
            let flags = if key.is_some() { 0x20 } else { 0 };
            let first = joined(machine, &[(Word::Imm(flags), 0), (inner.kind, 16)]);
            let key = key.map(|key| machine.unary(UnaryOp::Swap32, key));
            [Some(first), key].into_iter().flatten().map(|word| (word, Size::B4)).collect()
        }
        Carrier::Vxlan { identifier, ports } => {
            let mut words = udp(machine, ports, payload, inner);
            let identifier = machine.shl(identifier, 8);
            let identifier = machine.unary(UnaryOp::Swap32, identifier);
            // The first byte has the flag of an identifier (RFC 7348 § 5).
            words.extend([(Word::Imm(0x08), Size::B4), (identifier, Size::B4)]);
            words
        }
        Carrier::Gue { ports } => {
            let mut words = udp(machine, ports, payload, inner);
            // Variant, length of options and flags are 0.
            let header = machine.shl(inner.protocol, 8);
            words.push((header, Size::B4));
            words
        }
    }
}

/// A header of UDP without a checksum (RFC 6935 § 5 for IPv6).
fn udp<M: Machine>(machine: &mut M, ports: Ports, length: Word, inner: &Inner) -> Words {
    let source = ports.source.unwrap_or(inner.flow);
    let [source, destination, length] =
        [source, ports.destination, length].map(|word| machine.unary(UnaryOp::Swap16, word));
    let first = joined(machine, &[(source, 0), (destination, 16)]);
    vec![(first, Size::B4), (length, Size::B4)]
}
