//! Moonhook's own global variables: what a script has besides Lua's library without asking for it; and the functions of that library
//! that are written in Lua, so that handlers can have them compiled.
//!
//! Each is a file here and a row in [`GLOBALS`].

mod attach;
mod collectgarbage;
pub(crate) mod event;
pub(crate) mod map;
mod on;
pub(crate) mod redirect;
mod route;
mod schema;
mod signal;
mod timer;
mod warn;

use crate::modules::module::Global;

pub(crate) const GLOBALS: &[Global] = &[
    attach::GLOBAL,
    collectgarbage::GLOBAL,
    event::GLOBAL,
    map::GLOBAL,
    on::GLOBAL,
    redirect::GLOBAL,
    route::GLOBAL,
    signal::GLOBAL,
    timer::GLOBAL,
    warn::GLOBAL,
];
