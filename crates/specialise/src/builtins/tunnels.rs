//! `pkt:encap(…)` and `pkt:decap()` (docs/packet.md, Packets inside others).

use super::call::{Call, Row, returns, row};
use super::lengths::changeable_subject;
use super::named::{Number, is_record, spread};
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_library::own::data::{DECAP, ENCAP, ENCAP_PARTS};
use moonhook_packet::Value;
use moonhook_packet::protocols::{self, Carrier, Failed, Ports};

pub const ROWS: &[Row] = &[row(ENCAP, encap), row(DECAP, decap)];

/// Of [`ENCAP`], in general code, where arguments are in memory.
pub const PARTS: &[Row] = &[
    row(ENCAP_PARTS[0], by_position),
    row(ENCAP_PARTS[1], in_ip),
    row(ENCAP_PARTS[2], in_gre),
    row(ENCAP_PARTS[3], in_vxlan),
    row(ENCAP_PARTS[4], in_gue),
    row(ENCAP_PARTS[5], refused),
];

/// What the outer header has if nothing else is wanted (RFC 1700, the number of hops that is recommended).
const TTL: i64 = 64;

/// Ports that the protocols have (RFC 7348 § 5; IANA).
const VXLAN_PORT: i64 = 4789;
const GUE_PORT: i64 = 6080;

/// The fields of the argument, and of what carries the packet.
const FIELDS: [&str; 6] = ["src", "dst", "ttl", "gre", "vxlan", "gue"];
const CARRIER_FIELDS: [&[&str]; 3] = [&["key"], &["vni", "port", "sport"], &["port", "sport"]];

/// How many arguments there are in front of those of what carries the packet: object, addresses and hops.
const OUTER: usize = 4;

/// What is wrong with what is to carry the packet.
const PROBLEMS: [&str; 4] = [
    "one of gre, vxlan and gue expected",
    "field 'gre': table expected",
    "field 'vxlan': table expected",
    "field 'gue': table expected",
];

/// What the outer header is to have.
type Outer = ([Value; 2], Word);

/// The states in which there are two addresses of one version, and those in which there are others.
type Pairs = (Vec<(State, [Value; 2])>, Vec<State>);

/// The states in which a carrier is known.
type Carriers = Vec<(State, Carrier)>;

/// `encap(src, dst [, ttl])`, `encap{src = …, dst = …, …}`.
fn encap(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let record = call.arg(2);
    if !is_record(&record) {
        return by_position(context, call);
    }
    spread(context, &record, &FIELDS, vec![call.arg(1)], &mut |context, args| {
        let (outer, carriers) = args.split_at(OUTER);
        let mut given = (0..).zip(carriers).filter(|(_, carrier)| **carrier != Abs::Nil);
        let with = |args: Vec<Abs>| Call { args, ..call.clone() };
        let problem = match (given.next(), given.next()) {
            (None, _) => return in_ip(context, &with(outer.to_vec())),
            (_, Some(_)) => 1,
            (Some((number, carrier)), None) if is_record(carrier) => {
                let part = [in_gre, in_vxlan, in_gue][number];
                return spread(
                    context,
                    carrier,
                    CARRIER_FIELDS[number],
                    outer.to_vec(),
                    &mut |context, args| part(context, &with(args)),
                );
            }
            (Some((number, _)), None) => 2 + number as i64,
        };
        refused(context, &with(outer.iter().cloned().chain([Abs::int(problem)]).collect()))
    })
}

fn by_position(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let mut outers = Vec::new();
    let (pairs, mixed) = addresses(context, call, |context, states, number| {
        argument_error_in(context, call, states, (number, "IP address expected"))
    })?;
    argument_error_in(context, call, mixed, (3, "address of the same IP version expected"))?;
    for (state, pair) in pairs {
        context.state = state;
        let ttl = call.integer_or(context, 4, Word::Imm(TTL))?;
        let wrong = context.compare(CompareOp::UGt, ttl, 0xff);
        context.fail_if(wrong, |context| call.argument_error(context, 4, "integer of 8 bits expected"));
        outers.push((context.take_state(), (pair, ttl)));
    }
    put_inside(context, outers, &mut |context| Ok(vec![(context.take_state(), Carrier::Ip)]))
}

fn in_ip(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    by_name(context, call, &mut |context| Ok(vec![(context.take_state(), Carrier::Ip)]))
}

fn in_gre(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    by_name(context, call, &mut |context| {
        let Number { given, none, unfit } = call.number(context, OUTER + 1, 32)?;
        call.field_error_in(context, unfit, "field 'gre.key': integer of 32 bits expected")?;
        let none = none.into_iter().map(|state| (state, Carrier::Gre { key: None }));
        let given = given.into_iter().map(|(state, key)| (state, Carrier::Gre { key: Some(key) }));
        Ok(none.chain(given).collect())
    })
}

fn in_vxlan(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    by_name(context, call, &mut |context| {
        let Number { given, none, mut unfit } = call.number(context, OUTER + 1, 24)?;
        unfit.extend(none);
        call.field_error_in(context, unfit, "field 'vxlan.vni': integer of 24 bits expected")?;
        let mut carriers = Vec::new();
        for (state, identifier) in given {
            context.state = state;
            let all = ports(context, call, OUTER + 2, ("vxlan", VXLAN_PORT))?;
            carriers
                .extend(all.into_iter().map(|(state, ports)| (state, Carrier::Vxlan { identifier, ports })));
        }
        Ok(carriers)
    })
}

fn in_gue(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    by_name(context, call, &mut |context| {
        let all = ports(context, call, OUTER + 1, ("gue", GUE_PORT))?;
        Ok(all.into_iter().map(|(state, ports)| (state, Carrier::Gue { ports })).collect())
    })
}

/// The ports that the arguments from `number` on say: destination and source.
fn ports(
    context: &mut Context<'_>,
    call: &Call,
    number: usize,
    (carrier, default): (&str, i64),
) -> Result<Vec<(State, Ports)>> {
    let problem = |field: &str| format!("field '{carrier}.{field}': integer of 16 bits expected");
    let destination = call.number_or(context, (number, 16), Word::Imm(default), &problem("port"))?;
    let Number { given, none, unfit } = call.number(context, number + 1, 16)?;
    call.field_error_in(context, unfit, &problem("sport"))?;
    let none = none.into_iter().map(|state| (state, Ports { source: None, destination }));
    let given = given.into_iter().map(|(state, port)| (state, Ports { source: Some(port), destination }));
    Ok(none.chain(given).collect())
}

/// Something is wrong with what is to carry the packet, if nothing else is.
fn refused(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    by_name(context, call, &mut |context| {
        let which = call.integer(context, OUTER + 1)?;
        let [first @ .., last] = &PROBLEMS;
        for (number, problem) in (1..).zip(first) {
            let is = context.compare(CompareOp::Eq, which, number);
            context.fail_if(is, |context| call.argument_error(context, 2, problem));
        }
        if context.state.alive() {
            call.argument_error(context, 2, last);
        }
        Ok(vec![])
    })
}

/// The calls whose first arguments were fields of a table.
fn by_name(
    context: &mut Context<'_>,
    call: &Call,
    carriers: &mut dyn FnMut(&mut Context<'_>) -> Result<Carriers>,
) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    let (pairs, mixed) = addresses(context, call, |context, states, number| {
        let field = FIELDS[number - 2];
        call.field_error_in(context, states, &format!("field '{field}': IP address expected"))
    })?;
    call.field_error_in(context, mixed, "field 'dst': address of the same IP version expected")?;
    let mut outers = Vec::new();
    for (state, pair) in pairs {
        context.state = state;
        let problem = "field 'ttl': integer of 8 bits expected";
        let ttl = call.number_or(context, (4, 8), Word::Imm(TTL), problem)?;
        outers.push((context.take_state(), (pair, ttl)));
    }
    put_inside(context, outers, carriers)
}

/// The states in which arguments 2 and 3 are addresses of one version, and those in which they have different ones. `fail` raises the error
/// where an argument is none.
fn addresses(
    context: &mut Context<'_>,
    call: &Call,
    mut fail: impl FnMut(&mut Context<'_>, Vec<State>, usize) -> Result<()>,
) -> Result<Pairs> {
    let (mut pairs, mut mixed, mut none) = (Vec::new(), Vec::new(), Vec::new());
    let (sources, others) = call.address(context, 2)?;
    fail(context, others, 2)?;
    for (state, source) in sources {
        context.state = state;
        let (targets, others) = call.address(context, 3)?;
        none.extend(others);
        for (state, target) in targets {
            match matches!(source, Value::Ipv4(_)) == matches!(target, Value::Ipv4(_)) {
                true => pairs.push((state, [source, target])),
                false => mixed.push(state),
            }
        }
    }
    fail(context, none, 3)?;
    Ok((pairs, mixed))
}

/// Puts the packet inside another one, in each of the states; `carriers` finds out, in the current state, what is to carry it.
fn put_inside(
    context: &mut Context<'_>,
    outers: Vec<(State, Outer)>,
    carriers: &mut dyn FnMut(&mut Context<'_>) -> Result<Carriers>,
) -> Result<Vec<Arm>> {
    let (mut done, mut failed) = (Vec::new(), Failed::default());
    for (state, outer) in outers {
        context.state = state;
        if !context.state.alive() {
            continue;
        }
        for (state, carrier) in carriers(context)? {
            context.state = state;
            if context.state.alive() {
                context.before_packet_write()?;
                protocols::encap(context, outer, &carrier, &mut failed)?;
                context.packet_written();
                done.push(context.take_state());
            }
        }
    }
    context.enter(done)?;
    error_in(context, failed.none, "packet has no IP header")?;
    context.fail_length(failed.refused, true)?;
    returns(context, vec![])
}

fn argument_error_in(
    context: &mut Context<'_>,
    call: &Call,
    states: Vec<State>,
    (number, problem): (usize, &str),
) -> Result<()> {
    context.fail_in(states, |context| {
        call.argument_error(context, number, problem);
        Ok(())
    })
}

fn error_in(context: &mut Context<'_>, states: Vec<State>, message: &str) -> Result<()> {
    context.fail_in(states, |context| {
        context.fail(Message::new(message));
        Ok(())
    })
}

fn decap(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if changeable_subject(context, call).is_none() {
        return Ok(vec![]);
    }
    context.before_packet_write()?;
    let mut failed = Failed::default();
    protocols::decap(context, &mut failed)?;
    context.packet_written();
    error_in(context, failed.none, "packet carries no IP packet")?;
    context.fail_length(failed.refused, false)?;
    returns(context, vec![])
}
