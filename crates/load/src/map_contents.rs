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
    let mut writer = Writer { types, bytes: vec![0; size as usize], data, next: 0, depth: 0 };
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

struct Writer<'a> {
    types: &'a Types,
    bytes: Vec<u8>,
    data: &'a [Datum],
    /// The number of the next part.
    next: usize,
    depth: usize,
}

impl<'a> Writer<'a> {
    fn take(&mut self) -> Result<&'a Datum, String> {
        let data = self.data;
        let datum = data.get(self.next).ok_or(format!("has {} parts, the map's have more", data.len()))?;
        self.next += 1;
        Ok(datum)
    }

    fn put(&mut self, ty: TypeId, offset: u32) -> Result<(), String> {
        if self.depth == DEEPEST {
            return Err("has a type that is nested too deeply".into());
        }
        self.depth += 1;
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
                if matches!(self.data.get(self.next), Some(Datum::Text(_))) =>
            {
                self.text(offset, size)
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

    fn text(&mut self, offset: u32, size: u32) -> Result<(), String> {
        let Datum::Text(text) = self.take()? else { return Ok(()) };
        let place = self.place(offset, size)?;
        let bytes = match (text.parse::<IpAddr>(), place.len()) {
            (Ok(IpAddr::V4(address)), 4) => Ipv4Addr::octets(&address).to_vec(),
            (Ok(IpAddr::V6(address)), 16) => Ipv6Addr::octets(&address).to_vec(),
            _ => match mac(text).filter(|_| place.len() == 6) {
                Some(mac) => mac.to_vec(),
                None => text.as_bytes().to_vec(),
            },
        };
        if bytes.len() > place.len() {
            return Err(format!("has the text '{text}', for which {} bytes are too few", place.len()));
        }
        place.fill(0);
        place[..bytes.len()].copy_from_slice(&bytes);
        Ok(())
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
