//! Functions as code with its place in the object, and the names of sections.

use crate::assemble::{CodeWord, Reference};
use moonhook_ir::kept::References;
use moonhook_ir::{FunctionId, Map, MapId, MapKind, maps};
use object::SectionKind;

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
    /// Bytes of the frame, relative to the frame pointer, that have addresses: one of an address in it is used for bytes of that part only.
    pub parts: Vec<std::ops::Range<i32>>,
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

/// A data map as a section, of which libbpf makes a map: it goes by the name.
pub struct DataSection<'a> {
    pub name: String,
    pub kind: SectionKind,
    /// What it begins with; the rest is 0.
    pub bytes: &'a [u8],
    /// In bytes, as the map says it.
    pub own_size: usize,
}

impl DataSection<'_> {
    /// In bytes, with what is behind the map's own.
    pub fn size(&self) -> usize {
        self.own_size.next_multiple_of(DATA_ALIGNMENT).max(DATA_ALIGNMENT)
    }
}

pub fn data_section(map: &Map) -> Option<DataSection<'_>> {
    let own_size = map.kind.data_size()?;
    let (name, kind, bytes) = match &map.kind {
        MapKind::ReadOnlyData(bytes) => {
            (format!(".rodata.{}", map.name), SectionKind::ReadOnlyData, &**bytes)
        }
        MapKind::Data(bytes) => (maps::data_section(&map.name), SectionKind::Data, &**bytes),
        MapKind::Zeros(_) => (maps::zeros_section(&map.name), SectionKind::UninitializedData, &[][..]),
        MapKind::Map(_) | MapKind::Arena { .. } => return None,
    };
    Some(DataSection { name, kind, bytes, own_size })
}

/// The section whose bytes libbpf copies into the arena.
pub const ARENA_IMAGE: &str = ".addr_space.1";
