//! Parts of keys: fields of packets, and values.

use crate::KeyError;
use moonhook_schema::{mac, mac_text};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A field of packets that can be part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub kind: FieldKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// An IP address of either version: the 128 bits of an IPv6 address, into which IPv4 addresses are mapped (RFC 4291 § 2.5.5.2).
    Address,
    /// 48 bits.
    Mac,
    /// A number of so many bits.
    Number(u32),
}

const FIELDS: [Field; 8] = [
    Field { name: "src", kind: FieldKind::Address },
    Field { name: "dst", kind: FieldKind::Address },
    Field { name: "proto", kind: FieldKind::Number(8) },
    Field { name: "sport", kind: FieldKind::Number(16) },
    Field { name: "dport", kind: FieldKind::Number(16) },
    Field { name: "vlan", kind: FieldKind::Number(12) },
    Field { name: "smac", kind: FieldKind::Mac },
    Field { name: "dmac", kind: FieldKind::Mac },
];

/// Protocols that keys may name (https://www.iana.org/assignments/protocol-numbers).
const PROTOCOLS: [(&str, u64); 5] = [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58), ("sctp", 132)];

/// A part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyValue {
    Integer(i64),
    Address(IpAddr),
    /// 48 bits in host order.
    Mac(u64),
}

/// The names of all fields that keys can have.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.name)
}

impl Field {
    pub fn named(name: &str) -> Option<Field> {
        FIELDS.into_iter().find(|field| field.name == name)
    }

    /// A value of this field from what a person has written.
    ///
    /// # Errors
    /// `Value`.
    pub fn parse(&self, text: &str) -> Result<KeyValue, KeyError> {
        let wrong =
            |expected: &str| KeyError::Value { text: text.to_string(), expected: expected.to_string() };
        match self.kind {
            FieldKind::Address => text.parse().map(KeyValue::Address).map_err(|_| wrong("IP address")),
            FieldKind::Mac => mac(text.as_bytes()).map(KeyValue::Mac).map_err(|_| wrong("MAC address")),
            FieldKind::Number(bits) => {
                let named = PROTOCOLS.iter().find(|(name, _)| self.name == "proto" && *name == text);
                let number = named.map_or_else(|| text.parse().ok(), |(_, number)| Some(*number));
                let fits = number.filter(|number| number >> bits == 0);
                let expected = || wrong(&format!("number from 0 to {}", (1u64 << bits) - 1));
                fits.map(|number| KeyValue::Integer(number as i64)).ok_or_else(expected)
            }
        }
    }

    /// The same value, if this field can have it.
    pub(crate) fn checked(&self, value: KeyValue) -> Result<KeyValue, KeyError> {
        match (self.kind, value) {
            (FieldKind::Address, KeyValue::Address(_)) | (FieldKind::Mac, KeyValue::Mac(_)) => Ok(value),
            _ => self.parse(&value.to_string()),
        }
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyValue::Integer(integer) => write!(f, "{integer}"),
            KeyValue::Address(address) => write!(f, "{address}"),
            KeyValue::Mac(bits) => f.write_str(&mac_text(*bits)),
        }
    }
}

impl KeyValue {
    /// The type, as the first word of a key of [`KeyKind::Values`] has it.
    pub fn code(self) -> u64 {
        match self {
            KeyValue::Integer(_) => Self::INTEGER,
            KeyValue::Address(_) => Self::ADDRESS,
            KeyValue::Mac(_) => Self::MAC,
        }
    }

    pub const INTEGER: u64 = 1;
    pub const ADDRESS: u64 = 2;
    pub const MAC: u64 = 3;

    /// What a text stands for that is no field's: an address, a MAC address or an integer.
    ///
    /// # Errors
    /// `Value`.
    pub fn parse(text: &str) -> Result<KeyValue, KeyError> {
        let integer = || text.parse().ok().map(KeyValue::Integer);
        let address = || text.parse().ok().map(KeyValue::Address);
        let mac = || mac(text.as_bytes()).ok().map(KeyValue::Mac);
        let expected = || "integer, IP address or MAC address".to_string();
        let wrong = || KeyError::Value { text: text.to_string(), expected: expected() };
        integer().or_else(address).or_else(mac).ok_or_else(wrong)
    }

    /// The words of the value alone.
    pub fn words(self) -> Vec<u64> {
        match self {
            KeyValue::Integer(integer) => vec![integer as u64],
            KeyValue::Mac(bits) => vec![bits],
            KeyValue::Address(address) => {
                let bits = match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
                    IpAddr::V6(address) => address.to_bits(),
                };
                vec![(bits >> 64) as u64, bits as u64]
            }
        }
    }

    pub(crate) fn address(high: u64, low: u64) -> KeyValue {
        let address = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
        KeyValue::Address(IpAddr::V6(address).to_canonical())
    }
}
