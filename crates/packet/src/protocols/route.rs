//! Where the kernel would send a packet on: its forwarding tables (`bpf_fib_lookup`, `struct bpf_fib_lookup` of include/uapi/linux/bpf.h).

use super::header::Headers;
use super::metadata;
use super::network::{self, IPV4, IPV6, Part};
use crate::{Access, Machine};
use moonhook_ir::words::{Address, Path, Word};
use moonhook_ir::{CompareOp, Size, Value};

/// Bytes of the structure.
pub const PARAMETERS: u32 = 64;
/// Places in it.
const FAMILY: i16 = 0;
const PROTOCOL: i16 = 1;
const LENGTH: i16 = 6;
const INTERFACE: i16 = 8;
/// The type of service under IPv4, the header's first word but for the version under IPv6.
const CLASS: i16 = 12;
const SOURCE: i16 = 16;
const DESTINATION: i16 = 32;
const SOURCE_MAC: i16 = 52;
const DESTINATION_MAC: i16 = 58;

/// `AF_INET`, `AF_INET6`.
const FAMILIES: [i64; 2] = [2, 10];

/// Bits of an IPv6 header's first word that are no version, as they are loaded.
const CLASS_AND_FLOW: i64 = 0x0fff_ffff_u32.swap_bytes() as i64;

/// What the helper gives (`BPF_FIB_LKUP_RET_…`) where the packet cannot be sent on.
const PROBLEMS: [(i64, &str); 8] = [
    (1, "blackhole"),
    (2, "unreachable"),
    (3, "prohibited"),
    (4, "not forwarded"),
    (5, "forwarding is off"),
    (6, "tunnel"),
    (7, "no neighbour"),
    (8, "too long"),
];
const NO_HEADER: &str = "no IP header";
const NO_ROUTE: &str = "no route";

/// What came of a lookup.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Routed {
    /// The interface's number, and the MAC addresses of the next hop and of that interface.
    Found { interface: Word, to: Word, from: Word },
    /// Why there is no way.
    Not(&'static str),
}

/// One path for each way in which a lookup can end. `at` is the address of [`PARAMETERS`] bytes of memory; `helper` is the one that looks up,
/// without which every packet goes out by interface 1.
pub fn route<M: Machine>(
    machine: &mut M,
    helper: Option<u32>,
    at: Value,
) -> Result<Vec<Path<M::State, Routed>>, M::Stop> {
    let (state, words, absent) = machine.found("ip", network::parse)?;
    let not = |why| move |state| Path { state, values: Routed::Not(why) };
    let mut paths: Vec<_> = absent.into_iter().map(not(NO_HEADER)).collect();
    machine.resume(state);
    let Some(helper) = helper else {
        let none = Word::Imm(0);
        if machine.alive() {
            paths.push(machine.take_path(Routed::Found { interface: Word::Imm(1), to: none, from: none }));
        }
        return Ok(paths);
    };
    if !machine.alive() {
        return Ok(paths);
    }
    fill(machine, &words, at)?;
    if !machine.alive() {
        return Ok(paths);
    }
    let context = machine.program_context();
    let found = machine.helper(helper, &[context, at.into(), i64::from(PARAMETERS).into(), Word::Imm(0)]);
    let found = machine.and(found, 0xffff_ffff);
    for (number, why) in PROBLEMS {
        let is = machine.compare(CompareOp::Eq, found, number);
        let (is, other) = machine.split(is);
        paths.push(not(why)(is));
        machine.resume(other);
    }
    let other = machine.compare(CompareOp::Ne, found, 0);
    let (other, done) = machine.split(other);
    paths.push(not(NO_ROUTE)(other));
    machine.resume(done);
    if machine.alive() {
        let interface = machine.load(at, INTERFACE, Size::B4, false);
        let (to, from) = (destination_mac(machine, at), source_mac(machine, at));
        paths.push(machine.take_path(Routed::Found { interface, to, from }));
    }
    Ok(paths)
}

/// Writes what is known of the packet.
fn fill<M: Machine>(machine: &mut M, words: &[Word], at: Value) -> Result<(), M::Stop> {
    for word in 0..PARAMETERS as i16 / 8 {
        machine.store(at, 8 * word, Size::B8, 0);
    }
    if let Some(interface) = metadata::number(machine, "ifindex") {
        machine.store(at, INTERFACE, Size::B4, interface);
    }
    machine.store(at, PROTOCOL, Size::B1, words[Part::Protocol as usize]);
    let mut filled = Vec::new();
    let versions = network::by_version(machine, words);
    for (((state, _), family), whole) in versions.into_iter().zip(FAMILIES).zip([IPV4, IPV6]) {
        machine.resume(state);
        if !machine.alive() {
            continue;
        }
        machine.store(at, FAMILY, Size::B1, family);
        let (header, outside) = machine.locate(words[Part::Start as usize], whole)?;
        machine.fail_in(outside, |machine| {
            machine.fault(crate::Fault::HeaderGone);
            Ok(())
        })?;
        if machine.alive() {
            if whole == IPV4 {
                ipv4(machine, header, at)
            } else {
                ipv6(machine, header, at)
            }
            filled.push(machine.take_state());
        }
    }
    machine.enter(filled)
}

fn ipv4<M: Machine>(machine: &mut M, header: Address, at: Value) {
    let class = machine.load_at(header.plus(1), Size::B1, false);
    machine.store(at, CLASS, Size::B1, class);
    length(machine, header.plus(2), 0, at);
    for (from, to) in [(12, SOURCE), (16, DESTINATION)] {
        let address = machine.load_at(header.plus(from), Size::B4, false);
        machine.store(at, to, Size::B4, address);
    }
}

fn ipv6<M: Machine>(machine: &mut M, header: Address, at: Value) {
    let class = machine.load_at(header, Size::B4, false);
    let class = machine.and(class, CLASS_AND_FLOW);
    machine.store(at, CLASS, Size::B4, class);
    length(machine, header.plus(4), IPV6.into(), at);
    for (from, to) in [(8, SOURCE), (16, SOURCE + 8), (24, DESTINATION), (32, DESTINATION + 8)] {
        let half = machine.load_at(header.plus(from), Size::B8, false);
        machine.store(at, to, Size::B8, half);
    }
}

/// The packet's length, by which the kernel sees whether it is too long for the way. Where packets can be longer than what is sent, the kernel
/// looks at what it knows of them instead.
fn length<M: Machine>(machine: &mut M, from: Address, more: i64, at: Value) {
    if machine.hook().pull().is_some() {
        return;
    }
    let length = machine.load_at(from, Size::B2, false);
    let length = machine.host_order(length, Size::B2);
    let length = machine.add(length, more);
    machine.store(at, LENGTH, Size::B2, length);
}

/// The sender's MAC address, which begins at a multiple of 4.
fn source_mac<M: Machine>(machine: &mut M, at: Value) -> Word {
    let [above, below] = [(SOURCE_MAC, Size::B4), (SOURCE_MAC + 4, Size::B2)].map(|(place, size)| {
        let word = machine.load(at, place, size, false);
        machine.host_order(word, size)
    });
    let above = machine.shl(above, 16);
    machine.add(above, below)
}

/// The next hop's MAC address, which ends at a multiple of 8.
fn destination_mac<M: Machine>(machine: &mut M, at: Value) -> Word {
    let whole = machine.load(at, DESTINATION_MAC - 2, Size::B8, false);
    let below = machine.shr(whole, 16);
    let whole = machine.host_order(below, Size::B8);
    machine.shr(whole, 16)
}
