//! What TCP, UDP and ICMP have in common: they follow an IP header, whole or first fragment, of their protocol number.

use super::header::{Headers, Parsing, absent};
use super::network::{self, Part};
use crate::assign::{Assign, Covered, Header, Place, Sum, word_of};
use crate::{Access, Machine, PacketState, Value};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Address, Word, WordPaths};

/// Finds the header of a protocol: where it starts, with the current state there, and where `header` bytes of it are in
/// the frame. Paths on which there is none are added to `paths`. `numbers` are its protocol numbers under IPv4 and IPv6.
pub fn locate<M: Machine>(
    machine: &mut M,
    numbers: [i64; 2],
    header: u32,
    paths: &mut WordPaths<M>,
) -> Result<Option<(Word, Address)>, M::Stop> {
    // Each path to an IP header decides by itself whether it goes on, so that most know what they compare.
    let (headers, none) = machine.found_apart("ip", network::parse)?;
    paths.extend(absent(none));
    let mut right = Vec::new();
    for state in headers {
        machine.resume(state);
        if let Some(words) = machine.state().packet().parsed_here("ip").map(<[Word]>::to_vec) {
            follow(machine, &words, numbers, paths)?;
            right.push(machine.take_state());
        }
    }
    machine.enter(right)?;
    let next = |words: &[Word]| words[Part::Next as usize];
    let Some(start) = machine.alive().then(|| machine.state().packet().parsed_here("ip").map(next)).flatten()
    else {
        return Ok(None);
    };
    let (address, outside) = machine.locate(start, header)?;
    paths.extend(absent(outside));
    Ok(machine.alive().then_some((start, address)))
}

/// Goes on where the protocol's header follows an IP header with these words.
fn follow<M: Machine>(
    machine: &mut M,
    words: &[Word],
    numbers: [i64; 2],
    paths: &mut WordPaths<M>,
) -> Result<(), M::Stop> {
    let number = words[Part::Protocol as usize];
    if numbers[0] == numbers[1] {
        let other = machine.compare(CompareOp::Ne, number, numbers[0]);
        let (other, same) = machine.split(other);
        paths.extend(absent([other]));
        machine.resume(same);
    } else {
        let mut right = Vec::new();
        for ((state, _), wanted) in network::by_version(machine, words).into_iter().zip(numbers) {
            machine.resume(state);
            let other = machine.compare(CompareOp::Ne, number, wanted);
            let (other, same) = machine.split(other);
            paths.extend(absent([other]));
            right.push(same);
        }
        machine.enter(right)?;
    }
    let later = machine.compare(CompareOp::Ne, words[Part::FragmentOffset as usize], 0);
    let (later, first) = machine.split(later);
    paths.extend(absent([later]));
    machine.resume(first);
    Ok(())
}

/// How a transport header is found: its name, and how it is parsed.
pub type Parser<M> = (&'static str, fn(&mut M) -> Parsing<M>);

/// Assigns bits of a transport header that is there, and changes its checksum.
pub fn assign<M: Machine>(
    machine: &mut M,
    parser: Parser<M>,
    (whole, sum): (u32, Sum),
    place: Place,
    value: Value,
) -> Result<(), M::Stop> {
    let words = machine.known_header(parser.0, parser.1)?;
    let header = Header { start: words[1], whole };
    let Some(word) = word_of(value) else { return Ok(()) };
    let mut done = Vec::new();
    for state in machine.apart_by_sum(header, sum) {
        machine.resume(state);
        if machine.alive() {
            let change = machine.put(header, place, word)?;
            let changed = machine.fix_transport(header, sum, Covered::Header, change)?;
            done.push((machine.take_state(), Vec::from_iter(changed)));
        }
    }
    machine.enter_with_sums(done)
}

/// Assigns bits of a transport header that is there, and nothing else.
pub fn write<M: Machine>(
    machine: &mut M,
    parser: Parser<M>,
    whole: u32,
    place: Place,
    value: Value,
) -> Result<(), M::Stop> {
    let words = machine.known_header(parser.0, parser.1)?;
    if let Some(word) = word_of(value) {
        machine.put(Header { start: words[1], whole }, place, word)?;
    }
    Ok(())
}
