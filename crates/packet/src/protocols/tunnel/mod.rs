//! `pkt:encap(…)` and `pkt:decap()`: packets inside others, in IP (RFC 2003, RFC 4213, RFC 2473), GRE (RFC 2784, RFC 2890), VXLAN (RFC 7348) or
//! GUE (draft-ietf-intarea-gue).
//!
//! [`inside`] finds what is inside of a packet, also for `pkt.inner`.

pub mod decap;
mod flow;
mod headers;
pub mod inside;
mod outgoing;
mod room;

pub use headers::{Carrier, Ports};

use super::link::{self, ETHERNET, TAG};
use super::network::{IPV4, IPV6};
use crate::{Access, Fault, Machine, Value};
use moonhook_hook::lengths::ENCAP;
use moonhook_ir::CompareOp;
use moonhook_ir::words::Word;

/// The states in which a packet was not put into another one, or taken out.
pub struct Failed<S> {
    /// There is no IP packet, or none inside.
    pub none: Vec<S>,
    /// The kernel has not done it.
    pub refused: Vec<S>,
}

impl<S> Default for Failed<S> {
    fn default() -> Self {
        Failed { none: Vec::new(), refused: Vec::new() }
    }
}

/// Where an IP header can start: behind an Ethernet header with no tag, one, or two.
const STARTS: [u32; 3] = [ETHERNET, ETHERNET + TAG, ETHERNET + 2 * TAG];

/// By version: the number that says, as a protocol, that such a packet follows, the type of a link's header, as it is loaded, and the bytes of the
/// fixed header.
const VERSIONS: [(i64, i64, u32); 2] = [(4, link::IPV4, IPV4), (41, link::IPV6, IPV6)];

/// Puts the IP packet, or the frame where the carrier takes such, into another one, between two addresses of one version, and goes on where
/// that could be done.
pub fn encap<M: Machine>(
    machine: &mut M,
    (addresses, ttl): ([Value; 2], Word),
    carrier: &Carrier,
    failed: &mut Failed<M::State>,
) -> Result<(), M::Stop> {
    let version = usize::from(matches!(addresses[0], Value::Ipv6(..)));
    let (_, kind, bytes) = VERSIONS[version];
    let room = (bytes + carrier.bytes() + carrier.link(), ENCAP[version] | carrier.flags());
    let Some(inner) = outgoing::look(machine, (bytes, carrier), failed)? else { return Ok(()) };
    let starts: &[u32] = if carrier.takes_frames() { &STARTS[..1] } else { &STARTS };
    let mut done = Vec::new();
    for &start in starts {
        let is = machine.compare(CompareOp::Eq, inner.start, i64::from(start));
        let (is, other) = machine.split(is);
        machine.resume(is);
        if machine.alive() {
            room::make(machine, start, room, failed)?;
        }
        if machine.alive() {
            if carrier.takes_frames() {
                // What was behind the first header is behind the new one, and the frame begins with a copy of that header.
                let link = room::read_link(machine, ETHERNET)?;
                room::write_link(machine, room.0, ETHERNET, &link)?;
            }
            room::write_kind(machine, start, kind)?;
            headers::write(machine, start, (addresses, ttl), (carrier, &inner))?;
            machine.note_packet_written();
            done.push(machine.take_state());
        }
        machine.resume(other);
    }
    gone(machine);
    machine.enter(done)
}

/// The header starts elsewhere: a fault of Moonhook.
fn gone<M: Machine>(machine: &mut M) {
    if machine.alive() {
        machine.fault(Fault::HeaderGone);
    }
}
