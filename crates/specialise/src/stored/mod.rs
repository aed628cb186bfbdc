//! Tables of packet time whose keys are not known: hash tables in the per-CPU region.
//!
//! A table that is used with known keys takes no memory ([`crate::made`]). Where a key depends on the packet, lowering starts
//! again with all tables that are made at that place stored; what they hold is learned in the same way. They hold what has
//! words: integers, booleans, strings, and functions and tables of load time. Everything else (metatables, tables in tables,
//! sorting …) has a form in general code only.
//!
//! The region's upper part has a counter, then for each place in the script a *header* and the first entries, then entries
//! of tables that grew. An entry belongs to the table if it has the table's *stamp*, which no table before had: so nothing
//! has to be cleared. [`probe`] finds a key's entry by open addressing, [`keys`] makes words of keys, [`values`] of values,
//! [`write`] assigns and grows, [`traversal`] visits.

mod keys;
pub mod known;
mod probe;
mod traversal;
mod values;
mod write;

use self::known::{Holds, KeyType, Site};
use crate::Options;
use crate::stored::known::Stored;

use crate::context::{Context, Result, Stop};
use crate::error::LowerErrorKind;
use crate::region::STRINGS_END;
use crate::sites::LoopKey;
use crate::value::{Abs, Object, Space, Str, Variant, Word};
use moonhook_ir::Size;
use moonhook_ir::words::{Address, Words};

/// Places in the script that make such tables, at most.
const MAX_SITES: usize = 8;

/// Bytes of an entry: stamp and kind of key, key, hash, tag, payload, and where the entry is that came into the table next.
const ENTRY: i64 = 64;
const E_KEY: i16 = 8;
const E_HASH: i16 = 16;
const E_TAG: i16 = 24;
const E_PAYLOAD: i16 = 32;
const E_NEXT: i16 = 48;

/// Entries of a new table.
const FIRST_ENTRIES: i64 = 64;

/// Fields of a header: the stamp, above 8 bits of zeros; where the entries are; bytes of all entries but one; entries in use;
/// a border; where the entry is that came last (or the header). At [`E_NEXT`], as in an entry, stands where the first one is.
const H_STAMP: i16 = 0;
const H_ENTRIES: i16 = 8;
const H_MASK: i16 = 16;
const H_USED: i16 = 24;
const H_BORDER: i16 = 32;
const H_LAST: i16 = 40;
const HEADER: i64 = 64;

const SITE: i64 = HEADER + FIRST_ENTRIES * ENTRY;

impl Context<'_> {
    /// A key of a table depends on the packet (`key`, if it is a value that the table was used with). Starts again: with the
    /// innermost loop unrolled if its turns may be why, else with the table stored.
    pub fn needs_entries<T>(&mut self, table: u32, key: Option<&Abs>, name: &str) -> Result<T> {
        let from_packet = matches!(key, Some(Abs::Str(Str::Slice { space: Space::Packet, .. })));
        let innermost =
            self.execution.active_loops.last().filter(|key| !self.known.stored.endless.contains(key));
        if innermost.is_some() && !from_packet {
            return self.needs_memory(name);
        }
        self.findings.stop_if_stale()?;
        let site = self.numbering.table_site(table).cloned();
        match site {
            Some(site) if self.known.stored.sites.len() < MAX_SITES && self.around.learns() => {
                let number = self.known.stored.sites.len();
                self.known.stored.sites.entry(site).or_insert(Holds { number, ..Holds::default() });
                Err(Stop::Restart)
            }
            _ => self.refuse(LowerErrorKind::TableConstructor, Some(name)),
        }
    }

    /// A loop cannot be unrolled: its turns depend on the packet.
    pub fn give_up_unrolling<T>(&mut self, key: LoopKey) -> Result<T> {
        self.findings.stop_if_stale()?;
        match self.known.unrolled.remove(&key) {
            Some(why) if !self.known.stored.endless.insert(key) => Err(Stop::Error(why)),
            _ => Err(Stop::Restart),
        }
    }

    /// The table that the current instruction makes, if tables made here are stored.
    pub fn make_stored(&mut self, table: u32, site: &Site) -> Result<Option<Abs>> {
        let Some(number) = self.known.stored.sites.get(site).map(|holds| holds.number) else {
            return Ok(None);
        };
        self.known.stored.tables.insert(table, site.clone());
        self.state.facts.found.retain(|found| found.table != table);
        let counter = self.entry_at(Word::Imm(self.options.tables_start()))?;
        let last = self.load_at(counter, Size::B8, false);
        let stamp = self.add(last, 1 << 8);
        self.store(counter.base, counter.disp, Size::B8, stamp);
        let header = self.options.header_offset(number);
        let place = self.entry_at(Word::Imm(header))?;
        let fields = [
            (H_STAMP, stamp),
            (H_ENTRIES, Word::Imm(header + HEADER)),
            (H_MASK, Word::Imm((FIRST_ENTRIES - 1) * ENTRY)),
            (H_USED, Word::Imm(0)),
            (H_BORDER, Word::Imm(0)),
            (H_LAST, Word::Imm(header)),
            (E_NEXT, Word::Imm(0)),
        ];
        for (field, word) in fields {
            self.store(place.base, place.disp + field, Size::B8, word);
        }
        Ok(Some(Abs::Object(Object::Stored(table))))
    }

    /// Takes note of what a table holds.
    fn note_stored(&mut self, table: u32, key: Option<KeyType>, values: &[Variant]) -> Result<()> {
        let site = self.known.stored.tables.get(&table);
        let Some(holds) = site.and_then(|site| self.known.stored.sites.get_mut(site)) else { return Ok(()) };
        let before = (holds.keys.len(), holds.values.len());
        holds.keys.extend(key);
        holds.values.extend(values);
        if before == (holds.keys.len(), holds.values.len()) { Ok(()) } else { self.learned() }
    }

    /// The header of a table.
    fn table_header(&mut self, table: u32) -> Result<Address> {
        let number = self.known.stored.holds(table).map_or(0, |holds| holds.number);
        self.entry_at(Word::Imm(self.options.header_offset(number)))
    }

    /// The memory at an offset of the region that is the program's own computation.
    fn entry_at(&mut self, offset: Word) -> Result<Address> {
        let region = self.region()?;
        Ok(self.masked(region, offset, self.options.tables_end() - 1))
    }

    /// Refuses, for general code to take over, what has no form with a stored table.
    pub fn refuse_stored<T>(&mut self, name: &str) -> Result<T> {
        self.refuse(LowerErrorKind::TableConstructor, Some(name))
    }
}

/// A field of a header.
pub fn table_field(words: &mut impl Words, header: Address, field: i16) -> Word {
    words.load(header.base, header.disp + field, Size::B8, false)
}

impl Stored {
    pub fn holds(&self, table: u32) -> Option<&Holds> {
        self.sites.get(self.tables.get(&table)?)
    }

    /// The largest offset of the region at which strings are read.
    pub fn scratch_mask(&self, options: &Options) -> i64 {
        if self.is_used() { options.tables_end() - 1 } else { STRINGS_END - 1 }
    }

    /// Where entries of growing tables are put.
    pub fn tables_heap(&self, options: &Options) -> Word {
        Word::Imm(options.tables_start() + HEADER + SITE * self.sites.len() as i64)
    }
}

impl Options {
    /// Where the region's part for tables ends: a power of two. Behind it is a margin for accesses at any masked offset.
    pub fn tables_end(&self) -> i64 {
        let memory = i64::from(self.memory).max(SITE * MAX_SITES as i64);
        (self.tables_start() + memory).cast_unsigned().next_power_of_two().cast_signed()
    }

    fn tables_start(&self) -> i64 {
        if self.copies { 0x3_0000 } else { 0x2_0000 }
    }

    /// Where the header of the tables with that number is.
    fn header_offset(&self, number: usize) -> i64 {
        self.tables_start() + HEADER + SITE * number as i64
    }
}
