//! Functions that load time alone calls: constructors that keep what they make, `add` of a list, what reads a file.
//!
//! They stand in the tables that handlers reach, beside those that handlers call. A first attempt at general code takes all of them. Where
//! something in them has no form at packet time, a second one leaves out the functions in fields whose names do not stand in the
//! reachable code, unless packet code may find them without a name ([`Accesses`]). What stands in their place is a function that raises
//! an error: it can be compared and kept, and is called only by code that finds it in a way that was not foreseen.

use moonhook_snapshot::{Snapshot, TableId};
use std::collections::BTreeSet;

/// The function that stands in the place of one that is left out.
pub const STAND_IN: &str = "prim.left_out";

/// How packet code gets at tables of load time otherwise than by names in the code, as far as that is known.
#[derive(Default)]
pub struct Accesses {
    /// Tables that may be traversed, or indexed by strings that are not constant.
    pub open: BTreeSet<TableId>,
    /// Tables that are not known may be.
    pub unknown: bool,
    /// Tables that may be what is not known: others hold them, or functions get them as values.
    pub given: BTreeSet<TableId>,
    /// Tables that are called.
    pub called: BTreeSet<TableId>,
    /// Metatables of tables that packet code makes.
    pub metatables: BTreeSet<TableId>,
    /// Any table may be one.
    pub any_metatable: bool,
}

impl Accesses {
    /// It grows with what is reached.
    pub fn size(&self) -> usize {
        let sets = [&self.open, &self.given, &self.called, &self.metatables];
        let flags = usize::from(self.unknown) + usize::from(self.any_metatable);
        sets.iter().map(|set| set.len()).sum::<usize>() + flags
    }

    pub fn add(&mut self, others: Accesses) {
        self.open.extend(others.open);
        self.unknown |= others.unknown;
        self.given.extend(others.given);
        self.called.extend(others.called);
        self.metatables.extend(others.metatables);
        self.any_metatable |= others.any_metatable;
    }

    /// Whether the function in a field can be left out if its name does not stand in the code; `reached` are the tables that handlers
    /// reach. Events other than calls happen wherever an operator stands.
    pub fn leave_out(
        &self,
        snapshot: &Snapshot,
        reached: &BTreeSet<TableId>,
        id: TableId,
        name: &[u8],
    ) -> bool {
        match name {
            b"__call" => {
                let mut owners = reached.iter().filter(|table| snapshot.table(**table).metatable == Some(id));
                let is_packets = self.any_metatable || self.metatables.contains(&id);
                !(is_packets || self.given.contains(&id))
                    && owners.all(|owner| !self.given.contains(owner) && !self.called.contains(owner))
            }
            name if name.starts_with(b"__") => false,
            _ => !(self.open.contains(&id) || self.unknown && self.given.contains(&id)),
        }
    }
}
