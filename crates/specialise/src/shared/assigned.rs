//! What assignments make of what was read before: it is not what a later addition adds to, and a key that was not there may be.
//!
//! Outside of loops an assignment is a fact of the paths behind it ([`Assignment`]): what one branch assigns is nothing to the other
//! one. Inside a loop what it ends is forgotten for all code that is executed from then on, which is behind it in some turn.

use super::additions::{Additions, At, Load};
use crate::value::Identity;
use crate::value::{Abs, Word};
use moonhook_snapshot::TableId;

/// Assignments of one table that are told apart, at most.
pub(super) const MOST: usize = 16;

/// What is assigned.
#[derive(Clone, PartialEq, Debug)]
pub enum Assigned {
    /// Any word of the table.
    All,
    /// The value, of one word, of the entry with that key.
    Value(Identity),
    /// So many bytes from a displacement on, in some entry.
    Field(i16, usize),
}

impl Assigned {
    /// Whether a word may be assigned that was read so.
    fn is_of(&self, load: &Load, at: At) -> bool {
        match (self, &load.key, at) {
            (Assigned::Value(key), Some(own), _) => !surely_differ(key, own),
            (Assigned::Field(disp, size), None, At::Place(own)) => {
                let (own, first) = (i32::from(own.disp), i32::from(*disp));
                own >= first && own < first + *size as i32
            }
            (Assigned::Value(_), None, _) | (Assigned::Field(..), Some(_), _) => false,
            _ => true,
        }
    }
}

/// An assignment on the path here.
#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    pub(super) table: TableId,
    pub(super) words: Assigned,
    /// The number of the first value that can have been read afterwards.
    pub(super) at: u32,
}

impl Assignment {
    /// Whether a word that was read so, at the value numbered `since`, may have been assigned after that.
    pub(super) fn is_of(&self, since: u32, load: &Load, at: At) -> bool {
        self.table == load.table && since < self.at && self.words.is_of(load, at)
    }

    /// Whether what a lookup has not found may be there by now.
    pub(super) fn ends_lookup(&self, table: TableId, since: u32) -> bool {
        self.table == table && since < self.at && !matches!(self.words, Assigned::Field(..))
    }

    /// The assignments on either of two paths that meet.
    pub fn on_either(mine: &[Assignment], theirs: &[Assignment]) -> Vec<Assignment> {
        let mut all = mine.to_vec();
        theirs.iter().for_each(|assignment| add(&mut all, assignment.clone()));
        all
    }
}

pub(super) fn add(all: &mut Vec<Assignment>, new: Assignment) {
    let same = |known: &&mut Assignment| known.table == new.table && known.words == new.words;
    match all.iter_mut().find(same) {
        Some(known) => known.at = known.at.max(new.at),
        None => all.push(new),
    }
}

impl Additions {
    /// What was read of these words of the table is not what a later addition adds to.
    pub(super) fn forget_words(&mut self, table: TableId, words: &Assigned) {
        let Additions { loads, sums, of_table, .. } = self;
        let Some(of) = of_table.get_mut(&table) else { return };
        of.sums.retain(|value| {
            let Some(sums) = sums.get_mut(value) else { return false };
            sums.retain(|sum| loads[sum.load].table != table || !words.is_of(&loads[sum.load], sum.at));
            sums.iter().any(|sum| loads[sum.load].table == table)
        });
        if !matches!(words, Assigned::Field(..)) {
            of.lookups.clear();
        }
    }
}

/// Whether two keys are constants that differ.
fn surely_differ(a: &Identity, b: &Identity) -> bool {
    match (a.as_slice(), b.as_slice()) {
        ([Abs::Int(Word::Imm(a))], [Abs::Int(Word::Imm(b))]) => a != b,
        _ => false,
    }
}
