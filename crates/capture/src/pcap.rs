//! The pcap format (draft-ietf-opsawg-pcap): a file header with one link type, then records.

use std::fs::File;
use std::path::{Path, PathBuf};

use pcap_file::TsResolution;
use pcap_file::pcap::PcapReader;

use crate::links::{Link, link};
use crate::{CaptureError, Frame, Resolution};

/// The low bits of the header's link type field; the high ones tell about frame check sequences.
const LINK_TYPE_MASK: u32 = 0xffff;

/// The magic number in microsecond and nanosecond form, in either byte order.
pub fn is_magic(bytes: [u8; 4]) -> bool {
    [0xa1b2_c3d4, 0xa1b2_3c4d]
        .iter()
        .any(|magic: &u32| bytes == magic.to_be_bytes() || bytes == magic.to_le_bytes())
}

pub struct Reader {
    path: PathBuf,
    reader: PcapReader<File>,
    link: &'static Link,
    /// Packets met so far.
    frames: u64,
    /// Those of them that are no frames.
    pub passed_over: u64,
}

impl Reader {
    pub fn new(path: &Path, file: File) -> Result<Reader, CaptureError> {
        let reader = PcapReader::new(file).map_err(|error| CaptureError::from_parser(path, 0, error))?;
        let link_type = u32::from(reader.header().datalink) & LINK_TYPE_MASK;
        match link(link_type) {
            Some(link) => Ok(Reader { path: path.to_owned(), reader, link, frames: 0, passed_over: 0 }),
            None => Err(CaptureError::LinkType { path: path.to_owned(), link_type }),
        }
    }

    pub fn resolution(&self) -> Resolution {
        match self.reader.header().ts_resolution {
            TsResolution::MicroSecond => Resolution::Microseconds,
            TsResolution::NanoSecond => Resolution::Nanoseconds,
        }
    }

    /// Lengths and times are taken as they stand: a record that claims more on the wire than the snapshot length, or less
    /// than it holds, still holds a frame.
    pub fn next(&mut self) -> Option<Result<Frame, CaptureError>> {
        let fraction = match self.resolution() {
            Resolution::Microseconds => 1000,
            Resolution::Nanoseconds => 1,
        };
        loop {
            let record = match self.reader.next_raw_packet()? {
                Ok(record) => record,
                Err(error) => return Some(Err(CaptureError::from_parser(&self.path, self.frames, error))),
            };
            self.frames += 1;
            let Some((data, original_length)) = self.link.frame(record.data.into_owned(), record.orig_len)
            else {
                self.passed_over += 1;
                continue;
            };
            return Some(Ok(Frame {
                timestamp_ns: u64::from(record.ts_sec) * 1_000_000_000 + u64::from(record.ts_frac) * fraction,
                original_length,
                number: self.frames,
                data,
            }));
        }
    }
}
