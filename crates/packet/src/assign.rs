//! Assigning fields: bits of the frame, and the checksums over them.
//!
//! A checksum is changed by the difference of what it covers (RFC 1624, equation 3), so that one that was wrong stays wrong, and a packet
//! of which the frame has only the beginning is right. Where the kernel may have left the checksum to the network card, a
//! helper of the kernel changes it ([`moonhook_hook::Checksums`]).

use crate::machine::PacketState;
use crate::{Access, ChangedSum, Fault, Machine, Value};
use moonhook_hook::Checksums;
use moonhook_ir::words::{CopyOnWrite, Path, PathState, Word, WordPaths};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// What a field can be assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// An integer from 0 on, of so many bits.
    Number(u32),
    /// Any integer.
    Integer,
    Flag,
    Mac,
    /// An address of the packet's IP version.
    Address,
    Ipv4,
    /// A string of any length. The row is given its length and makes room for it; what the field is then is where its bytes go, and the
    /// packet's checksums are computed anew ([`crate::protocols::fix_checksums`]).
    Text,
}

/// The states in which a field was not assigned.
#[derive(Debug)]
pub struct Refused<S> {
    /// The packet has no such field.
    pub absent: Vec<S>,
    /// The value is none for the field.
    pub unfit: Vec<S>,
    /// The kernel has not made the packet as long, or as short.
    pub longer: Vec<S>,
    pub shorter: Vec<S>,
    /// The kernel has not made room for it.
    pub room: Vec<S>,
}

impl<S> Default for Refused<S> {
    fn default() -> Self {
        Refused {
            absent: Vec::new(),
            unfit: Vec::new(),
            longer: Vec::new(),
            shorter: Vec::new(),
            room: Vec::new(),
        }
    }
}

/// Where a header starts, and how many bytes of it are known to be in the frame.
#[derive(Clone, Copy)]
pub struct Header {
    pub start: Word,
    pub whole: u32,
}

/// Bits of a header: `bits` of them, from bit `shift` on, of the big-endian word of `size` bytes that stands `at` bytes behind its start.
#[derive(Clone, Copy)]
pub struct Place {
    pub at: i64,
    pub size: Size,
    pub shift: i64,
    pub bits: u32,
}

impl Place {
    /// All of a word.
    pub const fn word(at: i64, size: Size) -> Place {
        Place { at, size, shift: 0, bits: 8 * size as u32 }
    }

    pub const fn part(at: i64, size: Size, shift: i64, bits: u32) -> Place {
        Place { at, size, shift, bits }
    }

    /// One bit of a byte.
    pub const fn flag(at: i64, shift: i64) -> Place {
        Place::part(at, Size::B1, shift, 1)
    }
}

/// By how much the words of a header have grown, as they are in memory: a number that is congruent to the difference of their sums of 16
/// bits, since 2^16 is 1 modulo 0xffff, and more than `-bias`.
#[derive(Clone, Copy)]
pub struct Change {
    difference: Word,
    /// A multiple of 0xffff.
    bias: i64,
}

/// A checksum in a transport header.
#[derive(Clone, Copy)]
pub struct Sum {
    pub at: i64,
    /// 0 stands for none (UDP, RFC 768).
    pub may_be_none: bool,
}

/// What of a packet has changed that a transport checksum covers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Covered {
    /// Bytes of the transport header.
    Header,
    /// Addresses of the IP header, version 4 or 6 (the pseudo header).
    Addresses(u32),
}

/// Numbers that checksums are made of are below that, where a sum of 16 bits is made of them in three turns.
const MOST: i64 = 1 << 40;

/// The words of a checksum where there is none.
const NO_SUM: [Word; 2] = [Word::Imm(0), Word::Imm(0)];

/// Flags of `bpf_l4_csum_replace`.
const PSEUDO_HEADER: i64 = 1 << 4;
const MARK_MANGLED_0: i64 = 1 << 5;
const IPV6: i64 = 1 << 7;

/// Writing fields.
pub trait Assign: Access {
    /// Writes bits of a header, which is in the frame.
    fn put(&mut self, header: Header, place: Place, value: Word) -> Result<Change, Self::Stop> {
        let Place { at, size, shift, bits } = place;
        let address = self.known_address(header.start, header.whole)?.plus(at as i16);
        let old = self.load_at(address, size, false);
        let mut word = value;
        if i64::from(bits) < 8 * size as i64 {
            let before = self.host_order(old, size);
            let mask = ((1 << bits) - 1) << shift;
            let others = self.and(before, !mask);
            let own = self.shl(value, shift);
            word = self.binary(BinaryOp::Or, others, own);
        }
        let new = self.host_order(word, size);
        let offset = self.add(header.start, at);
        let sums = self.state().packet().sums.clone();
        self.write_word(address, offset, size, new);
        let end = at + size as i64;
        let is_other = |sum: &ChangedSum| sum.start != header.start || sum.at + 2 <= at || sum.at >= end;
        self.keep_sums(sums, is_other);
        Ok(self.change(old, new, size, at))
    }

    /// Writes a MAC address, `at` bytes behind a header's start.
    fn put_mac(&mut self, header: Header, at: i64, word: Word) -> Result<(), Self::Stop> {
        let high = self.shr(word, 16);
        self.put(header, Place::word(at, Size::B4), high)?;
        self.put(header, Place::word(at + 4, Size::B2), word)?;
        Ok(())
    }

    /// What it means for a checksum that `old` at a header's byte `at` is `new` now; both as they are in memory.
    fn change(&mut self, old: Word, new: Word, size: Size, at: i64) -> Change {
        match size {
            Size::B1 => {
                let new = self.and(new, 0xff);
                let difference = self.sub(new, old);
                // The first byte of a word in memory is its low half.
                let difference = self.shl(difference, 8 * (at & 1));
                Change { difference, bias: 0xffff }
            }
            Size::B2 => {
                let new = self.and(new, 0xffff);
                Change { difference: self.sub(new, old), bias: 0xffff }
            }
            Size::B4 => {
                let new = self.and(new, 0xffff_ffff);
                Change { difference: self.sub(new, old), bias: 0xffff_ffff }
            }
            Size::B8 => {
                let [new, old] = [new, old].map(|word| self.halves(word));
                Change { difference: self.sub(new, old), bias: 2 * 0xffff_ffff }
            }
        }
    }

    fn both(&mut self, a: Change, b: Change) -> Change {
        Change { difference: self.add(a.difference, b.difference), bias: a.bias + b.bias }
    }

    /// The sum of 16 bits of a number that is at most that: of one that is not 0, from 1 to 0xffff.
    fn folded(&mut self, sum: Word, most: i64) -> Word {
        // A turn makes a number of 32 bits one of at most 0x1fffe, and that at most 0xffff.
        let turns = if most < 1 << 32 { 2 } else { 3 };
        (0..turns).fold(sum, |sum, _| {
            let (high, low) = (self.shr(sum, 16), self.and(sum, 0xffff));
            self.add(low, high)
        })
    }

    /// Changes a checksum that the header has itself; gives what it is made of now.
    fn fix(&mut self, header: Header, sum: Sum, change: Change) -> Result<ChangedSum, Self::Stop> {
        let address = self.known_address(header.start, header.whole)?.plus(sum.at as i16);
        let sums = self.state().packet().sums.clone();
        let is_it = |known: &ChangedSum| known.start == header.start && known.at == sum.at;
        let known = sums.iter().copied().find(|known| is_it(known) && known.most + 2 * change.bias < MOST);
        let (before, most, exists) = match known {
            Some(known) => (known.total, known.most, known.exists),
            None => {
                let old = self.load_at(address, Size::B2, false);
                // ~old is 0xffff - old; another 0xffff keeps the sum from being 0.
                (self.sub(2 * 0xffff, old), 2 * 0xffff, old)
            }
        };
        let mut none = Vec::new();
        if sum.may_be_none {
            let is_none = self.compare(CompareOp::Eq, exists, 0);
            self.leave_if(is_none, &mut none);
        }
        let total = self.add(before, change.bias);
        let total = self.add(total, change.difference);
        let most = most + 2 * change.bias;
        let mut folded = self.folded(total, most);
        if sum.may_be_none {
            // 0xffff becomes 0, so that what is written is not 0.
            let beyond = self.add(folded, 1);
            let beyond = self.shr(beyond, 16);
            let around = self.add(folded, beyond);
            folded = self.and(around, 0xffff);
        }
        let new = self.binary(BinaryOp::Xor, folded, 0xffff);
        let offset = self.add(header.start, sum.at);
        self.write_word(address, offset, Size::B2, new);
        let mut paths: WordPaths<Self> =
            none.into_iter().map(|state| Path { state, values: NO_SUM.to_vec() }).collect();
        paths.push(self.take_path(vec![total, Word::Imm(1)]));
        let words = self.meet(paths)?;
        let [total, exists] = words.as_deref().and_then(|words| words.try_into().ok()).unwrap_or(NO_SUM);
        self.keep_sums(sums, |known| !is_it(known));
        let changed = ChangedSum { start: header.start, at: sum.at, total, exists, most };
        self.state_mut().packet_mut().sums.push(changed);
        Ok(changed)
    }

    /// The current state, or two where its last change has left open whether there is a checksum: nothing stands between that change and
    /// the choice, so that paths which know go past it (`passes`, `thread.rs`).
    fn apart_by_sum(&mut self, header: Header, sum: Sum) -> Vec<Self::State> {
        let is_it = |known: &&ChangedSum| known.start == header.start && known.at == sum.at;
        let known = self.state().packet().sums.iter().find(is_it).copied();
        let Some(known) = known.filter(|known| matches!(known.exists, Word::Value(_))) else {
            return vec![self.take_state()];
        };
        let is_none = self.compare(CompareOp::Eq, known.exists, 0);
        let (without, with) = self.split(is_none);
        let known_to = |mut state: Self::State, exists: Word| {
            let sums = state.packet().sums.iter();
            let sums = sums.map(|sum| if *sum == known { ChangedSum { exists, ..known } } else { *sum });
            state.packet_mut().sums = sums.collect();
            state
        };
        vec![known_to(without, Word::Imm(0)), known_to(with, Word::Imm(1))]
    }

    /// Enters the join of states with the checksums that were changed on the way to each. Where a state has not changed one that another has, it
    /// lacks the header with it.
    fn enter_with_sums(&mut self, states: Vec<(Self::State, Vec<ChangedSum>)>) -> Result<(), Self::Stop> {
        let is = |a: &ChangedSum, b: &ChangedSum| a.start == b.start && a.at == b.at;
        let mut all: Vec<ChangedSum> = Vec::new();
        for sum in states.iter().filter(|(state, _)| state.alive()).flat_map(|(_, sums)| sums) {
            match all.iter_mut().find(|known| is(known, sum)) {
                Some(known) => known.most = known.most.max(sum.most),
                None => all.push(*sum),
            }
        }
        let words = |sums: &[ChangedSum], wanted: &ChangedSum| {
            sums.iter().find(|sum| is(sum, wanted)).map_or(NO_SUM, |sum| [sum.total, sum.exists])
        };
        let path = |(state, sums): (Self::State, Vec<ChangedSum>)| {
            let values = all.iter().flat_map(|wanted| words(&sums, wanted)).collect();
            Path { state, values }
        };
        let paths = states.into_iter().map(path).collect();
        let met = self.meet(paths)?.unwrap_or_default();
        for (sum, [total, exists]) in all.into_iter().zip(met.as_chunks().0) {
            let known = &mut self.state_mut().packet_mut().sums;
            known.retain(|known| !is(known, &sum));
            known.push(ChangedSum { total: *total, exists: *exists, ..sum });
        }
        Ok(())
    }

    /// Has these checksums known again, but for those that were written over.
    fn keep_sums(&mut self, sums: CopyOnWrite<Vec<ChangedSum>>, stays: impl Fn(&ChangedSum) -> bool) {
        let known = &mut self.state_mut().packet_mut().sums;
        *known = sums;
        if !known.iter().all(&stays) {
            known.retain(stays);
        }
    }

    /// Changes the checksum of a transport header; gives what it is made of now, as far as that is known.
    fn fix_transport(
        &mut self,
        header: Header,
        sum: Sum,
        covered: Covered,
        change: Change,
    ) -> Result<Option<ChangedSum>, Self::Stop> {
        if !self.alive() {
            return Ok(None);
        }
        let Checksums::Helper(helper) = self.hook().checksums else {
            return self.fix(header, sum, change).map(Some);
        };
        let mut difference = self.add(change.difference, change.bias);
        for _ in 0..if change.bias <= 4 * 0xffff { 0 } else { 2 } {
            let (high, low) = (self.shr(difference, 32), self.and(difference, 0xffff_ffff));
            difference = self.add(low, high);
        }
        let none = if sum.may_be_none { MARK_MANGLED_0 } else { 0 };
        let flags = none | if covered == Covered::Header { 0 } else { PSEUDO_HEADER };
        let context = self.program_context();
        let place = self.add(header.start, sum.at);
        let arguments = |flags| [context, place, Word::Imm(0), difference, Word::Imm(flags)];
        let mut failed = if covered == Covered::Addresses(6) {
            // Kernels before 6.16 do not know the flag and take none that they do not know.
            let failed = self.helper(helper, &arguments(flags | IPV6));
            let unknown = self.compare(CompareOp::Ne, failed, 0);
            let (unknown, done) = self.split(unknown);
            self.resume(unknown);
            self.make_cold();
            let again = self.helper(helper, &arguments(flags));
            let unknown = self.take_state();
            self.either(unknown, again, done, Word::Imm(0))?
        } else {
            self.helper(helper, &arguments(flags))
        };
        failed = self.and(failed, 0xffff_ffff);
        self.note_packet_moved();
        let failed = self.compare(CompareOp::Ne, failed, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Memory));
        Ok(None)
    }
}

impl<M: Machine> Assign for M {}

/// The word of a value that fits one.
pub fn word_of(value: Value) -> Option<Word> {
    match value {
        Value::Number(word) | Value::Flag(word) | Value::Ipv4(word) | Value::Mac(word) => Some(word),
        Value::Nothing | Value::Header(_) | Value::Text(_) | Value::Ipv6(..) => None,
        Value::Bytes { .. } | Value::Name { .. } => None,
    }
}
