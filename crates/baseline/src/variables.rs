//! Variables that handlers assign, as user space should know them: where in the arena their values are, and what they may be.
//!
//! A value is a tag and a payload, and each tag has a payload of its own (`V_…`, `runtime/lua/variable.lua`). Which types a variable has is not
//! known; every value of load time can be in it (`variable_store` refuses all others).

use super::General;
use super::known::Known;
use super::reach;
use moonhook_ir as ir;
use moonhook_ir::{ObjectId, VariableContent, VariableHome, VariableKind};
use moonhook_runtime::layout::*;
use moonhook_snapshot::{TableId, Value};
use moonhook_specialise::variables::{VariableId, variable_names};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The addresses of variables that are fields of a table, by name.
pub type Fields = Rc<BTreeMap<Arc<[u8]>, u64>>;

/// What a person is told that such a variable has.
const TYPE: &str = "any value";

impl General<'_> {
    /// The variables that handlers assign and the program has a place for. All texts must be in the image.
    pub fn described_variables(&mut self) -> Vec<ir::Variable> {
        let snapshot = self.functions.snapshot;
        let places = self.places_of_variables();
        let names = variable_names(snapshot, places.iter().map(|(id, _)| id));
        let kinds = self.kinds();
        let sums = &self.sums;
        let variable = |((id, place), (name, is_unique)): ((VariableId, u64), (String, bool))| ir::Variable {
            name,
            is_summed: match &id {
                VariableId::Cell(cell) => sums.cells.contains(cell),
                VariableId::Field(_, name) => sums.names.contains(name),
            },
            offset: place as u32,
            ty: TYPE.to_string(),
            portable: is_unique,
            home: match id {
                VariableId::Cell(cell) => VariableHome::Cell(cell.0),
                VariableId::Field(table, key) => VariableHome::Field { table: table.0, key: key.to_vec() },
            },
            sums: None,
            kinds: kinds.clone(),
        };
        places.into_iter().zip(names).map(variable).collect()
    }

    /// What each variable can be, of what is in the image.
    fn kinds(&self) -> Arc<[VariableKind]> {
        let tables = self.tables.iter().map(|(id, address)| (*address, ObjectId::Table(id.0)));
        let closures = self.closures.iter().map(|(id, address)| (*address, ObjectId::Closure(id.0)));
        let kinds = [
            (TAG_NIL, VariableContent::Nil),
            (TAG_FALSE, VariableContent::Truth(false)),
            (TAG_TRUE, VariableContent::Truth(true)),
            (TAG_INT, VariableContent::Integer),
            (TAG_FLOAT, VariableContent::Float),
            (TAG_STRING, VariableContent::Texts(Arc::new(self.image.texts()))),
            (TAG_TABLE, VariableContent::Objects(Arc::new(tables.collect()))),
            (TAG_CLOSURE, VariableContent::Objects(Arc::new(closures.collect()))),
        ];
        kinds.map(|(tag, content)| VariableKind { tag: tag as u64, payload: slot(tag), content }).into()
    }

    fn places_of_variables(&mut self) -> Vec<(VariableId, u64)> {
        let assigned = self.reach.assigned.iter();
        let places = assigned.filter_map(|cell| Some((*cell, *self.cells.get(cell)?)));
        let mut places: Vec<(VariableId, u64)> =
            places.map(|(cell, address)| (VariableId::Cell(cell), address + U_VALUE as u64)).collect();
        let snapshot = self.functions.snapshot;
        let mut tables: Vec<TableId> = self.tables.keys().copied().collect();
        tables.retain(|table| reach::has_variables(snapshot, *table));
        tables.sort();
        for table in tables {
            for name in self.shared.assigned_fields(table).collect::<Vec<_>>() {
                if let Some(place) = self.variable_of_field(table, &name) {
                    places.push((VariableId::Field(table, name), place));
                }
            }
        }
        places
    }

    /// The variable that is a global one, or a field of a table without metatable, if packet code assigns it.
    pub fn variable_of_known(&mut self, table: &Option<Known>, name: &[u8]) -> Option<u64> {
        let snapshot = self.functions.snapshot;
        let Some(Known::Value(Value::Table(table))) = *table else { return None };
        let is_plain = snapshot.table(table).metatable.is_none();
        is_plain.then(|| self.variable_of_field(table, name)).flatten()
    }

    /// The variable that is a global one or a field, if packet code assigns it.
    pub fn variable_of_field(&mut self, table: TableId, name: &[u8]) -> Option<u64> {
        self.variables_of(table).get(name).copied()
    }

    /// The variables among the fields of a table, by name.
    pub fn variables_of(&mut self, table: TableId) -> Fields {
        if let Some(known) = self.fields.get(&table) {
            return known.clone();
        }
        let snapshot = self.functions.snapshot;
        let is_assigned = |(key, value)| match key {
            Value::String(name) if self.reach.is_assigned(snapshot, table, &name) => Some((name, value)),
            _ => None,
        };
        let assigned: Vec<(Arc<[u8]>, Value)> =
            self.entries(table).into_iter().filter_map(is_assigned).collect();
        let place = |(name, _): &(Arc<[u8]>, Value)| (name.clone(), self.image.reserve(V_SIZE as usize));
        let places: Fields = Rc::new(assigned.iter().map(place).collect());
        self.fields.insert(table, places.clone());
        for (name, value) in assigned {
            let value = self.constant(&value);
            self.put_variable(places[&name], value, self.sums.names.contains(&name));
        }
        places
    }

    /// Gives a variable the value that load time left in it.
    pub fn put_variable(&mut self, place: u64, (tag, payload): (i64, u64), has_sums: bool) {
        self.image.put(place + V_TAG as u64, tag as u64);
        self.image.put(place + u64::from(slot(tag)), payload);
        self.image.put(place + V_SUMS as u64, has_sums.into());
    }
}

/// Where a variable has the payload of a tag.
pub fn slot(tag: i64) -> u32 {
    (V_SLOTS + 8 * tag) as u32
}
