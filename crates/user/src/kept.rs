//! Frames in control code: objects as handlers get them, which stay for as long as somebody has them.

use crate::UserError;
use crate::metadata::Metadata;
use crate::object;
use mlua::{Lua, Value};
use moonhook_hook::Hook;

/// Makes objects of frames in a Lua state.
pub struct FrameObjects {
    lua: Lua,
    hook: &'static Hook,
}

impl FrameObjects {
    /// Of frames as that hook has them.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn new(lua: &Lua, hook: &'static Hook) -> Result<FrameObjects, UserError> {
        // SAFETY: `exec_raw` calls the closure under Lua's protection and with enough stack; the closure owns nothing.
        unsafe { lua.exec_raw::<()>((), |state| object::register(state)) }?;
        Ok(FrameObjects { lua: lua.clone(), hook })
    }

    /// An object with a copy of the bytes.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn make(&self, bytes: &[u8]) -> mlua::Result<Value> {
        self.make_with(bytes, Metadata::default())
    }

    /// The same of a frame that has come in by a queue of an interface, by their numbers.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn make_received(&self, bytes: &[u8], interface: u32, queue: u32) -> mlua::Result<Value> {
        self.make_with(bytes, Metadata::received(interface, queue))
    }

    fn make_with(&self, bytes: &[u8], metadata: Metadata) -> mlua::Result<Value> {
        // SAFETY: as in `new`, where `register` has run; the slice and the numbers live through the call.
        unsafe { self.lua.exec_raw((), |state| object::push_packet(state, self.hook, bytes, metadata)) }
    }
}
