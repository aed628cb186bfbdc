//! Questions to the kernel about interfaces and namespaces (rtnetlink(7)), in the network namespace of the calling thread.

use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The interface that another one is an end of.
pub(super) struct Found {
    /// In its own network namespace.
    pub(super) index: u32,
    /// What the interface's namespace calls that one, if it is another.
    pub(super) namespace: Option<i32>,
}

/// What `IFLA_LINK` and `IFLA_LINK_NETNSID` say of an interface; `None` if it has no other.
pub(super) fn other_interface(index: u32) -> io::Result<Option<Found>> {
    let mut question = LinkMessage::default();
    question.header.index = index;
    let RouteNetlinkMessage::NewLink(answer) = ask(RouteNetlinkMessage::GetLink(question))? else {
        return Ok(None);
    };
    let (mut other, mut namespace) = (None, None);
    for attribute in answer.attributes {
        match attribute {
            LinkAttribute::Link(index) => other = Some(index),
            LinkAttribute::LinkNetNsId(number) => namespace = Some(number),
            _ => {}
        }
    }
    // A veth whose other end is gone names none.
    Ok(other.filter(|index| *index != 0).map(|index| Found { index, namespace }))
}

/// What the caller's namespace calls another one, if it has ever had to (`RTM_GETNSID`).
pub(super) fn namespace_number(namespace: BorrowedFd<'_>) -> io::Result<Option<i32>> {
    let mut question = NsidMessage::default();
    question.attributes.push(NsidAttribute::Fd(namespace.as_raw_fd() as u32));
    let RouteNetlinkMessage::NewNsId(answer) = ask(RouteNetlinkMessage::GetNsId(question))? else {
        return Ok(None);
    };
    let number = answer.attributes.iter().find_map(|attribute| match attribute {
        NsidAttribute::Id(number) => Some(*number),
        _ => None,
    });
    // -1 is none (`NETNSA_NSID_NOT_ASSIGNED`).
    Ok(number.filter(|number| *number >= 0))
}

/// A question that has one answer.
fn ask(question: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
    let mut message = NetlinkMessage::from(question);
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::InnerMessage(answer) => Ok(answer),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        _ => Err(io::Error::other("an answer of another kind")),
    }
}
