//! A call of a built-in: what a row is, and what rows are written with.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::names::Name;
use crate::paths::Arm;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::Branches;

/// One built-in.
pub struct Row {
    pub name: &'static str,
    /// Takes values of unknown type as they are; otherwise the call is made once for each type that an argument may have.
    pub any_type: bool,
    pub emit: fn(&mut Context<'_>, &Call) -> Result<Vec<Arm>>,
}

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
pub const fn row(name: &'static str, emit: fn(&mut Context<'_>, &Call) -> Result<Vec<Arm>>) -> Row {
    Row { name, any_type: false, emit }
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

/// Refuses a call that has no form in expanded code.
pub fn refuse(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let short = call.called.as_ref().map_or(call.name, |(_, name)| name.as_str());
    let help = replacement(call.name).to_string();
    let general = moonhook_runtime::find_function(call.name).is_some() || is_of_own_library(call.name);
    context.refuse(LowerErrorKind::Builtin { name: call.name.to_string(), help, general }, Some(short))
}

/// Whether a function is in a library of Moonhook's own, whose functions general code calls as they are expanded in place elsewhere.
pub fn is_of_own_library(name: &str) -> bool {
    matches!(name.split('.').next(), Some("data" | "byteorder" | "linux"))
}

/// What to write instead of a function that has no form at packet time.
fn replacement(name: &str) -> &'static str {
    match name.split('.').next().unwrap_or(name) {
        "io" | "require" | "dofile" | "loadfile" | "load" => "do it at load time, outside the handler",
        "os" => "call it at load time, outside the handler",
        "pairs" | "ipairs" | "next" => "count with `for i = 1, #t do`, or look the key up",
        "pcall" | "xpcall" => "test beforehand what could fail, for example an offset against `#pkt`",
        "coroutine" => "write the code without coroutines",
        "xdp" => "register handlers at load time, outside the handler",
        "table" => "make and change tables at load time, outside the handler",
        _ => "compute the value at load time, outside the handler",
    }
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
    fn is_in_memory(&self, context: &Context<'_>, number: usize) -> bool {
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
    pub fn bad_argument(&self, number: usize, problem: &str) -> String {
        let (kind, name) = match &self.called {
            Some((kind, name)) => (*kind, name.as_str()),
            None => ("", self.name),
        };
        match (kind, number) {
            ("method", 1) => format!("calling '{name}' on bad self ({problem})"),
            ("method", n) => format!("bad argument #{} to '{name}' ({problem})", n - 1),
            (_, n) => format!("bad argument #{n} to '{name}' ({problem})"),
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
        let name = self.called.as_ref().map(|(_, name)| name.as_str());
        context.type_error(message, !self.narrowed, name);
    }

    /// An integer argument (`luaL_checkinteger`); the state is dead where there is none.
    pub fn integer(&self, context: &mut Context<'_>, number: usize) -> Result<Word> {
        if self.is_in_memory(context, number) {
            return context.integer_argument(number);
        }
        match crate::ops::arithmetic::to_integer(context, &self.arg(number))? {
            Some(word) => Ok(word),
            None => {
                self.wrong_type(context, number, "number");
                Ok(Word::Imm(0))
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

    /// A string argument; integers are converted (`luaL_checklstring`). `None`, with the state dead, if it is neither.
    pub fn string(&self, context: &mut Context<'_>, number: usize) -> Result<Option<Str>> {
        if self.is_in_memory(context, number) {
            return context.string_argument(number);
        }
        match self.arg(number) {
            Abs::Str(text) => Ok(Some(text)),
            Abs::Int(word) => context.integer_text(word).map(Some),
            _ => {
                self.wrong_type(context, number, "string");
                Ok(None)
            }
        }
    }
}
