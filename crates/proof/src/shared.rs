//! What the tables that handlers share with user space hold, in both tiers, as lines that can be compared.

use crate::ProofError;
use mlua::Value;
use moonhook_engine::tables;
use moonhook_install::Program;
use moonhook_ir::Module;
use moonhook_load::Loaded;
use moonhook_schema::{Datum, constructed, position_name};
use moonhook_snapshot::TableId;

/// The tables of the living Lua state that are maps in the kernel, with their names.
pub struct Tables(Vec<(String, mlua::Table)>);

impl Tables {
    pub fn new(loaded: &Loaded, module: &Module) -> Tables {
        let table = |shared: &moonhook_ir::SharedTable| {
            Some((shared.name.clone(), loaded.table(TableId(shared.table))?))
        };
        Tables(module.tables.iter().filter_map(table).collect())
    }

    /// One line for each entry, sorted.
    pub fn of_lua(&self) -> Vec<String> {
        let entries = |(name, table): &(String, mlua::Table)| {
            let pairs = moonhook_user::content(table).unwrap_or_default().into_iter();
            pairs.map(|(key, value)| line(name, &datum(&key), &datum(&value))).collect::<Vec<_>>()
        };
        sorted(self.0.iter().flat_map(entries).collect())
    }
}

/// As [`Tables::of_lua`], of the maps.
///
/// # Errors
/// `Stage` where the kernel refuses to be asked.
pub fn of_kernel(program: &Program, module: &Module) -> Result<Vec<String>, ProofError> {
    let mut lines = Vec::new();
    for table in &module.tables {
        let entries = tables::entries(program, module, table)?;
        lines.extend(entries.iter().map(|(key, value)| line(&table.name, key, value)));
    }
    Ok(sorted(lines))
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn line(name: &str, key: &Datum, value: &Datum) -> String {
    format!("{name}[{}] = {}", shown(key), shown(value))
}

fn shown(datum: &Datum) -> String {
    match datum {
        Datum::Nil => "nil".to_string(),
        Datum::Boolean(value) => value.to_string(),
        Datum::Integer(value) => value.to_string(),
        Datum::Float(_) => String::from_utf8_lossy(&datum.line()).into_owned(),
        Datum::Text(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Datum::Record(fields) => {
            let fields = constructed(fields.iter().map(|(name, value)| (name.as_str(), value)));
            let fields = fields.iter().map(|(label, value)| format!("{label}{}", shown(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A Lua value as it would be in a map; what no map can hold shows as nil.
fn datum(value: &Value) -> Datum {
    match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::Number(value) => Datum::Float(value.to_bits()),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        Value::Table(table) => {
            let field = |(name, value): &(Value, Value)| match name {
                Value::String(name) => Some((name.to_string_lossy(), datum(value))),
                Value::Integer(place) => Some((position_name(*place)?, datum(value))),
                _ => None,
            };
            let fields = moonhook_user::content(table).unwrap_or_default();
            let mut fields: Vec<(String, Datum)> = fields.iter().filter_map(field).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Datum::Record(fields)
        }
        _ => Datum::Nil,
    }
}
