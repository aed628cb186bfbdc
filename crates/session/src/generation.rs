//! A generation on its way: its Lua state, and its program once there is one.

use crate::Options;
use crate::inherit::Inheritance;
use crate::installed::Installed;
use crate::lua_thread::{LuaThread, Sources};
use moonhook_engine::Settings;
use moonhook_load::QueuedPlace;
use std::path::PathBuf;

/// A generation whose program is not there yet.
pub struct NextGeneration {
    pub thread: LuaThread,
    pub sources: Sources,
    pub settings: Settings,
    /// What the session is to do from then on, if that is something else.
    pub options: Option<Box<Options>>,
    /// Of the snapshot, when there is one.
    pub fingerprint: u64,
    pub files: Vec<PathBuf>,
    /// Where handlers that run in this process take their packets from.
    pub queued: Vec<QueuedPlace>,
    /// How many entries a table was given.
    pub entries: Option<u64>,
}

/// A generation whose program is in the kernel, and in no hook yet.
pub struct Next {
    pub generation: NextGeneration,
    pub installed: Installed,
    /// What it takes over.
    pub plan: Inheritance,
    /// It has taken over what had become of flows while it was connected.
    pub has_caught_up: bool,
}
