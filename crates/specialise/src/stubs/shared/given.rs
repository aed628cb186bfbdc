//! Values in arena memory, of unknown type, as keys and values of a type.

use crate::arena;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Range, Words};
use moonhook_runtime::layout::{L_RESULT, TAG_FALSE, TAG_FLOAT, TAG_INT, TAG_NIL, TAG_STRING};
use moonhook_schema::Type;

/// What a value may be.
pub(in crate::stubs) struct Given {
    pub tag: Word,
    /// Where it is of the type, with it.
    pub fits: Vec<Arm>,
    pub nil: State,
    /// Where it is neither.
    pub others: Vec<State>,
    /// Where it is a string that is too long for the type.
    pub too_long: Vec<State>,
}

impl Given {
    fn fit(&mut self, context: &mut Context<'_>, value: Abs) {
        self.fits.push(Arm { state: context.take_state(), values: vec![value] });
    }

    /// Goes on where the value has the tag; elsewhere it is of another type.
    fn only(&mut self, context: &mut Context<'_>, tag: i64) {
        let other = context.compare(CompareOp::Ne, self.tag, tag);
        context.leave_if(other, &mut self.others);
    }

    /// Goes on where a routine has found an address.
    fn only_found(&mut self, context: &mut Context<'_>, result: Word) {
        let none = context.compare(CompareOp::SLt, result, 0);
        context.leave_if(none, &mut self.others);
    }
}

impl Context<'_> {
    /// As [`Context::given`], of a key. Floats with integral value are the same keys as integers (Lua manual § 2.1).
    pub(super) fn given_key(&mut self, address: Word, ty: &Type) -> Result<Given> {
        let mut given = self.given(address, ty)?;
        if *ty == Type::Integer {
            self.enter(std::mem::take(&mut given.others))?;
            given.only(self, TAG_FLOAT);
            let payload = self.add(address, 8);
            let payload = arena::load(self, payload);
            let integral = self.call_routine_without_state("float_is_integer", &[payload]);
            let broken = self.compare(CompareOp::Eq, integral, 0);
            self.leave_if(broken, &mut given.others);
            let integer = self.call_routine_without_state("float_to_integer", &[payload]);
            given.fit(self, Abs::Int(integer));
        }
        Ok(given)
    }

    /// Splits the current state by whether the value at an address is one of the type.
    pub(in crate::stubs) fn given(&mut self, address: Word, ty: &Type) -> Result<Given> {
        let tag = arena::load(self, address);
        let nil = self.compare(CompareOp::Eq, tag, TAG_NIL);
        let (nil, other) = self.split(nil);
        self.state = other;
        let payload = self.add(address, 8);
        let payload = arena::load(self, payload);
        let mut given = Given { tag, fits: Vec::new(), nil, others: Vec::new(), too_long: Vec::new() };
        self.given_as(&mut given, payload, ty)?;
        Ok(given)
    }

    /// Of a value that is not nil.
    fn given_as(&mut self, given: &mut Given, payload: Word, ty: &Type) -> Result<()> {
        match ty {
            Type::Mixed(mixed) => {
                let others = std::mem::take(&mut given.others);
                for (_, ty) in mixed.types() {
                    self.given_as(given, payload, &ty)?;
                    let rest = std::mem::take(&mut given.others);
                    self.enter(rest)?;
                }
                given.others = others;
                given.others.push(self.take_state());
            }
            Type::Boolean => {
                let flag = self.sub(given.tag, TAG_FALSE);
                let other = self.compare(CompareOp::UGt, flag, 1);
                self.leave_if(other, &mut given.others);
                let flag = self.and(flag, 1);
                given.fit(self, Abs::Bool(flag));
            }
            Type::Integer => {
                given.only(self, TAG_INT);
                given.fit(self, Abs::Int(payload));
            }
            Type::Float => {
                given.only(self, TAG_FLOAT);
                given.fit(self, Abs::Float(payload));
            }
            _ if !matches!(ty, Type::Record(_)) => {
                given.only(self, TAG_STRING);
                self.given_text(given, payload, ty)?;
            }
            _ => given.others.push(self.take_state()),
        }
        Ok(())
    }

    /// Of a text.
    fn given_text(&mut self, given: &mut Given, payload: Word, ty: &Type) -> Result<()> {
        match ty {
            Type::Ipv4 => {
                let address = self.call_routine_without_state("parse_ipv4", &[payload]);
                given.only_found(self, address);
                given.fit(self, Abs::Str(Str::Ipv4(address)));
            }
            Type::Mac => {
                let address = self.call_routine_without_state("parse_mac", &[payload]);
                given.only_found(self, address);
                given.fit(self, Abs::Str(Str::Mac(address)));
            }
            Type::Address => {
                let address = self.call_routine_without_state("parse_ipv4", &[payload]);
                let four = self.compare(CompareOp::SGe, address, 0);
                let (four, six) = self.split(four);
                self.state = four;
                given.fit(self, Abs::Str(Str::Ipv4(address)));
                self.state = six;
                self.given_ipv6(given, payload)?;
            }
            Type::Prefix4 | Type::Prefix6 => {
                let length = self.parse_prefix(ty, payload);
                given.only_found(self, length);
                // The bytes of the key are made of the text again.
                let text = text_of_payload(self, payload);
                given.fit(self, Abs::Str(text));
            }
            _ => {
                let text = text_of_payload(self, payload);
                if let (Str::Slice { length: Word::Value(length), .. }, Type::Text { capacity }) = (&text, ty)
                {
                    let (length, capacity) = (*length, i64::from(*capacity));
                    let too_long = self.compare(CompareOp::UGt, length, capacity);
                    self.leave_if(too_long, &mut given.too_long);
                    self.set_range(length, Range::up_to(capacity));
                }
                given.fit(self, Abs::Str(text));
            }
        }
        Ok(())
    }

    /// The length of the prefix that a text stands for, with the address at `L_RESULT`; negative where it is none.
    pub(in crate::stubs) fn parse_prefix(&mut self, ty: &Type, payload: Word) -> Word {
        let routine = if *ty == Type::Prefix4 { "parse_prefix4" } else { "parse_prefix6" };
        self.call_routine(routine, &[payload])
    }

    /// A word of what a routine gives besides its status.
    pub(in crate::stubs) fn result_word(&mut self, offset: i64) -> Word {
        let place = self.add(self.state_address(), L_RESULT + offset);
        arena::load(self, place)
    }

    /// An address is one whose own text the given one is.
    fn given_ipv6(&mut self, given: &mut Given, payload: Word) -> Result<()> {
        let found = self.call_routine("parse_ipv6", &[payload]);
        let none = self.compare(CompareOp::Eq, found, 0);
        self.leave_if(none, &mut given.others);
        let [high, low] = [0, 8].map(|offset| self.result_word(offset));
        let address = Str::Ipv6(high, low);
        let Str::Slice { space, start, length } = text_of_payload(self, payload) else { return Ok(()) };
        let text = Slice::plain(space, start, length);
        let (space, start, length) = self.slice(&address)?;
        let (same, different) = self.split_equal_slices(text, Slice::plain(space, start, length))?;
        given.others.extend(different);
        self.enter(same)?;
        given.fit(self, Abs::Str(address));
        Ok(())
    }
}
