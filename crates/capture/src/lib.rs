//! Captures: reading pcap and pcapng files frame by frame, and writing pcap files.
//!
//! Reads a file of either format, recognised by its first bytes; gives the Ethernet frames in it, which is what XDP sees,
//! with time, length on the wire and number. A file that is cut off or broken gives the frames that are whole and then an
//! error. Knows nothing of what is in a frame. Nothing here panics, whatever the file holds.

mod error;
mod links;
mod packet_blocks;
mod pcap;
mod pcapng;
mod writer;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

pub use error::CaptureError;
pub use writer::{Resolution, Writer};

/// Link type of Ethernet (<https://www.tcpdump.org/linktypes.html>).
pub const ETHERNET: u32 = 1;

/// One captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Nanoseconds since 1970; 0 where the file does not say (simple packet blocks of pcapng).
    pub timestamp_ns: u64,
    /// The captured bytes, from the Ethernet header on; where the capture has another link type, the header is made.
    pub data: Vec<u8>,
    /// Bytes on the wire; more than `data` holds if the capture cut the frame.
    pub original_length: u32,
    /// Counts all packets of the file from 1, those of other link types too, as tshark's `frame.number` does.
    pub number: u64,
}

/// An open capture: an iterator over its frames.
///
/// Ends after the last frame or after an error, with one exception: [`CaptureError::InterfaceLinkType`] is given for the
/// first packet of each such interface, and iteration goes on with the frames of the others.
pub struct Capture {
    reader: Reader,
    resolution: Resolution,
    ended: bool,
}

enum Reader {
    Pcap(pcap::Reader),
    Pcapng(pcapng::Reader),
}

/// Opens a pcap or pcapng file. A pcap file of a link type that has nothing to do with Ethernet is refused here.
pub fn open(path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
    let path = path.as_ref();
    let unreadable = |source| CaptureError::Unreadable { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut magic = Vec::new();
    Read::by_ref(&mut file).take(4).read_to_end(&mut magic).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    let (reader, resolution) = match <[u8; 4]>::try_from(magic) {
        Ok(pcapng::MAGIC) => (Reader::Pcapng(pcapng::Reader::new(path, file)?), Resolution::Nanoseconds),
        Ok(magic) if pcap::is_magic(magic) => {
            let reader = pcap::Reader::new(path, file)?;
            let resolution = reader.resolution();
            (Reader::Pcap(reader), resolution)
        }
        _ => return Err(CaptureError::UnknownFormat { path: path.to_owned() }),
    };
    Ok(Capture { reader, resolution, ended: false })
}

impl Capture {
    /// How fine the file's timestamps are; nanoseconds for pcapng, where each interface has its own.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Packets so far that are no frames, such as those with which a wireless network is managed.
    pub fn passed_over(&self) -> u64 {
        match &self.reader {
            Reader::Pcap(reader) => reader.passed_over,
            Reader::Pcapng(reader) => reader.passed_over,
        }
    }
}

impl Iterator for Capture {
    type Item = Result<Frame, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = match &mut self.reader {
            Reader::Pcap(reader) => reader.next(),
            Reader::Pcapng(reader) => reader.next(),
        };
        self.ended = match &next {
            Some(Err(error)) => error.ends_reading(),
            Some(Ok(_)) => false,
            None => true,
        };
        next
    }
}
