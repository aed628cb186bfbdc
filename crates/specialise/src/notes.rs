//! Notes in front of packets (`pkt.meta`) at hooks where the kernel may take them away while a program changes the packet, or asks for all of it:
//! they are read before anything else is done, and kept.

use crate::arena;
use crate::context::{Context, Result};
use crate::hashing;
use crate::value::Word;
use moonhook_ir::words::{Branches, Path, Words};
use moonhook_packet::protocols::read_note;
use moonhook_runtime::layout::{L_NOTE, L_NOTED};

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
        let mut others = Vec::new();
        let number = read_note(self, &mut others);
        let none = |state| Path { state, values: vec![Word::Imm(0); 2] };
        let mut paths: Vec<_> = others.into_iter().map(none).collect();
        paths.push(self.take_path(vec![Word::Imm(1), number]));
        let Some(&[is_there, number]) = self.meet(paths)?.as_deref() else { return Ok(()) };
        if self.stub.is_some() {
            for (field, word) in [(L_NOTED, is_there), (L_NOTE, number)] {
                let place = self.add(self.state_address(), field);
                arena::store(self, place, word);
            }
        } else {
            self.target.note = Some([is_there, number]);
        }
        Ok(())
    }

    /// Whether the packet has come with a note of this script, and the number in it.
    pub fn kept_note(&mut self) -> Result<[Word; 2]> {
        if self.stub.is_some() {
            return Ok([L_NOTED, L_NOTE].map(|field| {
                let place = self.add(self.state_address(), field);
                arena::load(self, place)
            }));
        }
        if let Some(note) = self.target.note {
            return Ok(note);
        }
        self.known.reads_notes = true;
        self.learned()?;
        Ok([Word::Imm(0); 2])
    }

    /// A number that tells the script's notes from those of others: of its file's name, so that a new version reads what the present one has
    /// written.
    pub fn signature_of_notes(&self) -> u32 {
        let name = self.snapshot.sources.first().map_or("", |source| source.name.as_str());
        let name = name.rsplit('/').next().unwrap_or_default();
        hashing::of_bytes(name.as_bytes()) as u32 >> 1
    }
}
