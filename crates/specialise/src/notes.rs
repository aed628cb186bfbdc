//! Notes in front of packets (`pkt.meta`) at hooks where the kernel may take them away while a program changes the packet, or asks for all of it:
//! they are read before anything else is done, and kept.

use crate::arena;
use crate::context::{Context, Result};
use crate::hashing;
use crate::value::Word;
use moonhook_ir::words::{Branches, Path, Words};
use moonhook_packet::protocols::{Noted, meta_record, read_note};
use moonhook_runtime::layout::L_NOTED;

/// Where the fields of a record begin among the words that are kept.
const FIRST: usize = 2;

impl Context<'_> {
    /// Must stand at the beginning of a program, or of what prepares packets for general code.
    pub fn keep_note(&mut self) -> Result<()> {
        let is_kept = self.target.hook.context.note.is_some_and(|note| note.adjust.is_none());
        let is_read = match &self.stub {
            Some(stub) => stub.host.is_spelled(b"meta"),
            None => self.known.reads_notes,
        };
        if !is_kept || !is_read {
            return Ok(());
        }
        let records = self.known.notes.records(self.script_name());
        let count = records.map_or(0, |records| records.count);
        let padded = |mut words: Vec<Word>| {
            words.resize(FIRST + count, Word::Imm(0));
            words
        };
        let kind = |kind: Noted| Word::Imm(kind as i64);
        let mut others = Vec::new();
        let number = read_note(self, &mut others);
        let mut paths = vec![self.take_path(padded(vec![kind(Noted::Number), number]))];
        if let Some(records) = records {
            self.enter(std::mem::take(&mut others))?;
            let mut words = vec![kind(Noted::Record)];
            words.extend(meta_record::read_all(self, records, &mut others));
            paths.push(self.take_path(words));
        }
        let none = |state| Path { state, values: padded(vec![kind(Noted::Nothing)]) };
        paths.splice(0..0, others.into_iter().map(none));
        let Some(words) = self.meet(paths)? else { return Ok(()) };
        if self.stub.is_some() {
            for (place, word) in (0..).map(|n| L_NOTED + 8 * n).zip(words) {
                let place = self.add(self.state_address(), place);
                arena::store(self, place, word);
            }
        } else {
            self.target.note = Some(words);
        }
        Ok(())
    }

    /// What the packet has come with ([`Noted`]), and the number, or the bits of the record's fields.
    pub fn kept_note(&mut self) -> Result<[Word; 2]> {
        Ok([self.noted_word(0)?, self.noted_word(1)?])
    }

    /// A field of the record that the packet has come with.
    pub fn kept_field(&mut self, number: usize) -> Result<Word> {
        self.noted_word(FIRST + number)
    }

    fn noted_word(&mut self, number: usize) -> Result<Word> {
        if self.stub.is_some() {
            let place = self.add(self.state_address(), L_NOTED + 8 * number as i64);
            return Ok(arena::load(self, place));
        }
        if let Some(note) = &self.target.note {
            return Ok(note.get(number).copied().unwrap_or(Word::Imm(0)));
        }
        if !self.known.reads_notes {
            self.known.reads_notes = true;
            self.learned()?;
        }
        Ok(Word::Imm(0))
    }

    /// A number that tells the script's notes from those of others: of its file's name, so that a new version reads what the present one has
    /// written.
    pub fn signature_of_notes(&self) -> u32 {
        hashing::of_bytes(self.script_name().as_bytes()) as u32 >> 1
    }

    /// The name of the script's file.
    pub fn script_name(&self) -> &str {
        let name = self.snapshot.sources.first().map_or("", |source| source.name.as_str());
        name.rsplit('/').next().unwrap_or_default()
    }
}
