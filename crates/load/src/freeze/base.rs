//! Functions that are added to a snapshot when load time is over.

use super::known::Known;
use super::{Freezer, TextOf, state_error};
use crate::error::LoadError;
use crate::names::Names;
use crate::registry::Declared;
use mlua::{Function, Lua};
use moonhook_hook::Point;
use moonhook_schema::Declaration;
use moonhook_snapshot::{Handler, Snapshot, TableId};

/// A snapshot to which functions are added when load time is over, one after another: each time the snapshot is the one of load time, with
/// one handler more and what only that one reaches.
pub struct Base {
    known: Known,
    names: Names,
    declared: Declared,
}

impl Base {
    /// The base of what load time left.
    pub(crate) fn new(mut known: Known, names: Names, declared: Declared) -> Base {
        known.settle();
        Base { known, names, declared }
    }

    /// Tables that handlers write are maps of these types, which have what was in them.
    pub fn declare(&mut self, tables: Vec<(TableId, Declaration)>) {
        for (id, declaration) in tables {
            if let Some(table) = self.known.snapshot.tables.get_mut(id.index()) {
                table.declaration = Some(declaration);
                (table.array, table.entries) = Default::default();
            }
        }
    }

    /// Calls `use_it` with the snapshot whose only handlers are `function`, at those points. `texts` gives what functions were made of, by name.
    ///
    /// # Errors
    /// `State`, `Chunk`; then the snapshot is as it was.
    pub fn with<T>(
        &mut self,
        lua: &Lua,
        function: &Function,
        (points, texts): (&[Point], TextOf<'_>),
        use_it: impl FnOnce(&Snapshot) -> T,
    ) -> Result<T, LoadError> {
        let handlers = std::mem::take(&mut self.known.snapshot.handlers);
        let outcome = self.add(lua, function, points, texts).map(|()| use_it(&self.known.snapshot));
        self.known.snapshot.handlers = handlers;
        self.known.take_back().map_err(state_error)?;
        outcome
    }

    fn add(
        &mut self,
        lua: &Lua,
        function: &Function,
        points: &[Point],
        texts: TextOf<'_>,
    ) -> Result<(), LoadError> {
        let Base { known, names, declared } = self;
        let mut freezer = Freezer { lua, names, declared, texts, known };
        let closure = freezer.closure(function).map_err(state_error)?;
        freezer.known.snapshot.handlers =
            points.iter().map(|point| Handler { point: point.clone(), closure, written: closure }).collect();
        freezer.run()
    }
}
