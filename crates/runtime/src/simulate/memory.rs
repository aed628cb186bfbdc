//! The buffer that stands for the arena, and what is where in it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::layout::PATTERNS_SIZE;

/// Where things are. The first page is not populated.
pub(super) const STATE: i64 = 0x1000;
pub(super) const SCRATCH: i64 = 0x2000;
/// The only frame.
pub(super) const FRAME: i64 = 0x3000;
pub(super) const PATTERNS: i64 = 0x4000;
pub(super) const STRINGS: i64 = 0x8000;
pub(super) const STACK: i64 = 0x28000;
/// The first argument; results of a primitive start one value below.
pub(super) const BASE: i64 = STACK + 64;
pub(super) const STACK_END: i64 = 0x30000;
pub(super) const HEAP: i64 = STACK_END;

pub(super) type Shared = Rc<RefCell<Memory>>;

pub(super) struct Memory {
    bytes: Vec<u8>,
    /// Payloads of constant strings.
    interned: HashMap<Vec<u8>, i64>,
    strings_end: i64,
    /// The first store that went nowhere.
    lost: Option<i64>,
}

impl Memory {
    pub fn new(heap: usize) -> Memory {
        let mut bytes = vec![0xa5; HEAP as usize + heap];
        bytes[PATTERNS as usize..][..PATTERNS_SIZE as usize].fill(0);
        Memory { bytes, interned: HashMap::new(), strings_end: STRINGS, lost: None }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Only the low 32 bits of an address count.
    fn at(&self, address: i64, index: usize) -> Option<usize> {
        let at = (address as u32 as usize) + index;
        (at >= STATE as usize && at < self.bytes.len()).then_some(at)
    }

    /// Little-endian, zero-extended; what is not populated reads as 0.
    pub fn load(&self, address: i64, size: usize) -> i64 {
        let mut word = [0; 8];
        for (index, byte) in word.iter_mut().take(size).enumerate() {
            *byte = self.at(address, index).map_or(0, |at| self.bytes[at]);
        }
        i64::from_le_bytes(word)
    }

    pub fn store(&mut self, address: i64, size: usize, value: i64) {
        for (index, byte) in value.to_le_bytes().into_iter().take(size).enumerate() {
            match self.at(address, index) {
                Some(at) => self.bytes[at] = byte,
                None => self.lost = self.lost.or(Some(address)),
            }
        }
    }

    /// The address of the first store that went nowhere since the last call of this.
    pub fn take_lost(&mut self) -> Option<i64> {
        self.lost.take()
    }

    pub fn bytes(&self, address: i64, length: usize) -> Vec<u8> {
        let start = address as u32 as usize;
        if start >= STATE as usize && start + length <= self.bytes.len() {
            return self.bytes[start..start + length].to_vec();
        }
        (0..length).map(|index| self.at(address, index).map_or(0, |at| self.bytes[at])).collect()
    }

    pub fn set_bytes(&mut self, address: i64, bytes: &[u8]) {
        for (index, byte) in bytes.iter().enumerate() {
            match self.at(address, index) {
                Some(at) => self.bytes[at] = *byte,
                None => self.lost = self.lost.or(Some(address)),
            }
        }
    }

    /// Constant strings lie close together, so that what reads beyond an end reads something.
    pub fn intern(&mut self, text: &[u8]) -> i64 {
        if let Some(payload) = self.interned.get(text) {
            return *payload;
        }
        let address = self.strings_end;
        assert!(address + (text.len() as i64) < STACK, "too many constant strings");
        self.strings_end += text.len() as i64;
        self.set_bytes(address, text);
        let payload = address | (text.len() as i64) << 32;
        self.interned.insert(text.to_vec(), payload);
        payload
    }
}
