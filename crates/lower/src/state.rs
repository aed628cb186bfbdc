//! The state of symbolic execution at one point of the program.

use crate::copy_on_write::CopyOnWrite;
use crate::fields::Made;
use crate::shared::assigned::Assignment;
use crate::stored::known::Found;
use crate::value::Identity;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_snapshot::TableId;
use std::collections::BTreeMap;

/// What a register holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Slot {
    /// Nothing that is read later.
    Dead,
    Direct(Abs),
    /// The variable is captured: its content is a cell of the state.
    Cell(u32),
}

/// Everything that code may depend on and change. Two states meet at a join ([`crate::join`]).
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// Where code is being appended; `None` after code that does not go on (an error).
    pub block: Option<ir::Block>,
    /// Registers of the function being executed; its callers' are kept by their own calls.
    pub registers: CopyOnWrite<Vec<Slot>>,
    /// Captured variables, and fields of tables, made at packet time.
    pub cells: CopyOnWrite<BTreeMap<u32, Abs>>,
    /// Tables made at packet time.
    pub tables: CopyOnWrite<BTreeMap<u32, Made>>,
    pub facts: Facts,
    /// Steps left.
    pub budget: Word,
    /// Bytes of the scratch region in use.
    pub scratch: Word,
    /// Where the next entries of a stored table that grows are put.
    pub heap: Word,
}

/// What is known of the packet. Each fact can be dropped: it only saves work.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// The frame has at least that many bytes, proved by a comparison of the packet's start with its end.
    pub length: u32,
    /// Pointers into the packet.
    pub pointers: CopyOnWrite<Vec<Pointer>>,
    /// Results of header walks: a key and its words. Dropped when the packet is written.
    pub parsed: CopyOnWrite<Vec<(&'static str, Vec<Word>)>>,
    /// The per-CPU scratch region's address, once looked up.
    pub region: Option<ir::Value>,
    /// The packet may have been written.
    pub written: bool,
    /// Entries of shared tables that were looked up and are not there.
    pub absent: CopyOnWrite<Vec<ir::Value>>,
    /// Entries of shared tables that were looked up.
    pub looked: CopyOnWrite<Vec<Looked>>,
    /// Assignments to shared tables on some way here: what was read before them is not what is there now. Unlike the other facts these
    /// must not be dropped.
    pub assigned: CopyOnWrite<Vec<Assignment>>,
    /// Keys of stored tables that were looked up.
    pub found: CopyOnWrite<Vec<Found>>,
}

/// What looking up a key of a shared table gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Looked {
    pub table: TableId,
    pub key: Identity,
    /// The entry's address, or 0.
    pub address: Word,
    pub zero: Zero,
    /// What was in the entry then, as far as it was copied ([`crate::shared`]).
    pub copy: Vec<Copied>,
}

/// A word or a string of an entry: its displacement, and what it was.
#[derive(Clone, PartialEq, Debug)]
pub struct Copied {
    pub disp: i16,
    pub value: Abs,
}

impl Looked {
    pub fn copied(&self, disp: i16) -> Option<&Abs> {
        self.copy.iter().find(|copied| copied.disp == disp).map(|copied| &copied.value)
    }

    /// A key that is equal to no other one, of what is held though its key may be another one by now.
    pub fn held_key(address: Word) -> Identity {
        vec![Abs::Nil, Abs::Int(address)]
    }

    /// Whether something of the entry is known in both.
    fn meets(&self, other: &Looked) -> bool {
        let one = (self.table, self.address, self.zero) == (other.table, other.address, other.zero);
        one && (self.key == other.key || self.copy.iter().any(|copied| other.copy.contains(copied)))
    }

    /// What is known in both of an entry that they meet in.
    fn intersect(&self, other: &Looked) -> Looked {
        let mut both = self.clone();
        both.copy.retain(|copied| other.copy.contains(copied));
        if self.key != other.key {
            both.key = Looked::held_key(self.address);
        }
        both
    }
}

/// What it says that an address is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Zero {
    /// It is not.
    Never,
    /// There is no such entry.
    Absent,
    /// Nothing.
    Unknown,
}

/// The packet's start plus `offset`, which is within 0 … 0xffff.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pointer {
    pub offset: ir::Value,
    pub address: ir::Value,
    /// The verifier knows the offset to be at most this. It is part of the address, and cannot be lowered later on.
    pub most: i64,
    /// Bytes that are proved to lie behind the offset.
    pub proved: u32,
}

impl Facts {
    /// The facts that hold in both.
    pub fn intersect(&self, other: &Facts) -> Facts {
        let pointer = |mine: &Pointer| {
            let theirs = other.pointers.iter().find(|p| p.address == mine.address)?;
            Some(Pointer { proved: theirs.proved.min(mine.proved), ..*mine })
        };
        let pointers = match self.pointers.is(&other.pointers) {
            true => self.pointers.clone(),
            false => self.pointers.iter().filter_map(pointer).collect(),
        };
        Facts {
            length: self.length.min(other.length),
            pointers,
            parsed: common(&self.parsed, &other.parsed),
            region: self.region.filter(|region| other.region == Some(*region)),
            written: self.written || other.written,
            absent: common(&self.absent, &other.absent),
            looked: match self.looked == other.looked {
                true => self.looked.clone(),
                false => {
                    let mut near = 0;
                    let mut both = |entry: &Looked| {
                        let other = find_near(&other.looked, &mut near, |other| entry.meets(other))?;
                        Some(entry.intersect(other))
                    };
                    self.looked.iter().filter_map(&mut both).collect()
                }
            },
            assigned: match self.assigned == other.assigned {
                true => self.assigned.clone(),
                false => Assignment::on_either(&self.assigned, &other.assigned).into(),
            },
            found: common(&self.found, &other.found),
        }
    }

    pub fn parsed(&self, key: &str) -> Option<&[Word]> {
        self.parsed.iter().find(|(k, _)| *k == key).map(|(_, words)| words.as_slice())
    }

    pub fn looked(&self, table: TableId, key: &Identity) -> Option<&Looked> {
        self.looked.iter().find(|looked| looked.table == table && looked.key == *key)
    }

    pub fn set_looked(&mut self, table: TableId, key: &Identity, address: Word, zero: Zero) {
        self.looked.retain(|looked| looked.table != table || looked.key != *key);
        self.looked.push(Looked { table, key: key.clone(), address, zero, copy: Vec::new() });
    }

    /// The entry with a key that was looked up is there.
    pub fn found_looked(&mut self, table: TableId, key: &Identity, address: Word) {
        match self.looked.iter_mut().find(|looked| looked.table == table && looked.key == *key) {
            Some(looked) => (looked.address, looked.zero) = (address, Zero::Never),
            None => self.set_looked(table, key, address, Zero::Never),
        }
    }

    pub fn pointer(&mut self, offset: ir::Value) -> Option<&mut Pointer> {
        self.pointers.iter_mut().find(|p| p.offset == offset)
    }
}

/// What stands in both lists, in the order of the first.
fn common<T: Clone + PartialEq>(
    mine: &CopyOnWrite<Vec<T>>,
    theirs: &CopyOnWrite<Vec<T>>,
) -> CopyOnWrite<Vec<T>> {
    if mine == theirs {
        return mine.clone();
    }
    let mut near = 0;
    mine.iter().filter(|one| find_near(theirs, &mut near, |other| other == *one).is_some()).cloned().collect()
}

/// The element that is wanted. Looks first behind the one found before: lists that had been one are much alike.
pub fn find_near<'a, T>(list: &'a [T], near: &mut usize, is_wanted: impl Fn(&T) -> bool) -> Option<&'a T> {
    let (before, behind) = list.split_at(*near);
    let place = behind.iter().position(&is_wanted).map(|place| place + before.len());
    let place = place.or_else(|| before.iter().position(&is_wanted))?;
    *near = place + 1;
    list.get(place)
}

impl State {
    pub fn alive(&self) -> bool {
        self.block.is_some()
    }
}
