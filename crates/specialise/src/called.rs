//! What programs in C call is executed: functions with integers, and handlers whose second argument is C's memory ([`crate::exported`]).

use crate::context::{Context, Result};
use crate::exported::memory::{BYTES, MASK, MOST, definition};
use crate::message::Message;
use crate::value::{ARGUMENT_SIZE, Abs, Closure, Object, Str, Word};
use moonhook_hook::{Place, Point};
use moonhook_ir as ir;
use moonhook_ir::helper::MAP_LOOKUP_ELEM;
use moonhook_ir::words::{Address, Branches, Iteration, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};

/// Names the slot of the key of the map with C's memory.
const KEY: u32 = 13;

impl Context<'_> {
    /// Executes the function that the program is, if it is one; gives its result.
    pub fn run_exported(&mut self) -> Result<bool> {
        let points = self.snapshot.points();
        let Some(Point { place: Place::Function(name), .. }) = points.get(self.target.program) else {
            return Ok(false);
        };
        for (number, handler) in self.snapshot.handlers_of(self.target.program) {
            self.execution.handler = number;
            let closure = Closure::of_load_time(self.snapshot, handler.closure).into();
            let numbers = self.code.function.params[1..].iter().map(|value| Abs::Int(Word::Value(*value)));
            let arguments = [Abs::Object(Object::Packet)].into_iter().chain(numbers).collect();
            for arm in self.run_closure(closure, arguments, format!("function '{name}'"))? {
                self.state = arm.state;
                self.end_with_number(name, arm.values.first().unwrap_or(&Abs::Nil))?;
            }
        }
        Ok(true)
    }

    fn end_with_number(&mut self, name: &str, result: &Abs) -> Result<()> {
        for (state, value) in self.alternatives(result)? {
            self.state = state;
            if !self.state.alive() {
                continue;
            }
            match value {
                Abs::Nil => self.exit(Word::Imm(0)),
                Abs::Int(number) => self.exit(number),
                Abs::Bool(chosen) => {
                    let chosen = self.value(chosen);
                    self.exit(chosen.into());
                }
                other => {
                    let what = other.message_name();
                    let message = format!("function '{name}' returned a {what} value, expected an integer");
                    self.fail(Message::bare(message));
                }
            }
        }
        Ok(())
    }
}

impl Context<'_> {
    /// Whether C gives the handlers' second argument.
    fn is_argument_given(&self) -> bool {
        let points = self.snapshot.points();
        points.get(self.target.program).is_some_and(|point| point.place == Place::Called)
    }

    /// Where C's memory is, if it gives the second argument.
    pub fn given_argument(&mut self) -> Result<Option<Address>> {
        if !self.is_argument_given() {
            return Ok(None);
        }
        let map = self.output.map(ir::maps::ARGUMENT, || ir::MapKind::Map(definition()));
        let slot = self.known.shared.slot(KEY, 8, &mut self.code.function);
        let key = self.emit(Op::SlotAddress(slot));
        self.store(key, 0, Size::B4, Word::Imm(0));
        let map = self.emit(Op::MapReference(map));
        let found = self.helper(MAP_LOOKUP_ELEM, &[map.into(), key.into()]);
        let missing = self.compare(CompareOp::Eq, found, 0);
        self.fail_if(missing, |context| context.fail(Message::bare("not enough memory")));
        Ok(Some(Address { base: self.value(found), disp: 0 }))
    }

    /// How many bytes the second argument has.
    pub fn argument_length(&mut self) -> Result<Word> {
        match self.given_argument()? {
            Some(at) => Ok(self.length_at(at)),
            None => Ok(Word::Imm(ARGUMENT_SIZE)),
        }
    }

    fn length_at(&mut self, at: Address) -> Word {
        let length = self.load(at.base, at.disp, Size::B4, false);
        self.and(length, MASK)
    }

    /// The number at an offset of C's memory, where so many bytes are there; `outside` is what happens where they are not.
    pub fn load_given(
        &mut self,
        at: Address,
        (offset, size, signed): (Word, Size, bool),
        outside: impl Fn(&mut Self),
    ) -> Option<Word> {
        let length = self.length_at(at);
        let far = self.compare(CompareOp::UGt, offset, MOST as i64);
        self.fail_if(far, &outside);
        let end = self.add(offset, size as i64);
        let beyond = self.compare(CompareOp::SGt, end, length);
        self.fail_if(beyond, &outside);
        if !self.alive() {
            return None;
        }
        Some(self.load_inside(at, (offset, size, signed)))
    }

    /// The same of what is known to be there.
    fn load_inside(&mut self, at: Address, (offset, size, signed): (Word, Size, bool)) -> Word {
        let offset = self.and(offset, MASK);
        let offset = self.value(offset);
        let place = self.emit(Op::Binary(BinaryOp::Add, at.base, offset.into()));
        self.load(place, at.disp + BYTES, size, signed)
    }

    /// The sum of words of 16 bits of `length` bytes from `offset` on of C's memory, which are there ([`moonhook_packet::Checksum`]).
    pub fn sum_given(&mut self, at: Address, (offset, length): (Word, Word)) -> Result<Word> {
        let paths = self.iterate(&[Word::Imm(0), Word::Imm(0)], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let &[done, sum] = variables else { return Ok(iteration) };
            let left = context.sub(length, done);
            for size in [Size::B2, Size::B1] {
                let enough = context.compare(CompareOp::SGe, left, size as i64);
                let (enough, less) = context.split(enough);
                context.state = enough;
                if context.alive() {
                    let place = context.add(offset, done);
                    let word = context.load_inside(at, (place, size, false));
                    let (next, sum) = (context.add(done, size as i64), context.add(sum, word));
                    iteration.again(context, vec![next, sum]);
                }
                context.state = less;
            }
            iteration.leave(context, vec![sum]);
            Ok(iteration)
        })?;
        self.meet_word(paths)
    }

    /// `length` bytes from `offset` on of C's memory, which are there, as a string.
    pub fn text_given(&mut self, at: Address, (offset, length): (Word, Word)) -> Result<Str> {
        match self.text_at(at, MOST)? {
            Str::Slice { space, start, .. } => {
                let start = self.add(start, offset);
                Ok(Str::Slice { space, start, length })
            }
            whole => Ok(whole),
        }
    }
}
