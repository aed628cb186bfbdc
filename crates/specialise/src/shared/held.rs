//! What the handler holds of shared tables: a table that was assigned is the entry from then on, and an entry that may have been
//! replaced or deleted is not used any more.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::shared::known::SharedTables;
use crate::shared::map_calls::lookup;
use crate::state::{Facts, Looked, Slot, State, Zero};
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{PathState, Words};
use moonhook_schema::{Field, Schema, Type, constructed, position};
use moonhook_snapshot::TableId;

/// What an entry becomes that must not be used any more.
pub const STALE: Abs = Abs::Object(Object::Opaque("table", u32::MAX));

/// The text of a table with the fields of the record that is called `name`.
fn copied(name: &str, ty: &Type) -> String {
    const MOST: usize = 6;
    let Type::Record(fields) = ty else { return name.to_string() };
    let part = |field: &Field| match position(&field.name) {
        Some(position) => copied(&format!("{name}[{position}]"), &field.ty),
        None => copied(&format!("{name}.{}", field.name), &field.ty),
    };
    let fields = constructed(fields.iter().map(|field| (field.name.as_str(), field)));
    let field = |(label, field): &(String, &Field)| format!("{label}{}", part(field));
    let mut texts: Vec<String> = fields.iter().take(MOST).map(field).collect();
    if fields.len() > MOST {
        texts.push("…".to_string());
    }
    format!("{{{}}}", texts.join(", "))
}

impl Context<'_> {
    /// Whether something that is used later on holds the table made at packet time that `value` is.
    pub(super) fn holds_made(&mut self, value: &Abs) -> Result<bool> {
        let Abs::Object(Object::Made(made)) = value else { return Ok(false) };
        let reach = self.state.reach(*made);
        let is = |value: &Abs| matches!(value, Abs::Object(Object::Made(id)) if reach.iter().any(|(_, made)| made == id));
        let live = self.execution.registers_used_later();
        let registers = self.state.registers.iter().enumerate();
        let mut held = registers
            .filter(|(register, _)| live.contains(*register))
            .any(|(_, slot)| matches!(slot, Slot::Direct(value) if is(value)));
        let own: Vec<u32> = reach
            .iter()
            .filter_map(|(_, made)| self.state.tables.get(made))
            .flat_map(|made| made.fields.values().copied())
            .collect();
        held |= self.state.cells.iter().any(|(cell, value)| !own.contains(cell) && is(value));
        for index in 0..self.execution.calls.len().saturating_sub(1) {
            let live = self.execution.live_registers(index);
            let Some(registers) = self.execution.callers.get(index + 1) else { continue };
            let held = |(register, slot): (usize, &Slot)| {
                live.contains(register) && matches!(slot, Slot::Direct(value) if is(value))
            };
            if registers.iter().enumerate().any(held) {
                return self.unsupported(
                    "keeping a table that a calling function goes on using",
                    "return the table, and keep it in the function that made it",
                    None,
                );
            }
        }
        Ok(held)
    }

    /// Binds what holds the table, if anything does, to the entry that it was assigned to.
    pub(super) fn bind_entry(
        &mut self,
        table: TableId,
        map: ir::MapId,
        schema: &Schema,
        key: &Abs,
        value: &Abs,
    ) -> Result<()> {
        let Abs::Object(Object::Made(made)) = value else { return Ok(()) };
        if !self.state.alive() || !self.holds_made(value)? {
            return Ok(());
        }
        let address = self.fitting_key(table, schema, key)?;
        let identity = self.state.key_identity(&self.code.same, key);
        let entry = match self.is_copied(table) {
            false => lookup(self, map, address),
            true => {
                let arms = self.look_up_and_copy((table, &identity), (map, schema), address)?;
                let found = self.join_word(arms)?;
                self.value(found)
            }
        };
        let gone = self.compare(CompareOp::Eq, entry, 0);
        let message = format!("an entry of table '{}' is gone", self.snapshot.table_name(table));
        self.check(gone, || Message::new(message));
        self.state.bind(&mut self.known.shared, table, *made, Vec::new(), entry);
        self.state.facts.found_looked(table, &identity, entry.into());
        Ok(())
    }

    /// Entries of the table that are held may be replaced or gone: they are not used any more.
    pub fn entries_change(&mut self, table: TableId) {
        self.forget_sums(table);
        self.state.facts.looked.retain(|looked| looked.table != table);
        let paths = &self.known.shared.paths;
        let of_table: Vec<bool> = paths.iter().map(|(of, _)| *of == table).collect();
        let stale = |value: &Abs| match value {
            Abs::Entry { path, .. } if of_table[*path as usize] => Some(STALE),
            _ => None,
        };
        self.state.swap(&stale);
        let is_stale = |slot: &Slot| matches!(slot, Slot::Direct(value) if stale(value).is_some());
        for registers in self.execution.callers.iter_mut().filter(|registers| registers.iter().any(is_stale))
        {
            for slot in registers.iter_mut() {
                if let Slot::Direct(value) = slot
                    && let Some(new) = stale(value)
                {
                    *value = new;
                }
            }
        }
    }

    /// Refuses to keep a value that no map can hold.
    pub(super) fn refuse_kept<T>(&mut self, table: TableId, value: &Abs) -> Result<T> {
        if let Abs::Entry { path, base } = *value {
            return self.refuse_kept_entry(table, path, base);
        }
        if *value == STALE {
            let name = self.snapshot.table_name(table);
            let help = "copy what is needed into a new table";
            return self.unsupported(
                format!("keeping an entry in the shared table `{name}`"),
                help,
                Some(name),
            );
        }
        if let Abs::Object(Object::Stored(_)) = value {
            let help =
                "copy what is needed into a table with named fields, or have a table for each of its keys";
            return self.refuse_shared(table, "keeping a table whose keys come from the packet in", help);
        }
        let name = if matches!(value, Abs::Float(_)) { "float" } else { value.message_name() };
        let what = format!("keeping a {name} in");
        self.refuse_shared(table, &what, "keep integers, strings, booleans, and new tables of them")
    }

    /// Refuses to keep an entry in the map `table`: in Lua both places would hold one table, and an assignment to a field would be
    /// seen at both. Whether it is its own place under a key that comes another way, general code finds out.
    pub(super) fn refuse_kept_entry<T>(&mut self, table: TableId, path: u32, base: Word) -> Result<T> {
        let (from, names) = self.known.shared.paths[path as usize].clone();
        let copy = match self.record_of(path, base)? {
            Some((_, ty)) => copied("e", &ty),
            None => "{…}".to_string(),
        };
        let may_be_the_same = from == table && names.is_empty();
        let (from, name) = (self.snapshot.table_name(from), self.snapshot.table_name(table));
        let entry = [format!("{from}[k]")].into_iter().chain(names).collect::<Vec<_>>().join(".");
        let help = format!("copy its fields: `local e = {entry}`, then `{name}[k] = {copy}`");
        if may_be_the_same {
            let what = format!("keeping an entry of the shared table `{name}` under another key of it");
            return self.unsupported(what, help, Some(name));
        }
        self.refuse_shared(table, &format!("keeping an entry of `{from}` in"), &help)
    }

    /// Refuses the use of an entry that may be gone.
    pub fn refuse_stale<T>(&self, name: Option<&str>) -> Result<T> {
        self.unsupported(
            "using an entry of a shared table after entries were assigned or deleted",
            "look the entry up again",
            name,
        )
    }
}

impl State {
    /// From now on, what holds the table holds the record at that path.
    pub fn bind(
        &mut self,
        shared: &mut SharedTables,
        table: TableId,
        made: u32,
        names: Vec<String>,
        base: ir::Value,
    ) {
        for (inner, id) in self.reach(made) {
            let path = names.iter().cloned().chain(inner).collect();
            let entry = shared.entry(table, path, base);
            self.swap(&|value| (*value == Abs::Object(Object::Made(id))).then(|| entry.clone()));
        }
    }

    /// Replaces values that are held.
    pub fn swap(&mut self, new: &dyn Fn(&Abs) -> Option<Abs>) {
        let swap = |value: &mut Abs| {
            if let Some(new) = new(value) {
                *value = new;
            }
        };
        let direct = |slot: &Slot| matches!(slot, Slot::Direct(value) if new(value).is_some());
        if self.registers.iter().any(direct) {
            for slot in self.registers.iter_mut() {
                if let Slot::Direct(value) = slot {
                    swap(value);
                }
            }
        }
        if self.cells.values().any(|value| new(value).is_some()) {
            self.cells.values_mut().for_each(swap);
        }
    }

    /// A table made at packet time and those in its fields, with the names that lead there.
    pub fn reach(&self, made: u32) -> Vec<(Vec<String>, u32)> {
        let mut found = vec![(Vec::new(), made)];
        let mut next = 0;
        while let Some((names, made)) = found.get(next).cloned() {
            next += 1;
            let Some(table) = self.tables.get(&made) else { continue };
            for (key, cell) in &table.fields {
                if let (Some(name), Some(Abs::Object(Object::Made(inner)))) =
                    (key.field_name(), self.cells.get(cell))
                {
                    let mut names = names.clone();
                    names.push(name);
                    found.push((names, *inner));
                }
            }
        }
        found
    }
}

impl Facts {
    /// There may be an entry of the table where there was none.
    pub fn entries_come(&mut self, table: TableId) {
        let stays = |looked: &Looked| looked.table != table || looked.zero == Zero::Never;
        if !self.looked.iter().all(stays) {
            self.looked.retain(stays);
        }
    }
}
