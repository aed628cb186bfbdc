//! Functions of flows into the kernel without an object file: through the same stages, but for the last ones.

use crate::flows::map_of;
use crate::stages::{Attempt, check_size, lower, timed};
use crate::{EngineError, Maps, Settings, Timings};
use moonhook_emit::{MapUse, Raw};
use moonhook_install::{NewMap, RawProgram};
use moonhook_ir::{Map, MapId, MapKind, Module, maps};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Learned;
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Programs in the kernel, in the order of the module.
pub struct RawFunction {
    pub programs: Vec<OwnedFd>,
    pub module: Module,
    /// The map of variables that only it has ([`map_of`]).
    pub variables: Option<OwnedFd>,
    pub timings: Timings,
    /// Slots of 8 bytes.
    pub instructions: usize,
}

/// `BPF_F_RDONLY_PROG` and `BPF_F_MMAPABLE` (include/uapi/linux/bpf.h).
const READ_ONLY: u32 = 1 << 7;
const MAPPABLE: u32 = 1 << 10;

/// Makes expanded code of a snapshot and loads it, with the maps that `common` has; `None` if that takes a loader, or tables of its own that
/// have to be filled.
///
/// # Errors
/// `Lower`, `Emit`, `Install`.
pub fn install_raw<'a>(
    snapshot: &Snapshot,
    settings: &Settings,
    common: impl Fn(&Module) -> Maps<'a>,
) -> Result<Option<RawFunction>, EngineError> {
    let mut timings = Timings::default();
    let attempt = Attempt { bounded: settings.form.is_none(), ..Attempt::EXPANDED };
    let lowered = timed(&mut timings.lower, || lower(snapshot, settings, attempt, &mut Learned::default()));
    let mut module = lowered?;
    timed(&mut timings.passes, || moonhook_passes::optimise_soon(&mut module));
    if attempt.bounded {
        check_size(&module)?;
    }
    let raw = timed(&mut timings.emit, || moonhook_emit::raw(&module))?;
    let Some(raw) = raw else { return Ok(None) };
    let common = common(&module);
    let is_common = |map: &Map| find(&common, map).is_some();
    if module.tables.iter().any(|table| !is_common(module.map(table.map))) {
        return Ok(None);
    }
    let patience = attempt.bounded.then_some(settings.patience);
    let (programs, variables) =
        timed(timings.kernel_load.get_or_insert_default(), || load(&module, &raw, &common, patience))?;
    timings.sum();
    let instructions = raw.programs.iter().map(|program| program.code.len()).sum();
    Ok(Some(RawFunction { programs, module, variables, timings, instructions }))
}

/// The map that takes the place of a module's own.
fn find<'m>(common: &'m Maps<'_>, map: &Map) -> Option<BorrowedFd<'m>> {
    common.iter().find(|(name, _)| maps::goes_by(&map.name, name)).map(|(_, fd)| fd.as_fd())
}

fn load(
    module: &Module,
    raw: &Raw,
    common: &Maps<'_>,
    patience: Option<std::time::Duration>,
) -> Result<(Vec<OwnedFd>, Option<OwnedFd>), EngineError> {
    let btf = moonhook_install::load_btf(&raw.btf)?;
    let mut made: HashMap<MapId, OwnedFd> = HashMap::new();
    let mut programs = Vec::new();
    for program in &raw.programs {
        let mut code = program.code.clone();
        for MapUse { slot, map, is_value } in &program.maps {
            let own = module.map(*map);
            let fd = match (find(common, own), made.get(map)) {
                (Some(fd), _) => fd.as_raw_fd(),
                (None, Some(fd)) => fd.as_raw_fd(),
                (None, None) => {
                    let new = moonhook_install::make_map(&described(own))?;
                    let fd = new.as_raw_fd();
                    made.insert(*map, new);
                    fd
                }
            };
            refer(&mut code, *slot, fd, *is_value);
        }
        let program = RawProgram {
            name: &program.name,
            section: &program.section,
            code: &code,
            btf: btf.as_fd(),
            functions: &program.functions,
            lines: &program.lines,
        };
        programs.push(moonhook_install::load_raw(&program, patience)?);
    }
    // Programs hold the maps that they use.
    let Some(own) = map_of(module) else { return Ok((programs, None)) };
    let kept = find(common, own).map(crate::duplicate).transpose()?;
    let made = made.into_iter().find(|(id, _)| module.map(*id).name == own.name).map(|(_, map)| map);
    Ok((programs, kept.or(made)))
}

/// Makes the two slots at `slot` load a map or, with the offset that the first one has, the address of its value (`BPF_PSEUDO_MAP_FD`,
/// `BPF_PSEUDO_MAP_VALUE`: include/uapi/linux/bpf.h).
fn refer(code: &mut [[u8; 8]], slot: usize, fd: i32, is_value: bool) {
    let kind = if is_value { 2 } else { 1 };
    let offset: [u8; 4] = [4, 5, 6, 7].map(|byte| code[slot][byte]);
    code[slot][1] = code[slot][1] & 0x0f | kind << 4;
    code[slot][4..].copy_from_slice(&fd.to_le_bytes());
    code[slot + 1][4..].copy_from_slice(&if is_value { offset } else { [0; 4] });
}

/// A map of the module's own.
fn described(map: &Map) -> NewMap<'_> {
    let section = |bytes: &'_ [u8]| u32::try_from(bytes.len().next_multiple_of(8).max(8)).unwrap_or(u32::MAX);
    match &map.kind {
        MapKind::Map(definition) => NewMap {
            name: &map.name,
            map_type: definition.map_type.number(),
            key_size: definition.key_size,
            value_size: definition.value_size,
            max_entries: definition.max_entries,
            flags: definition.flags,
            value: None,
            frozen: false,
        },
        MapKind::ReadOnlyData(bytes) => NewMap {
            name: &map.name,
            map_type: moonhook_ir::MapType::Array.number(),
            key_size: 4,
            value_size: section(bytes),
            max_entries: 1,
            flags: READ_ONLY,
            value: Some(bytes),
            frozen: true,
        },
        MapKind::Zeros(size) => NewMap {
            name: &map.name,
            map_type: moonhook_ir::MapType::Array.number(),
            key_size: 4,
            value_size: size.next_multiple_of(8).max(8),
            max_entries: 1,
            flags: MAPPABLE,
            value: None,
            frozen: false,
        },
        MapKind::Data(bytes) | MapKind::Arena { image: bytes, .. } => NewMap {
            name: &map.name,
            map_type: moonhook_ir::MapType::Array.number(),
            key_size: 4,
            value_size: section(bytes),
            max_entries: 1,
            flags: MAPPABLE,
            value: Some(bytes),
            frozen: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_get_descriptors_and_offsets() {
        let load = |offset: u8| [0x18, 0x03, 0, 0, offset, 0, 0, 0];
        let mut code = [load(0), [0; 8], load(40), [0; 8]];
        refer(&mut code, 0, 0x0102, false);
        refer(&mut code, 2, 7, true);
        assert_eq!(code[0], [0x18, 0x13, 0, 0, 2, 1, 0, 0]);
        assert_eq!(code[1], [0; 8]);
        assert_eq!(code[2], [0x18, 0x23, 0, 0, 7, 0, 0, 0]);
        assert_eq!(code[3], [0, 0, 0, 0, 40, 0, 0, 0]);
    }
}
