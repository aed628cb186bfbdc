//! Assigning fields: which bits of the frame a field is, and the checksums that cover them.
//!
//! A checksum changes with what it covers (RFC 1624, equation 3), so that a wrong one stays wrong. Bytes are taken as big-endian words,
//! counted from the start of the header that the checksum is for.

use super::frame::{Beside, Frame};
use moonhook_hook::Layer;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// A field that can be assigned. `place` gives `None` where the packet has none.
pub struct Assignment {
    pub name: &'static str,
    pub takes: Takes,
    pub place: fn(Frame<'_>) -> Option<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// An integer from 0 on, of so many bits.
    Number(u32),
    Flag,
    Mac,
    /// An address of the packet's IP version.
    Address,
    Ipv4,
}

/// A packet that is written.
pub struct Written<'a> {
    pub bytes: &'a mut [u8],
    pub layer: Layer,
    pub is_of_wire: bool,
    /// The control information of a VLAN tag beside it, and whether that cannot be exchanged.
    pub beside: Option<(&'a mut u16, bool)>,
}

impl Written<'_> {
    fn frame(&self) -> Frame<'_> {
        let beside = self
            .beside
            .as_ref()
            .map(|(control, is_fixed)| Beside { control: **control, is_fixed: *is_fixed });
        Frame { beside, is_of_wire: self.is_of_wire, ..Frame::new(self.bytes, self.layer) }
    }
}

/// `bits` bits, from bit `shift` on, of the big-endian integer in these bytes of the frame.
pub struct Place {
    bytes: Range<usize>,
    shift: u32,
    bits: u32,
    sums: [Option<Sum>; 2],
    /// They are bits of the tag beside the packet instead.
    is_beside: bool,
}

/// A checksum.
#[derive(Clone, Copy)]
pub struct Sum {
    /// Where the header starts that it is for.
    pub start: usize,
    /// Where it stands in the frame.
    pub at: usize,
    /// 0 says that there is none (UDP).
    pub optional: bool,
}

/// What a script assigns.
#[derive(Clone, Copy)]
pub enum Given<'a> {
    Integer(i64),
    Boolean(bool),
    Text(&'a [u8]),
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The packet has no such field.
    Absent,
    /// The value is none for the field.
    Unfit,
}

impl Place {
    pub fn new(at: usize, size: usize, sums: [Option<Sum>; 2]) -> Option<Place> {
        Some(Place { bytes: at..at + size, shift: 0, bits: 8 * size as u32, sums, is_beside: false })
    }

    pub fn part(at: usize, size: usize, (shift, bits): (u32, u32), sums: [Option<Sum>; 2]) -> Option<Place> {
        Some(Place { bytes: at..at + size, shift, bits, sums, is_beside: false })
    }

    /// Bits of the control information of the tag beside the packet.
    pub fn beside((shift, bits): (u32, u32)) -> Option<Place> {
        Some(Place { bytes: 0..2, shift, bits, sums: [None, None], is_beside: true })
    }
}

/// Assigns a field.
///
/// # Errors
/// The frame is as it was then.
pub fn assign(packet: Written<'_>, field: &Assignment, given: Given<'_>) -> Result<(), Refusal> {
    let new = match (field.takes, given) {
        (Takes::Number(bits), Given::Integer(integer)) => {
            u128::try_from(integer).ok().filter(|number| number >> bits == 0).ok_or(Refusal::Unfit)?
        }
        (Takes::Flag, Given::Boolean(flag)) => u128::from(flag),
        (Takes::Mac, Given::Text(text)) => mac(text).ok_or(Refusal::Unfit)?,
        (Takes::Address | Takes::Ipv4, Given::Text(text)) => {
            let (size, number) = address(text).ok_or(Refusal::Unfit)?;
            let place = (field.place)(packet.frame()).ok_or(Refusal::Absent)?;
            if place.bytes.len() != size {
                return Err(Refusal::Unfit);
            }
            number
        }
        _ => return Err(Refusal::Unfit),
    };
    let place = (field.place)(packet.frame()).ok_or(Refusal::Absent)?;
    if place.is_beside {
        let (control, _) = packet.beside.ok_or(Refusal::Absent)?;
        let mut bytes = control.to_be_bytes();
        write(&mut bytes, &place, new).ok_or(Refusal::Absent)?;
        *control = u16::from_be_bytes(bytes);
        return Ok(());
    }
    write(packet.bytes, &place, new).ok_or(Refusal::Absent)
}

fn write(frame: &mut [u8], place: &Place, new: u128) -> Option<()> {
    let old = number(frame.get(place.bytes.clone())?);
    let mask = ((1_u128 << place.bits.min(127)) - 1) | (u128::from(place.bits == 128) << 127);
    let new = (old & !(mask << place.shift)) | (new << place.shift);
    for sum in place.sums.into_iter().flatten() {
        let before = u16::from_be_bytes(frame.get(sum.at..sum.at + 2)?.try_into().ok()?);
        if sum.optional && before == 0 {
            continue;
        }
        // No word is less than its old value by more than 0xffff, and that is 0 to such sums.
        let room = 0xffff * (1 + place.bytes.len() as u64);
        let difference = room + words(place, sum.start, new) - words(place, sum.start, old);
        let mut total = u64::from(!before) + difference;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        let after = match !(total as u16) {
            0 if sum.optional => 0xffff,
            after => after,
        };
        frame[sum.at..sum.at + 2].copy_from_slice(&after.to_be_bytes());
    }
    let size = place.bytes.len();
    frame[place.bytes.clone()].copy_from_slice(&new.to_be_bytes()[16 - size..]);
    Some(())
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The sum of the words that the bytes of `number` are at their place, counted from `start` (or up to it: the addresses of the pseudo
/// header are before the header, whole words away).
fn words(place: &Place, start: usize, number: u128) -> u64 {
    let size = place.bytes.len();
    let bytes = number.to_be_bytes();
    let odd = place.bytes.start.abs_diff(start) % 2;
    let word = |(index, byte): (usize, &u8)| match (odd + index) % 2 {
        0 => u64::from(*byte) << 8,
        _ => u64::from(*byte),
    };
    bytes[16 - size..].iter().enumerate().map(word).sum()
}

/// Six pairs of lower-case hex digits, as fields show them.
fn mac(text: &[u8]) -> Option<u128> {
    let pairs: Vec<&[u8]> = text.split(|byte| *byte == b':').collect();
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if pairs.len() != 6 || pairs.iter().any(|pair| pair.len() != 2 || !pair.iter().all(digit)) {
        return None;
    }
    u128::from_str_radix(std::str::from_utf8(&pairs.concat()).ok()?, 16).ok()
}

/// An address as fields show it: its bytes' count, and the number that they are.
pub fn address(text: &[u8]) -> Option<(usize, u128)> {
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return (address.to_string() == text).then_some((4, u128::from(u32::from(address))));
    }
    let address = text.parse::<Ipv6Addr>().ok()?;
    (address.to_string() == text).then_some((16, u128::from(address)))
}
