//! What is known of a packet on one path through the code.

use moonhook_ir::Value;
use moonhook_ir::words::{CopyOnWrite, Word};

/// What is known of the packet. Each fact can be dropped: it only saves work.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// Where the frame is, once its addresses are loaded. What moves the frame drops them, and so does a join of paths on which they are not
    /// the same.
    pub bounds: Option<Bounds>,
    /// The frame has at least that many bytes, proved by a comparison of the packet's start with its end.
    pub length: u32,
    /// Pointers into the packet.
    pub pointers: CopyOnWrite<Vec<Pointer>>,
    /// Results of parsing headers. Dropped when the packet is written.
    pub parsed: CopyOnWrite<Vec<Parsed>>,
    /// Checksums that were changed, and what they were made of. Dropped when the packet is written.
    pub sums: CopyOnWrite<Vec<ChangedSum>>,
    /// The packet may have been written.
    pub written: bool,
    /// What is looked at is inside of the packet ([`crate::protocols`]'s `inner.rs`).
    pub is_inner: bool,
}

/// A checksum that has been changed: what stands in the packet is the complement of a sum of 16 bits, which is that of a number. A further change
/// goes on with the number, and what the first one has written need not be read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChangedSum {
    /// Where the header starts, and how many bytes behind that the checksum is.
    pub start: Word,
    pub at: i64,
    /// The number.
    pub total: Word,
    /// 0 if there is no checksum.
    pub exists: Word,
    /// No number is greater.
    pub most: i64,
}

/// Addresses that the verifier knows as the packet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Of the frame's first byte.
    pub start: Value,
    /// Behind its last one, of the first buffer.
    pub end: Value,
}

/// What was parsed: its name, and whether it is of the packet inside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    pub name: &'static str,
    pub is_inner: bool,
}

/// What parsing a header gave: which it is, and its words.
pub type Parsed = (Key, Vec<Word>);

/// The packet's start plus `offset`, which is within 0 … 0xffff.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pointer {
    pub offset: Value,
    pub address: Value,
    /// The verifier knows the offset to be at most this. It is part of the address, and cannot be lowered later on.
    pub most: i64,
    /// Bytes that are proved to lie behind the offset.
    pub proved: u32,
}

impl Facts {
    /// The facts that hold in both.
    pub fn intersect(&self, other: &Facts) -> Facts {
        let pointer = |mine: &Pointer| {
            let theirs = other.pointers.iter().find(|p| p.address == mine.address)?;
            Some(Pointer { proved: theirs.proved.min(mine.proved), ..*mine })
        };
        let pointers = match self.pointers.is(&other.pointers) {
            true => self.pointers.clone(),
            false => self.pointers.iter().filter_map(pointer).collect(),
        };
        let bounds = self.bounds.filter(|bounds| other.bounds == Some(*bounds));
        // What is known of the length is proved for the addresses; of a copy, there are none.
        let is_same = self.bounds == other.bounds;
        let length = if is_same { self.length.min(other.length) } else { 0 };
        Facts {
            bounds,
            length,
            pointers,
            parsed: self.parsed.common(&other.parsed),
            sums: self.sums.common(&other.sums),
            written: self.written || other.written,
            is_inner: self.is_inner,
        }
    }

    /// The words of a header that was parsed.
    pub fn parsed(&self, header: Key) -> Option<&[Word]> {
        self.parsed.iter().find(|(key, _)| *key == header).map(|(_, words)| words.as_slice())
    }

    /// Under which key is kept what is parsed of a header where the state looks.
    pub fn key(&self, name: &'static str) -> Key {
        Key { name, is_inner: self.is_inner }
    }

    /// The words of a header that was parsed where the state looks.
    pub fn parsed_here(&self, header: &'static str) -> Option<&[Word]> {
        self.parsed(self.key(header))
    }

    /// A word of a header that was parsed, to be changed.
    pub fn parsed_word(&mut self, header: Key, number: usize) -> Option<&mut Word> {
        let (_, words) = self.parsed.iter_mut().find(|(key, _)| *key == header)?;
        words.get_mut(number)
    }

    /// Takes over from `all` what was parsed, as far as it was parsed in `other` too: the words are made the same where the paths meet.
    pub fn keep_parsed(&mut self, all: CopyOnWrite<Vec<Parsed>>, other: &Facts) {
        self.parsed = all;
        let stays =
            |(key, words): &Parsed| other.parsed(*key).is_some_and(|other| other.len() == words.len());
        if !self.parsed.iter().all(stays) {
            self.parsed.retain(stays);
        }
    }

    /// Drops what was parsed but for these headers: others may follow them now.
    pub fn keep_only(&mut self, headers: &[&str]) {
        self.parsed.retain(|(key, _)| headers.contains(&key.name) && !key.is_inner);
        self.written = true;
    }

    /// Drops what was parsed of these headers, which may be others now.
    pub fn forget(&mut self, headers: &[&str]) {
        self.parsed.retain(|(key, _)| !headers.contains(&key.name));
        self.written = true;
    }

    pub fn pointer(&self, offset: Value) -> Option<&Pointer> {
        self.pointers.iter().find(|p| p.offset == offset)
    }

    pub fn pointer_mut(&mut self, offset: Value) -> Option<&mut Pointer> {
        self.pointers.iter_mut().find(|p| p.offset == offset)
    }
}
