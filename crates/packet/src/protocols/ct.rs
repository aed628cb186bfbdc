//! `pkt.ct`: what the kernel's connection tracking knows of the connection that a packet belongs to (`struct nf_conn`,
//! include/net/netfilter/nf_conntrack.h).
//!
//! At XDP and tc an entry is looked up by addresses and ports (`bpf_xdp_ct_lookup`, `bpf_skb_ct_lookup`; net/netfilter/nf_conntrack_bpf.c), which
//! the kernel does for TCP and UDP, and is released as soon as it has been read. At netfilter the packet has it.

use super::header::{Field, Headers, Parsing, Protocol, RefusedBy, Values, absent};
use super::network::{self, IPV4, IPV6, Part};
use super::{tcp, udp};
use crate::assign::{Takes, word_of};
use crate::{Access, Machine, PacketState, Value};
use moonhook_hook::Connection;
use moonhook_ir::helper::{self, CONNECTION_RELEASE, PROBE_READ_KERNEL};
use moonhook_ir::kernel_field::{CONNECTION_MARK, CONNECTION_STATUS, SKB_CONNECTION};
use moonhook_ir::words::{Path, Word, WordPaths};
use moonhook_ir::{BinaryOp, CompareOp, Size, Value as Place};

/// The words of the header `ct`.
#[derive(Clone, Copy)]
enum Known {
    /// `enum ip_conntrack_status`.
    Status = 1,
    Mark,
    /// `enum ip_conntrack_info`.
    Info,
}

/// `enum ip_conntrack_info` by what it says of a packet; in the direction of the answers it is 3 more.
const STATES: [(i64, &str); 3] = [(0, "established"), (1, "related"), (2, "new")];
const ANSWER: i64 = 3;

pub fn protocol<M: Machine>() -> Protocol<M> {
    let fields = vec![
        Field::new("state", state).of_text(),
        Field::new("reply", |machine: &mut M| {
            let info = known(machine, Known::Info)?;
            let is_answer = machine.compare(CompareOp::UGe, info, ANSWER);
            let word = machine.condition_word(is_answer);
            machine.only(Value::Flag(word))
        }),
        Field::new("status", |machine: &mut M| {
            let status = known(machine, Known::Status)?;
            machine.only(Value::Number(status))
        }),
        Field::new("mark", |machine: &mut M| {
            let mark = known(machine, Known::Mark)?;
            machine.only(Value::Number(mark))
        })
        .assigned(Takes::Number(32), write_mark),
    ];
    Protocol::header("ct", |machine| machine.header_paths("ct", parse), fields).beside_packets()
}

fn known<M: Machine>(machine: &mut M, word: Known) -> Result<Word, M::Stop> {
    let words = machine.known_header("ct", parse)?;
    // At hooks without connections no path goes on.
    Ok(words.get(word as usize).copied().unwrap_or(Word::Imm(0)))
}

fn state<M: Machine>(machine: &mut M) -> Values<M> {
    let info = known(machine, Known::Info)?;
    let mut paths = Vec::new();
    for (number, text) in STATES {
        for number in [number, number + ANSWER] {
            let is = machine.compare(CompareOp::Eq, info, number);
            let (is, other) = machine.split(is);
            paths.push(Path { state: is, values: Value::Text(text) });
            machine.resume(other);
        }
    }
    // Numbers that the kernel does not give to packets with an entry.
    paths.push(machine.take_path(Value::Nothing));
    Ok(paths)
}

/// Words: is there an entry, and those of [`Known`].
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    match machine.hook().context.connection {
        None => Ok(vec![machine.take_path(vec![Word::Imm(0)])]),
        Some(Connection::OfPacket(packet)) => of_packet(machine, packet),
        Some(Connection::Lookup(function)) => {
            let mut others = Vec::new();
            let mut paths = with_entry(machine, function, &mut others, &mut |machine, entry, memory| {
                let entry = machine.value(entry);
                let status = machine.kernel_field(entry, &CONNECTION_STATUS);
                let mark = machine.kernel_field(entry, &CONNECTION_MARK);
                let direction = machine.load(memory, OPTIONS + DIRECTION, Size::B1, false);
                let info = info(machine, status, direction);
                vec![Word::Imm(1), status, mark, info]
            })?;
            paths.extend(absent(others));
            Ok(paths)
        }
    }
}

/// What the kernel would make of a packet of that direction (`resolve_normal_ct`, net/netfilter/nf_conntrack_core.c): an answer belongs to an
/// established connection, a request does where there has been an answer, and is related or new else.
fn info<M: Machine>(machine: &mut M, status: Word, direction: Word) -> Word {
    let (expected, seen) = (machine.and(status, 1), machine.shr(status, 1));
    let seen = machine.and(seen, 1);
    let first = machine.sub(2, expected);
    let unseen = machine.sub(1, seen);
    let request = machine.binary(BinaryOp::Mul, first, unseen);
    let direction = machine.and(direction, 1);
    let is_request = machine.sub(1, direction);
    let request = machine.binary(BinaryOp::Mul, request, is_request);
    let answer = machine.binary(BinaryOp::Mul, direction, ANSWER);
    machine.add(request, answer)
}

/// At netfilter: the entry's address stands in the packet's structure, with [`Known::Info`] in its lowest three bits, and without an entry there is no
/// address. The verifier takes it for a number, and its fields are copied.
fn of_packet<M: Machine>(machine: &mut M, packet: i16) -> Parsing<M> {
    let context = machine.program_context();
    let context = machine.value(context);
    let packet = machine.load(context, packet, Size::B8, false);
    let packet = machine.value(packet);
    let found = machine.kernel_field(packet, &SKB_CONNECTION);
    let (entry, info) = (machine.and(found, !7), machine.and(found, 7));
    let none = machine.compare(CompareOp::Eq, entry, 0);
    let (none, there) = machine.split(none);
    let mut paths: WordPaths<M> = absent([none]).collect();
    machine.resume(there);
    if !machine.alive() {
        return Ok(paths);
    }
    let memory = machine.scratch(MEMORY);
    let mut words = vec![Word::Imm(1)];
    for (at, field) in [(0, &CONNECTION_STATUS), (8, &CONNECTION_MARK)] {
        machine.store(memory, at, Size::B8, 0);
        let to = machine.add(memory, i64::from(at));
        let from = machine.kernel_place(entry, field);
        // What is gone is 0.
        machine.helper(PROBE_READ_KERNEL, &[to, (field.size() as i64).into(), from]);
        words.push(machine.load(memory, at, field.size(), false));
    }
    words.push(info);
    paths.push(machine.take_path(words));
    Ok(paths)
}

/// Where `struct bpf_sock_tuple` and `struct bpf_ct_opts` are in the memory of a lookup, and its length.
const ADDRESSES: i16 = 0;
const OPTIONS: i16 = 40;
const MEMORY: u32 = 56;
/// In the options: the network namespace, whose number -1 is that of the interface; the protocol; what the lookup says, 0 for the
/// direction of the first packet and 1 for that of answers.
const NAMESPACE: i16 = 0;
const PROTOCOL: i16 = 8;
const DIRECTION: i16 = 9;
/// Bytes of the options, without zones, which kernels before 6.11 do not know.
const OPTIONS_SIZE: i64 = 12;

/// What is done with an entry's address, beside the memory of its lookup; gives words.
type Use<'f, M> = &'f mut dyn FnMut(&mut M, Word, Place) -> Vec<Word>;

/// Does something with the entry that `function` finds, which is released then; the states without one go to `others`.
fn with_entry<M: Machine>(
    machine: &mut M,
    function: &str,
    others: &mut Vec<M::State>,
    body: Use<'_, M>,
) -> Parsing<M> {
    let mut paths = Vec::new();
    let Some([protocol, start]) = transport(machine, others)? else { return Ok(paths) };
    let words = machine.known_header("ip", network::parse)?;
    for (state, version) in network::by_version(machine, &words) {
        machine.resume(state);
        if !machine.alive() {
            continue;
        }
        let memory = machine.scratch(MEMORY);
        let ports = write_addresses(machine, (version, words[Part::Start as usize]), memory)?;
        if !machine.alive() {
            continue;
        }
        let both = machine.known_address(start, udp::LENGTH)?;
        let both = machine.load_at(both, Size::B4, false);
        machine.store(memory, ports, Size::B4, both);
        machine.store(memory, OPTIONS + NAMESPACE, Size::B8, 0xffff_ffff);
        machine.store(memory, OPTIONS + PROTOCOL, Size::B8, protocol);
        let (context, options) = (machine.program_context(), machine.add(memory, i64::from(OPTIONS)));
        let length = i64::from(ports) + 4;
        let function = helper::named(function).unwrap_or_default();
        let entry =
            machine.helper(function, &[context, memory.into(), length.into(), options, OPTIONS_SIZE.into()]);
        let none = machine.compare(CompareOp::Eq, entry, 0);
        machine.leave_if(none, others);
        let words = body(machine, entry, memory);
        machine.helper(CONNECTION_RELEASE, &[entry]);
        paths.push(machine.take_path(words));
    }
    Ok(paths)
}

/// The protocol's number and where its header starts, of TCP and UDP.
fn transport<M: Machine>(machine: &mut M, others: &mut Vec<M::State>) -> Result<Option<[Word; 2]>, M::Stop> {
    let mut paths = Vec::new();
    let (state, words, absent) = machine.found("tcp", tcp::parse)?;
    machine.resume(state);
    if machine.alive() {
        paths.push(machine.take_path(vec![Word::Imm(6), words[1]]));
    }
    machine.enter(absent)?;
    let (state, words, absent) = machine.found("udp", udp::parse)?;
    machine.resume(state);
    if machine.alive() {
        paths.push(machine.take_path(vec![Word::Imm(17), words[1]]));
    }
    others.extend(absent);
    Ok(machine.meet(paths)?.and_then(|words| words.try_into().ok()))
}

/// Writes both addresses of the IP header as they stand there; gives where ports follow.
fn write_addresses<M: Machine>(
    machine: &mut M,
    (version, start): (u32, Word),
    memory: Place,
) -> Result<i16, M::Stop> {
    let (whole, from, size, parts) =
        if version == 4 { (IPV4, 12, Size::B4, 2) } else { (IPV6, 8, Size::B8, 4) };
    let header = machine.known_address(start, whole)?;
    for part in 0..parts {
        let at = part * size as i16;
        let word = machine.load_at(header.plus(from + at), size, false);
        machine.store(memory, ADDRESSES + at, size, word);
    }
    Ok(ADDRESSES + parts * size as i16)
}

/// At netfilter entries can only be read.
fn write_mark<M: Machine>(machine: &mut M, value: Value, refused: &mut RefusedBy<M>) -> Result<(), M::Stop> {
    let (Some(Connection::Lookup(function)), Some(mark)) =
        (machine.hook().context.connection, word_of(value))
    else {
        refused.absent.push(machine.take_state());
        return Ok(());
    };
    let paths = with_entry(machine, function, &mut refused.absent, &mut |machine, entry, _| {
        let place = machine.kernel_place(entry, &CONNECTION_MARK);
        let place = machine.value(place);
        machine.store(place, 0, Size::B4, mark);
        Vec::new()
    })?;
    machine.enter(paths.into_iter().map(|path| path.state).collect())?;
    machine.state_mut().packet_mut().forget(&["ct"]);
    Ok(())
}
