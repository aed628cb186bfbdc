//! Which tables of load time functions may assign by key, and what their keys and values are, as far as the bytecode tells. The walk for
//! expanded code knows that better, but ends with the first construct that has no expanded form.
//!
//! What a register holds is found by going back from where it is used to the instructions that may have set it ([`reaching`]), and
//! from there to what they read ([`sources`]); what calls give is in [`calls`]. What cannot be found out adds nothing: the
//! conversions at packet time check each value anyway.

mod calls;
mod index;
mod reaching;
mod sources;

use super::reach::{Functions, Reach};
use crate::Options;
use crate::opcode::{Instruction, Opcode};
use crate::shared::{Kind, Seen, SharedTables};
use index::Index;
use moonhook_ir::Loc;
use moonhook_snapshot::{Prototype, TableId, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Questions that lead to other questions, in a row, at most.
const DEPTH: usize = 100;

/// Questions about registers at most: circles could multiply them.
const PATIENCE: usize = 20_000;

/// What a register may hold.
#[derive(Clone, Debug, Default)]
pub struct Held {
    seen: Seen,
    /// Tables of load time.
    tables: BTreeSet<TableId>,
    /// Shared tables of which it may be an entry's value.
    entries: BTreeSet<TableId>,
    /// Functions of the script, by number.
    functions: BTreeSet<usize>,
    /// Library functions and methods, by the last part of their names.
    named: BTreeSet<String>,
}

impl Held {
    fn add(&mut self, other: Held) {
        self.seen.add(&other.seen);
        self.tables.extend(other.tables);
        self.entries.extend(other.entries);
        self.functions.extend(other.functions);
        self.named.extend(other.named);
    }
}

impl From<Seen> for Held {
    fn from(seen: Seen) -> Held {
        Held { seen, ..Held::default() }
    }
}

impl From<Kind> for Held {
    fn from(kind: Kind) -> Held {
        Seen::kind(kind).into()
    }
}

/// What was found out of a shared table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    pub key: Seen,
    pub value: Seen,
    /// Where it is assigned.
    pub place: Option<Loc>,
}

/// A function, an instruction, and a register that it reads.
type Use = (usize, usize, usize);

pub struct Kinds<'f, 'a> {
    functions: &'f Functions<'a>,
    reach: &'f Reach,
    options: &'f Options,
    index: Index<'a>,
    shared: BTreeMap<TableId, Entries>,
    /// What registers were found to hold at an instruction.
    known: HashMap<Use, Held>,
    /// What is being found out, with its place in the row of questions.
    active: HashMap<Use, usize>,
    /// The first question in the row that the present one led back to, or 0 where it was cut short: what was found out since depends on
    /// that one, and holds for it only.
    circle: usize,
    /// The instructions before each instruction, by function.
    before: HashMap<usize, Rc<Vec<Vec<usize>>>>,
    /// What headers have under a name.
    fields: HashMap<String, Seen>,
    patience: usize,
}

/// Shared tables, those among them that are known before, with what the reachable functions of the script do with them.
pub fn infer(
    functions: &Functions<'_>,
    reach: &Reach,
    options: &Options,
    known: &[TableId],
) -> BTreeMap<TableId, Entries> {
    let mut kinds = Kinds {
        functions,
        reach,
        options,
        index: Index::new(functions, reach),
        shared: known.iter().map(|table| (*table, Entries::default())).collect(),
        known: HashMap::new(),
        active: HashMap::new(),
        circle: usize::MAX,
        before: HashMap::new(),
        fields: HashMap::new(),
        patience: PATIENCE,
    };
    // What one table has may come out of another.
    loop {
        let before = kinds.shared.clone();
        kinds.known.clear();
        kinds.look_at_stores();
        if kinds.shared == before || kinds.patience == 0 {
            return kinds.shared;
        }
    }
}

impl<'a> Kinds<'_, 'a> {
    fn prototype(&self, function: usize) -> &'a Prototype {
        self.functions.get(function)
    }

    fn instruction(&self, function: usize, pc: usize) -> Instruction {
        Instruction(self.prototype(function).code[pc])
    }

    fn look_at_stores(&mut self) {
        for function in self.index.visible.clone() {
            for pc in 0..self.prototype(function).code.len() {
                self.store(function, pc);
            }
        }
    }

    /// What an assignment tells of shared tables and of the records in them.
    fn store(&mut self, function: usize, pc: usize) {
        use Opcode::*;
        let i = self.instruction(function, pc);
        let (key, name) = match i.opcode() {
            Some(SetTable) => (self.of_register(function, pc, i.b()), None),
            Some(SetI) => (Kind::Integer.into(), None),
            Some(SetField) => {
                let Some(name) = self.prototype(function).constants.get(i.b()) else { return };
                (self.of_value(name), Some(name))
            }
            _ => return,
        };
        let target = self.of_register(function, pc, i.a());
        let value = self.of_operand(function, pc, i);
        let value = self.kept(value);
        for table in target.tables {
            // A field with a constant name is a variable, unless the table is a map for another reason.
            let may = name.is_none() && SharedTables::takes(self.functions.snapshot, table);
            if may || self.shared.contains_key(&table) {
                let place = self.place(function, pc);
                let entries = self.shared.entry(table).or_default();
                entries.place.get_or_insert(place);
                entries.key.add(&key.seen);
                entries.value.add(&value);
            }
        }
        if let Some(Value::String(name)) = name {
            let field = BTreeMap::from([(String::from_utf8_lossy(name).into_owned(), value)]);
            let record = Seen::record(field);
            for table in target.entries {
                self.shared.entry(table).or_default().value.add(&record);
            }
        }
    }

    fn place(&self, function: usize, pc: usize) -> Loc {
        let prototype = self.prototype(function);
        let source = prototype.source.map_or(0, |source| source.0 as u16);
        Loc { source, line: prototype.lines.get(pc).copied().unwrap_or(0) }
    }

    /// What a table keeps of a value: of a table of load time its fields.
    fn kept(&self, held: Held) -> Seen {
        let mut seen = held.seen;
        for table in held.tables {
            let fields = Seen::of_value(self.functions.snapshot, &Value::Table(table));
            seen.add(&fields.unwrap_or_default());
        }
        seen
    }

    /// What a register holds before an instruction.
    fn of_register(&mut self, function: usize, pc: usize, register: usize) -> Held {
        let at = (function, pc, register);
        if let Some(known) = self.known.get(&at) {
            return known.clone();
        }
        if let Some(place) = self.active.get(&at) {
            self.circle = self.circle.min(*place);
            return Held::default();
        }
        if self.is_too_far() {
            return Held::default();
        }
        self.patience -= 1;
        let place = self.active.len();
        self.active.insert(at, place);
        let outside = std::mem::replace(&mut self.circle, usize::MAX);
        let mut held = Held::default();
        for origin in self.origins(function, pc, register) {
            let found = match origin {
                reaching::Origin::Entry => self.of_parameter(function, register),
                reaching::Origin::At(at) => self.of_definition(function, at, register),
            };
            held.add(found);
        }
        self.active.remove(&at);
        // What a circle cut short is found out again where it is asked for from elsewhere.
        if self.circle >= place {
            self.known.insert(at, held.clone());
            self.circle = usize::MAX;
        }
        self.circle = self.circle.min(outside);
        held
    }

    /// Whether there have been too many questions, or too many in a row.
    fn is_too_far(&mut self) -> bool {
        let is = self.patience == 0 || self.active.len() >= DEPTH;
        if is {
            self.circle = 0;
        }
        is
    }
}
