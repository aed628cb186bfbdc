//! The load-time part of arena memory: constants, texts and objects, as bytes that the program finds in place.
//!
//! Addresses are offsets from the start of the arena. Equal texts and equal constants are there once.

use moonhook_runtime::image::TEXTS;
use moonhook_runtime::layout::*;
use moonhook_runtime::texts;
use std::collections::{BTreeMap, HashMap};

/// Bytes behind the last object that word-wise loops may read.
const MARGIN: usize = 64;

pub struct Image {
    pub bytes: Vec<u8>,
    texts: HashMap<Vec<u8>, u64>,
    values: HashMap<(i64, u64), u64>,
}

impl Image {
    pub fn new() -> Image {
        let of_routines = texts::all();
        let mut bytes = vec![0; TEXTS];
        bytes.extend(&of_routines.bytes);
        Image { bytes, texts: of_routines.payloads.clone(), values: HashMap::new() }
    }

    /// Reserves zeroed bytes at a multiple of 8; gives the address.
    pub fn reserve(&mut self, size: usize) -> u64 {
        let at = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(at + size, 0);
        at as u64
    }

    pub fn put(&mut self, address: u64, word: u64) {
        let at = address as usize;
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    pub fn put_value(&mut self, address: u64, (tag, payload): (i64, u64)) {
        self.put(address, tag as u64);
        self.put(address + 8, payload);
    }

    /// The payload word of a text: address and length.
    pub fn text(&mut self, text: &[u8]) -> u64 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let at = self.reserve(text.len());
        self.bytes[at as usize..at as usize + text.len()].copy_from_slice(text);
        let payload = at | (text.len() as u64) << 32;
        self.texts.insert(text.to_vec(), payload);
        payload
    }

    /// All texts that stand by themselves, with their payload words.
    pub fn texts(&self) -> BTreeMap<Vec<u8>, u64> {
        self.texts.iter().map(|(text, payload)| (text.clone(), *payload)).collect()
    }

    /// The address of a constant value.
    pub fn value(&mut self, value: (i64, u64)) -> u64 {
        if let Some(known) = self.values.get(&value) {
            return *known;
        }
        let at = self.reserve(VALUE_SIZE as usize);
        self.put_value(at, value);
        self.values.insert(value, at);
        at
    }

    /// Appends a list of words; gives its address.
    pub fn words(&mut self, words: &[u64]) -> u64 {
        let at = self.reserve(words.len() * 8);
        for (index, word) in words.iter().enumerate() {
            self.put(at + 8 * index as u64, *word);
        }
        at
    }

    /// The end: no more is added.
    pub fn finish(mut self) -> Vec<u8> {
        let end = (self.bytes.len() + MARGIN).next_multiple_of(4096);
        self.bytes.resize(end, 0);
        self.bytes
    }
}
