//! Arguments of functions: values of unknown type in arena memory.

use super::Stub;
use super::shared::given::Given;
use crate::arena;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::state::State;
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Object, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_runtime::layout::{
    FAIL, GENERAL, OBJECT_PACKET, TAG_INT, TAG_NIL, TAG_OBJECT, TAG_STRING, TAG_TABLE, VALUE_SIZE,
};
use moonhook_schema::Type;

/// An argument's place.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    address: Word,
    base: Word,
    count: Word,
}

impl Context<'_> {
    /// How many arguments there are in memory; `None` where arguments are not.
    pub(super) fn argument_count(&self) -> Option<Word> {
        self.stub.as_ref()?.arguments.map(|[_, count]| count.into())
    }

    fn place_of(&mut self, number: usize) -> Option<Place> {
        let [base, count] = self.stub.as_ref()?.arguments?.map(Word::Value);
        let address = self.add(base, VALUE_SIZE * (number as i64 - 1));
        Some(Place { number, address, base, count })
    }

    /// Splits off the state in which there is no such argument; goes on in the other.
    fn split_missing(&mut self, place: Place) -> State {
        let missing = self.compare(CompareOp::SLt, place.count, place.number as i64);
        let (missing, there) = self.split(missing);
        self.state = there;
        missing
    }

    /// The payload of an argument of type `tag`; `convert` is the routine that makes one of it, in place, or raises an
    /// error.
    fn payload(&mut self, place: Place, tag: i64, convert: &str) -> Result<Word> {
        let missing = self.split_missing(place);
        let found = arena::load(self, place.address);
        let wrong = self.compare(CompareOp::Ne, found, tag);
        let (wrong, right) = self.split(wrong);
        self.enter(vec![missing, wrong])?;
        let args = [place.base, place.count, Word::Imm(place.number as i64)];
        let converted = self.call_routine(convert, &args);
        let failed = self.compare(CompareOp::Ne, converted, 1);
        self.fail_if(failed, |context| context.give(FAIL));
        let converted = self.take_state();
        self.enter(vec![right, converted])?;
        let payload = self.add(place.address, 8);
        Ok(arena::load(self, payload))
    }

    /// Ends the stub where an argument is a table: the function that is written in Lua is to be called.
    pub fn leave_tables_to_lua(&mut self, number: usize) -> Result<()> {
        let Some(place) = self.place_of(number) else { return Ok(()) };
        let missing = self.split_missing(place);
        let tag = arena::load(self, place.address);
        let table = self.compare(CompareOp::Eq, tag, TAG_TABLE);
        let (table, other) = self.split(table);
        self.state = table;
        self.give(GENERAL);
        self.enter(vec![missing, other])
    }

    /// An argument as an integer (`luaL_checkinteger`); ends the stub where it is none.
    pub fn integer_argument(&mut self, number: usize) -> Result<Word> {
        match self.place_of(number) {
            Some(place) => self.payload(place, TAG_INT, "convert_int_arg"),
            None => Ok(Word::Imm(0)),
        }
    }

    /// `luaL_optinteger`.
    pub fn integer_argument_or(&mut self, number: usize, default: Word) -> Result<Word> {
        let Some(place) = self.place_of(number) else { return Ok(default) };
        let missing = self.split_missing(place);
        let tag = arena::load(self, place.address);
        let nil = self.compare(CompareOp::Eq, tag, TAG_NIL);
        let (nil, given) = self.split(nil);
        self.state = given;
        let value = self.integer_argument(number)?;
        let given = Arm { state: self.take_state(), values: vec![Abs::Int(value)] };
        let by_default = [missing, nil].map(|state| Arm { state, values: vec![Abs::Int(default)] });
        let joined = self.join(by_default.into_iter().chain([given]).collect())?;
        Ok(match joined.as_deref() {
            Some([Abs::Int(word)]) => *word,
            _ => default,
        })
    }

    /// An argument that is an integer, or else as a string.
    pub fn integer_or_string_argument(&mut self, number: usize) -> Result<Vec<Arm>> {
        let Some(place) = self.place_of(number) else { return Ok(vec![]) };
        let missing = self.split_missing(place);
        let tag = arena::load(self, place.address);
        let integer = self.compare(CompareOp::Eq, tag, TAG_INT);
        let (integer, other) = self.split(integer);
        self.state = integer;
        let value = self.integer_argument(number)?;
        let mut arms = vec![Arm { state: self.take_state(), values: vec![Abs::Int(value)] }];
        self.enter(vec![missing, other])?;
        if let Some(text) = self.string_argument(number)? {
            arms.push(Arm { state: self.take_state(), values: vec![Abs::Str(text)] });
        }
        Ok(arms)
    }

    /// An argument as a string (`luaL_checklstring`); ends the stub where it is none.
    pub fn string_argument(&mut self, number: usize) -> Result<Option<Str>> {
        let Some(place) = self.place_of(number) else { return Ok(None) };
        let payload = self.payload(place, TAG_STRING, "convert_str_arg")?;
        Ok(Some(text_of_payload(self, payload)))
    }

    /// `luaL_optlstring`.
    pub fn string_argument_or(&mut self, number: usize, default: &str) -> Result<Option<Str>> {
        let Some(place) = self.place_of(number) else { return Ok(None) };
        let missing = self.split_missing(place);
        let tag = arena::load(self, place.address);
        let nil = self.compare(CompareOp::Eq, tag, TAG_NIL);
        let (nil, given) = self.split(nil);
        self.state = given;
        let mut arms = Vec::new();
        if let Some(text) = self.string_argument(number)? {
            arms.push(Arm { state: self.take_state(), values: vec![Abs::Str(text)] });
        }
        let (space, start, length) = self.image_text(default.as_bytes());
        let default = Abs::Str(Str::Slice { space, start, length });
        arms.extend([missing, nil].map(|state| Arm { state, values: vec![default.clone()] }));
        Ok(match self.join(arms)?.as_deref() {
            Some([Abs::Str(text)]) => Some(text.clone()),
            _ => None,
        })
    }

    /// An argument that is an address as fields have them: where it is one, with it, and where it is none.
    pub fn address_argument(&mut self, number: usize) -> Result<(Vec<Arm>, Vec<State>)> {
        let Some(place) = self.place_of(number) else { return Ok((vec![], vec![])) };
        let missing = self.split_missing(place);
        let Given { fits, nil, mut others, .. } = self.given(place.address, &Type::Address)?;
        others.extend([missing, nil]);
        Ok((fits, others))
    }

    /// The states in which an argument is nil, or missing; goes on in the others.
    pub fn split_nil_argument(&mut self, number: usize) -> Vec<State> {
        let Some(place) = self.place_of(number) else { return vec![] };
        let missing = self.split_missing(place);
        let tag = arena::load(self, place.address);
        let nil = self.compare(CompareOp::Eq, tag, TAG_NIL);
        let (nil, given) = self.split(nil);
        self.state = given;
        vec![missing, nil]
    }

    /// An argument that is an integer: where it is one, where it is nil or missing, and where it is something else.
    pub fn number_argument(&mut self, number: usize) -> Result<(Vec<Arm>, Vec<State>, Vec<State>)> {
        let Some(place) = self.place_of(number) else { return Ok((vec![], vec![], vec![])) };
        let missing = self.split_missing(place);
        let Given { fits, nil, others, .. } = self.given(place.address, &Type::Integer)?;
        Ok((fits, vec![missing, nil], others))
    }

    /// Goes on where an argument is the packet; ends the stub where it is something else.
    pub fn packet_argument(&mut self, number: usize) -> Result<()> {
        let Some(place) = self.place_of(number) else { return Ok(()) };
        let mut wrong = vec![self.split_missing(place)];
        let tag = arena::load(self, place.address);
        let other = self.compare(CompareOp::Ne, tag, TAG_OBJECT);
        self.leave_if(other, &mut wrong);
        let payload = self.add(place.address, 8);
        let payload = arena::load(self, payload);
        let other = self.compare(CompareOp::Ne, payload, OBJECT_PACKET);
        self.leave_if(other, &mut wrong);
        let right = self.take_state();
        self.enter(wrong)?;
        let expected = Word::Imm(self.image_string(b"packet"));
        self.raise_by("type_error", &[place.base, place.count, Word::Imm(number as i64), expected]);
        self.enter(vec![right])
    }

    /// Splits by which of `objects` argument 1 is; one state for each that it can be, with the object. Where it is none of
    /// them the error says that `expected` was.
    pub(super) fn split_object(
        &mut self,
        objects: impl Iterator<Item = (i64, Object)>,
        expected: &str,
    ) -> Result<Vec<(State, Object)>> {
        let Some(place) = self.place_of(1) else { return Ok(vec![]) };
        let mut wrong = vec![self.split_missing(place)];
        let tag = arena::load(self, place.address);
        let other = self.compare(CompareOp::Ne, tag, TAG_OBJECT);
        self.leave_if(other, &mut wrong);
        let payload = self.add(place.address, 8);
        let payload = arena::load(self, payload);
        let mut right = Vec::new();
        for (known, object) in objects {
            let is = self.compare(CompareOp::Eq, payload, known);
            let (is, other) = self.split(is);
            right.push((is, object));
            self.state = other;
        }
        wrong.push(self.take_state());
        self.enter(wrong)?;
        let expected = Word::Imm(self.image_string(expected.as_bytes()));
        self.raise_by("type_error", &[place.base, place.count, Word::Imm(1), expected]);
        Ok(right)
    }

    /// Ends the stub with results, which it stores from below the first argument on.
    pub(super) fn leave_with(&mut self, results: &[Abs]) -> Result<()> {
        let Some(Stub { arguments: Some([base, _]), .. }) = self.stub else { return Ok(()) };
        for (index, value) in results.iter().enumerate() {
            let address = self.add(base, VALUE_SIZE * (index as i64 - 1));
            self.store_value(address, value)?;
        }
        self.give(results.len() as i64);
        Ok(())
    }
}
