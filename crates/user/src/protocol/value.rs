//! What a protocol field holds, in a form that owns no memory: values cross `longjmp`s of Lua's allocator.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// A field's value; nil is the absence of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    Integer(i64),
    Boolean(bool),
    Text(Text),
    /// The bytes of the frame from the first offset up to the second.
    Bytes {
        start: usize,
        end: usize,
    },
    /// A domain name, whose labels are the bytes of the frame from the first offset up to the second (RFC 1035 § 3.1).
    Name {
        start: usize,
        end: usize,
    },
}

/// A domain name with dots, of at most 254 bytes.
pub struct Dotted {
    bytes: [u8; 256],
    length: usize,
}

impl Dotted {
    /// Of labels, each behind its length.
    pub fn new(labels: &[u8]) -> Dotted {
        let mut name = Dotted { bytes: [0; 256], length: 0 };
        let mut rest = labels;
        while let [length, after @ ..] = rest {
            let (label, others) = after.split_at_checked(usize::from(*length)).unwrap_or((after, &[]));
            if name.length > 0 {
                name.put(b".");
            }
            name.put(label);
            rest = others;
        }
        if labels.is_empty() {
            name.put(b".");
        }
        name
    }

    fn put(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(part);
            self.length = end;
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// An address as people write it: at most 45 characters (an IPv4-mapped IPv6 address is shorter).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; 48],
    length: usize,
}

impl Value {
    pub fn integer(value: impl Into<i64>) -> Option<Value> {
        Some(Value::Integer(value.into()))
    }

    pub fn boolean(value: bool) -> Option<Value> {
        Some(Value::Boolean(value))
    }

    pub fn bytes(range: Range<usize>) -> Option<Value> {
        Some(Value::Bytes { start: range.start, end: range.end })
    }

    pub fn name(range: Range<usize>) -> Option<Value> {
        Some(Value::Name { start: range.start, end: range.end })
    }

    /// `52:54:00:12:34:56`.
    pub fn mac([a, b, c, d, e, f]: [u8; 6]) -> Option<Value> {
        Some(Value::Text(Text::new(format_args!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))))
    }

    pub fn ipv4(address: [u8; 4]) -> Option<Value> {
        Some(Value::Text(Text::new(format_args!("{}", Ipv4Addr::from(address)))))
    }

    /// RFC 5952 §§ 4 and 5, which the standard library's formatting follows.
    pub fn ipv6(address: [u8; 16]) -> Option<Value> {
        Some(Value::Text(Text::new(format_args!("{}", Ipv6Addr::from(address)))))
    }
}

impl Text {
    fn new(content: std::fmt::Arguments<'_>) -> Text {
        let mut text = Text { bytes: [0; 48], length: 0 };
        // Fails only where the buffer is full, which no address reaches.
        let _ = text.write_fmt(content);
        text
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let end = self.length + part.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Option<Value>) -> String {
        match value {
            Some(Value::Text(text)) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
            other => format!("{other:?}"),
        }
    }

    /// RFC 5952 §§ 4.1–4.3 and 5, one example each.
    #[test]
    fn addresses_are_written_as_rfc_5952_says() {
        let cases: &[([u16; 8], &str)] = &[
            ([0; 8], "::"),
            ([0, 0, 0, 0, 0, 0, 0, 1], "::1"),
            ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], "2001:db8::1"),
            ([0x2001, 0xdb8, 0, 1, 1, 1, 1, 1], "2001:db8:0:1:1:1:1:1"),
            ([0x2001, 0xdb8, 0, 0, 1, 0, 0, 1], "2001:db8::1:0:0:1"),
            ([0x2001, 0, 0, 1, 0, 0, 0, 1], "2001:0:0:1::1"),
            (
                [0x2001, 0xdb8, 0xaaaa, 0xbbbb, 0xcccc, 0xdddd, 0xeeee, 0xaaaa],
                "2001:db8:aaaa:bbbb:cccc:dddd:eeee:aaaa",
            ),
            ([0xfe80, 0, 0, 0, 0, 0, 0, 0], "fe80::"),
            ([0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0207], "::ffff:192.0.2.7"),
            ([0, 0, 0, 0, 0, 0, 0xc000, 0x0207], "::c000:207"),
        ];
        for (groups, expected) in cases {
            assert_eq!(text(Value::ipv6(Ipv6Addr::from(*groups).octets())), *expected);
        }
        assert_eq!(text(Value::ipv4([192, 0, 2, 7])), "192.0.2.7");
        assert_eq!(text(Value::mac([0x52, 0x54, 0, 0x12, 0x34, 0x56])), "52:54:00:12:34:56");
    }
}
