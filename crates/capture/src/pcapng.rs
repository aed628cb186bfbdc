//! The pcapng format (draft-ietf-opsawg-pcapng): blocks, among them interfaces with a link type each, and packets.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use pcap_file::Endianness;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

use crate::links::{Link, link};
use crate::packet_blocks::{Packet, Parsed, parse};
use crate::{CaptureError, Frame};

/// A section header block's type, the same in either byte order.
pub const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

pub struct Reader {
    path: PathBuf,
    reader: PcapNgReader<File>,
    /// Packets met so far.
    frames: u64,
    /// Those of them that are no frames.
    pub passed_over: u64,
    /// Interfaces of this section of which the person has been told.
    refused: HashSet<u32>,
}

impl Reader {
    pub fn new(path: &Path, file: File) -> Result<Reader, CaptureError> {
        let reader = PcapNgReader::new(file).map_err(|error| CaptureError::from_parser(path, 0, error))?;
        Ok(Reader { path: path.to_owned(), reader, frames: 0, passed_over: 0, refused: HashSet::new() })
    }

    pub fn next(&mut self) -> Option<Result<Frame, CaptureError>> {
        loop {
            let packet = match self.next_packet()? {
                Ok(packet) => packet,
                Err(error) => return Some(Err(error)),
            };
            let Some(interface) = self.reader.interfaces().get(packet.interface as usize) else {
                return Some(Err(self.broken(format!("interface {} is not described", packet.interface))));
            };
            let link_type = u32::from(interface.linktype);
            match link(link_type) {
                Some(link) => match frame(packet, link, interface, self.frames) {
                    Some(frame) => return Some(Ok(frame)),
                    None => self.passed_over += 1,
                },
                None => {
                    if self.refused.insert(packet.interface) {
                        return Some(Err(CaptureError::InterfaceLinkType {
                            path: self.path.clone(),
                            interface: packet.interface,
                            link_type,
                            number: self.frames,
                        }));
                    }
                }
            }
        }
    }

    /// The next packet block.
    fn next_packet(&mut self) -> Option<Result<Packet, CaptureError>> {
        loop {
            let big = self.reader.section().endianness == Endianness::Big;
            let block = match self.reader.next_raw_block()? {
                Ok(block) => block,
                Err(error) => return Some(Err(CaptureError::from_parser(&self.path, self.frames, error))),
            };
            let parsed = parse(block.type_, &block.body, big);
            if block.type_.to_be_bytes() == MAGIC {
                self.refused.clear();
            }
            match parsed {
                Parsed::Packet(mut packet) => {
                    self.frames += 1;
                    self.limit_to_snapshot(&mut packet);
                    return Some(Ok(packet));
                }
                Parsed::Other => {}
                Parsed::Broken => {
                    return Some(Err(self.broken("a packet block is shorter than it says".into())));
                }
            }
        }
    }

    /// A simple packet block does not say how much was captured: its interface's snapshot length does.
    fn limit_to_snapshot(&self, packet: &mut Packet) {
        let snapshot = self.reader.interfaces().first().map_or(0, |interface| interface.snaplen);
        if packet.timestamp.is_none() && snapshot != 0 {
            packet.data.truncate(snapshot as usize);
        }
    }

    fn broken(&self, reason: String) -> CaptureError {
        CaptureError::Broken { path: self.path.clone(), frames: self.frames, reason }
    }
}

fn frame(
    packet: Packet,
    link: &Link,
    interface: &InterfaceDescriptionBlock<'_>,
    number: u64,
) -> Option<Frame> {
    let (data, original_length) = link.frame(packet.data, packet.original_length)?;
    let timestamp_ns = packet.timestamp.map_or(0, |units| nanoseconds(units, interface));
    Some(Frame { timestamp_ns, data, original_length, number })
}

/// § 4.2, `if_tsresol` (a negative power of 10, or of 2 with the high bit set; default 6) and `if_tsoffset` (seconds).
/// Times that 64 bits cannot hold become the last one that they can.
fn nanoseconds(units: u64, interface: &InterfaceDescriptionBlock<'_>) -> u64 {
    let mut resolution = 6;
    let mut offset = 0;
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfTsResol(value) => resolution = *value,
            InterfaceDescriptionOption::IfTsOffset(value) => offset = *value as i64,
            _ => {}
        }
    }
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    // A resolution finer than 128 bits can divide by makes every 64-bit time less than a nanosecond.
    let since_start = match base.checked_pow(exponent) {
        Some(per_second) => (u128::from(units) * 1_000_000_000 / per_second) as i128,
        None => 0,
    };
    let since_epoch = since_start + i128::from(offset) * 1_000_000_000;
    since_epoch.clamp(0, u64::MAX.into()) as u64
}
