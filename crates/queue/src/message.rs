//! Messages of nfnetlink (include/uapi/linux/netfilter/nfnetlink.h) and their attributes (include/uapi/linux/netlink.h): numbers of headers
//! are in the machine's byte order, those of attributes in the network's where netfilter says so.

/// `struct nlmsghdr`: length (32 bits), type (16), flags (16), sequence number (32), port (32).
pub const HEADER: usize = 16;

/// `struct nfgenmsg`: family (8 bits), version (8), a number (16, network byte order).
pub const GENERIC: usize = 4;

pub const REQUEST: u16 = 0x1;
pub const ACKNOWLEDGE: u16 = 0x4;
pub const CREATE: u16 = 0x400;
pub const APPEND: u16 = 0x800;

/// `NLMSG_ERROR`: what a request has come to.
pub const ERROR: u16 = 2;

/// `NLA_F_NESTED`: the attribute consists of others.
const NESTED: u16 = 0x8000;
/// The bits of an attribute's type that are not flags.
const TYPE: u16 = 0x3fff;

/// A message that is being written.
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// `kind`: the subsystem in the upper 8 bits, the message's number in the lower ones. `number`: in the machine's byte order.
    pub fn new(kind: u16, flags: u16, sequence: u32, (family, number): (u8, u16)) -> Message {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((REQUEST | flags).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend([family, 0]);
        bytes.extend(number.to_be_bytes());
        Message { bytes }
    }

    /// An attribute of bytes. Those that are too long for one are left out, which the kernel finds.
    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Message {
        let Ok(length) = u16::try_from(4 + value.len()) else { return self };
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// A number of 32 bits in network byte order.
    pub fn number(self, kind: u16, value: u32) -> Message {
        self.bytes(kind, &value.to_be_bytes())
    }

    /// A text with the zero behind it.
    pub fn text(self, kind: u16, value: &str) -> Message {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// An attribute of attributes.
    pub fn nested(mut self, kind: u16, inner: impl FnOnce(Message) -> Message) -> Message {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend((kind | NESTED).to_ne_bytes());
        self = inner(self);
        // Messages of this crate are shorter than that, but for packets, which are in no other attribute.
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// The whole message.
    pub fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

/// A message that has come.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    pub kind: u16,
    pub sequence: u32,
    /// What is behind the header.
    pub body: &'a [u8],
}

impl Received<'_> {
    /// What a request has come to, if the message says that: 0, or an error's number.
    pub fn outcome(&self) -> Option<i32> {
        let code = self.body.first_chunk().filter(|_| self.kind == ERROR)?;
        Some(-i32::from_ne_bytes(*code))
    }
}

/// The messages of what was received at once. Ends where they do not go on as they should.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let message = bytes.get(..length).filter(|message| message.len() >= HEADER)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Received {
            kind: u16::from_ne_bytes([message[4], message[5]]),
            sequence: u32::from_ne_bytes([message[8], message[9], message[10], message[11]]),
            body: &message[HEADER..],
        })
    })
}

/// The attributes in these bytes, by their types. Ends where they do not go on as they should.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [first, second, third, fourth] = *bytes.first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([first, second]));
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([third, fourth]) & TYPE, value))
    })
}

/// A number of 32 bits in network byte order.
pub fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// A number of 16 bits in network byte order.
pub fn short(value: &[u8]) -> Option<u16> {
    value.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message = Message::new(0x0a07, CREATE, 9, (2, 5))
            .text(1, "table")
            .nested(2, |inner| inner.number(3, 0x0102_0304).bytes(4, &[7]))
            .finish();
        let all: Vec<_> = messages(&message).collect();
        let [received] = all.as_slice() else { panic!("{} messages", all.len()) };
        assert_eq!((received.kind, received.sequence), (0x0a07, 9));
        assert_eq!(received.body[..GENERIC], [2, 0, 0, 5]);
        let outer: Vec<_> = attributes(&received.body[GENERIC..]).collect();
        assert_eq!(outer[0], (1, b"table\0".as_slice()));
        let inner: Vec<_> = attributes(outer[1].1).collect();
        assert_eq!(inner, [(3, [1, 2, 3, 4].as_slice()), (4, [7].as_slice())]);
    }

    /// Whatever comes, reading ends.
    #[test]
    fn bytes_that_are_no_messages_are_passed_over() {
        for length in 0..64u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(31) ^ length).collect();
            assert!(messages(&bytes).count() <= 4 && attributes(&bytes).count() <= 16);
        }
        assert_eq!(messages(&[16, 0, 0, 0]).count(), 0);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0, "shorter than its own header");
    }
}
