//! Moonhook's own modules: what `require` finds besides files.
//!
//! Each module is a file here and a row in [`MODULES`]. A module makes its table through a [`module::Context`], which gives every
//! function its canonical name and lets it raise errors at the script's line as C functions of Lua do.

pub(crate) mod attach;
mod byteorder;
mod linux;
pub(crate) mod module;
mod rcu;
mod set;
mod tc;
mod verdicts;
mod xdp;

use self::module::Module;

pub(crate) const MODULES: &[Module] = &[
    byteorder::MODULE,
    linux::MODULE,
    rcu::MODULE,
    set::MODULE,
    tc::MODULE,
    verdicts::TC_MODULE,
    verdicts::XDP_MODULE,
    xdp::MODULE,
];
