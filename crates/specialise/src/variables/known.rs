//! What is known of the variables that packet code assigns.

use crate::value::{Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::forget_values;
use moonhook_snapshot::{CellId, TableId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What identifies a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VariableId {
    Cell(CellId),
    Field(TableId, Arc<[u8]>),
}

#[derive(Clone, Debug, Default)]
pub struct Variables {
    pub(super) known: Vec<(VariableId, BTreeSet<Variant>)>,
    pub(super) numbers: HashMap<VariableId, usize>,
    /// By table, the variables that are its fields.
    pub(super) fields: HashMap<TableId, Vec<usize>>,
    /// Values that were read from a variable.
    pub(super) loads: BTreeMap<ir::Value, usize>,
    /// By variable, values that were read from it, and values that are others by now.
    pub(super) loads_of: HashMap<usize, Vec<ir::Value>>,
    /// Values that are a value read from a variable plus something: the value read, and what was added if that is at hand.
    pub(super) additions: BTreeMap<ir::Value, (ir::Value, Option<Word>)>,
    /// Variables that may be nil and are added to, as all attempts have learned: their nil has payload 0.
    pub(super) summed: BTreeSet<usize>,
    /// Variables that this attempt gave a nil whose payload may be something else.
    pub(super) unclear: BTreeSet<usize>,
}

impl Variables {
    /// How many are known.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    pub(super) fn find(&self, id: &VariableId) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    pub(super) fn add(&mut self, id: VariableId, variants: BTreeSet<Variant>) -> usize {
        let index = self.known.len();
        if let VariableId::Field(table, _) = &id {
            self.fields.entry(*table).or_default().push(index);
        }
        self.numbers.insert(id.clone(), index);
        self.known.push((id, variants));
        index
    }

    /// Adds a variable of the script that a flow's function belongs to, which has this number there.
    pub fn add_given(&mut self, id: VariableId, variants: BTreeSet<Variant>) {
        self.add(id, variants);
    }

    /// What a variable can be.
    pub fn variants(&self, index: usize) -> &BTreeSet<Variant> {
        &self.known[index].1
    }

    /// Whether it is assigned at packet time.
    pub fn is_assigned(&self, id: &VariableId) -> bool {
        self.find(id).is_some()
    }

    /// Some variable is assigned at packet time.
    pub fn any(&self) -> bool {
        !self.known.is_empty()
    }

    /// Some field of the table is assigned at packet time.
    pub fn any_field_of(&self, table: TableId) -> bool {
        self.fields.contains_key(&table)
    }

    /// The names of the table's fields that are assigned at packet time.
    pub fn fields_of(&self, table: TableId) -> impl Iterator<Item = Arc<[u8]>> {
        let fields = self.fields.get(&table).into_iter().flatten();
        fields.filter_map(|index| match &self.known[*index].0 {
            VariableId::Field(_, name) => Some(name.clone()),
            VariableId::Cell(_) => None,
        })
    }

    /// Before a new attempt.
    pub fn start_over(&mut self) {
        self.forget_all_loads();
        self.additions.clear();
        self.unclear.clear();
    }

    pub(super) fn note_load(&mut self, value: ir::Value, index: usize) {
        self.loads.insert(value, index);
        self.loads_of.entry(index).or_default().push(value);
    }

    /// What was read of the variable is not what a later `x = x + n` adds to.
    pub(super) fn forget_loads(&mut self, index: usize) {
        for value in self.loads_of.remove(&index).unwrap_or_default() {
            if self.loads.get(&value) == Some(&index) {
                self.loads.remove(&value);
            }
        }
    }

    /// The same of all variables.
    pub fn forget_all_loads(&mut self) {
        self.loads.clear();
        self.loads_of.clear();
    }

    /// Forgets values from `count` on.
    pub fn forget_values(&mut self, count: u32) {
        forget_values(&mut self.loads, count, drop);
        forget_values(&mut self.additions, count, drop);
    }

    /// Notes that `sum` is `a + b`.
    pub fn note_addition(&mut self, sum: Word, a: Word, b: Word) {
        for (one, other) in [(a, b), (b, a)] {
            let added = |known: Option<Word>| match (known?, other) {
                (Word::Imm(0), other) => Some(other),
                (Word::Imm(x), Word::Imm(y)) => Some(Word::Imm(x.wrapping_add(y))),
                _ => None,
            };
            if self.note_change(sum, one, &added) {
                return;
            }
        }
    }

    /// Notes that `new` is `from` plus or less something; gives whether `from` came from a variable.
    pub(super) fn note_change(
        &mut self,
        new: Word,
        from: Word,
        added: &dyn Fn(Option<Word>) -> Option<Word>,
    ) -> bool {
        let (Word::Value(new), Word::Value(from)) = (new, from) else { return false };
        let known = match self.loads.contains_key(&from) {
            true => Some((from, Some(Word::Imm(0)))),
            false => self.additions.get(&from).copied(),
        };
        if let Some((load, before)) = known {
            self.additions.insert(new, (load, added(before)));
        }
        known.is_some()
    }
}
