//! The transport payload: what follows the TCP, UDP or ICMP header.

use std::ops::Range;

use super::frame::Frame;
use super::row::{Protocol, View};
use super::value::Value;
use super::{icmp, ip, tcp, udp};

pub const PROTOCOL: Protocol =
    Protocol { name: "payload", view: View::Plain(|frame| Value::bytes(find(frame)?)) };

/// Ends with the frame, the IP packet or the UDP datagram, whichever ends first; empty where that is before it starts.
pub fn find(frame: Frame<'_>) -> Option<Range<usize>> {
    let udp = udp::find(frame);
    let start = match (tcp::find(frame), &udp, icmp::find(frame)) {
        (Some(tcp), _, _) => tcp.end,
        (_, Some(udp), _) => udp.end,
        (_, _, Some(icmp)) => icmp.end,
        (None, None, None) => return None,
    };
    let ends = [Some(frame.len()), ip::find(frame).map(|ip| ip.end()), udp.and_then(|udp| udp.stated_end())];
    let end = ends.into_iter().flatten().min()?;
    Some(start..end.max(start))
}

/// What a handler's `arg` holds: where the payload of TCP or UDP starts, or the frame's length without such a header.
pub fn offset(frame: Frame<'_>) -> usize {
    let tcp = tcp::find(frame).map(|tcp| tcp.end);
    tcp.or_else(|| udp::find(frame).map(|udp| udp.end)).unwrap_or(frame.len())
}
