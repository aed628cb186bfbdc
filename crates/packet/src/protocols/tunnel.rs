//! `pkt:encap(…)` and `pkt:decap()`: IP packets inside others (RFC 2003, RFC 4213, RFC 2473).

use super::header::Headers;
use super::link::{self, ETHERNET, TAG};
use super::network::{self, IPV4, IPV6, Part};
use crate::checksum::Checksum;
use crate::lengths::ChangeLength;
use crate::{Access, Fault, Machine, Value};
use moonhook_hook::Lengths;
use moonhook_hook::lengths::{AFTER_LINK, DECAP, ENCAP};
use moonhook_ir::words::{Address, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

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

/// What is known of an inner packet.
struct Inner {
    start: Word,
    class: Word,
    length: Word,
    protocol: Word,
}

/// Puts the IP packet into another one, between two addresses of one version, and goes on where that could be done.
pub fn encap<M: Machine>(
    machine: &mut M,
    addresses: [Value; 2],
    ttl: Word,
    failed: &mut Failed<M::State>,
) -> Result<(), M::Stop> {
    let version = usize::from(matches!(addresses[0], Value::Ipv6(..)));
    let (_, kind, bytes) = VERSIONS[version];
    let Some(inner) = inner(machine, bytes, failed)? else { return Ok(()) };
    let mut done = Vec::new();
    for start in STARTS {
        let is = machine.compare(CompareOp::Eq, inner.start, i64::from(start));
        let (is, other) = machine.split(is);
        machine.resume(is);
        if machine.alive() {
            make_room(machine, start, (bytes, ENCAP[version]), failed)?;
        }
        if machine.alive() {
            write_kind(machine, start, kind)?;
            write_header(machine, start, (addresses, ttl), &inner)?;
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

/// What is put into a packet with so many bytes more.
fn inner<M: Machine>(
    machine: &mut M,
    more: u32,
    failed: &mut Failed<M::State>,
) -> Result<Option<Inner>, M::Stop> {
    let (state, words, absent) = machine.found("ip", network::parse)?;
    failed.none.extend(absent);
    machine.resume(state);
    if !machine.alive() {
        return Ok(None);
    }
    let start = words[Part::Start as usize];
    let mut paths = Vec::new();
    for ((state, version), (protocol, ..)) in network::by_version(machine, &words).into_iter().zip(VERSIONS) {
        machine.resume(state);
        if !machine.alive() {
            continue;
        }
        let length = network::length(machine, start, version)?;
        if version == 6 {
            // What is longer than its header can say (RFC 2675), or is nothing.
            let unsaid = machine.compare(CompareOp::Eq, length, i64::from(IPV6));
            machine.leave_if(unsaid, &mut failed.refused);
        }
        let class = if version == 4 {
            machine.header_field(start, 1, Size::B1, IPV4)?
        } else {
            let word = machine.header_field(start, 0, Size::B4, IPV6)?;
            let word = machine.shr(word, 20);
            machine.and(word, 0xff)
        };
        paths.push(machine.take_path(vec![class, length, Word::Imm(protocol)]));
    }
    let [class, length, protocol] = match machine.meet(paths)?.as_deref() {
        Some(&[class, length, protocol]) => [class, length, protocol],
        _ => [Word::Imm(0); 3],
    };
    // IPv6 does not count its fixed header.
    let most = if more == IPV4 { 0xffff - i64::from(more) } else { 0xffff };
    let long = machine.compare(CompareOp::UGt, length, most);
    machine.leave_if(long, &mut failed.refused);
    Ok(Some(Inner { start, class, length, protocol }))
}

/// Makes the frame longer by so many bytes at `start`, in front of an IP header.
fn make_room<M: Machine>(
    machine: &mut M,
    start: u32,
    (bytes, flags): (u32, i64),
    failed: &mut Failed<M::State>,
) -> Result<(), M::Stop> {
    match machine.hook().lengths {
        Some(Lengths::Ends { head, .. }) => {
            let link = read_link(machine, start)?;
            machine.ask(head, &[Word::Imm(-i64::from(bytes))], &mut failed.refused)?;
            write_link(machine, start, &link)
        }
        Some(Lengths::Stack { room, .. }) if start == ETHERNET => {
            let arguments = [i64::from(bytes), AFTER_LINK, flags].map(Word::Imm);
            machine.ask(room, &arguments, &mut failed.refused)
        }
        _ => {
            failed.refused.push(machine.take_state());
            Ok(())
        }
    }
}

/// Parts of a link's header of so many bytes that can be read at once.
fn parts(bytes: u32) -> Vec<(i64, Size)> {
    let tags = (ETHERNET..bytes).step_by(TAG as usize).map(|at| (i64::from(at), Size::B4));
    [(0, Size::B8), (8, Size::B4), (12, Size::B2)].into_iter().chain(tags).collect()
}

fn read_link<M: Machine>(machine: &mut M, bytes: u32) -> Result<Vec<Word>, M::Stop> {
    let address = machine.known_address(Word::Imm(0), bytes)?;
    let parts = parts(bytes).into_iter();
    Ok(parts.map(|(at, size)| machine.load_at(address.plus(at as i16), size, false)).collect())
}

fn write_link<M: Machine>(machine: &mut M, bytes: u32, words: &[Word]) -> Result<(), M::Stop> {
    if machine.alive() {
        let address = machine.known_address(Word::Imm(0), bytes)?;
        for ((at, size), word) in parts(bytes).into_iter().zip(words) {
            machine.write_word(address.plus(at as i16), Word::Imm(at), size, *word);
        }
    }
    Ok(())
}

/// Says what is behind the link's header of so many bytes.
fn write_kind<M: Machine>(machine: &mut M, bytes: u32, kind: i64) -> Result<(), M::Stop> {
    let at = i64::from(bytes) - 2;
    let address = machine.known_address(Word::Imm(0), bytes)?.plus(at as i16);
    machine.write_word(address, Word::Imm(at), Size::B2, Word::Imm(kind));
    Ok(())
}

/// Writes an IP header at `start`.
fn write_header<M: Machine>(
    machine: &mut M,
    start: u32,
    (addresses, ttl): ([Value; 2], Word),
    inner: &Inner,
) -> Result<(), M::Stop> {
    let words = match addresses {
        [Value::Ipv4(source), Value::Ipv4(target)] => ipv4(machine, [source, target], ttl, inner),
        [Value::Ipv6(a, b), Value::Ipv6(c, d)] => ipv6(machine, [a, b, c, d], ttl, inner),
        _ => return Ok(()),
    };
    let whole = words.iter().map(|(_, size)| *size as u32).sum();
    let first = machine.known_address(Word::Imm(start.into()), whole)?;
    let mut at = 0;
    for (word, size) in words {
        let Address { base, disp } = first.plus(at);
        let place = Word::Imm(i64::from(start) + i64::from(at));
        machine.write_word(Address { base, disp }, place, size, word);
        at += size as i16;
    }
    Ok(())
}

/// One word of several parts, each shifted to the left.
fn joined<M: Machine>(machine: &mut M, parts: &[(Word, i64)]) -> Word {
    parts.iter().fold(Word::Imm(0), |all, (word, shift)| {
        let word = machine.shl(*word, *shift);
        machine.binary(BinaryOp::Or, word, all)
    })
}

/// The words of a header as they are in memory (RFC 791 § 3.1).
fn ipv4<M: Machine>(machine: &mut M, addresses: [Word; 2], ttl: Word, inner: &Inner) -> Vec<(Word, Size)> {
    let length = machine.add(inner.length, i64::from(IPV4));
    let length = machine.unary(UnaryOp::Swap16, length);
    let first = joined(machine, &[(Word::Imm(0x45), 0), (inner.class, 8), (length, 16)]);
    // "Don't fragment", so that the identification means nothing (RFC 6864 § 4.1).
    let fragment = Word::Imm(0x40 << 16);
    let third = joined(machine, &[(ttl, 0), (inner.protocol, 8)]);
    let [source, target] = addresses.map(|address| machine.unary(UnaryOp::Swap32, address));
    let sum = [fragment, third, source, target].into_iter().fold(first, |sum, word| machine.add(sum, word));
    let sum = machine.checksum_of(sum);
    let third = joined(machine, &[(third, 0), (sum, 16)]);
    [first, fragment, third, source, target].map(|word| (word, Size::B4)).into()
}

/// The same of IPv6 (RFC 8200 § 3).
fn ipv6<M: Machine>(machine: &mut M, addresses: [Word; 4], ttl: Word, inner: &Inner) -> Vec<(Word, Size)> {
    let high = machine.shr(inner.class, 4);
    let low = machine.and(inner.class, 15);
    let first = joined(machine, &[(Word::Imm(0x60), 0), (high, 0), (low, 12)]);
    let length = machine.unary(UnaryOp::Swap16, inner.length);
    let second = joined(machine, &[(length, 0), (inner.protocol, 16), (ttl, 24)]);
    let addresses = addresses.map(|half| (machine.unary(UnaryOp::Swap64, half), Size::B8));
    [(first, Size::B4), (second, Size::B4)].into_iter().chain(addresses).collect()
}

/// Takes the outer IP header away, and goes on where that could be done.
pub fn decap<M: Machine>(machine: &mut M, failed: &mut Failed<M::State>) -> Result<(), M::Stop> {
    let (state, words, absent) = machine.found("ip", network::parse)?;
    failed.none.extend(absent);
    machine.resume(state);
    if !machine.alive() {
        return Ok(());
    }
    for part in [Part::MoreFragments, Part::FragmentOffset] {
        let fragment = machine.compare(CompareOp::Ne, words[part as usize], 0);
        machine.leave_if(fragment, &mut failed.none);
    }
    let [start, next] = [Part::Start, Part::Next].map(|part| words[part as usize]);
    let bytes = machine.sub(next, start);
    let mut done = Vec::new();
    for ((protocol, kind, whole), flags) in VERSIONS.into_iter().zip(DECAP) {
        let is = machine.compare(CompareOp::Eq, words[Part::Protocol as usize], protocol);
        let (is, other) = machine.split(is);
        machine.resume(is);
        if machine.alive() {
            check_inner(machine, next, whole, failed)?;
            take_out(machine, (start, bytes), (kind, flags), failed, &mut done)?;
        }
        machine.resume(other);
    }
    failed.none.push(machine.take_state());
    machine.enter(done)
}

/// Goes on where a header of that version, which has so many bytes, is at `next`.
fn check_inner<M: Machine>(
    machine: &mut M,
    next: Word,
    whole: u32,
    failed: &mut Failed<M::State>,
) -> Result<(), M::Stop> {
    let (address, outside) = machine.locate(next, whole)?;
    failed.none.extend(outside);
    if machine.alive() {
        let first = machine.load_at(address, Size::B1, false);
        let version = machine.shr(first, 4);
        let other = machine.compare(CompareOp::Ne, version, if whole == IPV4 { 4 } else { 6 });
        machine.leave_if(other, &mut failed.none);
    }
    Ok(())
}

/// Takes so many bytes away at `start`, and says that what follows is of that kind. The states in which that is done are added to `done`.
fn take_out<M: Machine>(
    machine: &mut M,
    (start, bytes): (Word, Word),
    (kind, flags): (i64, i64),
    failed: &mut Failed<M::State>,
    done: &mut Vec<M::State>,
) -> Result<(), M::Stop> {
    for known in STARTS {
        let is = machine.compare(CompareOp::Eq, start, i64::from(known));
        let (is, other) = machine.split(is);
        machine.resume(is);
        match machine.hook().lengths {
            _ if !machine.alive() => {}
            Some(Lengths::Ends { head, .. }) => {
                let link = read_link(machine, known)?;
                machine.ask(head, &[bytes], &mut failed.refused)?;
                write_link(machine, known, &link)?;
            }
            Some(Lengths::Stack { room, .. }) if known == ETHERNET => {
                machine.leave_beyond_room(bytes, &mut failed.refused);
                let less = machine.sub(Word::Imm(0), bytes);
                let arguments = [less, AFTER_LINK.into(), flags.into()];
                machine.ask(room, &arguments, &mut failed.refused)?;
            }
            _ => failed.refused.push(machine.take_state()),
        }
        if machine.alive() {
            write_kind(machine, known, kind)?;
            machine.note_packet_written();
            done.push(machine.take_state());
        }
        machine.resume(other);
    }
    gone(machine);
    Ok(())
}
