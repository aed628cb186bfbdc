//! What an attempt makes: the module with its maps and events, the pool of constants, and the functions that come into the module last.

use crate::pool::{POOL_MASK, Pool, TAIL};
use moonhook_ir as ir;
use moonhook_ir::{Op, Operand};
use moonhook_snapshot::Snapshot;
use std::collections::{HashMap, HashSet};

/// The module being made.
pub struct Output {
    pub module: ir::Module,
    pub pool: Pool,
    pub pool_map: ir::MapId,
    /// The programs that have been made.
    pub programs: Vec<ir::Function>,
    /// The programs' subprograms; in code that general code calls they are parts of that program.
    pub subprograms: Vec<ir::Function>,
    /// The numbers of the module's events.
    event_ids: HashMap<ir::Event, u32>,
}

impl Output {
    /// What is made is added to `module`, which has no pool.
    pub fn new(module: ir::Module) -> Output {
        Output {
            module,
            pool: Pool::default(),
            pool_map: ir::MapId(0),
            programs: Vec::new(),
            subprograms: Vec::new(),
            event_ids: HashMap::new(),
        }
    }

    /// A module with the script's sources and the maps of the objects that it has loaded.
    pub fn of_script(snapshot: &Snapshot) -> ir::Module {
        let source = |source: &moonhook_snapshot::Source| ir::SourceFile {
            name: source.name.clone(),
            text: source.text().to_string(),
        };
        let sources = snapshot.sources.iter().map(source).collect();
        let mut module = ir::Module { sources, ..ir::Module::default() };
        crate::object_maps::add_maps(snapshot, &mut module);
        module
    }

    /// The map of that name, made with `definition` if it is not there yet.
    pub fn map(&mut self, name: &str, definition: impl FnOnce() -> ir::MapKind) -> ir::MapId {
        self.known_map(name).unwrap_or_else(|| {
            self.module.maps.push(ir::Map { name: name.to_string(), kind: definition() });
            ir::MapId(self.module.maps.len() as u32 - 1)
        })
    }

    /// The bytes of the writable section of that name, which is made if it is not there yet.
    pub fn section(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        let map = self.map(name, || ir::MapKind::Data(Vec::new()));
        match &mut self.module.maps[map.0 as usize].kind {
            ir::MapKind::Data(section) => Some(section),
            _ => None,
        }
    }

    /// The map of that name, if there is one.
    pub fn known_map(&self, name: &str) -> Option<ir::MapId> {
        self.module.maps.iter().position(|map| map.name == name).map(|index| ir::MapId(index as u32))
    }

    /// A read-only data section with these bytes. Equal data is there once: when a loop is executed again, it asks for the same again.
    pub fn add_data(&mut self, name: &str, bytes: Vec<u8>) -> ir::MapId {
        let kind = ir::MapKind::ReadOnlyData(bytes);
        if let Some(known) =
            self.module.maps.iter().position(|map| map.kind == kind && map.name.starts_with(name))
        {
            return ir::MapId(known as u32);
        }
        let id = ir::MapId(self.module.maps.len() as u32);
        self.module.maps.push(ir::Map { name: format!("{name}{}", id.0), kind });
        id
    }

    /// As [`Output::add_data`], of rows of so many bytes. A row can be read from any offset that has no more bits than the last
    /// row's: where an offset is masked anew, no more is known of it (`bound.rs` of the passes).
    pub fn add_rows(&mut self, name: &str, mut bytes: Vec<u8>, row: usize) -> ir::MapId {
        let last = bytes.len().saturating_sub(row);
        let furthest = (last + 1).next_power_of_two() - (1 << row.trailing_zeros());
        bytes.resize(bytes.len().max(furthest + row), 0);
        self.add_data(name, bytes)
    }

    /// Registers an event; equal ones share a number.
    pub fn event(&mut self, event: ir::Event) -> u32 {
        let events = &mut self.module.events;
        for (id, known) in events.iter().enumerate().skip(self.event_ids.len()) {
            self.event_ids.insert(known.clone(), id as u32);
        }
        *self.event_ids.entry(event).or_insert_with_key(|event| {
            events.push(event.clone());
            events.len() as u32 - 1
        })
    }

    /// Gives the pool its size and the offsets into it, of which the verifier knows nothing else, their mask. From any
    /// offset on [`Pool::reach`] bytes may be read.
    pub fn finish_pool(&mut self) {
        let mut bytes = std::mem::take(&mut self.pool.bytes);
        let size = bytes.len().next_power_of_two();
        let offsets: Vec<_> = self.programs.iter().map(|f| offsets_into(f, self.pool_map)).collect();
        let is_constant = offsets.iter().all(HashSet::is_empty);
        let end = if is_constant { bytes.len() } else { size };
        bytes.resize(end + self.pool.reach.max(TAIL as u32) as usize, 0);
        self.module.maps[self.pool_map.0 as usize].kind = ir::MapKind::ReadOnlyData(bytes);
        let programs = self.programs.iter_mut().zip(&offsets);
        for (inst, offsets) in programs.flat_map(|(f, offsets)| insts_mut(f).map(move |inst| (inst, offsets)))
        {
            // What is added to a constant's address has a mask of its own (`shared/texts.rs`).
            if let (Some(result), Op::Binary(ir::BinaryOp::And, _, mask)) = (inst.result, &mut inst.op)
                && *mask == POOL_MASK
                && offsets.contains(&result)
            {
                *mask = Operand::Imm((size - 1) as i32);
            }
        }
    }
}

fn insts_mut(function: &mut ir::Function) -> impl Iterator<Item = &mut ir::Inst> {
    function.blocks.iter_mut().flat_map(|block| &mut block.insts)
}

/// The values that are added to the address of `section`.
fn offsets_into(function: &ir::Function, section: ir::MapId) -> HashSet<ir::Value> {
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    let base = |inst: &ir::Inst| match inst.op {
        Op::DataAddress { map, .. } if map == section => inst.result,
        _ => None,
    };
    let bases: HashSet<ir::Value> = insts().filter_map(base).collect();
    let offset = |inst: &ir::Inst| match inst.op {
        Op::Binary(ir::BinaryOp::Add, base, Operand::Value(offset)) if bases.contains(&base) => Some(offset),
        _ => None,
    };
    insts().filter_map(offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_data_and_maps_of_one_name_are_there_once() {
        let mut output = Output::new(ir::Module::default());
        let state = output.map("state", || ir::MapKind::Data(vec![1]));
        let data = output.add_data("table", vec![7]);
        assert_eq!(output.map("state", || ir::MapKind::Data(vec![2])), state);
        assert_eq!(output.add_data("table", vec![7]), data);
        assert_ne!(output.add_data("table", vec![8]), data);
        assert_eq!(output.known_map("events"), None);
    }
}
