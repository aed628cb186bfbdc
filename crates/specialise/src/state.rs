//! The state of symbolic execution at one point of the program.

use crate::fields::Made;
use crate::shared::assigned::Assignment;
use crate::stored::known::Found;
use crate::value::{Abs, Identity, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{CopyOnWrite, PathState, find_near};
use moonhook_packet::PacketState;
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

impl State {
    /// At the beginning of a function.
    pub fn at_entry(options: &crate::Options) -> State {
        State {
            block: Some(ir::Block(0)),
            registers: CopyOnWrite::default(),
            cells: CopyOnWrite::default(),
            tables: CopyOnWrite::default(),
            facts: Facts::default(),
            budget: Word::Imm(i64::from(options.budget)),
            scratch: Word::Imm(crate::region::STRINGS_START),
            heap: Word::Imm(0),
        }
    }
}

/// What is known beside the values of variables. Each fact can be dropped: it only saves work.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    pub packet: moonhook_packet::Facts,
    /// The per-CPU scratch region's address, once looked up.
    pub region: Option<ir::Value>,
    /// Entries of shared tables that were looked up and are not there.
    pub absent: CopyOnWrite<Vec<ir::Value>>,
    /// Entries of shared tables that were looked up.
    pub looked: CopyOnWrite<Vec<Looked>>,
    /// Assignments to shared tables on some path here: what was read before them is not what is there now. Unlike the other facts these
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

impl Facts {
    /// The facts that hold in both.
    pub fn intersect(&self, other: &Facts) -> Facts {
        Facts {
            packet: self.packet.intersect(&other.packet),
            region: self.region.filter(|region| other.region == Some(*region)),
            absent: self.absent.common(&other.absent),
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
            found: self.found.common(&other.found),
        }
    }

    pub fn looked(&self, table: TableId, key: &Identity) -> Option<&Looked> {
        self.looked.iter().find(|looked| looked.table == table && looked.key == *key)
    }

    pub fn set_looked(&mut self, table: TableId, key: &Identity, address: Word, zero: Zero) {
        self.looked.retain(|looked| looked.table != table || looked.key != *key);
        self.looked.push(Looked { table, key: key.clone(), address, zero, copy: Vec::new() });
    }

    /// What was looked up may have had another key. What was copied stays what the entries were; no key is equal to these.
    pub fn forget_keys(&mut self) {
        self.looked.retain(|looked| !looked.copy.is_empty());
        for looked in self.looked.iter_mut() {
            looked.key = Looked::held_key(looked.address);
        }
    }

    /// The entry with a key that was looked up is there.
    pub fn found_looked(&mut self, table: TableId, key: &Identity, address: Word) {
        match self.looked.iter_mut().find(|looked| looked.table == table && looked.key == *key) {
            Some(looked) => (looked.address, looked.zero) = (address, Zero::Never),
            None => self.set_looked(table, key, address, Zero::Never),
        }
    }
}

impl PathState for State {
    fn block(&self) -> Option<ir::Block> {
        self.block
    }

    fn set_block(&mut self, block: Option<ir::Block>) {
        self.block = block;
    }
}

impl PacketState for State {
    fn packet(&self) -> &moonhook_packet::Facts {
        &self.facts.packet
    }

    fn packet_mut(&mut self) -> &mut moonhook_packet::Facts {
        &mut self.facts.packet
    }
}
