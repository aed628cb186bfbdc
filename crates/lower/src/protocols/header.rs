//! What protocols are written with: their rows, and finding their headers.

use crate::context::{Context, Result};
use crate::state::State;
use crate::value::{Abs, Object, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, Size, UnaryOp};

/// A protocol: a name after `pkt.`.
pub struct Protocol {
    pub name: &'static str,
    /// Finds it: one arm for each way, each with one value, the header object or nil (or, for `payload`, the value).
    pub find: fn(&mut Context<'_>) -> Result<Vec<Arm>>,
    pub fields: &'static [Field],
}

/// A field of a header that is known to be there.
pub struct Field {
    pub name: &'static str,
    pub read: fn(&mut Context<'_>) -> Result<Vec<Arm>>,
}

/// Arms of parsing that ends without finding the header.
pub fn absent(states: impl IntoIterator<Item = State>) -> impl Iterator<Item = Arm> {
    states.into_iter().map(|state| Arm { state, values: vec![Abs::int(0)] })
}

impl Context<'_> {
    /// Whether parsing finds the header `key`: the state in which it does, with its words, and the states in which
    /// it does not. Words that were computed before are used again. All arms of `parse` carry the same number of integers;
    /// the first is 0 where the header is not there.
    pub fn found(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Result<Vec<Arm>>,
    ) -> Result<(State, Vec<Word>, Vec<State>)> {
        if let Some(words) = self.state.facts.parsed(key) {
            let words = words.to_vec();
            let there = self.compare(CompareOp::Ne, words.first().copied().unwrap_or(Word::Imm(0)), 0);
            let (yes, no) = self.split(there);
            return Ok((yes, words, vec![no]));
        }
        let (present, absent) = self.found_apart(key, parse)?;
        self.enter(present)?;
        let words = self.state.facts.parsed(key).unwrap_or_default().to_vec();
        Ok((self.take_state(), words, absent))
    }

    /// As [`Context::found`], with the ways on which the header is there kept apart. Each state has the words among its facts.
    pub fn found_apart(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Result<Vec<Arm>>,
    ) -> Result<(Vec<State>, Vec<State>)> {
        if self.state.facts.parsed(key).is_some() {
            let (state, _, absent) = self.found(key, parse)?;
            return Ok((vec![state], absent));
        }
        let arms = parse(self)?;
        let count = arms.iter().map(|arm| arm.values.len()).max().unwrap_or(0);
        let word = |value: Abs| match value {
            Abs::Int(word) => word,
            _ => Word::Imm(0),
        };
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        for Arm { mut state, values } in arms {
            let there = !matches!(values.first(), None | Some(Abs::Int(Word::Imm(0))));
            let mut words: Vec<Word> = values.into_iter().map(word).collect();
            words.resize(count, Word::Imm(0));
            state.facts.parsed.push((key, words));
            if there { present.push(state) } else { absent.push(state) }
        }
        Ok((present, absent))
    }

    /// The header object where parsing finds it, nil where it does not.
    pub fn header_arms(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&mut Self) -> Result<Vec<Arm>>,
    ) -> Result<Vec<Arm>> {
        let (state, _, absent) = self.found(name, parse)?;
        let mut arms = vec![Arm { state, values: vec![Abs::Object(Object::Header(name))] }];
        arms.extend(absent.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }));
        Ok(arms)
    }

    /// The words of a header that is known to be there; the current state goes on.
    pub fn known_header(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Result<Vec<Arm>>,
    ) -> Result<Vec<Word>> {
        let (state, words, absent) = self.found(key, parse)?;
        self.state = state;
        self.fail_in(absent, |context| {
            context.fail(crate::events::Message::bare("a header is gone (a fault of Moonhook)"));
            Ok(())
        })?;
        Ok(words)
    }

    /// A big-endian field of a header: `size` bytes at `offset + at`, which parsing found to be there. The verifier's
    /// proof is for `whole` bytes of the header, so that the header's fields share it.
    pub fn header_field(&mut self, offset: Word, at: i64, size: Size, whole: u32) -> Result<Word> {
        let address = self.address(crate::value::Space::Packet, offset, whole)?;
        let word = self.load_at(address.plus(at as i16), size, false);
        Ok(self.host_order(word, size))
    }

    /// A word loaded from network byte order.
    pub fn host_order(&mut self, word: Word, size: Size) -> Word {
        match size {
            Size::B1 => word,
            Size::B2 => self.unary(UnaryOp::Swap16, word),
            Size::B4 => self.unary(UnaryOp::Swap32, word),
            Size::B8 => self.unary(UnaryOp::Swap64, word),
        }
    }
}

/// One bit of a word as a boolean.
pub fn bit(context: &mut Context<'_>, word: Word, number: i64) -> Abs {
    let shifted = context.shr(word, number);
    Abs::Bool(context.and(shifted, 1))
}
