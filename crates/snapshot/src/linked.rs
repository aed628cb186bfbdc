//! What scripts have loaded of C objects: functions and maps that packet code can use, with how their numbers lie in memory.

use moonhook_eclat::tree::Chains;
use std::sync::Arc;

/// A program that chains call: the number of its object, and that of the function there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedProgram {
    pub object: usize,
    pub function: usize,
}

/// What chains call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadedCallee {
    Object(LoadedProgram),
    /// A function in Lua: its number among those of the script. It may take the packet before the numbers.
    Lua {
        number: usize,
        takes_packet: bool,
    },
}

/// A program that starts chains, which handlers call.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedLoader {
    pub script: Arc<Chains>,
    /// The C program; `None`: the only chain is started.
    pub program: Option<LoadedProgram>,
    /// Which chains it can start, by the numbers that it knows them by.
    pub chains: Vec<(u64, Startable)>,
}

/// A chain that a loader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Startable {
    /// By its number in [`crate::Snapshot::chains`].
    Chain(usize),
    /// One in Lua: the handler starts it when it is given this number, which is no verdict.
    Lua(i64),
}

/// Entries of a map of an object: bytes of keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapContents {
    /// The numbers of the object, and of the map there.
    pub object: usize,
    pub map: usize,
    pub entries: Vec<[Vec<u8>; 2]>,
}

/// A function that packet code calls with numbers, and with the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedFunction {
    pub program: LoadedProgram,
    pub parameters: Vec<Parameter>,
    /// What it gives, if anything.
    pub result: Option<Leaf>,
}

/// What a function of C's takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The context of programs, a pointer to a structure of that name (`xdp_md`).
    Context(String),
    /// In a register, as an integer of C's.
    Number(Leaf),
    /// A pointer to so many bytes, in which integers lie. What is not constant is read again behind the call.
    Record { bytes: u32, leaves: Vec<Leaf>, is_constant: bool },
}

/// A map that packet code reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedMap {
    /// The numbers of the object, and of the map there.
    pub object: usize,
    pub map: usize,
    pub key: Vec<Leaf>,
    pub value: Vec<Leaf>,
}

/// An integer of C's in memory, in the byte order of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// In bytes from the start of what it is a part of.
    pub offset: u32,
    /// 1, 2, 4 or 8.
    pub bytes: u32,
    pub is_signed: bool,
    /// C's `_Bool`.
    pub is_flag: bool,
}

impl Leaf {
    /// The integer in the bytes of what it is a part of; 0 where these end before.
    pub fn read(&self, bytes: &[u8]) -> i64 {
        let (start, length) = (self.offset as usize, self.bytes as usize);
        let mut word = [0; 8];
        word[..length].copy_from_slice(bytes.get(start..start + length).unwrap_or(&[0; 8][..length]));
        let (number, shift) = (i64::from_ne_bytes(word), 64 - 8 * self.bytes);
        if self.is_signed { number << shift >> shift } else { number }
    }

    /// Writes it there; bits that it has no place for are cut off, as C does.
    pub fn write(&self, bytes: &mut [u8], number: i64) {
        let (start, length) = (self.offset as usize, self.bytes as usize);
        if let Some(place) = bytes.get_mut(start..start + length) {
            place.copy_from_slice(&number.to_ne_bytes()[..length]);
        }
    }
}

/// A table with what an object has, by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectTable {
    /// The object's file.
    pub object: String,
    /// What is in the table: `function` or `map`.
    pub what: &'static str,
    /// What scripts cannot use, and why.
    pub refused: Vec<(String, String)>,
}

impl ObjectTable {
    /// The field of a table's metatable with the table's number.
    pub const NUMBER: &str = "object";
    /// The field of the metatable of what stands for a map with the map's name.
    pub const MAP: &str = "map";

    /// Why the table has nothing of that name.
    pub fn problem(&self, name: &str) -> String {
        let known = self.refused.iter().find(|(refused, _)| refused == name);
        match known {
            Some((_, problem)) => format!("the {} '{name}' of {} {problem}", self.what, self.object),
            None => format!("{} has no {} '{name}'", self.object, self.what),
        }
    }
}
