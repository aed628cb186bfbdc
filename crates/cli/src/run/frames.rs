//! Frames that socket filters keep: a line for each, or a capture.

use crate::CliError;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use moonhook_capture::{CaptureError, Writer};
use moonhook_records::Frame;
use moonhook_session::SessionError;
use std::io;
use std::path::Path;

/// Where kept frames go besides control code.
#[derive(Default)]
pub struct Frames {
    writer: Option<Writer>,
    number: u64,
}

impl Frames {
    /// Into a capture at a path, if there is one.
    ///
    /// # Errors
    /// `Capture` where there can be no such file.
    pub fn new(path: Option<&Path>) -> Result<Frames, CliError> {
        Ok(Frames { writer: path.map(Writer::create_live).transpose()?, number: 0 })
    }

    /// Takes note of a frame; gives the line that is to be shown, unless the frame went into a capture.
    ///
    /// # Errors
    /// `Unwritable`: the capture's file system does not take it.
    pub fn take(&mut self, frame: &Frame) -> Result<Option<String>, SessionError> {
        let Some(writer) = &mut self.writer else { return Ok(Some(line(frame))) };
        self.number += 1;
        let frame = moonhook_capture::Frame {
            timestamp_ns: frame.time,
            data: frame.bytes.clone(),
            original_length: u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX),
            number: self.number,
        };
        writer.write(&frame).map_err(unwritable)?;
        Ok(None)
    }

    /// Puts the capture in its place.
    ///
    /// # Errors
    /// As [`Frames::take`].
    pub fn finish(&mut self) -> Result<(), SessionError> {
        self.writer.take().map_or(Ok(()), |writer| writer.finish().map_err(unwritable))
    }
}

/// Names the file, which is not where other messages go.
fn unwritable(error: CaptureError) -> SessionError {
    match error {
        CaptureError::Unwritable { path, source } => SessionError::Unwritable { path, source },
        other => SessionError::Output(io::Error::other(other)),
    }
}

/// Time of day (UTC), who sends to whom, what, and the frame's length.
fn line(frame: &Frame) -> String {
    let (seconds, nanoseconds) = (frame.time / 1_000_000_000, frame.time % 1_000_000_000);
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    let length = frame.bytes.len();
    let what = description(&frame.bytes).unwrap_or_else(|| "?".to_string());
    format!("{hour:02}:{minute:02}:{second:02}.{:06} {what}, {length} bytes", nanoseconds / 1000)
}

/// `None` where not even the Ethernet header is whole.
fn description(bytes: &[u8]) -> Option<String> {
    let packet = SlicedPacket::from_ethernet(bytes).ok();
    let ports = match packet.as_ref().and_then(|packet| packet.transport.as_ref()) {
        Some(TransportSlice::Tcp(tcp)) => Some(("TCP", tcp.source_port(), tcp.destination_port())),
        Some(TransportSlice::Udp(udp)) => Some(("UDP", udp.source_port(), udp.destination_port())),
        _ => None,
    };
    let (from, to, protocol) = match packet.as_ref().and_then(|packet| packet.net.as_ref()) {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let (from, to) = (header.source_addr().to_string(), header.destination_addr().to_string());
            (from, to, header.protocol().keyword_str().unwrap_or("IPv4"))
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let (from, to) = (header.source_addr().to_string(), header.destination_addr().to_string());
            (from, to, header.next_header().keyword_str().unwrap_or("IPv6"))
        }
        _ => return linked(bytes),
    };
    Some(match ports {
        Some((name, source, destination)) => format!("{from}.{source} > {to}.{destination} {name}"),
        None => format!("{from} > {to} {protocol}"),
    })
}

/// What is no IP packet.
fn linked(bytes: &[u8]) -> Option<String> {
    let mac = |at: usize| {
        let bytes = bytes.get(at..at + 6)?;
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"))
    };
    let number = u16::from_be_bytes([*bytes.get(12)?, *bytes.get(13)?]);
    Some(format!("{} > {} type 0x{number:04x}", mac(6)?, mac(0)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn lines_say_who_sends_what_to_whom() {
        let mut udp = Vec::new();
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([192, 0, 2, 1], [192, 0, 2, 2], 9);
        builder.udp(1234, 53).write(&mut udp, b"abc").unwrap();
        let shown =
            |bytes: &[u8]| line(&Frame { bytes: bytes.to_vec(), time: 45_296_000_001_999, queue: None });
        assert_eq!(shown(&udp), "12:34:56.000001 192.0.2.1.1234 > 192.0.2.2.53 UDP, 45 bytes");
        let mut icmp = Vec::new();
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([1; 16], [2; 16], 9);
        builder.icmpv6_echo_request(1, 2).write(&mut icmp, b"").unwrap();
        assert!(shown(&icmp).contains("101:101:101:101:101:101:101:101 > 202:202:202:202:202:202:202:202 "));
        let arp = [[0xff; 6].as_slice(), &[2; 6], &[8, 6], &[0; 46]].concat();
        assert_eq!(
            shown(&arp),
            "12:34:56.000001 02:02:02:02:02:02 > ff:ff:ff:ff:ff:ff type 0x0806, 60 bytes"
        );
        assert_eq!(shown(&[1, 2]), "12:34:56.000001 ?, 2 bytes");
    }
}
