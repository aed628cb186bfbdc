//! General code: every construct of Lua, on registers in arena memory.

pub mod thunks;
