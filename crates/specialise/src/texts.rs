//! Making strings: copies, and writing them to the packet.

use crate::context::{Context, Result};
use crate::formatting::put_byte;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{CompareOp, Size};
use moonhook_packet::Access;
use std::sync::Arc;

impl Context<'_> {
    /// Copies a slice to where `destination` says offset 0, 8, … is. The bytes behind the copy, up to the next multiple
    /// of 8, are not kept.
    pub fn copy_bytes(
        &mut self,
        space: Space,
        start: Word,
        length: Word,
        destination: &mut dyn FnMut(&mut Self, Word) -> Result<Address>,
    ) -> Result<()> {
        self.copy_slice(Slice::plain(space, start, length), destination)
    }

    /// [`Context::copy_bytes`], of a slice in its case.
    pub fn copy_slice(
        &mut self,
        slice: Slice,
        destination: &mut dyn FnMut(&mut Self, Word) -> Result<Address>,
    ) -> Result<()> {
        let length = slice.length;
        self.write_words(length, &mut |context, at, left| context.word_at(slice, at, left), destination)
    }

    /// Writes `length` bytes to where `destination` says offset 0, 8, … is: those of `word`, which is told the offset and
    /// how many bytes are left. The bytes behind, up to the next multiple of 8, are not kept.
    fn write_words(
        &mut self,
        length: Word,
        word: &mut dyn FnMut(&mut Self, Word, Word) -> Result<Word>,
        destination: &mut dyn FnMut(&mut Self, Word) -> Result<Address>,
    ) -> Result<()> {
        let arms = self.repeat(&[Word::Imm(0)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let left = context.sub(length, at);
            let done = context.compare(CompareOp::SLe, left, 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let word = word(context, at, left)?;
            let address = destination(context, at)?;
            context.store(address.base, address.disp, Size::B8, word);
            let next = context.add(at, 8);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join(arms)?;
        Ok(())
    }

    /// A new string of `length` bytes, made of the words that `word` gives for each offset and the number of bytes left.
    pub fn text_of_words(
        &mut self,
        length: Word,
        word: &mut dyn FnMut(&mut Self, Word, Word) -> Result<Word>,
    ) -> Result<Str> {
        let start = self.allocate(length)?;
        self.write_words(length, word, &mut |context, at| {
            let place = context.add(start, at);
            context.address(Space::Scratch, place, 8)
        })?;
        Ok(Str::Slice { space: Space::Scratch, start, length })
    }

    /// A copy of a string in the scratch region.
    pub fn copied(&mut self, text: Str) -> Result<Str> {
        let slice = self.view_of(&text)?;
        self.text_of_words(slice.length, &mut |context, at, left| context.word_at(slice, at, left))
    }

    /// The text of a domain name ([`moonhook_packet::Value::Name`]).
    pub fn name_text(&mut self, start: Word, length: Word) -> Result<Str> {
        let root = self.compare(CompareOp::Eq, length, 0);
        let (root, labels) = self.split(root);
        self.state = root;
        let dot = self.bytes_text(Word::Imm(b'.'.into()), Word::Imm(1))?;
        let dot = Arm { state: self.take_state(), values: vec![Abs::Str(dot)] };
        self.state = labels;
        let first = self.known_address(start, 1)?;
        let first = self.load_at(first, Size::B1, false);
        let (label, rest) = (self.add(start, 1), self.sub(length, 1));
        let name = self.copied(Str::Slice { space: Space::Packet, start: label, length: rest })?;
        self.put_dots(&name, first)?;
        let name = Arm { state: self.take_state(), values: vec![Abs::Str(name)] };
        Ok(match self.join(vec![dot, name])?.as_deref() {
            Some([Abs::Str(name)]) => name.clone(),
            _ => Str::Const(Arc::from(&b"."[..])),
        })
    }

    /// Writes dots in the place of the lengths in a copy of labels, the first of which is so long.
    fn put_dots(&mut self, name: &Str, first: Word) -> Result<()> {
        let name = self.slice_of(name)?;
        let arms = self.repeat(&[first], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let done = context.compare(CompareOp::SGe, at, name.length);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let length = context.byte_at(name, at)?;
            let place = context.add(name.start, at);
            put_byte(context, place, Word::Imm(b'.'.into()))?;
            let next = context.add(at, length);
            let next = context.add(next, 1);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join(arms)?;
        Ok(())
    }

    /// The string of the low `length` bytes (at most 8) of a word, the lowest first.
    pub fn bytes_text(&mut self, word: Word, length: Word) -> Result<Str> {
        let start = self.allocate(Word::Imm(8))?;
        let address = self.address(Space::Scratch, start, 8)?;
        self.store(address.base, address.disp, Size::B8, word);
        Ok(Str::Slice { space: Space::Scratch, start, length })
    }

    /// Writes a string that does not lie in the packet into it, byte by byte at its end so that nothing behind it changes.
    pub fn write_packet(&mut self, offset: Word, from: Slice) -> Result<()> {
        let arms = self.repeat(&[Word::Imm(0)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            let left = context.sub(from.length, at);
            let done = context.compare(CompareOp::SLe, left, 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let whole = context.compare(CompareOp::SGe, left, 8);
            let (whole, part) = context.split(whole);
            for (state, size) in [(whole, Size::B8), (part, Size::B1)] {
                context.state = state;
                let source = context.add(from.start, at);
                let source = context.address(from.space, source, size as u32)?;
                let word = context.load_at(source, size, false);
                let place = context.add(offset, at);
                let target = context.address(Space::Packet, place, size as u32)?;
                context.write_word(target, place, size, word);
                let next = context.add(at, size as i64);
                iteration.again(context, vec![next]);
            }
            Ok(iteration)
        })?;
        self.join(arms)?;
        Ok(())
    }
}
