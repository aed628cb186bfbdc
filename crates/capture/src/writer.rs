//! Writing pcap files (draft-ietf-opsawg-pcap) of Ethernet frames.

use std::borrow::Cow;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use pcap_file::pcap::{PcapHeader, PcapWriter, RawPcapPacket};
use pcap_file::{DataLink, PcapError, TsResolution};

use moonhook_replace::Replacement;

use crate::{CaptureError, Frame};

/// The snapshot length that the file header states, that of tcpdump; frames that are longer are written whole.
const SNAPSHOT_LENGTH: u32 = 262_144;

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// How fine a file's timestamps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    Microseconds,
    Nanoseconds,
}

/// A pcap file that is being written, in the machine's byte order.
pub struct Writer {
    path: PathBuf,
    writer: PcapWriter<BufWriter<Replacement>>,
    resolution: Resolution,
    /// Something is missing in it: it is no file to keep.
    failed: bool,
}

impl Writer {
    /// Makes a file with nanosecond timestamps. It takes the place of one that is there when it is finished.
    pub fn create(path: impl AsRef<Path>) -> Result<Writer, CaptureError> {
        Writer::create_with(path, Resolution::Nanoseconds)
    }

    /// As [`Writer::create`], of which each frame is written at once, so that who reads a pipe has it.
    pub fn create_live(path: impl AsRef<Path>) -> Result<Writer, CaptureError> {
        Writer::begin(path.as_ref(), Resolution::Nanoseconds, 0)
    }

    /// As [`Writer::create`], with the resolution of the capture that frames come from ([`crate::Capture::resolution`]).
    pub fn create_with(path: impl AsRef<Path>, resolution: Resolution) -> Result<Writer, CaptureError> {
        Writer::begin(path.as_ref(), resolution, BUFFER)
    }

    fn begin(path: &Path, resolution: Resolution, buffer: usize) -> Result<Writer, CaptureError> {
        let file = Replacement::of(path)
            .map_err(|source| CaptureError::Unwritable { path: path.to_owned(), source })?;
        let header = PcapHeader {
            snaplen: SNAPSHOT_LENGTH,
            datalink: DataLink::ETHERNET,
            ts_resolution: match resolution {
                Resolution::Microseconds => TsResolution::MicroSecond,
                Resolution::Nanoseconds => TsResolution::NanoSecond,
            },
            endianness: pcap_file::Endianness::native(),
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::with_capacity(buffer, file), header)
            .map_err(|error| unwritable(path, error))?;
        Ok(Writer { path: path.to_owned(), writer, resolution, failed: false })
    }

    /// Appends a frame; its number is not written. Seconds beyond 2106, which the format cannot hold, become the last
    /// second that it can. The stated original length is never less than what is written.
    pub fn write(&mut self, frame: &Frame) -> Result<(), CaptureError> {
        let captured = u32::try_from(frame.data.len())
            .map_err(|_| unwritable(&self.path, PcapError::InvalidField("a frame of 4 GiB or more")))?;
        let nanoseconds = (frame.timestamp_ns % 1_000_000_000) as u32;
        let record = RawPcapPacket {
            ts_sec: u32::try_from(frame.timestamp_ns / 1_000_000_000).unwrap_or(u32::MAX),
            ts_frac: match self.resolution {
                Resolution::Microseconds => nanoseconds / 1000,
                Resolution::Nanoseconds => nanoseconds,
            },
            incl_len: captured,
            orig_len: frame.original_length.max(captured),
            data: Cow::Borrowed(&frame.data),
        };
        let written = self.writer.write_raw_packet(&record).map(drop);
        self.failed |= written.is_err();
        written.map_err(|error| unwritable(&self.path, error))
    }

    /// Writes what is buffered, and puts the file in its place: a writer that is dropped leaves what was there before.
    pub fn finish(self) -> Result<(), CaptureError> {
        let path = self.path;
        let file = self.writer.into_writer().into_inner().map_err(io::IntoInnerError::into_error);
        let whole = |file| if self.failed { Err(io::Error::other("frames are missing")) } else { Ok(file) };
        file.and_then(whole)
            .and_then(Replacement::finish)
            .map_err(|source| CaptureError::Unwritable { path, source })
    }
}

fn unwritable(path: &Path, error: PcapError) -> CaptureError {
    let source = match error {
        PcapError::IoError(source) => source,
        other => io::Error::other(other.to_string()),
    };
    CaptureError::Unwritable { path: path.to_owned(), source }
}
