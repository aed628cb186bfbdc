//! Names in DNS messages that go on elsewhere (RFC 1035 § 4.1.4), as texts.
//!
//! Guarantees that the labels' walk comes to an end: a pointer has to lead to a place before the part of the name that it stands in.

use crate::context::{Context, Result};
use crate::formatting::put_byte;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, Size};
use moonhook_packet::Access;
use moonhook_packet::protocols::dns_message;

/// Bytes of a name's text, with a dot behind each label: what RFC 1035 § 2.3.4 allows without the last length of 0.
const LONGEST: i64 = 254;

/// Bytes that are reserved for a text: whole words are written, of labels that may be longer than fits.
const ROOM: i64 = 336;

/// Where a name is: the message's start and end, and the name's place.
#[derive(Clone, Copy)]
struct Place {
    message: Word,
    end: Word,
    name: Word,
}

impl Context<'_> {
    /// The name at an offset of the frame, in the packet's DNS message; nil where it is broken.
    pub fn domain_name(&mut self, name: Word) -> Result<Abs> {
        if !self.state.alive() {
            return Ok(Abs::Nil);
        }
        let [message, end] = dns_message(self)?;
        let text = self.allocate(Word::Imm(ROOM))?;
        let place = Place { message, end, name };
        let length = match self.has_names_apart() {
            true => self.expanded_apart(place, text)?,
            false => self.expanded_name(place, text)?,
        };
        let broken = self.compare(CompareOp::Eq, length, 0);
        let (broken, whole) = self.split(broken);
        self.state = whole;
        let text = Str::Slice { space: Space::Scratch, start: text, length };
        self.around.shorten_copy(self, &text);
        let whole = Arm { state: self.take_state(), values: vec![Abs::Str(text)] };
        let broken = Arm { state: broken, values: vec![Abs::Nil] };
        Ok(self.join(vec![whole, broken])?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil))
    }

    /// Whether a function can find its way to the packet and to this CPU's memory by itself. A call of it is dropped where nobody
    /// needs the name.
    fn has_names_apart(&self) -> bool {
        let is_simple = self.stub.is_none() && self.target.copy.is_none() && self.target.taken.is_none();
        is_simple && self.options.subprograms
    }

    /// As [`Context::expanded_name`], by a function.
    fn expanded_apart(&mut self, place: Place, text: Word) -> Result<Word> {
        // The function uses it, and must not be the first to say what it is like.
        self.region()?;
        let function = self.subprogram("domain_name", 4, |context, words| {
            context.code.function.for_result = true;
            if let &[message, end, name, text] = words {
                let length = context.expanded_name(Place { message, end, name }, text)?;
                context.give(length);
            }
            Ok(())
        })?;
        let packet = Word::Value(self.code.function.params[0]);
        let Place { message, end, name } = place;
        Ok(self.call_function(function, &[packet, message, end, name, text]))
    }

    /// Writes a name's text to that place of the scratch memory; gives how long it is, 0 where the name is broken.
    fn expanded_name(&mut self, place: Place, text: Word) -> Result<Word> {
        // The root's text, which has no label in front of its dot.
        put_byte(self, text, Word::Imm(b'.'.into()))?;
        let initial = [place.name, Word::Imm(0), place.name];
        let exits = self.repeat(&initial, &mut |context, variables| context.label(place, text, variables))?;
        let (mut whole, mut broken) = (Vec::new(), Vec::new());
        for arm in exits {
            if arm.values.is_empty() { broken.push(arm.state) } else { whole.push(arm) }
        }
        let mut arms = Vec::new();
        if let Some([Abs::Int(written)]) = self.join(whole)?.as_deref() {
            let length = self.sub(*written, 1);
            let length = self.maximum(length, Word::Imm(1))?;
            arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(length)] });
        }
        arms.extend(broken.into_iter().map(|state| Arm { state, values: vec![Abs::int(0)] }));
        self.join_word(arms)
    }

    /// A label, a pointer or the end of a name: one turn, whose variables are where it stands, how many bytes of text there are, and
    /// where the part of the name starts.
    fn label(&mut self, place: Place, text: Word, variables: &[Word]) -> Result<Iteration> {
        let mut iteration = Iteration::default();
        let &[position, written, part] = variables else { return Ok(iteration) };
        let mut broken = Vec::new();
        let next = self.add(position, 1);
        let over = self.compare_apart(CompareOp::SGt, next, place.end);
        self.leave_if(over, &mut broken);
        let (address, outside) = self.locate(position, 1)?;
        broken.extend(outside);
        let length = self.load_at(address, Size::B1, false);
        let last = self.compare_apart(CompareOp::Eq, length, 0);
        let (last, other) = self.split(last);
        iteration.leave_in(last, vec![Abs::Int(written)]);
        self.state = other;
        let label = self.compare_apart(CompareOp::ULe, length, 63);
        let (label, pointer) = self.split(label);
        self.state = pointer;
        if let Some(target) = self.pointer(place, (position, length, part), &mut broken)? {
            iteration.again(self, vec![target, written, target]);
        }
        self.state = label;
        let behind = self.add(next, length);
        let over = self.compare_apart(CompareOp::SGt, behind, place.end);
        self.leave_if(over, &mut broken);
        let after = self.add(written, length);
        let after = self.add(after, 1);
        let long = self.compare(CompareOp::UGt, after, LONGEST);
        self.leave_if(long, &mut broken);
        if self.state.alive() {
            let start = self.add(text, written);
            self.copy_bytes(Space::Packet, next, length, &mut |context, at| {
                let place = context.add(start, at);
                context.address(Space::Scratch, place, 8)
            })?;
            let dot = self.add(start, length);
            put_byte(self, dot, Word::Imm(b'.'.into()))?;
            iteration.again(self, vec![behind, after, part]);
        }
        broken.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    }

    /// Where a pointer leads whose first byte is `high`, in a part of a name that starts at `part`.
    fn pointer(
        &mut self,
        place: Place,
        (position, high, part): (Word, Word, Word),
        broken: &mut Vec<State>,
    ) -> Result<Option<Word>> {
        let wrong = self.compare_apart(CompareOp::ULt, high, 0xc0);
        self.leave_if(wrong, broken);
        let behind = self.add(position, 2);
        let over = self.compare_apart(CompareOp::SGt, behind, place.end);
        self.leave_if(over, broken);
        let (address, outside) = self.locate(position, 2)?;
        broken.extend(outside);
        let word = self.load_at(address, Size::B2, false);
        let word = self.host_order(word, Size::B2);
        let target = self.and(word, 0x3fff);
        let target = self.add(place.message, target);
        let late = self.compare_apart(CompareOp::SGe, target, part);
        self.leave_if(late, broken);
        Ok(self.state.alive().then_some(target))
    }
}
