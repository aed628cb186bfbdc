//! Names of fields under which there are tables of the script only, or nothing, whatever table has them (`self.nodes[key]`): what is indexed
//! there is no packet, no header and no table of the library.
//!
//! All names of which nothing tells otherwise at first sight are taken to be such names. Then those are left out to which something else
//! may be assigned, as far as what is assigned does not come out of such fields itself, until all that are left hold.

use super::Computed;
use super::tables::STEPS;
use super::texts::Text;
use crate::reach;
use moonhook_library::standard::STRING;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{TableId, Value};
use moonhook_specialise::stubs::field_names;
use std::collections::{BTreeMap, BTreeSet, HashSet};

const INDEX: &[u8] = b"__index";

/// The fields that reachable functions read, and where they assign some: function and instruction.
#[derive(Default)]
struct Uses<'a> {
    /// Names.
    read: BTreeSet<&'a [u8]>,
    /// By constant names.
    named: BTreeMap<&'a [u8], Vec<(usize, usize)>>,
    /// By keys that may be any name.
    computed: Vec<(usize, usize)>,
    /// Names that functions of the library assign. (The keys that these compute are integers.)
    of_library: BTreeSet<&'a [u8]>,
}

impl<'a> Computed<'_, 'a> {
    /// Whether an entry that a table of the script has not may be found in something else than such a table.
    pub(super) fn leads_away(&self) -> bool {
        self.has_index && !self.table_fields.contains(INDEX)
    }

    /// Whether functions may give tables an `__index` by a name that is put together, which is no table.
    pub(super) fn may_name_index(&mut self) -> bool {
        let sets = self.may_use(|function| function.name == "setmetatable");
        sets && (self.may_use(|function| function.name == "rawset") || {
            let places = self.uses().computed;
            !self.assign_tables(&places)
        })
    }

    /// Finds the names.
    pub(super) fn find_table_fields(&mut self) {
        if self.has_other_fields() {
            return;
        }
        let uses = self.uses();
        let others = self.other_names(&uses);
        let names = uses.read.iter().copied().chain([INDEX]);
        self.table_fields = names.filter(|name| !others.contains(name)).collect();
        loop {
            let is_open = self.leads_away() || !self.assign_tables(&uses.computed);
            let names: Vec<&[u8]> = self.table_fields.iter().copied().collect();
            let mut assigns_others = |name: &&[u8]| {
                is_open || uses.named.get(name).is_some_and(|places| !self.assign_tables(places))
            };
            let wrong: Vec<&[u8]> = names.into_iter().filter(|name| assigns_others(name)).collect();
            if wrong.is_empty() {
                return;
            }
            self.table_fields.retain(|name| !wrong.contains(name));
        }
    }

    /// Whether what is under a name may come from elsewhere than from assignments to tables: out of maps, of layouts, of structures, and
    /// of what control code assigns to fields that functions of flows assign.
    fn has_other_fields(&self) -> bool {
        let snapshot = self.functions.snapshot;
        let is_map = |id: &TableId| snapshot.table(*id).declaration.is_some();
        self.reach.tables.iter().any(is_map)
            || snapshot.traced.types().is_some()
            || !snapshot.flows.is_empty()
            || self.is_mentioned(b"layout")
            || self.may_use(|function| function.name == "rawset")
    }

    fn uses(&mut self) -> Uses<'a> {
        let mut found = Uses::default();
        for function in self.reach.functions.iter().copied() {
            for pc in 0..self.prototype(function).code.len() {
                self.note_use(function, pc, &mut found);
            }
        }
        found
    }

    fn note_use(&mut self, function: usize, pc: usize, found: &mut Uses<'a>) {
        let i = self.instruction(function, pc);
        let is_hidden = self.functions.is_hidden(function);
        match i.opcode() {
            Some(Opcode::GetField | Opcode::GetTabUp) if !is_hidden => {
                found.read.extend(self.constant(function, i.c()));
            }
            Some(Opcode::SetField | Opcode::SetTabUp) if is_hidden => {
                found.of_library.extend(self.constant(function, i.b()));
            }
            Some(Opcode::SetField | Opcode::SetTabUp) => {
                if let Some(name) = self.constant(function, i.b()) {
                    found.named.entry(name).or_default().push((function, pc));
                }
            }
            Some(Opcode::SetTable) if !is_hidden && self.text(function, pc, i.b()) != Text::None => {
                found.computed.push((function, pc));
            }
            _ => {}
        }
    }

    /// Names under which there is something else, whatever is assigned: fields of packets, of strings and of the library, variables that
    /// control code can assign, and what tables of load time have.
    fn other_names(&self, uses: &Uses<'a>) -> HashSet<&'a [u8]> {
        let snapshot = self.functions.snapshot;
        let mut others: HashSet<&'a [u8]> = uses.of_library.iter().copied().collect();
        let methods = STRING.functions.iter().map(|method| method.key());
        field_names().chain(methods).for_each(|name| {
            others.insert(name.as_bytes());
        });
        // `table.pack` assigns it.
        others.insert(b"n");
        for id in (0..snapshot.tables.len() as u32).map(TableId) {
            let is_library = reach::is_library(snapshot, id);
            others.extend(snapshot.table(id).entries.iter().filter_map(|(key, value)| match key {
                Value::String(name) if is_library || !self.is_of_script(value) => Some(&**name),
                _ => None,
            }));
        }
        others.extend(
            uses.read.iter().copied().chain([INDEX]).filter(|name| self.reach.assigned_names.contains(*name)),
        );
        others
    }

    /// Whether a value of load time is a table of the script's.
    fn is_of_script(&self, value: &Value) -> bool {
        matches!(value, Value::Table(table) if !reach::is_library(self.functions.snapshot, *table))
    }

    fn assign_tables(&mut self, places: &[(usize, usize)]) -> bool {
        places.iter().all(|(function, pc)| self.assigns_table(*function, *pc))
    }

    /// Whether what an instruction assigns is surely a table of the script, or nil.
    fn assigns_table(&mut self, function: usize, pc: usize) -> bool {
        let i: Instruction = self.instruction(function, pc);
        match i.k() {
            true => matches!(self.prototype(function).constants.get(i.c()), Some(Value::Nil)),
            false => self.is_table(function, pc, i.c(), STEPS),
        }
    }
}
