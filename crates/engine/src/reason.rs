//! Which form handlers have, and why not the other one.

use crate::{EngineError, Form};
use moonhook_diagnostic::Place;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// The form that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// `expanded` or `general`.
    #[serde(serialize_with = "name")]
    pub form: Form,
    /// Why it is general code, unless that was asked for.
    pub reason: Option<Reason>,
}

impl Choice {
    /// What `--form` and JSON documents call the form.
    pub fn form_name(&self) -> &'static str {
        form_name(self.form)
    }
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Expanded => "expanded",
        Form::General => "general",
    }
}

fn name<S: serde::Serializer>(form: &Form, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(form_name(*form))
}

/// `expanded code`; `general code, because filter.lua:12: …`.
impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} code", self.form_name())?;
        self.reason.iter().try_for_each(|reason| write!(f, ", because {reason}"))
    }
}

/// What stands in the way of expanded code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The code of the diagnostic that a person gets who insists on expanded code.
    pub code: &'static str,
    /// The line that decided, if one did.
    pub place: Option<Place>,
    /// What is there, in one line, without a full stop.
    pub message: String,
    /// What to write instead for expanded code.
    pub help: Option<String>,
    /// It is a fault of Moonhook, which general code has mended.
    pub bug: bool,
}

impl Reason {
    /// Why the attempt at expanded code failed.
    pub fn of(error: &EngineError) -> Reason {
        let diagnostic = error.diagnostic();
        Reason {
            code: diagnostic.code,
            place: diagnostic.place,
            message: diagnostic.message,
            help: diagnostic.help,
            bug: false,
        }
    }
}

/// `filter.lua:12: …`.
impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, .. }) = &self.place {
            write!(f, "{file}:{line}: ")?;
        }
        f.write_str(&self.message)
    }
}
