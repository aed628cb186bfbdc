//! Tables of load time that are maps: which ones, and what stands for them in the image.

use super::General;
use super::computed;
use super::kinds::{self, Entries, Found};
use super::named;
use super::reach::{self, Reach};
use super::script::Functions;
use super::steps;
use super::stores::Stores;
use moonhook_ir::Loc;
use moonhook_library::find;
use moonhook_runtime::image::TableContent;
use moonhook_runtime::layout::{FLAG_NUMBER, FLAG_SHARED, FLAG_STEPS, TAG_STRING};
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Snapshot, TableId};
use moonhook_specialise::Options;
use moonhook_specialise::note_fields::NoteFields;
use moonhook_specialise::shared::SharedTables;
use moonhook_specialise::structures::Structures;
use moonhook_specialise::stubs::shared::{Accesses, Record, Uses};
use moonhook_specialise::targets::Targets;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Default)]
pub struct Shared {
    /// Keys and values of the tables.
    pub known: SharedTables,
    /// Where packets may go by maps.
    pub targets: Rc<Targets>,
    /// The records that handlers put in front of packets.
    pub notes: Rc<NoteFields>,
    /// The tables, by number, and where each of them is used.
    tables: Vec<(TableId, Loc)>,
    /// The metatable that marks them.
    metatable: Option<u64>,
    /// The names of the fields of records, by the records' numbers.
    names: BTreeMap<usize, Vec<String>>,
    /// Fields with constant names, of other tables, that are assigned.
    fields: BTreeSet<(TableId, Arc<[u8]>)>,
    /// See [`Shared::steps`].
    steps: bool,
    /// Tables that are maps whatever is assigned to them: declared ones, and those that the walk for expanded code saw assigned.
    required: BTreeSet<TableId>,
    /// Tables that functions assign by key, and these functions.
    assigners: BTreeSet<(TableId, usize)>,
    /// See [`General::may_be_constant`].
    optional: OnceCell<BTreeSet<TableId>>,
}

impl Shared {
    /// Tables that are declared to be maps, of which `known` says so, or that a function of the script may assign by key, but for those in
    /// `constant`.
    pub fn new(
        functions: &Functions<'_>,
        reach: &Reach,
        (options, structures): (&Options, &Structures),
        mut known: SharedTables,
        constant: &BTreeSet<TableId>,
    ) -> Shared {
        let snapshot = functions.snapshot;
        let stores = Stores::new(functions, reach);
        let assigned = stores.by_key.keys().filter(|table| is_plain(snapshot, **table)).copied();
        let declared = (0..snapshot.tables.len() as u32)
            .map(TableId)
            .filter(|table| snapshot.table(*table).declaration.is_some());
        let required: BTreeSet<TableId> = known.tables().chain(declared).collect();
        let mut tables: Vec<TableId> = required.iter().copied().chain(assigned).collect();
        tables.retain(|table| !constant.contains(table));
        tables.sort();
        tables.dedup();
        known.start_over();
        let Found { mut entries, assigners, fields, targets, notes } =
            kinds::infer(functions, reach, (options, structures), &tables);
        let notes = notes.with_assigned(|| computed::assigned_names(functions, reach));
        entries.retain(|table, _| !constant.contains(table));
        for (table, Entries { key, value, .. }) in &entries {
            known.suggest(snapshot, *table, key, value);
        }
        known.take_addresses_for_texts();
        let steps = steps::may_step(functions, reach);
        if steps {
            entries.keys().for_each(|table| known.step_through(*table));
        }
        let handler = snapshot.handlers.first().map(|handler| snapshot.closure(handler.closure));
        let handler = handler.map_or(Loc::default(), |closure| {
            let prototype = snapshot.prototype(closure.prototype);
            Loc { source: prototype.source.map_or(0, |source| source.0 as u16), line: prototype.line_defined }
        });
        let place = |(table, entries): (&TableId, &Entries)| {
            let found = stores.by_key.get(table).or(entries.place.as_ref()).or(stores.used.get(table));
            (*table, *found.unwrap_or(&handler))
        };
        let tables = entries.iter().map(place).collect();
        let assigners = stores.assigners.into_iter().chain(assigners).collect();
        let fields = stores.fields.into_iter().chain(fields).collect();
        let (names, optional) = (BTreeMap::new(), OnceCell::new());
        let (targets, notes) = (Rc::new(targets), Rc::new(notes));
        Shared {
            targets,
            notes,
            known,
            tables,
            metatable: None,
            names,
            fields,
            steps,
            required,
            assigners,
            optional,
        }
    }

    /// Those of the tables that only such functions assign as packet code is not known to call ([`super::named`]).
    fn optional(&self, functions: &Functions<'_>, reach: &Reach) -> BTreeSet<TableId> {
        let assigned_by = |named: BTreeSet<usize>| -> BTreeSet<TableId> {
            let by_named = self.assigners.iter().filter(|(_, function)| named.contains(function));
            by_named.map(|(table, _)| *table).collect()
        };
        let [by_named, by_found] =
            [false, true].map(|computed| assigned_by(named::named(functions, reach, computed)));
        // What cannot be a map by what load time has left in it is refused only where it is surely meant to be one.
        let is_assigned = |table: &TableId| match SharedTables::takes(functions.snapshot, *table) {
            true => by_found.contains(table),
            false => by_named.contains(table),
        };
        let tables = self.tables.iter().map(|(table, _)| *table);
        tables.filter(|table| !self.required.contains(table) && !is_assigned(table)).collect()
    }

    fn number(&self, table: TableId) -> Option<usize> {
        self.tables.iter().position(|(known, _)| *known == table)
    }

    pub fn is_shared(&self, table: TableId) -> bool {
        self.number(table).is_some()
    }

    /// The constant names under which some function assigns fields of the table.
    pub fn assigned_fields(&self, table: TableId) -> impl Iterator<Item = Arc<[u8]>> {
        let first = (table, Arc::from([]));
        self.fields.range(first..).take_while(move |(owner, _)| *owner == table).map(|(_, name)| name.clone())
    }

    /// Whether handlers may call `next` with a key.
    pub fn steps(&self) -> bool {
        self.steps && self.exist()
    }

    /// Whether there are any.
    pub fn exist(&self) -> bool {
        !self.tables.is_empty()
    }
}

/// Whether assignments by key change the table itself, and it is the script's.
fn is_plain(snapshot: &Snapshot, table: TableId) -> bool {
    snapshot.table(table).metatable.is_none() && !reach::is_library(snapshot, table)
}

impl General<'_> {
    /// What stands in the image for a shared table.
    pub fn shared_content(&mut self, table: TableId) -> TableContent {
        let number = self.shared.number(table);
        if number.is_none() {
            self.fail_internally("a table without a map");
        }
        let number = number.unwrap_or_default() as u64;
        let steps = if self.shared.steps { FLAG_STEPS as u64 } else { 0 };
        let flags = FLAG_SHARED as u64 | steps | number << FLAG_NUMBER;
        TableContent { metatable: self.shared_metatable(), flags, ..TableContent::default() }
    }

    /// The metatable of all shared tables, which is empty.
    pub fn shared_metatable(&mut self) -> u64 {
        if let Some(known) = self.shared.metatable {
            return known;
        }
        let address = self.put_table(&TableContent::default());
        *self.shared.metatable.insert(address)
    }

    /// Whether a call of a library function may end with the access to a shared table, so that the program's loop has to make it.
    pub fn may_access(&self, name: &str) -> bool {
        self.shared.exist() && find(name).is_some_and(|function| function.is_raw)
    }

    /// What the functions of the program do with whole tables.
    fn uses_of_tables(&self) -> Uses {
        let takes_length = |index: &usize| {
            let code = &self.functions.get(*index).code;
            code.iter().any(|word| Instruction(*word).opcode() == Some(Opcode::Len))
        };
        let called = |name: &str| self.reach.builtins.contains(name);
        Uses {
            traversal: called("next"),
            steps: self.shared.steps,
            length: called("rawlen") || self.reach.functions.iter().any(takes_length),
        }
    }

    /// The list of `L_RECORD_NAMES`; 0 where it has nothing. All accesses must be made.
    pub fn record_names(&mut self) -> u64 {
        let Some((last, _)) = self.shared.names.last_key_value() else { return 0 };
        let mut lists = vec![0; last + 1];
        for (number, names) in self.shared.names.clone() {
            let array = names.iter().map(|name| (TAG_STRING, self.image.text(name.as_bytes()))).collect();
            lists[number] = self.put_table(&TableContent { array, ..TableContent::default() });
        }
        self.image.words(&lists)
    }

    /// Whether a table does not have to be a map.
    fn may_be_constant(&self, table: TableId) -> bool {
        self.optional_tables().contains(&table)
    }

    /// The tables that do not have to be maps.
    pub fn optional_tables(&self) -> &BTreeSet<TableId> {
        self.shared.optional.get_or_init(|| self.shared.optional(&self.functions, &self.reach))
    }

    /// What reads and assigns each shared table that some function can get at, and each record in one, by their numbers.
    pub fn shared_accesses(&mut self) -> Option<Vec<(usize, Accesses)>> {
        let tables = self.shared.tables.clone();
        let uses = self.uses_of_tables();
        let mut all = Vec::new();
        let mut next = tables.len();
        for (number, (table, loc)) in tables.into_iter().enumerate() {
            if !self.tables.contains_key(&table) {
                continue;
            }
            let made = self.table_stubs((table, loc), (number, uses), &mut next);
            if self.unfit.contains(&table) {
                continue;
            }
            let (accesses, record) = made?;
            all.push((number, accesses));
            for record in record.iter().flat_map(Record::all) {
                all.push((record.number, self.stub(|stubs| stubs.shared_record(table, record))?));
                let names = record.fields.iter().map(|(name, ..)| name.clone()).collect();
                self.shared.names.insert(record.number, names);
            }
        }
        if !self.unfit.is_empty() {
            self.find_unfit(uses);
        }
        all.sort_by_key(|(number, _)| *number);
        Some(all)
    }

    /// What reads and assigns a shared table; `None` if it cannot be one.
    fn table_stubs(
        &mut self,
        (table, loc): (TableId, Loc),
        of: (usize, Uses),
        next: &mut usize,
    ) -> Option<(Accesses, Option<Record>)> {
        let earlier = self.failure.take();
        let made = self.stub_at(loc, |stubs| stubs.shared_table(table, of, next));
        if made.is_none() && self.may_be_constant(table) {
            self.failure = None;
            self.unfit.insert(table);
        }
        self.failure = earlier.or(self.failure.take());
        made
    }

    /// Tries the tables that the program has not come to as well, since it is to be made again: what is in a table is met only when
    /// that is constant.
    fn find_unfit(&mut self, uses: Uses) {
        let tables = self.shared.tables.clone();
        for (number, place) in tables.into_iter().enumerate() {
            if !self.tables.contains_key(&place.0) && self.may_be_constant(place.0) {
                self.table_stubs(place, (number, uses), &mut 0);
            }
        }
    }
}
