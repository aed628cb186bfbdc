//! A call of a built-in: what a row is, and what rows are written with.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::given::given;
use crate::names::{self, Name};
use crate::ops::arithmetic::to_number;
use crate::ops::floats::Number;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_library as library;
use moonhook_packet::{Takes, Value};

/// The expanded form of a function.
#[derive(Clone, Copy)]
pub struct Row {
    /// That of its row in [`moonhook_library`].
    pub name: &'static str,
    /// Takes values of unknown type as they are; otherwise the call is made once for each type that an argument may have.
    pub any_type: bool,
    pub emit: Emit,
}

/// Appends the code of one call.
pub type Emit = fn(&mut Context<'_>, &Call) -> Result<Vec<Arm>>;

/// The states in which an argument is an address, each with it, and those in which it is none.
pub type Addresses = (Vec<(State, Value)>, Vec<State>);

/// A call of a built-in.
#[derive(Clone)]
pub struct Call {
    pub name: &'static str,
    pub args: Vec<Abs>,
    /// What the script calls it.
    pub called: Option<Name>,
    /// Some argument was of unknown type: an error about it is not certain.
    pub narrowed: bool,
}

/// A row for a function that returns on exactly one path.
pub const fn row(name: &'static str, emit: Emit) -> Row {
    Row { name, any_type: false, emit }
}

/// Such rows for functions that are told apart by what the library's table has of them.
pub const fn rows<T: Copy, const N: usize>(functions: [(&'static str, T); N], emit: Emit) -> [Row; N] {
    let mut rows = [row("", emit); N];
    let mut number = 0;
    while number < N {
        rows[number].name = functions[number].0;
        number += 1;
    }
    rows
}

/// Makes the call once for each type that the argument at `index`, from 0, may have.
pub fn for_each_type(
    context: &mut Context<'_>,
    call: &Call,
    index: usize,
    emit: fn(&mut Context<'_>, Call) -> Result<Vec<Arm>>,
) -> Result<Vec<Arm>> {
    context.arms_of_each(&call.args[index], &mut |context, value| {
        let mut call = call.clone();
        call.args[index] = value.clone();
        call.narrowed = true;
        emit(context, call)
    })
}

/// The paths of `body` for each number below `count` that the first argument may be.
pub fn for_each_number<'c>(
    context: &mut Context<'c>,
    call: &Call,
    count: usize,
    mut body: impl FnMut(&mut Context<'c>, usize) -> Result<Vec<Arm>>,
) -> Result<Vec<Arm>> {
    let number = call.integer(context, 1)?;
    let mut arms = Vec::new();
    for index in 0..count {
        let is_it = context.compare(CompareOp::Eq, number, index as i64);
        let (it, other) = context.split(is_it);
        context.state = it;
        if context.alive() {
            arms.extend(body(context, index)?);
        }
        context.state = other;
    }
    // There is no other number: only functions that load time has made call this.
    if context.alive() {
        arms.push(Arm { state: context.take_state(), values: vec![Abs::int(0)] });
    }
    Ok(arms)
}

/// Refuses a call that has no form in expanded code.
pub fn refuse(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let short = names::text(&call.called).unwrap_or(call.name);
    let help = library::instead_of(call.name).to_string();
    let general = library::find(call.name).is_some_and(library::Function::is_for_packets);
    context.refuse(LowerErrorKind::Builtin { name: call.name.to_string(), help, general }, Some(short))
}

/// The single path on which a built-in returns that leaves the current state alive (or ended it with an error).
pub fn returns(context: &mut Context<'_>, values: Vec<Abs>) -> Result<Vec<Arm>> {
    let state = context.take_state();
    Ok(vec![Arm { state, values }])
}

impl Call {
    pub fn arg(&self, number: usize) -> Abs {
        self.args.get(number - 1).cloned().unwrap_or(Abs::Nil)
    }

    /// Whether an argument lies in arena memory: general code has it there, and all but the object of methods.
    pub fn is_in_memory(&self, context: &Context<'_>, number: usize) -> bool {
        context.around.has_arguments_in_memory() && number > self.args.len()
    }

    /// How many arguments there are.
    pub fn count(&self, context: &Context<'_>) -> Word {
        context.around.argument_count(context, self.args.len())
    }

    pub fn is_none_or_nil(&self, number: usize) -> bool {
        matches!(self.args.get(number - 1), None | Some(Abs::Nil))
    }

    /// `bad argument #n to 'f' (…)` as `luaL_argerror` words it, with methods not counting their object.
    pub fn bad_argument(&self, number: usize, problem: &str) -> Vec<u8> {
        let (kind, name) = match &self.called {
            Some((kind, name)) => (*kind, name.as_slice()),
            None => ("", self.name.as_bytes()),
        };
        let bad =
            |n: usize| names::quoted(&format!("bad argument #{n} to '"), name, &format!("' ({problem})"));
        match (kind, number) {
            ("method", 1) => names::quoted("calling '", name, &format!("' on bad self ({problem})")),
            ("method", n) => bad(n - 1),
            (_, n) => bad(n),
        }
    }

    /// Raises an error about an argument (`luaL_argerror`).
    pub fn argument_error(&self, context: &mut Context<'_>, number: usize, problem: &str) {
        let message = Message::new(self.bad_argument(number, problem));
        context.around.argument_error(context, (number, problem), message);
    }

    /// Raises the error of an argument of the wrong type (`luaL_typeerror`).
    pub fn wrong_type(&self, context: &mut Context<'_>, number: usize, expected: &str) {
        let got = match self.args.get(number - 1) {
            None => "no value",
            Some(value) => value.message_name(),
        };
        let message = self.bad_argument(number, &format!("{expected} expected, got {got}"));
        let name = names::text(&self.called);
        context.type_error(message, !self.narrowed, name);
    }

    /// An integer argument (`luaL_checkinteger`); the state is dead where there is none.
    pub fn integer(&self, context: &mut Context<'_>, number: usize) -> Result<Word> {
        if self.is_in_memory(context, number) {
            return context.integer_argument(number);
        }
        match to_number(context, &self.arg(number))? {
            Some(Number::Integer(word)) => Ok(word),
            Some(Number::Float(word)) => context.integer_or_fail(word, |context| {
                self.argument_error(context, number, "number has no integer representation");
            }),
            None => {
                self.wrong_type(context, number, "number");
                Ok(Word::Imm(0))
            }
        }
    }

    /// An argument as a float (`luaL_checknumber`); `None`, with the state dead, if it is no number.
    pub fn float(&self, context: &mut Context<'_>, number: usize) -> Result<Option<Word>> {
        Ok(match to_number(context, &self.arg(number))? {
            Some(Number::Float(word)) => Some(word),
            Some(Number::Integer(word)) => Some(context.float_of_integer(word)?),
            None => {
                self.wrong_type(context, number, "number");
                None
            }
        })
    }

    /// An argument that is an integer or a string, with an arm for each that it may be.
    pub fn integer_or_string(&self, context: &mut Context<'_>, number: usize) -> Result<Vec<Arm>> {
        if self.is_in_memory(context, number) {
            return context.integer_or_string_argument(number);
        }
        match self.arg(number) {
            value @ (Abs::Int(_) | Abs::Str(_)) => returns(context, vec![value]),
            Abs::Float(_) => {
                let integer = self.integer(context, number)?;
                returns(context, vec![Abs::Int(integer)])
            }
            _ => {
                self.wrong_type(context, number, "string");
                Ok(vec![])
            }
        }
    }

    /// An integer argument with a default (`luaL_optinteger`).
    pub fn integer_or(&self, context: &mut Context<'_>, number: usize, default: Word) -> Result<Word> {
        if self.is_in_memory(context, number) {
            return context.integer_argument_or(number, default);
        }
        if self.is_none_or_nil(number) { Ok(default) } else { self.integer(context, number) }
    }

    /// An argument that is an IP address as fields have them: where it is one, with it, and where it is none.
    pub fn address(&self, context: &mut Context<'_>, number: usize) -> Result<Addresses> {
        let mut found = Vec::new();
        let (arms, mut others) = match self.is_in_memory(context, number) {
            true => context.address_argument(number)?,
            false => (returns(context, vec![self.arg(number)])?, vec![]),
        };
        for arm in arms {
            context.state = arm.state;
            let value = arm.values.first().cloned().unwrap_or(Abs::Nil);
            match given(context, Takes::Address, &value)? {
                Some(value) => found.push((context.take_state(), value)),
                None => others.push(context.take_state()),
            }
        }
        Ok((found, others))
    }

    /// A string argument with a default (`luaL_optlstring`).
    pub fn string_or(&self, context: &mut Context<'_>, number: usize, default: &str) -> Result<Option<Str>> {
        if self.is_in_memory(context, number) {
            return context.string_argument_or(number, default);
        }
        match self.is_none_or_nil(number) {
            true => Ok(Some(Str::Const(default.as_bytes().into()))),
            false => self.string(context, number),
        }
    }

    /// A string argument; integers are converted (`luaL_checklstring`). `None`, with the state dead, if it is neither.
    pub fn string(&self, context: &mut Context<'_>, number: usize) -> Result<Option<Str>> {
        if self.is_in_memory(context, number) {
            return context.string_argument(number);
        }
        match self.arg(number) {
            Abs::Str(text) => Ok(Some(text)),
            value @ (Abs::Int(_) | Abs::Float(_)) => super::base::text_of(context, &value).map(Some),
            _ => {
                self.wrong_type(context, number, "string");
                Ok(None)
            }
        }
    }
}
