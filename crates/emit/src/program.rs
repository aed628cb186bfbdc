//! Functions as code with its place in the object, and the names of sections.

use crate::assemble::CodeWord;
use moonhook_ir::{Map, MapKind, maps};

/// The section of functions that are not programs.
pub const TEXT: &str = ".text";
/// Data sections start at a multiple of this, and their size is one.
pub const DATA_ALIGNMENT: usize = 8;

/// A function's code.
#[derive(Clone, Debug)]
pub struct Code {
    pub words: Vec<CodeWord>,
    /// Where it begins in its section, in bytes.
    pub offset: u32,
    /// The size of its stack frame in bytes.
    pub stack: u32,
}

/// The section name and contents of a data map. libbpf makes a map of each section whose name begins so.
pub fn data_section(map: &Map) -> Option<(String, &[u8])> {
    match &map.kind {
        MapKind::ReadOnlyData(bytes) => Some((format!(".rodata.{}", map.name), bytes)),
        MapKind::Data(bytes) => Some((maps::data_section(&map.name), bytes)),
        MapKind::Map(_) | MapKind::Arena { .. } => None,
    }
}

/// The section whose bytes libbpf copies into the arena.
pub const ARENA_IMAGE: &str = ".addr_space.1";
