//! What a program has that can outlast it: tables, variables, counters of verdicts, each in a map.

use moonhook_btf::TypeId;
use moonhook_install::ArenaSection;
use moonhook_ir::maps::sections::{STATE, VERDICTS};
use moonhook_ir::{MapDefinition, MapId, MapKind, Module, VariableHome, VariableKind};
use moonhook_schema::{Schema, WhenFull};
use moonhook_snapshot::{CellId, Owners, TableId, qualified};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub tables: Vec<Table>,
    pub variables: Vec<Variable>,
    /// Variables are somewhere else, in the memory of general code.
    pub general: bool,
    /// What they all can be there.
    #[serde(skip)]
    pub kinds: Vec<VariableKind>,
    /// Names of the data sections that can be taken over.
    pub sections: Vec<String>,
    /// The sections of the programs, one for each hook: what counts verdicts has room for those of each.
    #[serde(default)]
    pub programs: Vec<String>,
    /// What the scripts list for maps of C objects.
    #[serde(default)]
    pub listed: Vec<Listed>,
}

/// The entries that scripts list for a map, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub map: String,
    /// Bytes of a value.
    pub value_size: u32,
    /// Bytes of keys.
    pub keys: BTreeSet<Vec<u8>>,
}

/// A shared table, or a map of a C object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub name: String,
    /// The whole schema, as a line. Equal schemas have equal lines.
    pub schema: String,
    /// The name of the map that it lives in.
    pub map: String,
}

/// As [`moonhook_ir::Variable`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    pub name: String,
    pub offset: u32,
    #[serde(rename = "type")]
    pub ty: String,
    pub portable: bool,
    /// Its words of each CPU: the first one's offset, and from one to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<(u32, u32)>,
    /// Its nil has 0 as its integer.
    #[serde(default)]
    pub is_summed: bool,
    /// Its bytes in the section.
    #[serde(default)]
    pub size: u32,
}

/// A program whose content another one can take over.
pub trait Earlier {
    fn content(&self) -> &Content;
    /// The descriptor of a table's map or of a section; `None` if it is gone.
    fn map(&self, name: &str) -> Option<BorrowedFd<'_>>;
    /// The memory of general code, as far as this process has it.
    fn arena(&self) -> Option<ArenaSection>;
}

impl Content {
    pub fn of(module: &Module, owners: &Owners) -> Content {
        let table = |table: &moonhook_ir::SharedTable| Table {
            name: qualified(owners.of_table(TableId(table.table)), &table.name),
            schema: described(&table.schema),
            map: module.map(table.map).name.clone(),
        };
        let variable = |variable: &moonhook_ir::Variable| Variable {
            name: qualified(owner(variable, owners), &variable.name),
            offset: variable.offset,
            ty: variable.ty.clone(),
            portable: variable.portable,
            sums: variable.sums.map(|sums| (sums.first, sums.stride)),
            is_summed: variable.is_summed,
            size: moonhook_ir::Variable::SIZE,
        };
        let is_there =
            |section: &&str| module.maps.iter().any(|map| *section == format!(".data.{}", map.name));
        let of_general = module.variables.first().filter(|_| module.arena().is_some());
        Content {
            tables: module.tables.iter().map(table).chain(object_maps(module)).collect(),
            variables: module.variables.iter().map(variable).collect(),
            general: module.arena().is_some(),
            kinds: of_general.map_or_else(Vec::new, |variable| variable.kinds.to_vec()),
            programs: module.sections().map(str::to_string).collect(),
            listed: listed(module),
            sections: [STATE, VERDICTS].into_iter().filter(is_there).map(str::to_string).collect(),
        }
    }

    /// The names of all maps of this content.
    pub fn maps(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| table.map.as_str()).chain(self.sections.iter().map(String::as_str))
    }
}

/// The maps of C objects, each once, as tables: what they are is their definition, and where things are in keys and values.
fn object_maps(module: &Module) -> impl Iterator<Item = Table> {
    let maps: BTreeSet<MapId> = module.object_maps.iter().map(|map| map.map).collect();
    maps.into_iter().filter_map(|id| {
        let map = module.map(id);
        let MapKind::Map(MapDefinition { map_type, key_size, value_size, max_entries, flags }) = &map.kind else {
            return None;
        };
        let types = module.map_types.iter().find(|types| types.map == id);
        let layout = |ty: TypeId| types.map_or_else(String::new, |types| types.types.layout(ty));
        let [key, value] = types.map_or([TypeId(0); 2], |types| [types.key, types.value]).map(layout);
        let schema = format!(
            "map of type {}, {key_size} bytes{key} → {value_size} bytes{value}, {max_entries} entries, flags {flags:#x}",
            map_type.number()
        );
        Some(Table { name: map.name.clone(), schema, map: map.name.clone() })
    })
}

fn listed(module: &Module) -> Vec<Listed> {
    let mut all: Vec<Listed> = Vec::new();
    for filling in &module.fillings {
        let map = module.map(filling.map);
        let MapKind::Map(MapDefinition { value_size, .. }) = map.kind else { continue };
        let keys = filling.entries.iter().map(|[key, _]| key.clone());
        match all.iter_mut().find(|known| known.map == map.name) {
            Some(known) => known.keys.extend(keys),
            None => all.push(Listed { map: map.name.clone(), value_size, keys: keys.collect() }),
        }
    }
    all
}

fn owner<'a>(variable: &moonhook_ir::Variable, owners: &'a Owners) -> Option<&'a str> {
    match &variable.home {
        VariableHome::Cell(cell) => owners.of_cell(CellId(*cell)),
        VariableHome::Field { table, .. } => owners.of_table(TableId(*table)),
    }
}

/// A schema in one line: `ipv4 → {pkts = "int"}, 65536 entries`.
fn described(schema: &Schema) -> String {
    let mut text = format!("{} → {}, {} entries", schema.key, schema.value, schema.capacity);
    if schema.when_full == WhenFull::Evict {
        text.push_str(", evicting");
    }
    if let Some(lifetime) = schema.lifetime {
        text.push_str(&format!(", for {} s", lifetime as f64 / 1e9));
    }
    if schema.per_cpu {
        text.push_str(", per CPU");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_schema::{Field, Type};

    #[test]
    fn different_schemas_have_different_lines() {
        let schema = Schema {
            key: Type::Ipv4,
            value: Type::Record(vec![Field { name: "pkts".into(), ty: Type::Integer }]),
            capacity: 100,
            when_full: WhenFull::Error,
            lifetime: None,
            per_cpu: false,
        };
        assert_eq!(described(&schema), "ipv4 → {pkts = \"int\"}, 100 entries");
        let others = [
            Schema { key: Type::Address, ..schema.clone() },
            Schema { value: Type::Integer, ..schema.clone() },
            Schema { capacity: 101, ..schema.clone() },
            Schema { when_full: WhenFull::Evict, ..schema.clone() },
            Schema { lifetime: Some(1), ..schema.clone() },
            Schema { lifetime: Some(2), ..schema.clone() },
            Schema { per_cpu: true, ..schema.clone() },
            schema,
        ];
        let lines: std::collections::BTreeSet<String> = others.iter().map(described).collect();
        assert_eq!(lines.len(), others.len(), "{lines:?}");
    }
}
