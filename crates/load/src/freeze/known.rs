//! What was met so far: the snapshot, and the objects by their addresses and numbers.

use super::Pending;
use mlua::{Lua, Table, Value};
use moonhook_snapshot::{CellId, ClosureId, PrototypeId, Snapshot, SourceId, TableId};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::Arc;

/// A snapshot, and which objects of the Lua state are in it.
pub(crate) struct Known {
    pub snapshot: Snapshot,
    /// The tables by their numbers: that of number `i` at `i + 1`.
    pub by_number: Table,
    /// Functions and numbers by the numbers of the cells that they have: a function that has cell `i` at `2 * i + 1`, and the number that it
    /// has there, from 1, behind it.
    pub by_cell: Table,
    /// The closures by their numbers.
    pub(super) by_closure: Table,
    /// The values of cells by their numbers.
    pub(super) by_value: Table,
    pub(super) queue: VecDeque<Pending>,
    pub(super) closures: HashMap<*const c_void, ClosureId>,
    pub(super) cells: HashMap<*const c_void, CellId>,
    pub(super) tables: HashMap<*const c_void, TableId>,
    /// Numbers of other objects.
    pub(super) opaque: HashMap<*const c_void, u32>,
    pub(super) sources: HashMap<Arc<[u8]>, SourceId>,
    /// Prototypes by the bytes of the chunk they were read from, which saves reading those again.
    pub(super) chunks: HashMap<Vec<u8>, PrototypeId>,
    /// Prototypes by a hash of source, lines and code.
    pub(super) prototypes: HashMap<u64, Vec<PrototypeId>>,
    pub(super) added: Added,
}

/// Objects of a snapshot by their numbers, as [`Known`] has them.
pub(crate) struct Numbered {
    pub tables: Table,
    pub cells: Table,
    pub closures: Table,
}

impl Numbered {
    pub fn none(lua: &Lua) -> mlua::Result<Numbered> {
        Ok(Numbered {
            tables: lua.create_table()?,
            cells: lua.create_table()?,
            closures: lua.create_table()?,
        })
    }

    pub fn forget(&self) -> mlua::Result<()> {
        [&self.tables, &self.cells, &self.closures].into_iter().try_for_each(Table::clear)
    }
}

/// How the objects that were added since [`Known::settle`] are found, by kind and in order.
#[derive(Default)]
pub(super) struct Added {
    pub(super) closures: Vec<*const c_void>,
    pub(super) tables: Vec<*const c_void>,
    pub(super) cells: Vec<*const c_void>,
    pub(super) opaque: Vec<*const c_void>,
    pub(super) sources: Vec<Arc<[u8]>>,
    pub(super) chunks: Vec<Vec<u8>>,
    pub(super) prototypes: Vec<u64>,
}

impl Known {
    pub(super) fn new(lua: &Lua) -> mlua::Result<Known> {
        Ok(Known {
            snapshot: Snapshot::default(),
            by_number: lua.create_table()?,
            by_cell: lua.create_table()?,
            by_closure: lua.create_table()?,
            by_value: lua.create_table()?,
            queue: VecDeque::new(),
            closures: HashMap::new(),
            cells: HashMap::new(),
            tables: HashMap::new(),
            opaque: HashMap::new(),
            sources: HashMap::new(),
            chunks: HashMap::new(),
            prototypes: HashMap::new(),
            added: Added::default(),
        })
    }

    /// The objects by their numbers, in the tables that are here or in others that have the same.
    pub fn numbered(&self, lua: &Lua, others: bool) -> mlua::Result<Numbered> {
        let Known { by_number: tables, by_cell: cells, by_closure: closures, .. } = self;
        if !others {
            return Ok(Numbered { tables: tables.clone(), cells: cells.clone(), closures: closures.clone() });
        }
        let copied = |table: &Table| {
            let copy = lua.create_table_with_capacity(table.raw_len(), 0)?;
            (1..=table.raw_len()).try_for_each(|at| copy.raw_set(at, table.raw_get::<Value>(at)?))?;
            mlua::Result::Ok(copy)
        };
        Ok(Numbered { tables: copied(tables)?, cells: copied(cells)?, closures: copied(closures)? })
    }

    /// What is there stays, whatever is added later.
    pub(super) fn settle(&mut self) {
        self.added = Added::default();
    }

    /// Takes out what was added since [`Known::settle`].
    pub(super) fn take_back(&mut self) -> mlua::Result<()> {
        let added = std::mem::take(&mut self.added);
        self.queue.clear();
        for object in &added.closures {
            self.closures.remove(object);
        }
        for object in &added.tables {
            self.tables.remove(object);
        }
        for object in &added.cells {
            self.cells.remove(object);
        }
        for object in &added.opaque {
            self.opaque.remove(object);
        }
        for object in &added.sources {
            self.sources.remove(object);
        }
        for object in &added.chunks {
            self.chunks.remove(object);
        }
        for hash in &added.prototypes {
            self.prototypes.get_mut(hash).map(Vec::pop);
        }
        let Snapshot { closures, tables, cells, prototypes, sources, .. } = &mut self.snapshot;
        for (held, added, left) in [
            (&self.by_closure, added.closures.len(), closures.len()),
            (&self.by_number, added.tables.len(), tables.len()),
            (&self.by_value, added.cells.len(), cells.len()),
        ] {
            (left - added..left).try_for_each(|number| held.raw_set(number + 1, mlua::Value::Nil))?;
        }
        for number in 2 * (cells.len() - added.cells.len())..2 * cells.len() {
            self.by_cell.raw_set(number + 1, mlua::Value::Nil)?;
        }
        closures.truncate(closures.len() - added.closures.len());
        tables.truncate(tables.len() - added.tables.len());
        cells.truncate(cells.len() - added.cells.len());
        prototypes.truncate(prototypes.len() - added.prototypes.len());
        sources.truncate(sources.len() - added.sources.len());
        Ok(())
    }
}
