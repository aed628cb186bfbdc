//! Packets by protocol: `pkt.ip.src`, `pkt.tls.sni` (docs/packet.md says what each field is).
//!
//! A protocol is a file with a row for the table below: how to find its header, and its fields. Finding a header is a
//! *parse*: it gives a few words (is it there, where, …) that are kept as facts of the state, so that it is done once.
//! Nothing is parsed before it is asked for.

mod answer;
mod arp;
mod checksums;
mod ct;
mod dhcp;
mod dns;
mod dns_records;
mod eth;
mod extensions;
mod gre;
mod header;
mod http;
mod http_fields;
mod icmp;
pub mod inner;
mod ip;
mod ip_writes;
mod lines;
pub(crate) mod link;
mod messages;
mod meta;
pub mod meta_record;
mod metadata;
mod mpls;
mod neighbours;
mod network;
mod payload;
mod peer;
mod quic;
mod route;
mod sctp;
mod tcp;
mod tls;
mod transport;
mod tunnel;
mod udp;
mod vlan;
mod vxlan;

use crate::assign::Takes;
use crate::{Machine, PacketState, Value};
use moonhook_ir::CompareOp;

pub use answer::{Answer, answer, make_message, turn_back};
pub use checksums::{fix as fix_checksums, fix_apart as fix_checksums_apart};
pub use dns_records::{
    MOST_RECORDS, Record as DnsRecord, Section as DnsSection, address as dns_address, message as dns_message,
    preference as dns_preference, record as dns_record, section as dns_section, target as dns_target,
};
use header::Headers;
pub use header::{Assignment, Field, Protocol, RefusedBy, Values};
pub use http::find_field as http_field;
pub use http_fields::{Matches as HttpMatches, Split as HttpSplit, has_name as http_has_name};
pub use meta::{Noted, read as read_note};
pub use meta_record::{Kinds, MOST_FIELDS, RECORD, Records};
pub use metadata::number as kept_number;
pub use payload::payload_offset;
pub use route::{PARAMETERS as ROUTE_PARAMETERS, Routed, route};
pub use tunnel::decap::decap;
pub use tunnel::{Carrier, Failed, Ports, encap};

/// All of them, and what else packets have.
pub fn protocols<M: Machine>() -> Vec<Protocol<M>> {
    rows().into_iter().map(|(_, protocol)| protocol()).chain(metadata::protocols()).collect()
}

/// What makes a row.
type Row<M> = fn() -> Protocol<M>;

/// By name, the rows of files that have one.
fn rows<M: Machine>() -> [(&'static str, Row<M>); 21] {
    [
        ("eth", eth::protocol),
        ("vlan", vlan::protocol),
        ("arp", arp::protocol),
        ("ip", ip::protocol),
        ("tcp", tcp::protocol),
        ("udp", udp::protocol),
        ("icmp", icmp::protocol),
        ("payload", payload::protocol),
        ("tls", tls::protocol),
        ("peer", peer::protocol),
        ("dns", dns::protocol),
        ("http", http::protocol),
        ("sctp", sctp::protocol),
        ("gre", gre::protocol),
        ("vxlan", vxlan::protocol),
        ("mpls", mpls::protocol),
        ("dhcp", dhcp::protocol),
        ("quic", quic::protocol),
        (inner::NAME, inner::protocol),
        (meta_record::RECORD, meta::protocol),
        ("ct", ct::protocol),
    ]
}

/// What a packet has of that name.
pub fn member<M: Machine>(name: &str) -> Option<Protocol<M>> {
    match rows().into_iter().find(|(known, _)| *known == name) {
        Some((_, protocol)) => Some(protocol()),
        None => metadata::protocols().into_iter().find(|protocol| protocol.name == name),
    }
}

/// All headers, those inside of packets among them.
pub fn headers<M: Machine>() -> impl Iterator<Item = Protocol<M>> {
    let headers = protocols().into_iter().chain(inner::protocols());
    headers.filter(|protocol| !protocol.fields.is_empty())
}

/// The header of that name, or what else a packet has.
pub fn protocol<M: Machine>(name: &str) -> Option<Protocol<M>> {
    if inner::is_inner(name) && name != inner::NAME {
        return inner::protocols().into_iter().find(|protocol| protocol.name == name);
    }
    member(name)
}

/// The names of protocols and fields that are strings of any content.
pub fn texts<M: Machine>() -> Vec<&'static str> {
    let mut names = Vec::new();
    for protocol in protocols::<M>() {
        names.extend(protocol.is_text.then_some(protocol.name));
        names.extend(protocol.fields.iter().filter(|field| field.is_text).map(|field| field.name));
    }
    names
}

impl<M: Machine> Protocol<M> {
    pub fn field(&self, name: &str) -> Option<&Field<M>> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Reads a field of a header that was found. After a write the header may be gone: then there is nothing to read.
    pub fn read(&self, machine: &mut M, field: &Field<M>) -> Values<M> {
        if !self.is_beside && !machine.hook().has_packet() {
            return machine.only(Value::Nothing);
        }
        if !machine.state().packet().written {
            return self.read_here(machine, field);
        }
        let mut paths = Vec::new();
        for path in (self.find)(machine)? {
            if path.values == Value::Nothing {
                paths.push(path);
            } else {
                machine.resume(path.state);
                paths.extend(self.read_here(machine, field)?);
            }
        }
        Ok(paths)
    }

    fn read_here(&self, machine: &mut M, field: &Field<M>) -> Values<M> {
        if self.is_inner { inner::within(machine, field.read) } else { (field.read)(machine) }
    }

    /// Assigns a field of a header that was found, and goes on where that could be done. `value` is of the kind that the field takes.
    pub fn assign(
        &self,
        machine: &mut M,
        assignment: &Assignment<M>,
        value: Value,
    ) -> Result<RefusedBy<M>, M::Stop> {
        let mut refused = RefusedBy::<M>::default();
        if let (Takes::Number(bits), Value::Number(word)) = (assignment.takes, value) {
            let beyond = machine.compare(CompareOp::UGt, word, i64::MAX >> (63 - bits));
            machine.leave_if(beyond, &mut refused.unfit);
        }
        // What is beside a packet can be assigned where there is nothing yet.
        let is_number = self.is_beside && self.fields.is_empty();
        if machine.alive() && machine.state().packet().written && !is_number {
            let (there, gone): (Vec<_>, Vec<_>) =
                (self.find)(machine)?.into_iter().partition(|path| path.values != Value::Nothing);
            refused.absent.extend(gone.into_iter().map(|path| path.state));
            machine.enter(there.into_iter().map(|path| path.state).collect())?;
        }
        if machine.alive() {
            (assignment.write)(machine, value, &mut refused)?;
        }
        // What was read before may have changed, also where headers stay where they are.
        machine.code_mut().same.packet_may_change();
        Ok(refused)
    }
}
