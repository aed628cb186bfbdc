//! Tables that scripts declare to be maps behave as the maps do: they refuse new entries where there is no room and strings that
//! are too long or of another type ([`limits`]); entries have lifetimes, addresses find prefixes, and records as keys are compared
//! by their fields ([`hidden`]). Everything else about them is Lua's own. A table that evicts old entries grows here: which one
//! gives way is the kernel's business.

mod hidden;
mod limits;

pub use hidden::content;

use std::rc::Rc;

use mlua::{Function, Table};
use moonhook_load::Loaded;
use moonhook_snapshot::TableId;

use self::hidden::Hidden;
use self::limits::Limits;

/// Makes the declared tables of a script what they say.
pub(crate) fn limit(loaded: &Loaded) -> mlua::Result<()> {
    let lua = &loaded.lua;
    loaded.requests.read_proxies(Rc::new(hidden::in_event));
    for (number, frozen) in loaded.snapshot.tables.iter().enumerate() {
        if let Some(declaration) = &frozen.declaration
            && let Some(table) = loaded.table(TableId(number as u32))
            && table.metatable().is_none()
        {
            let limits = Limits::new(frozen.name.as_deref().unwrap_or("?"), declaration);
            match Hidden::new(limits, declaration) {
                Ok(hidden) => hidden.apply(lua, &table, &next(loaded)?, &loaded.steppers)?,
                Err(limits) => limits.apply(lua, &table)?,
            }
        }
    }
    Ok(())
}

/// The scripts' `next`, which traverses tables in their order.
fn next(loaded: &Loaded) -> mlua::Result<Function> {
    let globals =
        loaded.scripts.first().map_or_else(|| loaded.lua.globals(), |script| script.globals.clone());
    globals.raw_get::<Table>("_G")?.raw_get("next")
}
