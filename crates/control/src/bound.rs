//! What of a Lua state is a program's: its tables as proxies, its variables.

use crate::connection::{Connection, Made};
use crate::convert::{Space, value};
use crate::table::SharedTable;
use crate::turn::Control;
use crate::variables::Variables;
use crate::{ControlError, locals, proxy};
use mlua::{Lua, Table};
use moonhook_load::Loaded;
use std::rc::Rc;
use std::sync::Arc;

/// A state's tables and variables that are a program's.
pub(crate) struct Bound {
    /// The shared tables, in the order of the module.
    pub tables: Vec<Arc<SharedTable>>,
    /// Those that are the state's, and what they are there.
    targets: Vec<(Table, Arc<SharedTable>)>,
    pub variables: Variables,
    /// The proxies by name.
    pub proxies: Table,
    /// Local variables of the scripts by name.
    pub locals: Table,
}

impl Bound {
    /// Connects the tables and variables of a state, whose numbers are those of its last snapshot.
    pub fn make(
        loaded: &Loaded,
        space: &Rc<Space>,
        connection: Connection,
    ) -> Result<(Bound, Option<Made>), ControlError> {
        let proxies = loaded.lua.create_table()?;
        let (mut tables, mut targets) = (Vec::new(), Vec::new());
        for (id, shared) in connection.tables {
            if let Some(target) = loaded.table(id) {
                proxy::connect(&loaded.lua, space, &target, &shared)?;
                add_proxy(&loaded.lua, &proxies, &shared, &target)?;
                targets.push((target, Arc::clone(&shared)));
            }
            tables.push(shared);
        }
        loaded.object_maps.become_those(Box::new(connection.objects));
        let variables = Variables::connect(loaded, connection.handlers)?;
        let mut written: Vec<Table> = targets.iter().map(|(target, _)| target.clone()).collect();
        written.extend(variables.holders());
        let locals = locals::by_name(loaded, &written)?;
        Ok((Bound { tables, targets, variables, proxies, locals }, connection.flows))
    }

    /// Nothing of the state is a program's.
    pub fn nothing(lua: &Lua) -> mlua::Result<Bound> {
        let (proxies, locals) = (lua.create_table()?, lua.create_table()?);
        let variables = Variables::none();
        Ok(Bound { tables: Vec::new(), targets: Vec::new(), variables, proxies, locals })
    }

    /// Gives the state what is the program's now: tables have the entries, variables the values. Records of entries that the state holds go on being
    /// the program's.
    fn give_back(&self, loaded: &Loaded) -> Result<(), ControlError> {
        let lua = &loaded.lua;
        self.variables.fetch(lua)?;
        for (target, shared) in &self.targets {
            let entries: Vec<_> = shared.entries().collect::<Result<_, _>>()?;
            if let Some(metatable) = target.metatable() {
                loaded.steppers.raw_remove(metatable)?;
            }
            target.set_metatable(None)?;
            for (key, datum) in entries {
                target.raw_set(value(lua, &key)?, value(lua, &datum)?)?;
            }
        }
        Ok(())
    }
}

impl Control {
    /// A state that is connected with no program.
    ///
    /// # Errors
    /// `State` where Lua has no memory left.
    pub fn unbound(loaded: Loaded, options: crate::Options) -> Result<Control, ControlError> {
        Control::connect(loaded, Connection::nothing(), options)
    }

    /// The state, to which tables and variables belong again, with what they have in the program.
    ///
    /// # Errors
    /// `Install` where the kernel does not tell; `State` where Lua has no memory left.
    pub fn take_back(&mut self) -> Result<&mut Loaded, ControlError> {
        self.bound.give_back(&self.loaded)?;
        self.bound = Bound::nothing(&self.loaded.lua)?;
        Ok(&mut self.loaded)
    }

    /// As [`Loaded::limit_memory`].
    ///
    /// # Errors
    /// `State`.
    pub fn limit_memory(&mut self, bytes: usize) -> Result<usize, ControlError> {
        Ok(self.loaded.limit_memory(bytes)?)
    }

    /// Connects the state with a program that was made of its last snapshot. Flow tables are not for such states.
    ///
    /// # Errors
    /// `State` where Lua has no memory left.
    pub fn bind(&mut self, connection: Connection) -> Result<(), ControlError> {
        self.bound = Bound::make(&self.loaded, &self.space, connection)?.0;
        Ok(self.loaded.forget_snapshot()?)
    }
}

/// By its name a proxy can be reached by code from outside; the first of a name counts. Where there are several scripts, each of
/// them is a table of its proxies, unless a proxy has that name.
fn add_proxy(lua: &Lua, proxies: &Table, shared: &SharedTable, target: &Table) -> mlua::Result<()> {
    let add = |to: &Table, name: &str| match to.contains_key(name)? {
        true => Ok(()),
        false => to.raw_set(name, target),
    };
    add(proxies, shared.name())?;
    let Some(script) = shared.script() else { return Ok(()) };
    match proxies.raw_get::<Option<Table>>(script)? {
        // Tables of scripts have no metatable, proxies have one.
        Some(of_script) if of_script.metatable().is_none() => add(&of_script, shared.name()),
        Some(_) => Ok(()),
        None => {
            let of_script = lua.create_table()?;
            add(&of_script, shared.name())?;
            proxies.raw_set(script, of_script)
        }
    }
}
