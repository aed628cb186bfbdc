//! Functions as code with its place in the object, and the names of sections.

use crate::assemble::{CodeWord, Reference};
use moonhook_ir::kept::References;
use moonhook_ir::{FunctionId, Map, MapId, MapKind, maps};

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

impl Code {
    /// Puts positions in `references` in the place of numbers in the module.
    pub fn detach(&mut self, references: &References) {
        self.for_each_reference(
            |id| *id = references.function_position(*id).unwrap_or(*id),
            |id| *id = references.map_position(*id).unwrap_or(*id),
        );
    }

    /// Undoes [`Code::detach`].
    pub fn attach(&mut self, references: &References) {
        self.for_each_reference(|id| *id = references.function(*id), |id| *id = references.map(*id));
    }

    fn for_each_reference(&mut self, to_function: impl Fn(&mut FunctionId), to_map: impl Fn(&mut MapId)) {
        for word in &mut self.words {
            match &mut word.reference {
                Some(Reference::Function(id) | Reference::Callback(id)) => to_function(id),
                Some(Reference::Data(id) | Reference::Map(id)) => to_map(id),
                Some(Reference::Kernel(_) | Reference::Field(..)) | None => {}
            }
        }
    }
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
