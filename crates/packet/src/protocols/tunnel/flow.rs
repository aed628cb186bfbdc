//! The source port of tunnels over UDP (RFC 7348 § 5, RFC 6335 § 6): the same for all packets of a flow, in both directions, so that the
//! network can tell flows apart.

use super::super::network::{self, IPV4, IPV6, Part};
use crate::{Access, Machine};
use moonhook_ir::words::Word;
use moonhook_ir::{BinaryOp, CompareOp, Size, UnaryOp};

/// The least of them.
pub const LEAST: i64 = 0xc000;

/// As many there are, less one.
const MASK: i64 = 0x3fff;

/// Numbers of protocols whose headers begin with two ports.
const WITH_PORTS: [i64; 2] = [6, 17];

/// Of the IP packet with these words: the exclusive or of the words of 16 bits of its addresses, and of the ports of TCP and UDP.
pub fn port<M: Machine>(machine: &mut M, words: &[Word]) -> Result<Word, M::Stop> {
    let mut paths = Vec::new();
    let start = words[Part::Start as usize];
    for (state, version) in network::by_version(machine, words) {
        machine.resume(state);
        if machine.alive() {
            let places = if version == 4 { (IPV4, Size::B4, 12..20) } else { (IPV6, Size::B8, 8..40) };
            let mixed = mixed(machine, start, places)?;
            paths.push(machine.take_path(vec![mixed]));
        }
    }
    let addresses = machine.meet_word(paths)?;
    let ports = ports(machine, words)?;
    let mixed = machine.binary(BinaryOp::Xor, addresses, ports);
    let mixed = folded(machine, mixed, 16);
    let mixed = machine.and(mixed, 0xffff);
    let mixed = machine.unary(UnaryOp::Swap16, mixed);
    let mixed = machine.and(mixed, MASK);
    Ok(machine.add(mixed, LEAST))
}

/// The exclusive or of the words of 32 bits of these bytes of a header, as they are in memory, above which there may be others.
fn mixed<M: Machine>(
    machine: &mut M,
    start: Word,
    (whole, size, range): (u32, Size, std::ops::Range<i16>),
) -> Result<Word, M::Stop> {
    let address = machine.known_address(start, whole)?;
    let mut mixed = Word::Imm(0);
    for at in range.step_by(size as usize) {
        let word = machine.load_at(address.plus(at), size, false);
        mixed = machine.binary(BinaryOp::Xor, mixed, word);
    }
    Ok(if size == Size::B8 { folded(machine, mixed, 32) } else { mixed })
}

fn folded<M: Machine>(machine: &mut M, word: Word, bits: i64) -> Word {
    let high = machine.shr(word, bits);
    machine.binary(BinaryOp::Xor, word, high)
}

/// The first four bytes behind the IP header as they are in memory, where they are ports; else 0.
fn ports<M: Machine>(machine: &mut M, words: &[Word]) -> Result<Word, M::Stop> {
    let mut others = Vec::new();
    let later = machine.compare(CompareOp::Ne, words[Part::FragmentOffset as usize], 0);
    machine.leave_if(later, &mut others);
    let mut right = Vec::new();
    for number in WITH_PORTS {
        let is = machine.compare(CompareOp::Eq, words[Part::Protocol as usize], number);
        machine.leave_if(is, &mut right);
    }
    others.push(machine.take_state());
    machine.enter(right)?;
    let mut paths = Vec::new();
    if machine.alive() {
        let (address, outside) = machine.locate(words[Part::Next as usize], 4)?;
        others.extend(outside);
        let ports = machine.load_at(address, Size::B4, false);
        paths.push(machine.take_path(vec![ports]));
    }
    machine.enter(others)?;
    paths.push(machine.take_path(vec![Word::Imm(0)]));
    machine.meet_word(paths)
}
