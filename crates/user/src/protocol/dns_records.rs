//! Records of DNS messages: answers, authorities and additional ones (RFC 1035 §§ 4.1.3 and 4.1.4).

use std::ops::Range;

use super::bytes::{array_at, u8_at, u16_at};
use super::dns;
use super::frame::Frame;
use super::value::{Dotted, Value};

/// Records of a section that are shown at most.
const MOST: u16 = 32;

const FIRST: usize = 12;
const LONGEST_NAME: usize = 255;

const A: u16 = 1;
const NS: u16 = 2;
const CNAME: u16 = 5;
const PTR: u16 = 12;
const MX: u16 = 15;
const AAAA: u16 = 28;
const DNAME: u16 = 39;

/// A record that is whole. Places count from the message's start.
#[derive(Clone, Debug)]
pub struct Record {
    pub kind: u16,
    pub class: u16,
    pub ttl: u32,
    name: usize,
    data: Range<usize>,
}

/// Where the first record of a section starts, counted from the message's start, and how many are shown. The sections are those of the four
/// counts in the header, the questions being number 0.
pub fn section(frame: Frame<'_>, number: usize) -> Option<(usize, u16)> {
    let message = message(frame)?;
    let count = |section: usize| u16_at(message, 4 + 2 * section);
    let mut at = FIRST;
    for _ in 0..count(0)? {
        at = whole(message, behind_name(message, at)? + 4)?;
    }
    for section in 1..number {
        for _ in 0..count(section)? {
            at = record_at(message, at)?.data.end;
        }
    }
    Some((at, count(number)?.min(MOST)))
}

/// The record there, and where the next one is.
pub fn record(frame: Frame<'_>, at: usize) -> Option<(Record, usize)> {
    let record = record_at(message(frame)?, at)?;
    let next = record.data.end;
    Some((record, next))
}

impl Record {
    pub fn name(&self, frame: Frame<'_>) -> Option<Dotted> {
        name_at(message(frame)?, self.name)
    }

    /// What follows the length, as bytes of the frame.
    pub fn data(&self, frame: Frame<'_>) -> Option<Value> {
        let start = dns::find(frame)?.start;
        Value::bytes(start + self.data.start..start + self.data.end)
    }

    pub fn address(&self, frame: Frame<'_>) -> Option<Value> {
        let data = message(frame)?.get(self.data.clone())?;
        match (self.kind, data.len()) {
            (A, 4) => Value::ipv4(array_at(data, 0)?),
            (AAAA, 16) => Value::ipv6(array_at(data, 0)?),
            _ => None,
        }
    }

    pub fn preference(&self, frame: Frame<'_>) -> Option<u16> {
        (self.kind == MX && self.data.len() > 2).then_some(())?;
        u16_at(message(frame)?, self.data.start)
    }

    pub fn target(&self, frame: Frame<'_>) -> Option<Dotted> {
        let skipped = match self.kind {
            NS | CNAME | PTR | DNAME => 0,
            MX => 2,
            _ => return None,
        };
        (self.data.len() > skipped).then_some(())?;
        name_at(message(frame)?, self.data.start + skipped)
    }
}

fn message(frame: Frame<'_>) -> Option<&[u8]> {
    frame.bytes.get(dns::find(frame)?)
}

fn record_at(message: &[u8], at: usize) -> Option<Record> {
    let behind = behind_name(message, at)?;
    let [kind, class, length] = [0, 2, 8].map(|field| u16_at(message, behind + field));
    let start = behind + 10;
    let end = whole(message, start + usize::from(length?))?;
    let ttl = u32::from_be_bytes(array_at(message, behind + 4)?);
    Some(Record { kind: kind?, class: class?, ttl, name: at, data: start..end })
}

/// The place, unless it is behind the message's end.
fn whole(message: &[u8], end: usize) -> Option<usize> {
    (end <= message.len()).then_some(end)
}

/// Where what follows a name starts.
fn behind_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match u8_at(message, at)? {
            0 => return Some(at + 1),
            length @ 1..64 => at += 1 + usize::from(length),
            0xc0.. => return Some(at + 2),
            _ => return None,
        }
    }
}

/// A name with the parts that pointers lead to. Each pointer leads to before the part that it stands in.
fn name_at(message: &[u8], start: usize) -> Option<Dotted> {
    let mut labels = [0; LONGEST_NAME];
    let (mut length, mut part, mut at) = (0, start, start);
    loop {
        match u8_at(message, at)? {
            0 => return Some(Dotted::new(&labels[..length])),
            size @ 1..64 => {
                let next = at + 1 + usize::from(size);
                let label = message.get(at..next)?;
                // The last length of 0 counts, too.
                let room = labels[..LONGEST_NAME - 1].get_mut(length..length + label.len())?;
                room.copy_from_slice(label);
                (length, at) = (length + label.len(), next);
            }
            0xc0.. => {
                let target = usize::from(u16_at(message, at)? & 0x3fff);
                if target >= part {
                    return None;
                }
                (part, at) = (target, target);
            }
            _ => return None,
        }
    }
}
