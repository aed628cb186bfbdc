//! Which form handlers have, and why not the other one.

use crate::{EngineError, Form};
use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_install::InstallError;
use moonhook_ir::Module;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
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
    /// Why the attempt at expanded code failed; `module` is what it had come to.
    pub fn of(error: &EngineError, module: Option<&Module>) -> Reason {
        let Diagnostic { code, message, place, help, .. } = error.diagnostic();
        let place = place.or_else(|| largest_line(module?));
        let bug = match error {
            EngineError::Install(InstallError::Rejected(rejection)) => !rejection.is_too_complex(),
            EngineError::Emit(error) => error.is_bug(),
            _ => false,
        };
        // The diagnostic is for those who have asked for expanded code.
        let help = match error {
            _ if bug => None,
            EngineError::Lower(error) => Some(error.help()),
            EngineError::Install(InstallError::Rejected(_)) => {
                Some("split the handlers over several scripts".to_string())
            }
            _ => help,
        };
        Reason { code, place, message, help, bug }
    }
}

/// The line that most of a module's code is for: where nothing else tells which one made it too large.
pub(crate) fn largest_line(module: &Module) -> Option<Place> {
    let insts = module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
    let mut lines: BTreeMap<(u16, u32), usize> = BTreeMap::new();
    for inst in insts.filter(|inst| inst.loc.line > 0) {
        *lines.entry((inst.loc.source, inst.loc.line)).or_default() += 1;
    }
    let ((source, line), _) =
        lines.into_iter().max_by_key(|((source, line), count)| (*count, Reverse((*source, *line))))?;
    let source = module.sources.get(usize::from(source))?;
    let text = source.text.lines().nth(line as usize - 1).unwrap_or_default().to_string();
    Some(Place { file: source.name.clone(), line, text, name: None })
}

/// `filter.lua:12: …`, and whether that is our fault.
impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, .. }) = &self.place {
            write!(f, "{file}:{line}: ")?;
        }
        f.write_str(&self.message)?;
        if self.bug { f.write_str(" (a fault of Moonhook: please report it)") } else { Ok(()) }
    }
}
