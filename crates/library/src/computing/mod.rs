//! Modules of Lunatik's that only compute: their texts in Lua. Its scripts have them in states of all kinds, whether these are in a sandbox or not.
//!
//! Their functions have no rows: they are compiled like a script's own.

/// Names and texts.
pub const COMPUTING: [(&str, &str); 3] = [CLASS, NET, STRUCT];

pub const CLASS: (&str, &str) = ("class", include_str!("class.lua"));
pub const NET: (&str, &str) = ("net", include_str!("net.lua"));
pub const STRUCT: (&str, &str) = ("struct", include_str!("struct.lua"));
