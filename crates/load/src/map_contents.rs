//! What eCLAT scripts fill maps of C programs with: parts of keys and values become bytes as the maps' types say it (BTF).

use moonhook_btf::{Kind, TypeId, Types};
use moonhook_eclat::tree::Datum;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How a chain is known to maps: by its number among those of the script, from 1.
pub const FIRST_CHAIN: u64 = 1;

/// The bytes of a key or a value of that size and type, of which each part is an integer within it, in order, or an address or a text in the
/// place of as many bytes.
///
/// # Errors
/// What does not fit, in words that follow "the key" or "the value".
pub fn encode(types: &Types, (size, ty): (u32, Option<TypeId>), data: &[Datum]) -> Result<Vec<u8>, String> {
    let left = MOST_TYPES + data.len() * DEEPEST;
    let mut writer = Writer { types, bytes: vec![0; size as usize], data, next: 0, depth: 0, left };
    match ty {
        Some(ty) => writer.put(ty, 0)?,
        None => writer.integer(0, size)?,
    }
    if writer.next < data.len() {
        return Err(format!("has {} parts, the map's have {}", data.len(), writer.next));
    }
    Ok(writer.bytes)
}

/// Types in types, at most: structures in files can be anything.
const DEEPEST: usize = 16;

/// Types that are looked at besides those of parts, at most: in files, structures without any parts can be very many.
const MOST_TYPES: usize = 1000;

/// Bytes of addresses: IPv4, MAC, IPv6.
const ADDRESSES: [u32; 3] = [4, 6, 16];

struct Writer<'a> {
    types: &'a Types,
    bytes: Vec<u8>,
    data: &'a [Datum],
    /// The number of the next part.
    next: usize,
    depth: usize,
    /// How many types may still be looked at.
    left: usize,
}

impl<'a> Writer<'a> {
    fn take(&mut self) -> Result<&'a Datum, String> {
        let data = self.data;
        let datum = data.get(self.next).ok_or(format!("has {} parts, the map's have more", data.len()))?;
        self.next += 1;
        Ok(datum)
    }

    fn put(&mut self, ty: TypeId, offset: u32) -> Result<(), String> {
        if self.depth == DEEPEST || self.left == 0 {
            return Err("has a type that is nested too deeply".into());
        }
        (self.depth, self.left) = (self.depth + 1, self.left - 1);
        let outcome = self.put_within(ty, offset);
        self.depth -= 1;
        outcome
    }

    fn put_within(&mut self, ty: TypeId, offset: u32) -> Result<(), String> {
        let ty = self.types.resolved(ty);
        let size = self.types.size(ty);
        match self.types.kind(ty) {
            Kind::Integer { bytes, .. } | Kind::Enumeration { bytes, .. } => self.integer(offset, bytes),
            Kind::Structure { .. } | Kind::Array { .. }
                if matches!(self.data.get(self.next), Some(Datum::Text(_))) && self.takes_text(ty) =>
            {
                self.text(ty, offset, size)
            }
            Kind::Structure { is_union, .. } => {
                // A union is what it is called first.
                let most = if is_union { 1 } else { usize::MAX };
                for member in self.types.members(ty).into_iter().take(most) {
                    if member.bits > 0 {
                        return Err(format!("has a part '{}' that is some bits of a word", member.name));
                    }
                    self.put(member.type_id, offset.saturating_add(member.offset / 8))?;
                }
                Ok(())
            }
            Kind::Array { of, length } => {
                let each = self.types.size(of);
                for index in 0..length {
                    self.put(of, offset.saturating_add(index.saturating_mul(each)))?;
                }
                Ok(())
            }
            _ => Err("has a type that no number stands for".into()),
        }
    }

    /// Whether the next text stands for all of it: an array of bytes, or an address of that size. Else it is for its first part.
    fn takes_text(&self, ty: TypeId) -> bool {
        let is_bytes = matches!(self.types.kind(ty), Kind::Array { of, .. } if self.types.size(of) == 1);
        let Some(Datum::Text(text)) = self.data.get(self.next) else { return false };
        is_bytes || address(text, self.types.size(ty)).is_some()
    }

    /// Whether it is an array of `char`, which has names in it. (`__u8` is `unsigned char`.)
    fn is_of_characters(&self, ty: TypeId) -> bool {
        let name = |of| self.types.name(self.types.resolved(of));
        matches!(self.types.kind(ty), Kind::Array { of, .. } if name(of) == "char")
    }

    fn place(&mut self, offset: u32, size: u32) -> Result<&mut [u8], String> {
        let end = offset.checked_add(size).ok_or("has a type that does not fit")?;
        self.bytes.get_mut(offset as usize..end as usize).ok_or("has a type that does not fit".into())
    }

    fn integer(&mut self, offset: u32, size: u32) -> Result<(), String> {
        let number = match self.take()? {
            Datum::Number(number) => *number,
            Datum::Chain(number) => *number as u64 + FIRST_CHAIN,
            Datum::Text(text) => return Err(format!("has the text '{text}' in the place of a number")),
        };
        let bits = 8 * size.min(8);
        let (fits, is_negative) = match bits {
            64 => (true, false),
            bits => (number >> bits == 0, (number as i64) < 0 && number as i64 >= -1 << (bits - 1)),
        };
        if !fits && !is_negative {
            return Err(format!("has the number {number}, for which {bits} bits are too few"));
        }
        let place = self.place(offset, size)?;
        place.fill(if is_negative { 0xff } else { 0 });
        let bytes = number.to_ne_bytes();
        let length = place.len().min(8);
        place[..length].copy_from_slice(&bytes[..length]);
        Ok(())
    }

    /// An address where one is of that size, unless characters are wanted: a text that is none is a mistake, not a name.
    fn text(&mut self, ty: TypeId, offset: u32, size: u32) -> Result<(), String> {
        let Datum::Text(text) = self.take()? else { return Ok(()) };
        let is_name = self.is_of_characters(ty) || !ADDRESSES.contains(&size);
        let bytes = match address(text, size) {
            Some(bytes) => bytes,
            None if is_name => text.as_bytes().to_vec(),
            None => return Err(format!("has the text '{text}', which is no address of {}", kind(size))),
        };
        let place = self.place(offset, size)?;
        if bytes.len() > place.len() {
            return Err(format!("has the text '{text}', for which {} bytes are too few", place.len()));
        }
        place.fill(0);
        place[..bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }
}

/// The bytes of an address that has so many.
fn address(text: &str, size: u32) -> Option<Vec<u8>> {
    match (text.parse::<IpAddr>(), size) {
        (Ok(IpAddr::V4(address)), 4) => Some(Ipv4Addr::octets(&address).to_vec()),
        (Ok(IpAddr::V6(address)), 16) => Some(Ipv6Addr::octets(&address).to_vec()),
        (_, 6) => mac(text).map(|bytes| bytes.to_vec()),
        _ => None,
    }
}

/// What addresses of that size are of.
fn kind(size: u32) -> &'static str {
    match size {
        4 => "IPv4",
        6 => "Ethernet",
        _ => "IPv6",
    }
}

/// The bytes of a MAC address, written as pairs of digits with colons between them.
fn mac(text: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of C: `unsigned short`, a type of bytes with that name, an array of 16 of them, and a structure of these; a structure of nothing,
    /// an array of very many, and one that has itself in it without a name.
    fn types(byte: &str) -> Types {
        let strings = format!("\0unsigned short\0{byte}\0s\0a\0b\0c\0");
        let strings = strings.as_bytes();
        let at = |name: &str| {
            let text = [name.as_bytes(), &[0]].concat();
            let found =
                strings.windows(text.len() + 1).position(|part| part[0] == 0 && part[1..] == text[..]);
            found.map_or(0, |position| position as u32 + 1)
        };
        let records: [&[u32]; 7] = [
            &[at("unsigned short"), 1 << 24, 2, 16],
            &[at(byte), 1 << 24, 1, 1 << 24 | 8],
            &[0, 3 << 24, 0, 2, 1, 16],
            &[at("s"), 4 << 24 | 3, 20, at("a"), 1, 0, at("b"), 2, 16, at("c"), 3, 24],
            &[at("s"), 4 << 24, 0],
            &[0, 3 << 24, 0, 5, 1, u32::MAX],
            &[0, 4 << 24 | 1, 4, 0, 7, 0],
        ];
        let types: Vec<u8> = records.concat().iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (length, names) = (types.len() as u32, strings.len() as u32);
        let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        bytes.extend([24, 0, length, length, names].iter().flat_map(|word: &u32| word.to_ne_bytes()));
        bytes.extend(types);
        bytes.extend(strings);
        Types::parse(bytes).expect("these are types")
    }

    fn encoded(byte: &str, data: &[Datum]) -> Result<Vec<u8>, String> {
        encode(&types(byte), (20, Some(TypeId(4))), data)
    }

    #[test]
    fn parts_become_bytes_in_their_order() {
        use Datum::{Chain, Number, Text};
        let address = Text("2001:db8::1".into());
        let bytes = encoded("signed char", &[Chain(3), Number(u64::MAX), address]).unwrap();
        assert_eq!(bytes[..3], [4, 0, 0xff]);
        assert_eq!(bytes[3..8], [0x20, 0x01, 0x0d, 0xb8, 0]);
        assert_eq!((bytes[18], bytes[19]), (1, 0));
        let name = encoded("char", &[Number(1), Number(2), Text("eth0".into())]).unwrap();
        assert_eq!(name[3..8], *b"eth0\0");
        assert_eq!(encode(&types("char"), (8, None), &[Number(7)]).unwrap(), 7_u64.to_ne_bytes());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        use Datum::{Number, Text};
        for (data, problem) in [
            (vec![Number(70_000), Number(0)], "has the number 70000, for which 16 bits are too few"),
            (vec![Number(1), Number(-129_i64 as u64)], "for which 8 bits are too few"),
            (vec![Number(1), Number(1)], "has 2 parts, the map's have more"),
            (vec![Text("x".into())], "has the text 'x' in the place of a number"),
            (vec![Number(1), Text("x".into())], "has the text 'x' in the place of a number"),
            (vec![Number(1), Number(1), Text("fc00::1".into()), Number(1)], "has 4 parts, the map's have 3"),
            (vec![Number(1), Number(1), Text("fd77::g1".into())], "'fd77::g1', which is no address of IPv6"),
            (vec![Number(1), Number(1), Text("10.0.0.0".into())], "'10.0.0.0', which is no address of IPv6"),
        ] {
            let error = encoded("unsigned char", &data).unwrap_err();
            assert!(error.contains(problem), "{data:?}: {error}");
        }
    }

    /// No verifier has looked at the types of a file.
    #[test]
    fn types_without_end_are_refused() {
        for (ty, of_record) in [(6, "has no integers in it"), (7, "is nested too deeply")] {
            let error =
                encode(&types("unsigned char"), (4, Some(TypeId(ty))), &[Datum::Number(1)]).unwrap_err();
            assert_eq!(error, "has a type that is nested too deeply");
            let error = crate::modules::bpf::parts_of(&types("unsigned char"), TypeId(ty)).unwrap_err();
            assert_eq!(error, of_record);
        }
    }
}
