//! Functions of eBPF objects, run in user space over a packet in memory: what other compilers' programs do in the kernel, for the user tier.
//!
//! Reads objects as [`moonhook_link`] takes them apart. Arithmetic, memory, maps and helpers are as the kernel has them for XDP programs, on a machine
//! with one CPU. There are no routes, nobody hears what is sent to others, chance is the same each time; else, what is not here is a [`Fault`] that says so. Unlike the verifier, it looks at a program only as it runs. Nothing in
//! an object or a packet makes it panic, run on for ever, or touch memory that the program has not been given.

#![forbid(unsafe_code)]

mod alu;
mod checksum;
mod code;
mod elements;
mod execute;
mod fault;
mod frame;
mod helpers;
mod host;
mod maps;
mod memory;
mod prefixes;

pub use fault::{Fault, FaultKind, MapError, Place};
pub use frame::Packet;

use code::{Numbers, Program};
use elements::Elements;
use execute::Machine;
use frame::Frame;
use host::Host;
use maps::Map;
use memory::{Address, Data, Memory, Region};
use moonhook_link::Object;
use std::sync::Arc;

/// Instructions of a call, with what helpers take in their stead.
pub const BUDGET: u64 = 1_000_000;

/// Registers with arguments.
const ARGUMENTS: usize = 5;

/// The functions of objects, with their maps and variables, which stay from call to call.
#[derive(Debug)]
pub struct Emulator {
    program: Program,
    maps: Vec<Map>,
    data: Vec<Data>,
    elements: Elements,
    host: Host,
    /// For each object, the numbers of its maps, and of its first data section and how many it has.
    objects: Vec<(Vec<usize>, usize, usize)>,
    budget: u64,
}

/// What a function is given in a register.
#[derive(Debug)]
pub enum Argument<'a> {
    /// The address of the packet's `struct xdp_md`.
    Context,
    Number(u64),
    /// The address of this memory, which the function can write.
    Memory(&'a mut [u8]),
}

impl Emulator {
    pub fn new(objects: &[Arc<Object>]) -> Emulator {
        let mut emulator = Emulator {
            program: Program::default(),
            maps: Vec::new(),
            data: Vec::new(),
            elements: Elements::default(),
            host: Host::new(),
            objects: Vec::new(),
            budget: BUDGET,
        };
        for object in objects {
            emulator.add(object);
        }
        emulator
    }

    fn add(&mut self, object: &Arc<Object>) {
        let maps: Vec<usize> = object.maps.iter().map(|map| self.add_map(map)).collect();
        let (function, data) = (self.program.functions.len(), self.data.len());
        self.program.add(object, &Numbers { function, data, maps: &maps });
        self.data.extend(object.data.iter().map(variables));
        self.objects.push((maps, data, object.data.len()));
    }

    /// Weak maps of the same name and definition are one, whichever objects they are in.
    fn add_map(&mut self, map: &moonhook_link::Map) -> usize {
        let definition = |map: &moonhook_link::Map| {
            (map.name.clone(), map.map_type, map.key.0, map.value.0, map.max_entries, map.flags, map.is_weak)
        };
        let same = |other: &Map| map.is_weak && definition(&other.definition) == definition(map);
        self.maps.iter().position(same).unwrap_or_else(|| {
            self.maps.push(Map::new(map));
            self.maps.len() - 1
        })
    }

    /// How many instructions a call can take; [`BUDGET`] at first.
    pub fn set_budget(&mut self, instructions: u64) {
        self.budget = instructions;
    }

    /// From now on functions that ask are told that time, in nanoseconds since the machine began; `None`: what it is.
    pub fn set_time(&mut self, nanoseconds: Option<u64>) {
        self.host.given = nanoseconds;
    }

    /// Calls a function with at most five arguments.
    ///
    /// # Errors
    /// What the kernel would not have let it do, or what is not there in user space. Maps, variables, the packet and memory are then as the function had left them.
    pub fn call(
        &mut self,
        object: usize,
        function: usize,
        arguments: &mut [Argument<'_>],
        packet: &mut Packet,
    ) -> Result<u64, Fault> {
        let function = self.program.function(object, function).ok_or(FaultKind::NoFunction)?;
        let mut memory = Memory::new(Frame::new(packet), &mut self.data, &mut self.elements);
        let registers = registers(&mut memory, arguments)?;
        let mut machine = Machine {
            program: &self.program,
            memory,
            maps: &mut self.maps,
            host: &mut self.host,
            budget: self.budget,
            left: self.budget,
        };
        let result = machine.run(function, registers);
        machine.memory.frame.finish(packet);
        self.elements.recycle();
        result
    }

    /// A map of an object, if it has that many.
    pub fn map(&mut self, object: usize, map: usize) -> Option<MapHandle<'_>> {
        let number = *self.objects.get(object)?.0.get(map)?;
        Some(MapHandle { map: self.maps.get_mut(number)?, elements: &mut self.elements })
    }

    /// The bytes of a data section of an object, if it has that many.
    pub fn data(&mut self, object: usize, section: usize) -> Option<&mut [u8]> {
        let (_, first, length) = self.objects.get(object)?;
        let number = (section < *length).then_some(first + section)?;
        self.data.get_mut(number).map(|data| &mut *data.bytes)
    }
}

fn variables(data: &moonhook_link::Data) -> Data {
    // Zeros that nobody has looked at take no memory, however many a file says there are.
    let bytes = match data.section.starts_with(".bss") {
        true => vec![0; data.bytes.len()],
        false => data.bytes.clone(),
    };
    Data { bytes, is_constant: data.is_constant }
}

fn registers<'a>(
    memory: &mut Memory<'a>,
    arguments: &'a mut [Argument<'_>],
) -> Result<[u64; ARGUMENTS], Fault> {
    if arguments.len() > ARGUMENTS {
        return Err(FaultKind::Arguments(arguments.len()).into());
    }
    let mut registers = [0; ARGUMENTS];
    for (register, argument) in registers.iter_mut().zip(arguments) {
        *register = match argument {
            Argument::Context => Address::new(Region::Context, 0).0,
            Argument::Number(number) => *number,
            Argument::Memory(bytes) => {
                memory.arguments.push(bytes);
                Address::new(Region::Argument(memory.arguments.len() - 1), 0).0
            }
        };
    }
    Ok(registers)
}

/// A map, for control code. Of maps with a value of each CPU, it is that of the one CPU.
#[derive(Debug)]
pub struct MapHandle<'a> {
    map: &'a mut Map,
    elements: &'a mut Elements,
}

impl MapHandle<'_> {
    /// As the object defines it.
    pub fn definition(&self) -> &moonhook_link::Map {
        &self.map.definition
    }

    /// The value of a key; for prefixes, of the longest one that the key begins with.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.check(key, None).ok()?;
        match self.map.peek(self.elements, key) {
            Some(value) => Some(value.to_vec()),
            // Elements of arrays are there from the start.
            None => self.map.has_unused(key).then(|| vec![0; self.map.value]),
        }
    }

    /// # Errors
    /// A key or a value of another length than the map's; no room; what user space does not have.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), MapError> {
        self.check(key, Some(value))?;
        let done = self.map.update(self.elements, (key, value.to_vec()), 0);
        self.elements.recycle();
        done
    }

    /// # Errors
    /// There is no such key, or there is one always, as in arrays.
    pub fn remove(&mut self, key: &[u8]) -> Result<(), MapError> {
        self.check(key, None)?;
        let done = self.map.delete(self.elements, key);
        self.elements.recycle();
        done
    }

    /// All keys; of a map that user space does not have, none.
    pub fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        let first = self.map.check().ok().and_then(|()| self.map.next_key(None));
        std::iter::successors(first, |key| self.map.next_key(Some(key)))
    }

    fn check(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), MapError> {
        self.map.check()?;
        let value = value.map(|value| (value.len(), self.map.value));
        for (found, expected) in [Some((key.len(), self.map.key)), value].into_iter().flatten() {
            if found != expected {
                return Err(MapError::Length { found, expected });
            }
        }
        Ok(())
    }
}
