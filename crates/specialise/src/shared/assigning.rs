//! Taking note of assignments to entries.

use super::assigned::{Assigned, Assignment, MOST, add};
use crate::context::Context;
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// Notes that words of the table have been assigned, in the current state.
    pub fn forget_words(&mut self, table: TableId, words: Assigned) {
        if self.code.loop_start > 0 {
            return self.known.shared.additions.forget_words(table, &words);
        }
        let at = self.code.function.value_count;
        let assigned = &mut self.state.facts.assigned;
        let of_table = assigned.iter().filter(|assignment| assignment.table == table).count();
        let words = if of_table < MOST { words } else { Assigned::All };
        if words == Assigned::All {
            assigned.retain(|assignment| assignment.table != table);
        }
        add(assigned, Assignment { table, words, at });
    }
}
