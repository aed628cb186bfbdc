//! `pkt.inner`: what is inside of the packet ([`super::tunnel::inside`]), with the headers that a packet can have.
//!
//! The functions that find and read headers are the same as for the packet itself. While they look at what is inside, the facts of the state
//! say so ([`crate::Facts::is_inner`]): the link's header is then that of what is inside, and what is parsed has keys of its own ([`crate::Key`]).

use super::header::{Field, Headers, Protocol, Read, Values, nothing};
use super::tunnel::inside;
use super::{
    arp, dhcp, dns, eth, gre, http, icmp, ip, mpls, payload, quic, sctp, tcp, tls, udp, vlan, vxlan,
};
use crate::{Machine, PacketState, Value};
use moonhook_ir::words::{Path, PathState};

pub use crate::names::{NAME, is_inner, plain_name};

/// What is inside.
pub fn protocol<M: Machine>() -> Protocol<M> {
    let fields = MEMBERS.iter().zip(finds()).zip(members::<M>()).map(|(((name, _), find), member)| {
        let field = Field::new(name, find);
        if member.is_text { field.of_text() } else { field }
    });
    let fields = fields.collect();
    let find = |machine: &mut M| {
        let (state, _, absent) = machine.found(inside::NAME, inside::parse)?;
        let mut paths = vec![Path { state, values: Value::Header(NAME) }];
        paths.extend(nothing(absent));
        Ok(paths)
    };
    Protocol::header(NAME, find, fields)
}

/// The headers there, which can only be read.
pub fn protocols<M: Machine>() -> Vec<Protocol<M>> {
    let rows = MEMBERS.iter().zip(finds()).zip(members::<M>()).map(|(((_, name), find), member)| {
        let fields = member.fields.into_iter().map(|field| Field { assignment: None, ..field }).collect();
        Protocol { name, find, fields, assignment: None, is_inner: true, ..member }
    });
    rows.collect()
}

/// Makes the rows of what the packet inside has: modules, which have the names of their protocols, with their numbers.
macro_rules! members {
    ($($number:literal $module:ident,)*) => {
        /// What the packet inside has: the name, and that of the header there.
        pub const MEMBERS: &[(&str, &str)] =
            &[$((stringify!($module), concat!("inner.", stringify!($module))),)*];

        fn members<M: Machine>() -> Vec<Protocol<M>> {
            vec![$($module::protocol(),)*]
        }

        /// How each of them is found.
        fn finds<M: Machine>() -> Vec<Read<M>> {
            vec![$(find::<M, $number>,)*]
        }
    };
}

members! {
    0 eth,
    1 vlan,
    2 arp,
    3 ip,
    4 tcp,
    5 udp,
    6 icmp,
    7 payload,
    8 tls,
    9 dns,
    10 http,
    11 sctp,
    12 gre,
    13 vxlan,
    14 mpls,
    15 dhcp,
    16 quic,
}

fn find<M: Machine, const N: usize>(machine: &mut M) -> Values<M> {
    let Some(member) = members::<M>().into_iter().nth(N) else { return machine.only(Value::Nothing) };
    let mut paths = within(machine, member.find)?;
    for path in &mut paths {
        if let Value::Header(_) = path.values {
            path.values = Value::Header(MEMBERS[N].1);
        }
    }
    Ok(paths)
}

/// What `read` gives of what is inside; nothing where there is nothing inside.
pub fn within<M: Machine>(machine: &mut M, read: Read<M>) -> Values<M> {
    if !machine.hook().has_packet() {
        return machine.only(Value::Nothing);
    }
    let (state, _, absent) = machine.found(inside::NAME, inside::parse)?;
    let mut paths: Vec<_> = nothing(absent).collect();
    if !state.alive() {
        return Ok(paths);
    }
    machine.resume(state);
    machine.state_mut().packet_mut().is_inner = true;
    let found = read(machine)?;
    paths.extend(found.into_iter().map(|mut path| {
        path.state.packet_mut().is_inner = false;
        path
    }));
    machine.state_mut().packet_mut().is_inner = false;
    Ok(paths)
}
