//! The Lua files of this crate. A new file in `lua` or `prelude` is found by itself.

/// A file of Lua text.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile {
    /// Relative to the crate: `lua/memory.lua`.
    pub name: &'static str,
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/sources.rs"));
