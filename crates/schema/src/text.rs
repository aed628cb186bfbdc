//! Addresses as people write them.

use crate::SchemaError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn parse<T: std::str::FromStr>(text: &[u8], expected: &'static str) -> Result<T, SchemaError> {
    let text = String::from_utf8_lossy(text);
    text.parse().map_err(|_| SchemaError::NotAnAddress { text: text.into_owned(), expected })
}

pub fn ipv4(text: &[u8]) -> Result<Ipv4Addr, SchemaError> {
    parse(text, "an IPv4 address")
}

pub fn address(text: &[u8]) -> Result<IpAddr, SchemaError> {
    parse(text, "an IP address")
}

/// 48 bits in host order of `aa:bb:cc:dd:ee:ff`.
pub fn mac(text: &[u8]) -> Result<u64, SchemaError> {
    let string = String::from_utf8_lossy(text);
    let bytes: Vec<&str> = string.split(':').collect();
    let value = |part: &&str| (part.len() == 2).then(|| u64::from_str_radix(part, 16).ok()).flatten();
    match bytes.iter().map(value).collect::<Option<Vec<u64>>>() {
        Some(bytes) if bytes.len() == 6 => Ok(bytes.iter().fold(0, |mac, byte| mac << 8 | byte)),
        _ => Err(SchemaError::NotAnAddress { text: string.into_owned(), expected: "a MAC address" }),
    }
}

/// The text of 48 bits in host order.
pub fn mac_text(mac: u64) -> String {
    let byte = |number: u64| mac >> (8 * number) & 0xff;
    (0..6).rev().map(|number| format!("{:02x}", byte(number))).collect::<Vec<_>>().join(":")
}

/// Address bytes and prefix length of `10.0.0.0/8`; an address alone is a prefix of full length.
pub fn prefix4(text: &[u8]) -> Result<([u8; 4], u32), SchemaError> {
    let (address, length) = split(text, 32, "an IPv4 prefix")?;
    let address: Ipv4Addr = parse(address, "an IPv4 prefix")?;
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    Ok(((u32::from(address) & mask).to_be_bytes(), length))
}

pub fn prefix6(text: &[u8]) -> Result<([u8; 16], u32), SchemaError> {
    let (address, length) = split(text, 128, "an IPv6 prefix")?;
    let address: Ipv6Addr = parse(address, "an IPv6 prefix")?;
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    Ok(((u128::from(address) & mask).to_be_bytes(), length))
}

fn split<'a>(text: &'a [u8], most: u32, expected: &'static str) -> Result<(&'a [u8], u32), SchemaError> {
    let Some(slash) = text.iter().position(|byte| *byte == b'/') else { return Ok((text, most)) };
    let length: u32 = parse(&text[slash + 1..], expected)?;
    if length > most {
        return Err(SchemaError::NotAnAddress { text: String::from_utf8_lossy(text).into_owned(), expected });
    }
    Ok((&text[..slash], length))
}
