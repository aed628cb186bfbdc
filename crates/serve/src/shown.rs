//! Bytes of maps as JSON, by their types (BTF): what `bpftool map dump` and `bpftool --json map lookup` show.
//!
//! Fields keep their order, and those without a name have the empty one; so the text is written here, and no map of a JSON library has to hold it.

use moonhook_btf::{Kind, Member, TypeId, Types};
use std::fmt::Write;

/// Types in types, at most: those in a file can go round in a circle.
const DEEPEST: usize = 32;

/// A value with its type; `None` where nobody knows it.
pub type Typed<'a> = (&'a [u8], Option<(&'a Types, TypeId)>);

/// The value as its type says; without one, its bytes.
pub fn show(out: &mut String, (bytes, ty): Typed<'_>) {
    match ty {
        Some((types, id)) => Shower { types, out, depth: 0 }.value(id, bytes),
        None => show_bytes(out, bytes),
    }
}

/// An array of texts `0x1f`.
pub fn show_bytes(out: &mut String, bytes: &[u8]) {
    list(out, bytes, |out, byte| {
        let _ = write!(out, "\"{byte:#04x}\"");
    });
}

/// Elements with brackets around and commas between.
pub fn list<T>(out: &mut String, all: impl IntoIterator<Item = T>, mut show: impl FnMut(&mut String, T)) {
    out.push('[');
    for (index, one) in all.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        show(out, one);
    }
    out.push(']');
}

struct Shower<'a> {
    types: &'a Types,
    out: &'a mut String,
    depth: usize,
}

impl Shower<'_> {
    fn value(&mut self, id: TypeId, bytes: &[u8]) {
        let id = self.types.resolved(id);
        let bytes = bytes.get(..self.types.size(id) as usize).unwrap_or(bytes);
        if self.depth == DEEPEST {
            return show_bytes(self.out, bytes);
        }
        self.depth += 1;
        match self.types.kind(id) {
            Kind::Integer { signed, .. } => self.integer(id, bytes, signed),
            Kind::Enumeration { signed, .. } => self.enumeration(id, bytes, signed),
            Kind::Pointer(_) => self.text(unsigned(bytes)),
            Kind::Array { of, .. } => self.array(of, bytes),
            Kind::Structure { .. } => self.structure(id, bytes),
            _ => show_bytes(self.out, bytes),
        }
        self.depth -= 1;
    }

    fn text(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.out, "{value}");
    }

    fn quoted(&mut self, text: &str) {
        self.text(serde_json::Value::from(text));
    }

    fn integer(&mut self, id: TypeId, bytes: &[u8], signed: bool) {
        match bytes.len() {
            1 if self.types.name(id) == "_Bool" => self.text(bytes[0] != 0),
            1 | 2 | 4 | 8 if signed => self.text(signed_number(bytes)),
            1 | 2 | 4 | 8 => self.text(unsigned(bytes)),
            16 => {
                let number = u128::from_ne_bytes(bytes.try_into().unwrap_or_default());
                self.text(format_args!("\"{number:#x}\""));
            }
            _ => show_bytes(self.out, bytes),
        }
    }

    fn enumeration(&mut self, id: TypeId, bytes: &[u8], signed: bool) {
        let number = if signed { signed_number(bytes) } else { unsigned(bytes) as i64 };
        let types = self.types;
        match types.enumerator(id, number) {
            Some(name) => self.quoted(name),
            None if signed => self.text(number),
            None => self.text(number as u64),
        }
    }

    fn array(&mut self, of: TypeId, bytes: &[u8]) {
        let element = self.types.resolved(of);
        let size = self.types.size(element) as usize;
        if size == 1
            && self.types.name(element) == "char"
            && let Some(text) = printable(bytes)
        {
            return self.quoted(text);
        }
        // Elements without a size, of which there can be any number.
        let elements = bytes.chunks_exact(size.max(1)).take(if size == 0 { 0 } else { usize::MAX });
        let (types, depth) = (self.types, self.depth);
        list(self.out, elements, |out, bytes| Shower { types, out, depth }.value(element, bytes));
    }

    fn structure(&mut self, id: TypeId, bytes: &[u8]) {
        let types = self.types;
        self.out.push('{');
        for (index, member) in types.members(id).into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.quoted(member.name);
            self.out.push(':');
            match member.bits {
                0 => {
                    let part = bytes.get((member.offset / 8) as usize..).unwrap_or_default();
                    self.value(member.type_id, part);
                }
                _ => self.text(format_args!("\"{:#x}\"", bit_field(bytes, &member))),
            }
        }
        self.out.push('}');
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = bytes.len().min(8);
    word[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(word)
}

fn signed_number(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    (unsigned(bytes) << unused) as i64 >> unused
}

/// The bits of a member, counted as a little-endian machine does.
fn bit_field(bytes: &[u8], member: &Member<'_>) -> u64 {
    let from = (member.offset / 8) as usize;
    let mut window = [0; 16];
    let part = bytes.get(from..).unwrap_or_default();
    let length = part.len().min(16);
    window[..length].copy_from_slice(&part[..length]);
    let value = u128::from_le_bytes(window) >> (member.offset % 8);
    let mask = if member.bits >= 64 { u64::MAX } else { (1 << member.bits) - 1 };
    value as u64 & mask
}

/// A text that a NUL ends, of characters that can be seen.
fn printable(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF of these records, each of some words, and of these strings; the first string is empty.
    fn types(records: &[&[u32]], strings: &str) -> Types {
        let body: Vec<u8> = records.concat().into_iter().flat_map(u32::to_ne_bytes).collect();
        let (types, texts) = (body.len() as u32, strings.len() as u32);
        let mut bytes: Vec<u8> =
            [0x0001_eb9f, 24, 0, types, types, texts].into_iter().flat_map(u32::to_ne_bytes).collect();
        bytes.extend(body);
        bytes.extend(strings.as_bytes());
        Types::parse(bytes).unwrap()
    }

    const STRINGS: &str = "\0u32\0char\0_Bool\0a\0b\0c\0RED\0";

    fn shown(types: &Types, id: u32, bytes: &[u8]) -> String {
        let mut out = String::new();
        show(&mut out, (bytes, Some((types, TypeId(id)))));
        out
    }

    #[test]
    fn values_are_shown_by_their_types() {
        let int =
            |name: u32, size: u32, encoding: u32| vec![name, 1 << 24, size, (encoding << 24) | (8 * size)];
        let (u32_type, char_type, bool_type) = (int(1, 4, 0), int(5, 1, 1), int(10, 1, 4));
        let types = types(
            &[
                &u32_type,
                &char_type,
                &bool_type,
                // 4: char[4]; 5: u32[2]
                &[0, 3 << 24, 0, 2, 1, 4],
                &[0, 3 << 24, 0, 1, 1, 2],
                // 6: enum { RED = 7 }
                &[0, 6 << 24 | 1, 4, 22, 7],
                // 7: struct { u32 a:3; u32 b:5; struct { u32[2] c; }; }, 8: that within
                &[0, 1 << 31 | 4 << 24 | 3, 12, 16, 1, 3 << 24, 18, 1, 5 << 24 | 3, 0, 8, 32],
                &[0, 4 << 24 | 1, 8, 20, 5, 0],
            ],
            STRINGS,
        );
        assert_eq!(shown(&types, 1, &[1, 2, 0, 0]), "513");
        assert_eq!(shown(&types, 2, &[0xff]), "-1");
        assert_eq!(shown(&types, 3, &[2]), "true");
        assert_eq!(shown(&types, 4, b"ab\0\0"), "\"ab\"");
        assert_eq!(shown(&types, 4, b"abcd"), "[97,98,99,100]");
        assert_eq!(shown(&types, 5, &[1, 0, 0, 0, 2, 0, 0, 0]), "[1,2]");
        assert_eq!(
            (shown(&types, 6, &[7, 0, 0, 0]).as_str(), shown(&types, 6, &[8, 0, 0, 0]).as_str()),
            ("\"RED\"", "8")
        );
        let bytes = [0b1010_1011, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(shown(&types, 7, &bytes), "{\"a\":\"0x3\",\"b\":\"0x15\",\"\":{\"c\":[1,2]}}");
        // What is too short is no reason to fail.
        assert_eq!(shown(&types, 7, &[]), "{\"a\":\"0x0\",\"b\":\"0x0\",\"\":{\"c\":[]}}");
        let mut out = String::new();
        show(&mut out, (&[1, 0xab], None));
        assert_eq!(out, "[\"0x01\",\"0xab\"]");
    }
}
