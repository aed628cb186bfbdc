//! The format of datagrams. Integers are big-endian.
//!
//! ```text
//!  0  4  "MHUP"                     16  8  sequence number
//!  4  1  version, 1                 24  1  length of the receiver's name
//!  5  1  operation: 1 set, 2 delete 25  1  length of the table's name
//!  6  1  number of this part, from 0  26  2  length of the flow's key
//!  7  1  number of parts, from 1    28  2  length of this part of the text
//!  8  8  sender: the first bytes of the public key
//! 30     receiver, table, key, text, each as long as it says
//!    64  Ed25519 signature (RFC 8032 § 5.1.6) of all bytes before it
//! ```

use crate::keys::{PublicKey, SENDER, SecretKey};
use crate::update::Operation;

/// What datagrams begin with.
pub const MAGIC: [u8; 4] = *b"MHUP";
pub const VERSION: u8 = 1;
/// Bytes in front of the names.
pub const HEADER: usize = 30;
pub const SIGNATURE: usize = 64;
/// A datagram has so many bytes at most: what an Ethernet frame takes with the headers of IPv6 and UDP.
pub const MOST_BYTES: usize = 1452;
pub const MOST_PARTS: usize = 255;

/// A datagram whose form is right, which says nothing of its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub operation: Operation,
    pub part: u8,
    pub parts: u8,
    pub sender: [u8; SENDER],
    pub sequence: u64,
    pub receiver: &'a str,
    pub table: &'a str,
    pub key: &'a str,
    /// This part of the text: a character may end in the next one.
    pub text: &'a [u8],
    signed: &'a [u8],
    signature: [u8; SIGNATURE],
}

/// Why bytes are no datagram of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("not an update")]
    Magic,
    #[error("version {0} of the format is not known")]
    Version(u8),
    #[error("the datagram has another length than it says")]
    Length,
    #[error("there is no operation {0}")]
    Operation(u8),
    #[error("there is no part {part} of {parts}")]
    Part { part: u8, parts: u8 },
    #[error("a name is not UTF-8")]
    Text,
}

/// What all parts of an update have in common, as it is sent.
pub(crate) struct Common<'a> {
    pub operation: Operation,
    pub sequence: u64,
    pub receiver: &'a str,
    pub table: &'a str,
    pub key: &'a str,
}

impl Common<'_> {
    /// The bytes of a datagram without its text: what is left of [`MOST_BYTES`] is for that.
    pub fn overhead(&self) -> usize {
        HEADER + self.receiver.len() + self.table.len() + self.key.len() + SIGNATURE
    }

    /// A part, signed. Lengths are as `Update::datagrams` has seen to.
    pub fn part(&self, (part, parts): (u8, u8), text: &[u8], by: &SecretKey) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.overhead() + text.len());
        bytes.extend(MAGIC);
        bytes.extend([VERSION, self.operation as u8, part, parts]);
        bytes.extend(by.public().sender());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend([self.receiver.len() as u8, self.table.len() as u8]);
        bytes.extend((self.key.len() as u16).to_be_bytes());
        bytes.extend((text.len() as u16).to_be_bytes());
        for name in [self.receiver, self.table, self.key] {
            bytes.extend(name.as_bytes());
        }
        bytes.extend(text);
        bytes.extend(by.sign(&bytes));
        bytes
    }
}

impl<'a> Datagram<'a> {
    /// # Errors
    /// The bytes are not as the format says.
    pub fn parse(bytes: &'a [u8]) -> Result<Datagram<'a>, FormatError> {
        let (header, rest) = bytes.split_first_chunk::<HEADER>().ok_or(FormatError::Length)?;
        if header[..4] != MAGIC {
            return Err(FormatError::Magic);
        }
        if header[4] != VERSION {
            return Err(FormatError::Version(header[4]));
        }
        let operation = Operation::numbered(header[5]).ok_or(FormatError::Operation(header[5]))?;
        let (part, parts) = (header[6], header[7]);
        if part >= parts {
            return Err(FormatError::Part { part, parts });
        }
        let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| header[at + index]));
        let half = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
        let lengths = [usize::from(header[24]), usize::from(header[25]), half(26), half(28)];
        let (body, signature) = rest.split_last_chunk::<SIGNATURE>().ok_or(FormatError::Length)?;
        if lengths.iter().sum::<usize>() != body.len() {
            return Err(FormatError::Length);
        }
        let (mut left, text) = body.split_at(body.len() - lengths[3]);
        let mut name = |length: usize| {
            let (name, rest) = left.split_at(length);
            left = rest;
            std::str::from_utf8(name).map_err(|_| FormatError::Text)
        };
        let [receiver, table, key] = [name(lengths[0])?, name(lengths[1])?, name(lengths[2])?];
        Ok(Datagram {
            operation,
            part,
            parts,
            sender: word(8).to_be_bytes(),
            sequence: word(16),
            receiver,
            table,
            key,
            text,
            signed: &bytes[..bytes.len() - SIGNATURE],
            signature: *signature,
        })
    }

    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.has_signed(self.signed, &self.signature)
    }
}
