//! Memory that C gives handlers as their second argument: a copy of it, in a map.
//!
//! A value of the map is laid out as a text of an entry is: how many bytes there are, in 4 bytes, and these.

use moonhook_ir as ir;

/// What C can give at most, in bytes.
pub const MOST: usize = 256;

/// Where the bytes begin.
pub const BYTES: i16 = 4;

/// A power of two above [`MOST`]: the verifier takes a mask for the proof that an access is inside.
pub const MASK: i64 = 2 * MOST as i64 - 1;

/// The map: one value for each CPU, longer than a masked offset and the widest access behind it.
pub fn definition() -> ir::MapDefinition {
    let value_size = (BYTES as u32 + MASK as u32 + 1 + 8).next_multiple_of(8);
    ir::MapDefinition {
        map_type: ir::MapType::PerCpuArray,
        key_size: 4,
        value_size,
        max_entries: 1,
        flags: 0,
    }
}
