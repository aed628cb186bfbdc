//! Constant strings that are the text of an address.

use crate::value::{Abs, Str, Word};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What a text is as an address of some kind.
type Address = fn(&[u8]) -> Option<Str>;

/// Strings that are all addresses of one kind become what addresses of packets are: numbers, which are text where text is needed. Equal
/// ones stay as they are: known.
pub fn keep_addresses_as_numbers(values: &mut [Abs]) {
    let texts: Vec<(usize, &[u8])> = values
        .iter()
        .enumerate()
        .filter_map(|(place, value)| match value {
            Abs::Str(Str::Const(text)) => Some((place, &**text)),
            _ => None,
        })
        .collect();
    let Some(((_, first), others)) = texts.split_first() else { return };
    if others.iter().all(|(_, other)| other == first) {
        return;
    }
    let of_kind = |address: Address| -> Option<Vec<(usize, Str)>> {
        texts.iter().map(|(place, text)| Some((*place, address(text)?))).collect()
    };
    let kinds: [Address; 3] = [
        |text| Some(Str::Mac(Word::Imm(mac(text)?))),
        |text| Some(Str::Ipv4(Word::Imm(ipv4(text)?))),
        |text| ipv6(text).map(|[high, low]| Str::Ipv6(Word::Imm(high), Word::Imm(low))),
    ];
    let addresses = kinds.into_iter().find_map(of_kind);
    addresses.into_iter().flatten().for_each(|(place, address)| values[place] = Abs::Str(address));
}

/// The address in host order, if `text` is exactly how that address is written.
pub fn ipv4(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let address: Ipv4Addr = text.parse().ok()?;
    (address.to_string() == text).then(|| i64::from(u32::from(address)))
}

/// High and low half, each in host order, if `text` is the address's RFC 5952 form.
pub fn ipv6(text: &[u8]) -> Option<[i64; 2]> {
    let text = std::str::from_utf8(text).ok()?;
    let address: Ipv6Addr = text.parse().ok()?;
    let bits = u128::from(address);
    (address.to_string() == text).then_some([(bits >> 64) as i64, bits as i64])
}

/// The address's 48 bits in host order, if `text` is six pairs of lower-case hex digits with colons.
pub fn mac(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut value = 0;
    let mut groups = 0;
    for group in text.split(':') {
        if group.len() != 2 || !group.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        value = value << 8 | i64::from_str_radix(group, 16).ok()?;
        groups += 1;
    }
    (groups == 6).then_some(value)
}
