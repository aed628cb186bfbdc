//! `pkt:fix_checksums()`: the checksums of IPv4, TCP, UDP, ICMP and ICMPv6, computed anew (docs/packet.md, Checksums).

use super::extensions::{self, Extended};
use super::header::{Headers, Parsing};
use super::network::{self, IPV4, IPV6, Part};
use super::{icmp, ip_writes, tcp, udp};
use crate::assign::Sum;
use crate::checksum::Checksum;
use crate::{Access, Fault, Machine};
use moonhook_hook::Checksums;
use moonhook_ir::words::{Path, Word};
use moonhook_ir::{CompareOp, Size, UnaryOp};

/// A transport header with a checksum.
struct Transport<M: Machine> {
    name: &'static str,
    parse: fn(&mut M) -> Parsing<M>,
    /// Bytes of it that are in the frame at least.
    whole: u32,
    sum: Sum,
    /// It covers the addresses of an IP header of that version, too (the pseudo header).
    covers_addresses: fn(version: u32) -> bool,
    /// Where it has a length of its own, which counts from its start.
    length: Option<i64>,
}

/// Computes all checksums of the packet, and goes on. What was parsed stays as it was.
pub fn fix<M: Machine>(machine: &mut M) -> Result<(), M::Stop> {
    let (state, words, mut done) = machine.found("ip", network::parse)?;
    machine.resume(state);
    let versions = if machine.alive() { network::by_version(machine, &words).into() } else { vec![] };
    for (state, version) in versions {
        machine.resume(state);
        if machine.alive() {
            if version == 4 {
                fix_header(machine, &words)?;
            }
            fix_transport(machine, &words, version, &mut done)?;
        }
    }
    machine.enter(done)?;
    machine.code_mut().same.packet_may_change();
    Ok(())
}

/// [`fix`], as a part of other code.
pub fn fix_apart<M: Machine>(machine: &mut M) -> Result<(), M::Stop> {
    let body = |machine: &mut M, _: &[Word]| {
        fix(machine)?;
        machine.give(Word::Imm(1));
        Ok(())
    };
    if machine.done_apart("fix_checksums", body)?.is_none() {
        return fix(machine);
    }
    machine.code_mut().same.packet_may_change();
    Ok(())
}

/// The checksum of the IPv4 header.
fn fix_header<M: Machine>(machine: &mut M, words: &[Word]) -> Result<(), M::Stop> {
    let (start, next) = (words[Part::Start as usize], words[Part::Next as usize]);
    let length = machine.sub(next, start);
    let sum = sum_around(machine, start, length, ip_writes::SUM)?;
    let new = machine.checksum_of(sum);
    let address = machine.known_address(start, IPV4)?.plus(ip_writes::SUM.at as i16);
    let offset = machine.add(start, ip_writes::SUM.at);
    machine.write_word(address, offset, Size::B2, new);
    Ok(())
}

/// The sum of a header and what follows it, `length` bytes in all, without its checksum.
fn sum_around<M: Machine>(machine: &mut M, start: Word, length: Word, sum: Sum) -> Result<Word, M::Stop> {
    let before = machine.sum_of(start, Word::Imm(sum.at))?;
    let after = machine.add(start, sum.at + 2);
    let length = machine.sub(length, sum.at + 2);
    let behind = machine.sum_of(after, length)?;
    Ok(machine.add(before, behind))
}

/// The checksum of the transport header, if there is one and all that it covers. All states go to `done`.
fn fix_transport<M: Machine>(
    machine: &mut M,
    words: &[Word],
    version: u32,
    done: &mut Vec<M::State>,
) -> Result<(), M::Stop> {
    let more = machine.compare(CompareOp::Ne, words[Part::MoreFragments as usize], 0);
    machine.leave_if(more, done);
    if version == 6 && machine.alive() {
        leave_on_detours(machine, words, done)?;
    }
    for transport in transports() {
        if !machine.alive() {
            return Ok(());
        }
        let (state, header, others) = machine.found(transport.name, transport.parse)?;
        machine.resume(state);
        if machine.alive() {
            fix_found(machine, (words, version), (&transport, header[1]), done)?;
            done.push(machine.take_state());
        }
        machine.enter(others)?;
    }
    done.push(machine.take_state());
    Ok(())
}

fn transports<M: Machine>() -> [Transport<M>; 3] {
    let always = |_| true;
    [
        Transport {
            name: "tcp",
            parse: tcp::parse,
            whole: tcp::FIXED,
            sum: tcp::SUM,
            covers_addresses: always,
            length: None,
        },
        Transport {
            name: "udp",
            parse: udp::parse,
            whole: udp::LENGTH,
            sum: udp::SUM,
            covers_addresses: always,
            length: Some(4),
        },
        Transport {
            name: "icmp",
            parse: icmp::parse,
            whole: icmp::LENGTH,
            sum: icmp::SUM,
            covers_addresses: |version| version == 6,
            length: None,
        },
    ]
}

/// Leaves where the packet goes to another address first: its pseudo header has the last one (RFC 8200 § 8.1).
fn leave_on_detours<M: Machine>(
    machine: &mut M,
    words: &[Word],
    done: &mut Vec<M::State>,
) -> Result<(), M::Stop> {
    let (start, next) = (words[Part::Start as usize], words[Part::Next as usize]);
    let first = machine.add(start, i64::from(IPV6));
    let extended = machine.compare(CompareOp::UGt, next, first);
    let (extended, plain) = machine.split(extended);
    machine.resume(extended);
    if machine.alive() {
        machine.make_cold();
        let protocol = machine.header_field(start, 6, Size::B1, IPV6)?;
        let detour = extensions::has_detour(machine, Extended { first, protocol, next })?;
        let detour = machine.compare(CompareOp::Ne, detour, 0);
        machine.leave_if(detour, done);
    }
    let direct = machine.take_state();
    machine.enter(vec![plain, direct])
}

/// The checksum of a transport header that was found; goes on where it was written, and adds the states to `done` in which it covers what is
/// not there.
fn fix_found<M: Machine>(
    machine: &mut M,
    (words, version): (&[Word], u32),
    (transport, start): (&Transport<M>, Word),
    done: &mut Vec<M::State>,
) -> Result<(), M::Stop> {
    let ip = words[Part::Start as usize];
    let stated = network::length(machine, ip, version)?;
    let mut end = machine.add(ip, stated);
    if let Some(at) = transport.length {
        let length = machine.header_field(start, at, Size::B2, transport.whole)?;
        let own = machine.add(start, length);
        let beyond = machine.compare(CompareOp::UGt, own, end);
        machine.leave_if(beyond, done);
        end = own;
    }
    let frame = machine.packet_length();
    let cut = machine.compare(CompareOp::UGt, end, frame);
    machine.leave_if(cut, done);
    let length = machine.sub(end, start);
    let short = machine.compare(CompareOp::SLt, length, i64::from(transport.whole));
    machine.leave_if(short, done);
    machine.check_readable(end);
    if !machine.alive() {
        return Ok(());
    }
    let covered = sum_around(machine, start, length, transport.sum)?;
    let mut pseudo = None;
    if (transport.covers_addresses)(version) {
        pseudo = Some(pseudo_header(machine, (words, version), length)?);
    }
    let all = machine.add(covered, pseudo.unwrap_or(Word::Imm(0)));
    let mut new = machine.checksum_of(all);
    if transport.sum.may_be_none {
        let zero = machine.compare(CompareOp::Eq, new, 0);
        let (zero, other) = machine.split(zero);
        new = machine.either(zero, Word::Imm(0xffff), other, new)?;
    }
    write(machine, (transport, start), new, pseudo)
}

/// The sum of addresses, protocol and length (RFC 9293 § 3.1, RFC 8200 § 8.1).
fn pseudo_header<M: Machine>(
    machine: &mut M,
    (words, version): (&[Word], u32),
    length: Word,
) -> Result<Word, M::Stop> {
    let (start, protocol) = (words[Part::Start as usize], words[Part::Protocol as usize]);
    let (whole, first, size, count) =
        if version == 4 { (IPV4, 12, Size::B4, 2) } else { (IPV6, 8, Size::B8, 4) };
    let header = machine.known_address(start, whole)?;
    let length = machine.unary(UnaryOp::Swap16, length);
    let protocol = machine.unary(UnaryOp::Swap16, protocol);
    let mut sum = machine.add(length, protocol);
    for number in 0..count {
        let mut word = machine.load_at(header.plus(first + number * size as i16), size, false);
        if size == Size::B8 {
            word = machine.halves(word);
        }
        sum = machine.add(sum, word);
    }
    Ok(sum)
}

/// Writes a transport checksum; where the kernel has left it to the network card, the sum of the pseudo header instead.
fn write<M: Machine>(
    machine: &mut M,
    (transport, start): (&Transport<M>, Word),
    new: Word,
    pseudo: Option<Word>,
) -> Result<(), M::Stop> {
    let offset = machine.add(start, transport.sum.at);
    let mut new = new;
    if let Checksums::Helper(helper) = machine.hook().checksums {
        let old = field(machine, transport, start)?;
        // A checksum that is all there changes with any difference that is no multiple of 0xffff; one that is left to the card does not, as
        // long as addresses do not change.
        let context = machine.program_context();
        let failed = machine.helper(helper, &[context, offset, Word::Imm(0), Word::Imm(1), Word::Imm(0)]);
        let failed = machine.and(failed, 0xffff_ffff);
        machine.note_packet_moved();
        let failed = machine.compare(CompareOp::Ne, failed, 0);
        machine.fail_if(failed, |machine| machine.fault(Fault::Memory));
        let now = field(machine, transport, start)?;
        let left = machine.compare(CompareOp::Eq, now, old);
        let (left, all) = machine.split(left);
        machine.resume(left);
        let partial = match pseudo {
            Some(pseudo) if machine.alive() => {
                let none = machine.compare(CompareOp::Eq, old, 0);
                let (none, some) = machine.split(none);
                machine.resume(some);
                let sum = machine.fold_sum(pseudo);
                let some = machine.take_state();
                machine.either(none, Word::Imm(0), some, sum)?
            }
            _ => old,
        };
        let left = machine.take_state();
        let paths = [(left, partial), (all, new)].map(|(state, word)| Path { state, values: vec![word] });
        new = machine.meet_word(paths.into())?;
    }
    let address = machine.known_address(start, transport.whole)?.plus(transport.sum.at as i16);
    machine.write_word(address, offset, Size::B2, new);
    Ok(())
}

/// The checksum of a header that was found, as it is in memory.
fn field<M: Machine>(machine: &mut M, transport: &Transport<M>, start: Word) -> Result<Word, M::Stop> {
    let address = machine.known_address(start, transport.whole)?.plus(transport.sum.at as i16);
    Ok(machine.load_at(address, Size::B2, false))
}
