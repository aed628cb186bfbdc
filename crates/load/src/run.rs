//! Runs one script to its end, or says where and why it stopped.
//!
//! The script runs in a coroutine of its own: after an error its stack still stands, so that errors without a position in
//! their message (no memory, a limit, an error value that is not a string) have one too.

use std::path::Path;
use std::rc::Rc;

use mlua::thread::ThreadStatus;
use mlua::{Error, Function, Lua, Table, Thread, Value};

use crate::error::{Failure, LoadError};
use crate::files::{Files, TOO_DEEP};
use crate::limits::Meter;
use crate::locate::{locate, position};
use crate::modules::module::type_name;
use crate::{Options, state_error};

pub(crate) struct Runner<'a> {
    pub lua: &'a Lua,
    pub meter: &'a Meter,
    pub files: &'a Rc<Files>,
    pub options: &'a Options,
}

impl Runner<'_> {
    /// Runs the script at `path` with these globals; gives what it returns first.
    pub fn run(&self, path: &Path, globals: &Table) -> Result<Value, LoadError> {
        let shown = path.to_string_lossy().into_owned();
        let content = match self.files.script(path) {
            Ok(content) => content,
            Err(error) => return Err(LoadError::Unreadable { path: shown, error }),
        };
        if content.first() == Some(&0x1b) {
            return Err(LoadError::Precompiled { path: shown });
        }
        let chunk = match is_eclat(path) {
            true => self.attaching(path, globals),
            false => self.files.chunk(self.lua, path, content, Value::Table(globals.clone())),
        };
        let main = chunk.map_err(|error| self.setup_error(error))?;
        let thread = self.lua.create_thread(main).map_err(|error| self.setup_error(error))?;
        self.meter.watch(&thread);
        // Lua's own `resume` gives the error value as the script raised it, without a traceback.
        let resume: Function =
            self.library("coroutine", "resume").map_err(|error| self.setup_error(error))?;
        let outcome = resume.call::<(bool, Value)>(&thread);
        let raised = match &outcome {
            Ok((false, value)) => Some(value.clone()),
            Err(error) => Some(Value::Error(Box::new(error.clone()))),
            Ok(_) => None,
        };
        // What describes an error may take no longer than what is left.
        let described = raised.map(|value| (message(self.lua, self.meter, &value), value));
        // Undoes what the instruction limit does to stop a script that catches errors.
        self.lua.set_memory_limit(self.options.memory_limit).map_err(state_error)?;
        match described {
            _ if self.meter.is_exhausted() => Err(self.exhausted(&thread)),
            Some((_, value)) if is_memory_error(&value) => {
                let place = self.place(&thread);
                Err(LoadError::Memory { limit: self.options.memory_limit, place })
            }
            Some((message, _)) => Err(self.runtime(&message, &thread)),
            None if thread.status() == ThreadStatus::Resumable => {
                let message = "attempt to yield from outside a coroutine";
                Err(self.runtime(message, &thread))
            }
            None => Ok(outcome.map(|(_, returned)| returned).unwrap_or(Value::Nil)),
        }
    }

    /// What attaches a script of eCLAT.
    fn attaching(&self, path: &Path, globals: &Table) -> mlua::Result<Function> {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = [file, path.to_string_lossy().into_owned()];
        let [file, title] = names.map(|name| self.lua.create_string(name));
        let attach = self.lua.load(
            "local require, file, title = ... return function() require('eclat').attach(file, title) end",
        );
        let require: Function = globals.get("require")?;
        attach.set_name("=moonhook").into_function()?.call((require, file?, title?))
    }

    fn library(&self, library: &str, name: &str) -> mlua::Result<Function> {
        self.lua.globals().get::<Table>(library)?.get(name)
    }

    /// The error for what failed around the script's own run.
    pub fn setup_error(&self, error: Error) -> LoadError {
        match error {
            Error::SyntaxError { message, .. } => syntax(locate(&message, &self.files.sources(), None)),
            // No call at this stage has many arguments: the stack does not grow only because memory is short.
            Error::StackError => LoadError::Memory { limit: self.options.memory_limit, place: None },
            error if is_memory_error(&Value::Error(Box::new(error.clone()))) => {
                LoadError::Memory { limit: self.options.memory_limit, place: None }
            }
            error => state_error(error),
        }
    }

    fn exhausted(&self, thread: &Thread) -> LoadError {
        let place = self.place(thread);
        LoadError::Instructions { limit: self.options.instruction_limit, place }
    }

    fn place(&self, thread: &Thread) -> Option<Box<moonhook_diagnostic::Place>> {
        let place = locate("", &self.files.sources(), position(thread)).place;
        place.map(Box::new)
    }

    fn runtime(&self, message: &str, thread: &Thread) -> LoadError {
        let parse_error = message.starts_with("error loading module '");
        let failure = Box::new(self.failure(message, thread));
        if parse_error {
            syntax(*failure)
        } else if failure.message.starts_with("module '") && failure.message.contains("' not found:") {
            LoadError::Module(failure)
        } else {
            LoadError::Runtime(failure)
        }
    }

    fn failure(&self, message: &str, thread: &Thread) -> Failure {
        locate(message, &self.files.sources(), position(thread))
    }
}

/// Whether the file's name says that it is a script of eCLAT.
pub(crate) fn is_eclat(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "eclat")
}

/// What the parser refuses.
pub(crate) fn syntax(failure: Failure) -> LoadError {
    let failure = Box::new(failure);
    if failure.message.ends_with(TOO_DEEP) { LoadError::TooDeep(failure) } else { LoadError::Syntax(failure) }
}

/// An error value as `lua` (the program) shows it: a string, what `__tostring` gives within what the meter allows, or its type.
pub(crate) fn message(lua: &Lua, meter: &Meter, value: &Value) -> String {
    let described = match value {
        Value::String(string) => return string.to_string_lossy(),
        Value::Integer(_) | Value::Number(_) => true,
        Value::Table(table) => {
            table.metatable().is_some_and(|meta| meta.contains_key("__tostring").unwrap_or(false))
        }
        Value::Error(error) => return error.to_string(),
        _ => false,
    };
    let text = if described { text_of(lua, meter, value).ok().flatten() } else { None };
    text.unwrap_or_else(|| format!("(error object is a {} value)", type_name(value)))
}

fn text_of(lua: &Lua, meter: &Meter, value: &Value) -> mlua::Result<Option<String>> {
    let thread = lua.create_thread(lua.globals().get("tostring")?)?;
    meter.watch(&thread);
    let resume: Function = lua.globals().get::<Table>("coroutine")?.get("resume")?;
    Ok(match resume.call((thread, value))? {
        (true, Value::String(text)) => Some(text.to_string_lossy()),
        (_, _) => None,
    })
}

pub(crate) fn is_memory_error(value: &Value) -> bool {
    match value {
        Value::String(string) => string.as_bytes() == b"not enough memory",
        Value::Error(error) => {
            let mut error = error.as_ref();
            while let Error::CallbackError { cause, .. } = error {
                error = cause.as_ref();
            }
            matches!(error, Error::MemoryError(_))
        }
        _ => false,
    }
}
