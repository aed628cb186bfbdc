//! What fields of packets are.

use moonhook_ir::words::{Branches, Path, Word};

/// The value of a field: words, and what they mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// There is no such field or header in this packet.
    Nothing,
    /// A header, by its protocol's name.
    Header(&'static str),
    Number(Word),
    Text(&'static str),
    /// 0 or 1.
    Flag(Word),
    /// An IPv4 address, the first byte highest.
    Ipv4(Word),
    /// An IPv6 address: its first 8 bytes and its last, the first byte highest.
    Ipv6(Word, Word),
    /// A MAC address: 48 bits, the first byte highest.
    Mac(Word),
    /// Bytes of the frame.
    Bytes {
        start: Word,
        length: Word,
    },
    /// A domain name: labels in the frame with a byte before each that is its length (RFC 1035 § 3.1), without the last one, which is 0.
    /// As text it has dots between labels, and is `.` where there is none.
    Name {
        start: Word,
        length: Word,
    },
}

/// The paths on which a field was read, each with its value.
pub type ValuePaths<M> = Vec<Path<<M as Branches>::State, Value>>;
