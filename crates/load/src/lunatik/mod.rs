//! Scripts that are written for Lunatik: what handlers get there, and what their results mean, where that is something else than in scripts
//! of Moonhook's own.
//!
//! A handler of such a script becomes a function in Lua around it, which is compiled like the script's own: both forms, and the user tier, have
//! it without knowing of Lunatik.

mod copies;
mod needs;
mod queued;
mod tcx;

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

use mlua::{Function, Lua, Table};
use moonhook_hook::{NETFILTER, Point, XDP};
use moonhook_library::COMPUTING;

pub use needs::Need;
pub(crate) use needs::unknown_layers;
pub use queued::{At, ForwardingPlace, Queued, QueuedPlace};
pub(crate) use queued::{Plan, take_queued};
pub use tcx::MovedPlace;
pub(crate) use tcx::move_to_tc;

use crate::functions::without_lines;
use crate::names::Names;
use crate::registry::{Given, Registration, Requests};

/// What makes handlers of functions that are written for Lunatik: by the hook's name, a function that makes one. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Lunatik(Rc<RefCell<Option<Table>>>);

/// The name in a Lua state's registry of whether a text of no bytes is out of bounds everywhere, as in Lunatik (`luadata_checkbounds`).
pub const EMPTY_TEXTS_OUTSIDE: &CStr = c"moonhook.empty_texts_are_outside";

/// The name in a Lua state's registry of functions that make objects, for handlers of the present script, that show a part of a packet.
pub(crate) const WINDOWS: &str = "moonhook.data_windows";

/// Has methods of packets in this state say so.
///
/// # Errors
/// Lua has no memory left.
pub fn put_empty_texts_outside(lua: &Lua) -> mlua::Result<()> {
    lua.set_named_registry_value(&EMPTY_TEXTS_OUTSIDE.to_string_lossy(), true)
}

impl Lunatik {
    /// A script begins, which has these global variables: what is made around its functions calls those of its library.
    pub fn begin(
        &self,
        lua: &Lua,
        (names, requests): (&mut Names, &Requests),
        globals: &Table,
    ) -> mlua::Result<()> {
        put_empty_texts_outside(lua)?;
        let requests = requests.clone();
        let event = move |lua: &Lua, name: &str, values| requests.event(lua, name.into(), values);
        let own = copies::functions(lua, names, event)?;
        let windows: Table = lua.named_registry_value(WINDOWS)?;
        let integer: Function = windows.get("integer")?;
        let window = without_lines(lua, include_str!("window.lua"))?;
        let make_window: Function = window.call((globals, &own, &integer))?;
        let make = without_lines(lua, include_str!("handlers.lua"))?;
        let made: Table = make.call((globals, own, make_window, integer))?;
        let at_tc = without_lines(lua, include_str!("tcx.lua"))?;
        made.raw_set("tc", at_tc.call::<Function>((globals, windows))?)?;
        self.0.replace(Some(made));
        let preload: Table = globals.get::<Table>("package")?.get("preload")?;
        for (name, text) in COMPUTING {
            let module = without_lines(lua, text)?;
            module.set_environment(globals.clone())?;
            preload.raw_set(name, module)?;
        }
        Ok(())
    }

    /// Registers a script's function among `all`, of which those from `earlier` on are the script's.
    ///
    /// netfilter asks those that were registered last first (`nf_hook_entries_grow`, net/netfilter/core.c), and of those for XDP the last one stays.
    pub fn register(
        &self,
        all: &mut Vec<Registration>,
        earlier: usize,
        point: Point,
        (function, given): (&Function, Option<&Given>),
    ) -> mlua::Result<()> {
        let maker = self.0.borrow().clone();
        let wrap = maker.as_ref().and_then(|made| made.get::<Function>(point.hook.name).ok());
        let Some(wrap) = wrap else {
            all.push(Registration::new(point, function.clone()));
            return Ok(());
        };
        let wrapped: Function = wrap.call(function)?;
        let written = Some(function.clone());
        let given = given.filter(|_| point.hook == &NETFILTER).cloned();
        let registration = Registration { written, maker, given, ..Registration::new(point, wrapped) };
        let known = all[earlier..].iter().position(|other| other.point == registration.point);
        match known.map(|index| earlier + index) {
            Some(index) if registration.point.hook == &XDP => all[index] = registration,
            Some(index) if registration.point.hook == &NETFILTER => all.insert(index, registration),
            _ => all.push(registration),
        }
        Ok(())
    }
}
