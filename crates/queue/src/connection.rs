//! Connections that the kernel follows, and what they have counted (ctnetlink, include/uapi/linux/netfilter/nfnetlink_conntrack.h).

use crate::QueueError;
use crate::message::{GENERIC, Message, Received, attributes};
use crate::socket::Socket;
use nix::errno::Errno;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// `IPCTNL_MSG_CT_NEW`, `IPCTNL_MSG_CT_GET` and `IPCTNL_MSG_CT_DELETE` of the subsystem `NFNL_SUBSYS_CTNETLINK`.
const CONNECTION: u16 = 1 << 8;
const GET: u16 = 1 << 8 | 1;
const DELETE: u16 = 1 << 8 | 2;

/// `NLM_F_ACK`: the kernel answers in any case.
const ANSWERED: u16 = 4;

/// `CTA_TUPLE_ORIG`, and what is in it: `CTA_TUPLE_IP` (`CTA_IP_…`), `CTA_TUPLE_PROTO` (`CTA_PROTO_…`).
const TUPLE: u16 = 1;
const ADDRESSES: u16 = 1;
const V4: [u16; 2] = [1, 2];
const V6: [u16; 2] = [3, 4];
const PROTOCOL: u16 = 2;
const PROTOCOL_NUMBER: u16 = 1;
const SOURCE_PORT: u16 = 2;
const TARGET_PORT: u16 = 3;

/// `CTA_COUNTERS_ORIG`, `CTA_COUNTERS_REPLY`, with `CTA_COUNTERS_PACKETS` and `CTA_COUNTERS_BYTES`.
const COUNTERS: [u16; 2] = [9, 10];
const PACKETS: u16 = 1;
const BYTES: u16 = 2;

/// `AF_INET`, `AF_INET6`.
const FAMILY_4: u8 = 2;
const FAMILY_6: u8 = 10;

/// How long the kernel may take; it answers before the request's system call is over.
const ANSWER: Duration = Duration::from_secs(5);

/// The packets of a connection in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    pub source: IpAddr,
    pub target: IpAddr,
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    pub source_port: u16,
    pub target_port: u16,
}

/// What a connection has counted: packets and bytes of its first direction, and of the other.
pub type Counters = [u64; 4];

/// What the connection that these packets are of has counted, in the network namespace of this thread; `None` where there is no such connection, `Some(None)`
/// where connections do not count (`net.netfilter.nf_conntrack_acct`).
///
/// # Errors
/// `Refused`.
pub fn counters(tuple: &Tuple) -> Result<Option<Option<Counters>>, QueueError> {
    ask((GET, 0), tuple, "asking for a connection")
}

/// Has the kernel follow the connection no more that these packets are of, in the network namespace of this thread; says whether there was one.
///
/// # Errors
/// `Refused`.
pub fn forget(tuple: &Tuple) -> Result<bool, QueueError> {
    ask((DELETE, ANSWERED), tuple, "removing a connection").map(|found| found.is_some())
}

fn ask(
    request: (u16, u16),
    tuple: &Tuple,
    what: &'static str,
) -> Result<Option<Option<Counters>>, QueueError> {
    let mut socket = Socket::open()?;
    let refused = |errno| QueueError::refused(what, errno);
    let sequence = socket.sequence();
    socket.send(&message(request, tuple, sequence)).map_err(refused)?;
    let deadline = Instant::now() + ANSWER;
    let mut found = None;
    while found.is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(refused(Errno::ETIMEDOUT));
        }
        socket.receive(left, |message| found = found.take().or_else(|| read(message))).map_err(refused)?;
    }
    match found {
        Some(Ok(counters)) => Ok(Some(counters)),
        Some(Err(Errno::ENOENT)) | None => Ok(None),
        Some(Err(errno)) => Err(refused(errno)),
    }
}

fn message((kind, flags): (u16, u16), tuple: &Tuple, sequence: u32) -> Vec<u8> {
    let (family, kinds) = if tuple.source.is_ipv4() { (FAMILY_4, V4) } else { (FAMILY_6, V6) };
    let bytes = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let message = Message::new(kind, flags, sequence, (family, 0)).nested(TUPLE, |inner| {
        inner
            .nested(ADDRESSES, |inner| {
                inner.bytes(kinds[0], &bytes(tuple.source)).bytes(kinds[1], &bytes(tuple.target))
            })
            .nested(PROTOCOL, |inner| {
                inner
                    .bytes(PROTOCOL_NUMBER, &[tuple.protocol])
                    .bytes(SOURCE_PORT, &tuple.source_port.to_be_bytes())
                    .bytes(TARGET_PORT, &tuple.target_port.to_be_bytes())
            })
    });
    message.finish()
}

/// What a message says, if it is an answer.
fn read(message: Received<'_>) -> Option<Result<Option<Counters>, Errno>> {
    match message.outcome() {
        Some(0) => return Some(Ok(None)),
        Some(code) => return Some(Err(Errno::from_raw(code))),
        None => {}
    }
    let body = message.body.get(GENERIC..).filter(|_| message.kind == CONNECTION)?;
    let of = |direction: u16| {
        let (_, value) = attributes(body).find(|(kind, _)| *kind == direction)?;
        let number = |wanted: u16| {
            let (_, value) = attributes(value).find(|(kind, _)| *kind == wanted)?;
            Some(u64::from_be_bytes(*value.first_chunk()?))
        };
        Some([number(PACKETS)?, number(BYTES)?])
    };
    let counted = of(COUNTERS[0]).zip(of(COUNTERS[1]));
    Some(Ok(counted.map(|([packets, bytes], [more, others])| [packets, bytes, more, others])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::messages;

    #[test]
    fn an_answer_has_the_counters_of_both_directions() {
        let counters = |message: Message, kind, packets: u64, bytes: u64| {
            message.nested(kind, |inner| {
                inner.bytes(PACKETS, &packets.to_be_bytes()).bytes(BYTES, &bytes.to_be_bytes())
            })
        };
        let message = Message::new(CONNECTION, 0, 0, (2, 0));
        let whole = counters(counters(message, COUNTERS[0], 1, 60), COUNTERS[1], 2, 1500).finish();
        let read_of = |bytes: &[u8]| messages(bytes).next().and_then(read);
        assert_eq!(read_of(&whole), Some(Ok(Some([1, 60, 2, 1500]))));
        let without = Message::new(CONNECTION, 0, 0, (2, 0)).finish();
        assert_eq!(read_of(&without), Some(Ok(None)));
        assert_eq!(read_of(&Message::new(0x300, 0, 0, (2, 0)).finish()), None);
    }
}
