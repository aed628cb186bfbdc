//! The tables of the script that are maps: their types, and what they take.

use crate::CliError;
use moonhook_install::MapInfo;
use moonhook_ir::Module;
use moonhook_schema::WhenFull;
use serde::Serialize;
use std::io::Write;

/// A table that handlers share with user space.
#[derive(Debug, Serialize)]
pub struct TableReport {
    pub name: String,
    /// Its map's name.
    pub map: String,
    /// Types, as declarations write them.
    pub key: String,
    pub value: String,
    /// Entries at most.
    pub capacity: u32,
    /// Full, it lets go of entries that were not used for long.
    pub evicts: bool,
    /// How long entries live.
    pub lifetime_ns: Option<u64>,
    pub per_cpu: bool,
    /// Entries that load time left in it.
    pub entries: usize,
    /// Bytes of its map.
    pub memory: u64,
}

pub fn tables(module: &Module, maps: &[MapInfo]) -> Vec<TableReport> {
    let report = |table: &moonhook_ir::SharedTable| {
        let map = module.map(table.map).name.clone();
        let schema = &table.schema;
        TableReport {
            name: table.name.clone(),
            memory: maps.iter().find(|info| info.name == map).map_or(0, |info| info.memory),
            map,
            key: schema.key.to_string(),
            value: schema.value.to_string(),
            capacity: schema.capacity,
            evicts: schema.when_full == WhenFull::Evict,
            lifetime_ns: schema.lifetime,
            per_cpu: schema.per_cpu,
            entries: table.contents.len(),
        }
    };
    module.tables.iter().map(report).collect()
}

pub fn show(tables: &[TableReport], out: &mut dyn Write) -> Result<(), CliError> {
    if tables.is_empty() {
        return Ok(());
    }
    writeln!(out, "  tables                 {}", tables.len())?;
    for table in tables {
        let TableReport { name, key, value, capacity, entries, memory, .. } = table;
        write!(out, "    {name}[{key}] = {value}: {capacity} entries at most")?;
        if *entries > 0 {
            write!(out, ", {entries} at first")?;
        }
        if table.evicts {
            write!(out, ", old ones give way")?;
        }
        if let Some(lifetime) = table.lifetime_ns {
            write!(out, ", for {} s", lifetime as f64 / 1e9)?;
        }
        if table.per_cpu {
            write!(out, ", for each CPU")?;
        }
        writeln!(out, "; {memory} bytes")?;
    }
    Ok(())
}
