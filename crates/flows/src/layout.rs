//! Where what is in the memory of a flow table. All words are `u64` in the machine's byte order; offsets are in bytes.
//!
//! | from | what |
//! |---|---|
//! | 0 | the clock, in ticks since the table was made |
//! | 8 | the hash keys, a word for each word of a key and one more ([`HashKeys`]) |
//! | [`HEADER`] | the index: a power of two of words, see below |
//! | [`Layout::entries`] | entries of [`Layout::stride`] bytes each |
//!
//! A word of the index is 0 (nothing, and nothing further on), [`DELETED`] (nothing, but go on), or has the number of an entry plus 1 in
//! its low 24 bits and the same bits of the key's hash above. A key is looked for from the index word that its hash says, one word after
//! another, round and round, [`PROBES`] of them at most.
//!
//! An entry is the key's words, then the number of the flow's function, then (as `u32` each) the tick of its last packet and how many
//! errors its function had, then how many packets it had.

/// Bytes before the index.
pub const HEADER: usize = 128;
/// Functions that a table can have at once: those of its flows, and some that flows had a moment ago. The numbers of events leave room for no
/// more.
pub fn most_functions(capacity: u32) -> u32 {
    capacity.min(1 << 16) + 1024
}

/// Functions with numbers up to this are found sooner than others.
pub const DIRECT: u32 = 8;

/// Words that a key can have.
pub const MOST_KEYS: usize = 9;
/// Where a flow was and is no more.
pub const DELETED: u64 = u64::MAX;
/// The bits of an index word that have the number of an entry, plus 1.
pub const ENTRY_MASK: u64 = (1 << ENTRY_BITS) - 1;
/// Index words that are looked at for a key, at most.
pub const PROBES: usize = 64;

const ENTRY_BITS: u32 = 24;

/// The sizes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Words of a key, from 1 to [`MOST_KEYS`].
    pub key_words: usize,
    /// Flows at most.
    pub capacity: u32,
}

/// What the words of keys, and in the end their sum, are multiplied by: odd numbers that nobody outside knows, so that nobody can make packets whose
/// keys all meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashKeys(pub [u64; MOST_KEYS + 1]);

/// By so many bits a sum is shifted, to be mixed with itself: its low bits get something of the high ones.
pub const MIX: u32 = 32;

impl Layout {
    /// Flows that a table can have, at most.
    pub const MOST: u32 = 8_000_000;

    /// Words of the index: twice as many as there are flows, at least.
    pub fn index_words(&self) -> usize {
        (2 * self.capacity.max(1) as usize).next_power_of_two()
    }

    /// Where the entries begin.
    pub fn entries(&self) -> usize {
        HEADER + 8 * self.index_words()
    }

    /// Entries that there is memory for: some more than flows, for one that was removed is used again only after a while.
    pub fn entry_count(&self) -> u32 {
        self.capacity + (self.capacity / 64).max(64)
    }

    /// Bytes of an entry. One of at most five words of key is a line of the cache.
    pub fn stride(&self) -> usize {
        8 * match self.key_words + 3 {
            ..=8 => 8,
            words => words.next_multiple_of(4),
        }
    }

    /// Where the number of the function is in an entry.
    pub fn function(&self) -> usize {
        8 * self.key_words
    }

    /// Where the tick of the last packet is in an entry, a `u32`.
    pub fn seen(&self) -> usize {
        self.function() + 8
    }

    /// Where the count of errors is in an entry, a `u32`.
    pub fn errors(&self) -> usize {
        self.function() + 12
    }

    /// Where the count of packets is in an entry.
    pub fn packets(&self) -> usize {
        self.function() + 16
    }

    /// Bytes of the whole table.
    pub fn bytes(&self) -> usize {
        self.entries() + self.entry_count() as usize * self.stride()
    }
}

impl HashKeys {
    /// Keys from numbers that nobody can guess, the same for the same ones.
    pub fn from_seed(seed: [u64; 2]) -> HashKeys {
        // SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
        let mut state = seed[0] ^ seed[1].rotate_left(32);
        HashKeys(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state ^ seed[1];
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (word ^ (word >> 31)) | 1
        }))
    }

    /// The hash of a key: the sum of its words, each multiplied by a key; mixed with its high half and multiplied by the last key. Without that, numbers
    /// that follow each other, as ports and addresses do, would stand in few rows.
    pub fn hash(&self, key: &[u64]) -> u64 {
        let add = |sum: u64, (word, key): (&u64, u64)| sum.wrapping_add(word.wrapping_mul(key));
        let sum = key.iter().zip(self.0).fold(0, add);
        (sum ^ (sum >> MIX)).wrapping_mul(self.0[MOST_KEYS])
    }
}

impl Layout {
    /// From which bit of a key's hash on stands the number of the index word from which the key is looked for: they are the highest ones, which
    /// depend on all bits of the key.
    pub fn first_bit(&self) -> u32 {
        64 - self.index_words().ilog2()
    }

    /// The number of the index word from which a key with that hash is looked for.
    pub fn first(&self, hash: u64) -> usize {
        (hash >> self.first_bit()) as usize
    }

    /// The index word of an entry whose key has that hash.
    pub fn index_word(hash: u64, entry: u32) -> u64 {
        hash & !ENTRY_MASK | u64::from(entry + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_takes_less_than_a_hundred_bytes_in_a_large_table() {
        let layout = Layout { key_words: 5, capacity: 100_000 };
        assert_eq!((layout.stride(), layout.index_words()), (64, 1 << 18));
        assert!(layout.bytes() < 100 * 100_000, "{}", layout.bytes());
        assert_eq!(layout.packets() + 8, layout.stride());
        assert!(Layout { capacity: Layout::MOST, ..layout }.entry_count() < 1 << ENTRY_BITS);
        for key_words in 1..=MOST_KEYS {
            let layout = Layout { key_words, capacity: 3 };
            assert!(layout.packets() + 8 <= layout.stride() && layout.stride().is_multiple_of(8));
        }
    }

    /// Hardly any place has many more than chance would give it.
    #[test]
    fn keys_that_differ_in_few_bits_are_spread_over_the_index() {
        let layout = Layout { key_words: 2, capacity: 1 << 12 };
        for seed in 0..20 {
            let keys = HashKeys::from_seed([seed, seed ^ 77]);
            for shift in [0, 8, 16, 24, 32, 40, 48, 52] {
                let mut places = vec![0; layout.index_words()];
                (0..1u64 << 12).for_each(|key| places[layout.first(keys.hash(&[key << shift, 9]))] += 1);
                let most = places.iter().max().copied().unwrap_or_default();
                assert!(most <= 12, "{most} keys meet, bits {shift} and up, seed {seed}");
            }
        }
    }

    #[test]
    fn hashes_depend_on_every_bit_of_a_key() {
        let keys = HashKeys::from_seed([1, 2]);
        let hash = keys.hash(&[0, 0, 7]);
        for bit in 0..64 {
            assert_ne!(keys.hash(&[1 << bit, 0, 7]), hash, "{bit}");
        }
        assert!(keys.0.iter().all(|key| key % 2 == 1) && keys != HashKeys::from_seed([2, 1]));
    }
}
