//! A Lua state that is given its code in pieces: each is executed as it comes, and what functions of the state are handlers, and what they reach,
//! is snapshotted as often as it is asked for.
//!
//! The state has the surroundings of a script, and one set of global variables for all pieces.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::{Function, Lua, Table, Value};
use moonhook_hook::{Point, XDP};
use moonhook_library::own::data::LINK;
use moonhook_library::own::kept::{KEEP, KEPT};
use moonhook_snapshot::{Owners, Snapshot};

use crate::error::LoadError;
use crate::files::Files;
use crate::flows::Flows;
use crate::freeze::Numbered;
use crate::functions::without_lines;
use crate::limits::Meter;
use crate::locate::locate;
use crate::names::Names;
use crate::registry::{Registration, Registry};
use crate::roots::Roots;
use crate::{Loaded, Options, Script, freeze, sandbox, state_error};

/// Texts that are kept for messages about their lines: those that were executed last.
const TEXTS: usize = 1000;

/// What they do outside of packet code: a value is kept until another one is, and no link has a header.
const FOR_HANDLERS: &str = "local kept return function(value) kept = value end, function() return kept end, function() return '' end";

/// What handlers have that are made of Moonhook's own Lua.
pub struct ForHandlers {
    /// Keeps a value until the handler's call ends: what functions read that the script calls ([`moonhook_library::own::kept`]).
    pub keep: Function,
    /// Gives it.
    pub kept: Function,
    /// The link's header of a packet, as a string ([`LINK`]).
    pub link: Function,
    /// Makes an object of the module `data`, with fields of layouts only: of a packet, or of the bytes of a string if the first argument is false.
    pub object: Function,
}

/// What a state knows beside [`Loaded`].
pub struct Living {
    name: String,
    files: Rc<Files>,
    registry: Registry,
    names: Names,
    /// Its global variables, and `package.loaded`.
    globals: Table,
    required: Table,
    executed: u64,
}

impl Living {
    /// A state of that name, with nothing executed; modules are found in `folder`. Nothing limits it but memory.
    ///
    /// # Errors
    /// `State` where there is no memory; `Unreadable` where there is no such folder.
    pub fn begin(name: &str, folder: &Path, options: &Options) -> Result<(Living, Loaded), LoadError> {
        let lua = sandbox::new_state(false).map_err(state_error)?;
        let meter = Meter::new(&lua, u64::MAX).map_err(state_error)?;
        let steppers = lua.create_table().map_err(state_error)?;
        let files = Rc::new(Files::default());
        let registry = Registry::new(options.hook.unwrap_or(&XDP), options);
        let roots = Roots::new(folder, &options.allow_read).map_err(|(path, error)| {
            LoadError::Unreadable { path: path.to_string_lossy().into_owned(), error }
        })?;
        let mut names = Names::default();
        let surroundings =
            sandbox::globals(&lua, folder.to_path_buf(), &roots, &files, &registry, &steppers, &mut names)
                .map_err(state_error)?;
        let (globals, required) = (surroundings.table, surroundings.loaded);
        lua.set_memory_limit(options.memory_limit).map_err(state_error)?;
        let script =
            Script { path: PathBuf::from(name), globals: globals.clone(), handlers: 0..0, main: None };
        let numbered = Numbered::none(&lua).map_err(state_error)?;
        let loaded = Loaded {
            is_over: false,
            snapshot: Snapshot::default(),
            handlers: Vec::new(),
            queued: Vec::new(),
            moved: Vec::new(),
            forwarding: Vec::new(),
            files: Vec::new(),
            scripts: vec![script],
            requests: registry.requests.clone(),
            steppers,
            flows: Flows::default(),
            object_maps: registry.object_maps.clone(),
            base: None,
            numbered,
            meter,
            memory_limit: options.memory_limit,
            lua,
        };
        let name = name.to_string();
        Ok((Living { name, files, registry, names, globals, required, executed: 0 }, loaded))
    }

    /// Its global variables.
    pub fn globals(&self) -> &Table {
        &self.globals
    }

    /// A function of Moonhook's own, whose lines are nobody's.
    ///
    /// # Errors
    /// There is no memory.
    pub fn own(&self, lua: &Lua, text: &'static str) -> mlua::Result<Function> {
        without_lines(lua, text)
    }

    /// Functions for handlers that are made of Moonhook's own Lua.
    ///
    /// # Errors
    /// There is no memory.
    pub fn for_handlers(&mut self, lua: &Lua) -> mlua::Result<ForHandlers> {
        let (keep, kept, link): (Function, Function, Function) = self.own(lua, FOR_HANDLERS)?.call(())?;
        for (name, function) in [(KEEP.name, &keep), (KEPT.name, &kept), (LINK, &link)] {
            self.names.add_function(name, function.clone());
        }
        let require: Function = self.globals.get("require")?;
        require.call::<()>("data")?;
        Ok(ForHandlers { keep, kept, link, object: crate::modules::data::plain(lua)? })
    }

    /// A text's function, with the state's global variables. Messages call it by `title`, which is followed by `#` and a number where one has been executed
    /// that is called so.
    ///
    /// # Errors
    /// `Syntax`, `TooDeep`, `State`.
    pub fn chunk(&mut self, lua: &Lua, title: &str, text: &[u8]) -> Result<Function, LoadError> {
        self.executed += 1;
        let is_known = self.files.sources().iter().any(|source| source.name == title);
        let title = if is_known { format!("{title}#{}", self.executed) } else { title.to_string() };
        self.files.forget_texts(TEXTS - 1);
        let chunk =
            self.files.chunk(lua, Path::new(&title), text.to_vec(), Value::Table(self.globals.clone()));
        chunk.map_err(|error| match error {
            mlua::Error::SyntaxError { message, .. } => {
                crate::run::syntax(locate(&message, &self.files.sources(), None))
            }
            error => state_error(error),
        })
    }

    /// What these handlers reach of the state, which becomes what `loaded` knows objects and variables by.
    ///
    /// # Errors
    /// As of [`crate::load`].
    pub fn freeze(
        &mut self,
        loaded: &mut Loaded,
        handlers: Vec<(Point, Function)>,
    ) -> Result<Snapshot, LoadError> {
        self.names.add_required(&self.required).map_err(state_error)?;
        let registered: Vec<_> =
            handlers.into_iter().map(|(point, function)| Registration::new(point, function)).collect();
        let sources = self.files.sources();
        let text_of = |name: &str| {
            sources.iter().find(|source| source.name == name).map(|source| source.text().to_string())
        };
        let lua = loaded.lua.clone();
        lua.set_memory_limit(0).map_err(state_error)?;
        let frozen = freeze::freeze(
            &lua,
            self.name.clone(),
            &registered,
            (&self.names, &self.registry.declared),
            &self.registry.flows,
            &text_of,
        );
        let frozen = frozen.and_then(|known| {
            let numbered = known.numbered(&lua, false).map_err(state_error)?;
            Ok((known.snapshot, numbered))
        });
        lua.set_memory_limit(loaded.memory_limit).map_err(state_error)?;
        let (mut snapshot, numbered) = frozen?;
        loaded.numbered = numbered;
        loaded.handlers = registered.into_iter().map(|registration| registration.function).collect();
        let all = 0..loaded.handlers.len();
        snapshot.owners = Owners::of(&snapshot, &[(Path::new(&self.name), all)]);
        snapshot.traced = self.registry.traced.borrow().clone();
        self.registry.chains.put(&mut snapshot);
        snapshot.contents.extend(self.registry.object_maps.contents());
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_have_functions_of_their_own() {
        let (mut living, loaded) = Living::begin("st", Path::new("."), &Options::default()).unwrap();
        let lua = &loaded.lua;
        let ForHandlers { keep, kept, link, object } = living.for_handlers(lua).unwrap();
        assert_eq!(kept.call::<Value>(()).unwrap(), Value::Nil);
        keep.call::<()>(7).unwrap();
        assert_eq!(kept.call::<i64>(()).unwrap(), 7);
        assert_eq!(link.call::<String>(()).unwrap(), "");
        let check = "local object = ... \
            local o, none = object(false, 'abc'), object(false, '') \
            return #o, tostring(o), o.tcp == nil, o:segment(1):layout{ a = { 0, 8 } }.a, #none, none:layout{ a = { 0, 8 } }.a == nil";
        let function = lua.load(check).into_function().unwrap();
        let found: (i64, String, bool, i64, i64, bool) = function.call(object).unwrap();
        assert_eq!(found, (3, "abc".into(), true, 0x62, 0, true));
    }
}
