//! What can be wrong with a capture file, and how a person is told.

use std::io;
use std::path::{Path, PathBuf};

use moonhook_diagnostic::Diagnostic;
use pcap_file::PcapError;

/// An error about a capture file. Frame numbers count from 1.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not a pcap or pcapng file", path.display())]
    UnknownFormat { path: PathBuf },
    #[error("{} holds {} packets, not Ethernet frames", path.display(), link_name(*link_type))]
    LinkType { path: PathBuf, link_type: u32 },
    #[error(
        "interface {interface} of {} holds {} packets, not Ethernet frames (first: packet {number})",
        path.display(),
        link_name(*link_type)
    )]
    InterfaceLinkType { path: PathBuf, interface: u32, link_type: u32, number: u64 },
    #[error("{} is cut off after frame {frames}", path.display())]
    Truncated { path: PathBuf, frames: u64 },
    #[error("{} is broken after frame {frames}: {reason}", path.display())]
    Broken { path: PathBuf, frames: u64, reason: String },
    #[error("cannot write {}: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

impl CaptureError {
    /// What the parser says, after it has given `frames` packets.
    pub(crate) fn from_parser(path: &Path, frames: u64, error: PcapError) -> CaptureError {
        let path = path.to_owned();
        match error {
            PcapError::IoError(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                CaptureError::Unreadable { path, source }
            }
            PcapError::IoError(_) | PcapError::IncompleteBuffer => CaptureError::Truncated { path, frames },
            other => CaptureError::Broken { path, frames, reason: other.to_string() },
        }
    }

    /// The stable code; `moonhook explain` has a page for each.
    pub fn code(&self) -> &'static str {
        match self {
            CaptureError::Unreadable { .. } => "MH0601",
            CaptureError::UnknownFormat { .. } => "MH0602",
            CaptureError::LinkType { .. } | CaptureError::InterfaceLinkType { .. } => "MH0603",
            CaptureError::Truncated { .. } => "MH0604",
            CaptureError::Broken { .. } => "MH0605",
            CaptureError::Unwritable { .. } => "MH0606",
        }
    }

    /// Whether no frames follow.
    pub fn ends_reading(&self) -> bool {
        !matches!(self, CaptureError::InterfaceLinkType { .. })
    }

    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.code(), self.to_string()).help(match self {
            CaptureError::Unreadable { .. } => "check the path and its permissions",
            CaptureError::UnknownFormat { .. } => {
                "capture with `tcpdump -w FILE` or convert with `editcap -F pcap`"
            }
            CaptureError::LinkType { .. } | CaptureError::InterfaceLinkType { .. } => {
                "capture on an interface that carries Ethernet or IP"
            }
            CaptureError::Truncated { .. } | CaptureError::Broken { .. } => {
                "the frames before that point were used; repair the file with `pcapfix`, or capture again"
            }
            CaptureError::Unwritable { .. } => "check the path, its permissions and the free space",
        })
    }
}

/// What a person calls a link type, as far as they are frequent (<https://www.tcpdump.org/linktypes.html>).
fn link_name(link_type: u32) -> String {
    let name = match link_type {
        0 => "BSD loopback",
        6 => "token ring",
        9 => "PPP",
        50 => "PPP over serial (HDLC)",
        51 => "PPPoE",
        101 | 12 | 14 => "raw IP",
        104 => "Cisco HDLC",
        105 => "802.11",
        107 => "frame relay",
        108 => "OpenBSD loopback",
        113 => "Linux cooked (SLL)",
        127 => "802.11 with radiotap",
        195 => "802.15.4",
        228 => "raw IPv4",
        229 => "raw IPv6",
        249 => "USBPcap",
        276 => "Linux cooked (SLL2)",
        _ => return format!("link type {link_type}"),
    };
    format!("{name} (link type {link_type})")
}
