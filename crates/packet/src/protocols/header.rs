//! What protocols are written with: their rows, and finding their headers.

use crate::assign::{Refused, Takes};
use crate::{Access, Fault, Machine, PacketState, Value, ValuePaths};
use moonhook_ir::words::{Branches, Path, PathState, Word, WordPaths};
use moonhook_ir::{BinaryOp, CompareOp, FunctionId};

/// What reading a header or a field makes: one path for each value that it may have.
pub type Read<M> = fn(&mut M) -> Values<M>;

pub type Values<M> = Result<ValuePaths<M>, <M as Branches>::Stop>;

/// What parsing a header makes: paths that all carry the same number of words, of which the first is 0 where the header is not there.
pub type Parsing<M> = Result<WordPaths<M>, <M as Branches>::Stop>;

/// The state in which a header was found, the header's words, and the states in which it is not there.
type Found<M> = (<M as Branches>::State, Vec<Word>, Vec<<M as Branches>::State>);

/// The states in which a header was found, and those in which it is not there.
type Apart<M> = (Vec<<M as Branches>::State>, Vec<<M as Branches>::State>);

/// A protocol, or what else a packet has: a name after `pkt.`.
pub struct Protocol<M: Machine> {
    pub name: &'static str,
    /// Finds it: the header or nothing; or what it is, if it is no header.
    pub find: Read<M>,
    /// None, if it is no header.
    pub fields: Vec<Field<M>>,
    /// It is a string of any content.
    pub is_text: bool,
    /// How it is assigned, if it can be.
    pub assignment: Option<Assignment<M>>,
    /// It is not among the packet's bytes: its fields can be assigned where these can only be read.
    pub is_beside: bool,
    /// It is inside of the packet.
    pub is_inner: bool,
}

impl<M: Machine> Protocol<M> {
    /// The same, which is not among a packet's bytes.
    pub fn beside_packets(self) -> Self {
        Protocol { is_beside: true, ..self }
    }

    /// A header with fields.
    pub fn header(name: &'static str, find: Read<M>, fields: Vec<Field<M>>) -> Self {
        Protocol { name, find, fields, is_text: false, assignment: None, is_beside: false, is_inner: false }
    }

    /// A string of any content.
    pub fn text(name: &'static str, find: Read<M>) -> Self {
        Protocol {
            name,
            find,
            fields: vec![],
            is_text: true,
            assignment: None,
            is_beside: false,
            is_inner: false,
        }
    }

    /// A number.
    pub fn number(name: &'static str, find: Read<M>, assignment: Option<Assignment<M>>) -> Self {
        Protocol { name, find, fields: vec![], is_text: false, assignment, is_beside: true, is_inner: false }
    }
}

/// A field of a header that is known to be there.
pub struct Field<M: Machine> {
    pub name: &'static str,
    pub read: Read<M>,
    /// It is a string of any content.
    pub is_text: bool,
    /// How it is assigned, if it can be.
    pub assignment: Option<Assignment<M>>,
}

/// How a field is assigned.
pub struct Assignment<M: Machine> {
    pub takes: Takes,
    pub write: Write<M>,
}

/// Writes a field of a header that is known to be there, and goes on where it could; the other states are added to those refused.
pub type Write<M> = fn(&mut M, Value, &mut RefusedBy<M>) -> Result<(), <M as Branches>::Stop>;

pub type RefusedBy<M> = Refused<<M as Branches>::State>;

impl<M: Machine> Field<M> {
    /// A field that can only be read.
    pub fn new(name: &'static str, read: Read<M>) -> Self {
        Field { name, read, is_text: false, assignment: None }
    }

    /// The same field, which is a string of any content.
    pub fn of_text(self) -> Self {
        Field { is_text: true, ..self }
    }

    /// The same field, which can be assigned as well.
    pub fn assigned(self, takes: Takes, write: Write<M>) -> Self {
        Field { assignment: Some(Assignment { takes, write }), ..self }
    }
}

/// Paths of parsing that end without finding the header.
pub fn absent<S>(states: impl IntoIterator<Item = S>) -> impl Iterator<Item = Path<S, Vec<Word>>> {
    states.into_iter().map(|state| Path { state, values: vec![Word::Imm(0)] })
}

/// Paths on which there is nothing to read.
pub fn nothing<S>(states: impl IntoIterator<Item = S>) -> impl Iterator<Item = Path<S, Value>> {
    states.into_iter().map(|state| Path { state, values: Value::Nothing })
}

/// Bits of a word of a header in what a function gives: frames are shorter than `1 << 20` ([`crate::MAX_LENGTH`]).
const PACKED: i64 = 20;

/// More words than parsing gives of any header.
const MOST_PARTS: usize = 12;

/// What a function gives that does not find a header.
const ABSENT: i64 = 1;

/// Finding headers.
pub trait Headers: Machine {
    /// The current state's one value.
    fn only(&mut self, value: Value) -> Values<Self> {
        Ok(vec![self.take_path(value)])
    }

    /// Whether parsing finds the header `key`: the state in which it does, with its words, and the states in which
    /// it does not. Words that were computed before are used again.
    fn found(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Parsing<Self>,
    ) -> Result<Found<Self>, Self::Stop> {
        let place = self.state().packet().key(key);
        if let Some(words) = self.state().packet().parsed(place) {
            let words = words.to_vec();
            let there = self.compare(CompareOp::Ne, words.first().copied().unwrap_or(Word::Imm(0)), 0);
            let (yes, no) = self.split(there);
            return Ok((yes, words, vec![no]));
        }
        let (present, absent) = self.found_apart(key, parse)?;
        self.enter(present)?;
        let words = self.state().packet().parsed(place).unwrap_or_default().to_vec();
        Ok((self.take_state(), words, absent))
    }

    /// As [`Headers::found`], with the paths on which the header is there kept apart. Each state has the words among its facts.
    fn found_apart(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Parsing<Self>,
    ) -> Result<Apart<Self>, Self::Stop> {
        let place = self.state().packet().key(key);
        if self.state().packet().parsed(place).is_some() {
            let (state, _, absent) = self.found(key, parse)?;
            // Where no packet is, as at `cgroup.connect`, parsing has found no words either.
            let present = if state.alive() { vec![state] } else { Vec::new() };
            return Ok((present, absent));
        }
        let paths = parse(self)?;
        let count = paths.iter().map(|path| path.values.len()).max().unwrap_or(0);
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        for Path { mut state, values: mut words } in paths {
            let there = !matches!(words.first(), None | Some(Word::Imm(0)));
            words.resize(count, Word::Imm(0));
            state.packet_mut().parsed.push((place, words));
            if there { present.push(state) } else { absent.push(state) }
        }
        Ok((present, absent))
    }

    /// The header where parsing finds it, nothing where it does not.
    fn header_paths(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&mut Self) -> Parsing<Self>,
    ) -> Values<Self> {
        let (state, _, absent) = self.found(name, parse)?;
        let mut paths = vec![Path { state, values: Value::Header(name) }];
        paths.extend(nothing(absent));
        Ok(paths)
    }

    /// The words of a header that is known to be there, and zeros up to [`MOST_PARTS`]; the current state goes on.
    fn known_header(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&mut Self) -> Parsing<Self>,
    ) -> Result<Vec<Word>, Self::Stop> {
        let (state, mut words, absent) = self.found(key, parse)?;
        self.resume(state);
        self.fail_in(absent, |machine| {
            machine.fault(Fault::HeaderGone);
            Ok(())
        })?;
        // Where it cannot be there, what was found has fewer words than its readers ask for; they make no code.
        words.resize(words.len().max(MOST_PARTS), Word::Imm(0));
        Ok(words)
    }

    /// What `parse` gives, found by a function of that name where fields are read by functions of their own, of which `give` is the body:
    /// [`Headers::give_packed`] with the same `parse`. It gives up to three words of [`PACKED`] bits besides the first one.
    fn shared(
        &mut self,
        name: &str,
        parse: fn(&mut Self) -> Parsing<Self>,
        give: fn(&mut Self, &[Word]) -> Result<(), Self::Stop>,
    ) -> Parsing<Self> {
        // A function does not know what of the frame is looked at.
        if !self.reads_apart() || self.state().packet().is_inner {
            return parse(self);
        }
        let Some(function) = self.apart(&format!("find_{name}"), 0, give)? else { return parse(self) };
        let result = self.call_packet_function(function);
        let none = self.compare(CompareOp::Eq, result, ABSENT);
        let (none, there) = self.split(none);
        let mut paths: WordPaths<Self> = absent([none]).collect();
        self.resume(there);
        let mut words = vec![Word::Imm(1)];
        for number in 0..3 {
            let word = self.shr(result, 2 + number * PACKED);
            words.push(self.and(word, (1 << PACKED) - 1));
        }
        paths.push(self.take_path(words));
        Ok(paths)
    }

    /// Has a function of its own do what `body` does with the packet, where fields are read by functions: the verifier walks it once, not for each
    /// path that leads there. `None` where that is to be done in place.
    fn done_apart(
        &mut self,
        name: &str,
        body: fn(&mut Self, &[Word]) -> Result<(), Self::Stop>,
    ) -> Result<Option<Word>, Self::Stop> {
        if !self.reads_apart() {
            return Ok(None);
        }
        let function = self.apart(name, 0, body)?;
        Ok(function.map(|function| self.call_packet_function(function)))
    }

    /// What a function without parameters gives that reads the packet, or changes what it has; an error where it fails, which is 0.
    fn call_packet_function(&mut self, function: FunctionId) -> Word {
        let packet = self.program_context();
        let result = self.call_function(function, &[packet]);
        // It may have the kernel gather the packet in one place.
        if self.hook().pull().is_some() {
            self.note_packet_moved();
        }
        let failed = self.compare(CompareOp::Eq, result, 0);
        self.fail_if(failed, |machine| machine.fault(Fault::Unreadable));
        result
    }

    /// Ends a function that was made for [`Headers::shared`]: 0 where the packet cannot be read, which is what functions give that fail.
    fn give_packed(&mut self, parse: fn(&mut Self) -> Parsing<Self>) -> Result<(), Self::Stop> {
        for path in parse(self)? {
            self.resume(path.state);
            if !self.alive() {
                continue;
            }
            let Some((Word::Imm(1), words)) = path.values.split_first() else {
                self.give(ABSENT);
                continue;
            };
            let mut packed = Word::Imm(2);
            for (word, number) in words.iter().zip(0..3) {
                let word = self.and(*word, (1 << PACKED) - 1);
                let word = self.shl(word, 2 + number * PACKED);
                packed = self.binary(BinaryOp::Or, packed, word);
            }
            self.give(packed);
        }
        Ok(())
    }

    /// One bit of a word.
    fn bit(&mut self, word: Word, number: i64) -> Value {
        let shifted = self.shr(word, number);
        Value::Flag(self.and(shifted, 1))
    }
}

impl<M: Access> Headers for M {}
