//! Variables that handlers assign, as user space should know them: where in the arena their values are, and what they may be.
//!
//! A value is a tag and a payload. Which types a variable has is not known; every value of load time can be in it
//! (`store_shared` in `runtime/lua/index.lua` refuses all others).

use super::General;
use super::reach;
use moonhook_ir as ir;
use moonhook_ir::{VariableContent, VariableHome, VariableKind};
use moonhook_runtime::layout::{TAG_FALSE, TAG_FLOAT, TAG_INT, TAG_NIL, TAG_STRING, TAG_TRUE, U_VALUE};
use moonhook_snapshot::TableId;
use moonhook_specialise::variables::{VariableId, variable_names};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a person is told that such a variable has.
const TYPE: &str = "any value";

impl General<'_> {
    /// The variables that handlers assign and the program has a place for. All texts must be in the image.
    pub fn described_variables(&mut self) -> Vec<ir::Variable> {
        let snapshot = self.functions.snapshot;
        let places = self.places_of_variables();
        let names = variable_names(snapshot, places.iter().map(|(id, _)| id));
        let kinds = kinds(self.image.texts());
        let variable = |((id, place), (name, is_unique)): ((VariableId, u64), (String, bool))| ir::Variable {
            name,
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

    /// The addresses of their values.
    fn places_of_variables(&mut self) -> Vec<(VariableId, u64)> {
        let assigned = self.reach.assigned.iter();
        let places = assigned.filter_map(|cell| Some((*cell, *self.cells.get(cell)?)));
        let mut places: Vec<(VariableId, u64)> =
            places.map(|(cell, place)| (VariableId::Cell(cell), place + U_VALUE as u64)).collect();
        let snapshot = self.functions.snapshot;
        let mut tables: Vec<TableId> = self.tables.keys().copied().collect();
        tables.retain(|table| reach::has_variables(snapshot, *table));
        tables.sort();
        for table in tables {
            for name in self.shared.assigned_fields(table).collect::<Vec<_>>() {
                if let Some(place) = self.place_of_field(table, &name) {
                    places.push((VariableId::Field(table, name), place));
                }
            }
        }
        places
    }
}

fn kinds(texts: BTreeMap<Vec<u8>, u64>) -> Arc<[VariableKind]> {
    let kinds = [
        (TAG_NIL, VariableContent::Nil),
        (TAG_FALSE, VariableContent::Truth(false)),
        (TAG_TRUE, VariableContent::Truth(true)),
        (TAG_INT, VariableContent::Integer),
        (TAG_FLOAT, VariableContent::Float),
        (TAG_STRING, VariableContent::Texts(Arc::new(texts))),
    ];
    kinds.map(|(tag, content)| VariableKind { tag: tag as u64, content }).into()
}
