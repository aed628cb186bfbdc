//! Tables of load time that handlers write by key: BPF maps, shared by all CPUs and with user space.
//!
//! Which tables these are is learned while lowering, like variables ([`crate::variables`]): where a write by a key that is no
//! constant name is met, or a key or value of a new kind, specialisation starts again, and the next attempt knows. Their bytes in the map are those
//! of the crate `moonhook_schema`; what load time has left in a table ([`loaded`]) is in the map first. [`access`] reads and
//! writes entries, [`lookups`] finds them, [`adding`] makes `t[k] = t[k] + n` atomic ([`first`] what is assigned instead of a sum), [`copies`] keeps what is
//! read of an entry together ([`packet_copies`] for general code), [`keys`], [`values`], [`mixed`] and [`texts`] convert, [`records`] are values with fields, [`places`] those of lists. [`traversal`] looks through a table's keys, for
//! [`traversal`], and [`border`] is `#`.

mod access;
pub(crate) mod adding;
mod additions;
mod addresses;
mod advice;
pub(crate) mod assigned;
mod assigning;
mod border;
mod bytes;
mod copied_keys;
mod copies;
mod elements;
mod first;
mod fitting;
pub(crate) mod held;
mod key_functions;
pub(crate) mod keys;
pub(crate) mod known;
mod loaded;
mod lookups;
pub(crate) mod map_calls;
mod mixed;
mod noticing;
mod packet_copies;
mod places;
mod records;
pub(crate) mod seen;
mod texts;
mod traversal;
mod values;
mod virtual_tables;
mod writing;

pub use adding::Met;
pub use additions::Additions;
pub use addresses::EntryOf;
pub use assigned::Assigned;
pub use assigned::Assignment;
pub use copied_keys::Extent;
pub use held::STALE;
pub use known::{Path, SharedTables};
pub use packet_copies::CopyLayout;
pub use seen::{Seen, SeenType};
pub use traversal::{Visit, invalid_key};

use self::known::{Known, initial};
use self::loaded::contents;
use self::seen::Misfit;
use crate::context::{Context, Result, Stop};
use crate::error::LowerErrorKind;
use crate::output::Output;
use crate::region::MAX_VALUE;
use moonhook_ir as ir;
use moonhook_schema::{
    CAPACITY, Declaration, MAX_KEY, Schema, SchemaError, WhenFull, encode_key, encode_value,
};
use moonhook_snapshot::{Snapshot, Table, TableId};
use std::collections::BTreeMap;
use std::rc::Rc;

impl Context<'_> {
    /// Makes a map of the table, which the script calls `title` here.
    pub fn share(&mut self, table: TableId, title: Option<&str>) -> Result<()> {
        self.check_shareable(table, title)?;
        self.check_contents(table, title)?;
        self.known.shared.know(self.snapshot, table);
        self.learned()
    }

    /// Refuses a table with something in it that no map can hold.
    fn check_contents(&self, table: TableId, title: Option<&str>) -> Result<()> {
        let Err(misfit) = initial(self.snapshot, self.snapshot.table(table)) else { return Ok(()) };
        let help = "use a table of its own for what changes by key".to_string();
        let problem = misfit.problem();
        let table = self.snapshot.table_name(table).to_string();
        self.refuse(LowerErrorKind::SharedTable { table, problem, help }, title)
    }

    /// Takes note of a key and a value that the handlers use with the table. Where nothing is learned its types are settled.
    fn note(&mut self, table: TableId, key: &Seen, value: &Seen) -> Result<()> {
        if !self.around.learns() {
            return Ok(());
        }
        let known = self.known.shared.know(self.snapshot, table);
        match (known.key.add(key) | known.value.add(value), &known.map) {
            (false, _) => Ok(()),
            (true, None) => self.learned(),
            // The map has other types, and code may hold entries of it.
            (true, Some(_)) => Err(Stop::Restart),
        }
    }

    /// Map and schema of the table; `None` as long as nothing was seen that tells its types.
    pub fn shared_map(&mut self, table: TableId) -> Result<Option<(ir::MapId, Rc<Schema>)>> {
        let declaration = self.snapshot.table(table).declaration.clone().unwrap_or_default();
        let known = self.known.shared.know(self.snapshot, table);
        if known.map.is_some() {
            return Ok(known.map.clone());
        }
        if known.key.is_empty() && declaration.key.is_none()
            || (known.value.is_empty() || known.value.has_no_fields()) && declaration.value.is_none()
        {
            return Ok(None);
        }
        let schema = schema(known, declaration);
        let checked = schema.and_then(|schema| check(self.snapshot, self.snapshot.table(table), schema));
        match checked {
            Ok(schema) => Ok(Some(self.make_map(table, schema))),
            Err(problem) => {
                self.check_contents(table, Some(self.snapshot.table_name(table)))?;
                let known = self.known.shared.types_seen(self.snapshot, table);
                self.refuse_table(table, &known, problem)
            }
        }
    }

    /// Map and schema of a table whose types must be known by now.
    pub fn settled_map(&mut self, table: TableId) -> Result<(ir::MapId, Rc<Schema>)> {
        self.check_contents(table, Some(self.snapshot.table_name(table)))?;
        if let Some(known) = self.shared_map(table)? {
            return Ok(known);
        }
        let known = self.known.shared.types_seen(self.snapshot, table);
        self.refuse_table(table, &known, "the types of its keys and values are not known".to_string())
    }

    fn make_map(&mut self, table: TableId, schema: Schema) -> (ir::MapId, Rc<Schema>) {
        let id = ir::MapId(self.output.module.maps.len() as u32);
        let name = self.snapshot.table_name(table);
        // The same name after a reload, whichever of several scripts is met first.
        let name = match self.snapshot.owners.of_table(table) {
            Some(script) => self.output.map_name(&format!("{name}_{script}")),
            None => self.output.map_name(name),
        };
        let kind = ir::MapKind::Map(definition(&schema));
        self.output.module.maps.push(ir::Map { name, kind });
        self.output.module.tables.push(ir::SharedTable {
            name: self.snapshot.table_name(table).to_string(),
            map: id,
            schema: schema.clone(),
            table: table.0,
            contents: contents(self.snapshot, self.snapshot.table(table)),
        });
        let made = (id, Rc::new(schema));
        self.known.shared.known.entry(table).or_default().map = Some(made.clone());
        made
    }

    pub(super) fn refuse_unknown<T>(&mut self, table: TableId) -> Result<T> {
        let known = Known {
            value: Seen::record(BTreeMap::new()),
            ..self.known.shared.types_seen(self.snapshot, table)
        };
        self.refuse_table(table, &known, "its values are tables without fields".to_string())
    }

    fn refuse_table<T>(&self, table: TableId, known: &Known, problem: String) -> Result<T> {
        let name = self.snapshot.table_name(table).to_string();
        let help = advice::help(self.snapshot, table, &known.key, &known.value);
        self.refuse(LowerErrorKind::SharedTable { table: name.clone(), problem, help }, Some(&name))
    }

    /// Notes that a table is read of which nothing tells the types so far.
    fn note_untyped(&mut self, table: TableId) {
        if self.snapshot.table(table).declaration.is_some() {
            self.known.shared.untyped.get_or_insert((table, self.code.loc));
        }
    }

    /// Refuses tables that are read and whose types nothing tells.
    pub fn check_typed(&mut self) -> Result<()> {
        let Some((table, loc)) = self.known.shared.untyped else { return Ok(()) };
        if self.shared_map(table)?.is_some() {
            return Ok(());
        }
        self.code.loc = loc;
        let known = self.known.shared.types_seen(self.snapshot, table);
        self.refuse_table(table, &known, "what its values are is not known".to_string())
    }

    /// Refuses what cannot be done with a shared table.
    pub fn refuse_shared<T>(&self, table: TableId, what: &str, help: &str) -> Result<T> {
        let name = self.snapshot.table_name(table);
        let what = format!("{what} `{name}`, which is a map,");
        self.refuse(LowerErrorKind::SharedUse { what, help: help.to_string() }, Some(name))
    }
}

/// Whether a map can hold what load time has left in the table.
pub fn can_be_map(snapshot: &Snapshot, table: TableId) -> bool {
    initial(snapshot, snapshot.table(table)).is_ok()
}

impl SharedTables {
    /// What is known of a shared table.
    pub fn know(&mut self, snapshot: &Snapshot, table: TableId) -> &mut Known {
        // What is wrong with a table is found when its map is made.
        let initial = || initial(snapshot, snapshot.table(table)).unwrap_or_default();
        self.known.entry(table).or_insert_with(initial)
    }

    /// Whether the table is a map.
    pub fn is_shared(&self, snapshot: &Snapshot, table: TableId) -> bool {
        self.known.contains_key(&table) || snapshot.table(table).declaration.is_some()
    }

    /// What was seen of a table's types. It stays known: where this attempt has learned something, a refusal is found again in the next one.
    pub fn types_seen(&mut self, snapshot: &Snapshot, table: TableId) -> Known {
        let Known { key, value, .. } = self.know(snapshot, table);
        Known { key: key.clone(), value: value.clone(), ..Known::default() }
    }
}

impl Output {
    /// A C identifier that no other map has, made from a table's name.
    pub fn map_name(&self, name: &str) -> String {
        const MOST: usize = 15;
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let start = if plain.starts_with(|c: char| c.is_ascii_digit()) { "t" } else { "" };
        let candidate = |number: usize| {
            let end = if number == 0 { String::new() } else { number.to_string() };
            let mut name = format!("{start}{plain}");
            name.truncate(MOST - end.len());
            name + &end
        };
        let taken = |name: &String| ir::maps::is_taken(name) || self.known_map(name).is_some();
        (0..).map(candidate).find(|name| !taken(name)).unwrap_or_default()
    }
}

/// What is declared, and for the rest what was seen; else what is wrong with it.
fn schema(known: &Known, declaration: Declaration) -> std::result::Result<Schema, String> {
    Ok(Schema {
        key: match declaration.key {
            Some(key) => key,
            None => known.key.key_ty().map_err(|words| format!("its keys are {words}"))?,
        },
        value: match declaration.value {
            Some(value) => value,
            None => known.value.ty().map_err(|words| format!("its values are {words}"))?,
        },
        capacity: declaration.capacity.unwrap_or(CAPACITY),
        when_full: declaration.when_full,
        lifetime: declaration.lifetime,
        per_cpu: declaration.per_cpu,
    })
}

/// Whether a map of that schema is possible, and takes what load time left in the table.
fn check(snapshot: &Snapshot, table: &Table, schema: Schema) -> std::result::Result<Schema, String> {
    initial(snapshot, table).map_err(Misfit::problem)?;
    for (what, size, most) in
        [("keys", schema.key_size(), MAX_KEY), ("values", schema.value_size(), MAX_VALUE)]
    {
        if size > most {
            return Err(format!("its {what} take {size} bytes, {most} at most are possible"));
        }
    }
    let contents = contents(snapshot, table);
    if contents.len() > schema.capacity as usize {
        return Err(format!(
            "it has {} entries at load time, and room for {}",
            contents.len(),
            schema.capacity
        ));
    }
    let unfit = |error: SchemaError| format!("what is in it does not fit its declaration: {error}");
    for (key, value) in &contents {
        encode_key(&schema, key).map_err(unfit)?;
        encode_value(&schema, value, 0).map_err(unfit)?;
    }
    Ok(schema)
}

fn definition(schema: &Schema) -> ir::MapDefinition {
    /// `BPF_F_NO_PREALLOC`, which tries demand.
    const NO_PREALLOC: u32 = 1;
    let map_type = match (schema.is_prefixes(), schema.when_full, schema.per_cpu) {
        (true, ..) => ir::MapType::LpmTrie,
        (_, WhenFull::Error, false) => ir::MapType::Hash,
        (_, WhenFull::Error, true) => ir::MapType::PerCpuHash,
        (_, WhenFull::Evict, false) => ir::MapType::LruHash,
        (_, WhenFull::Evict, true) => ir::MapType::LruPerCpuHash,
    };
    ir::MapDefinition {
        map_type,
        key_size: schema.key_size() as u32,
        value_size: schema.value_size() as u32,
        max_entries: schema.capacity,
        flags: if schema.is_prefixes() { NO_PREALLOC } else { 0 },
    }
}
