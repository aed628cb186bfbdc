//! Which form a script gets: expanded code if that is possible and the kernel takes it, general code otherwise.
//!
//! [`first_accepted`] is the only place where that is decided. Expanded code is tried first, and what was learned of the script's tables
//! meanwhile is given to general code. What is wrong with the script itself, or with the host, is an error in either form
//! ([`EngineError::is_of_form`]).

use crate::Form;
use crate::error::Noted;
use crate::of_objects;
use crate::reason::largest_line;
use crate::stages::{Attempt, Timings, check_size, emit, lower, object_name, rewrite, timed};
use crate::{Choice, EngineError, Reason, Settings};
use moonhook_diagnostic::Place;
use moonhook_emit::{EmitError, Object};
use moonhook_hook::Point;
use moonhook_install::{InstallError, LoadOptions, LogDetail, Program};
use moonhook_ir::{Module, SourceFile};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Learned;
use std::borrow::Cow;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// A program in one of its forms.
pub struct Compiled {
    pub module: Module,
    pub object: Object,
    /// What its programs are to be attached to.
    pub points: Vec<Point>,
    /// Queues whose frames go to sockets ([`Snapshot::receivers`]).
    pub receivers: Vec<u32>,
    /// How it was made.
    pub attempt: Attempt,
    pub choice: Choice,
    pub timings: Timings,
}

/// Takes a snapshot through all stages that need no kernel.
///
/// # Errors
/// `Lower`, `Emit`.
pub fn compile(snapshot: &Snapshot, settings: &Settings) -> Result<Compiled, EngineError> {
    let made = first_accepted(snapshot, settings, |_, _, _, _| Ok(()));
    made.map(|(compiled, ())| compiled)
}

/// Maps that exist already, by the names of those whose place they take.
pub type Maps<'a> = Vec<(String, BorrowedFd<'a>)>;

/// Compiles, and loads into the kernel with the maps that `maps` has for a module: each form has its own. Of scripts that have nothing for the kernel nothing is loaded,
/// which takes no privilege.
///
/// # Errors
/// `Lower`, `Emit`, `Install`.
pub fn install<'a>(
    snapshot: &Snapshot,
    settings: &Settings,
    log: LogDetail,
    maps: impl Fn(&Module) -> Maps<'a>,
) -> Result<(Compiled, Program), EngineError> {
    first_accepted(snapshot, settings, |attempt, module, object, timings| {
        // Of general code the verifier's work is bounded by its size.
        let is_bounded = attempt.bounded && attempt.form == Form::Expanded;
        let patience = is_bounded.then_some(settings.patience);
        let options = LoadOptions { name: object_name(object)?, log, patience };
        let maps = maps(module);
        let empty = (maps.is_empty() && has_nothing(snapshot, module))
            .then(|| emit(&Module::default()))
            .transpose()?;
        let object = empty.as_ref().unwrap_or(object);
        let load = || moonhook_install::load_with_maps(&object.elf, &options, &maps);
        let loaded = timed(timings.kernel_load.get_or_insert_default(), load);
        loaded.map_err(|error| of_objects::blamed(placed(error, module), (snapshot, module), attempt))
    })
}

/// Whether all that scripts do is done in processes: their program would run nowhere, and nobody looks into its maps.
fn has_nothing(snapshot: &Snapshot, module: &Module) -> bool {
    let has_maps =
        [module.tables.len(), module.fillings.len(), module.object_maps.len(), snapshot.flows.len()];
    snapshot.handlers.is_empty() && has_maps == [0; 4]
}

/// Makes the first of the script's forms that all stages and `accept` take, and says why it is not the one before.
fn first_accepted<T>(
    snapshot: &Snapshot,
    settings: &Settings,
    accept: impl Fn(Attempt, &Module, &Object, &mut Timings) -> Result<T, EngineError>,
) -> Result<(Compiled, T), EngineError> {
    let (learned, timings) = (Learned::default(), Timings::default());
    let mut forms = Forms { snapshot, settings, accept, learned, timings };
    let outcome = match settings.form {
        Some(Form::General) => forms.general(),
        form => forms.expanded(form.is_none()),
    };
    match outcome {
        Err((error, module)) if settings.form.is_none() && error.is_of_form() => {
            let reason = Reason::of(&error, module.as_deref());
            match forms.general() {
                Ok((mut compiled, accepted)) => {
                    compiled.choice.reason = Some(reason);
                    Ok((compiled, accepted))
                }
                Err((lacking, module)) => {
                    let none = |error| no_form((error, reason), (lacking, module.as_deref()), snapshot);
                    match error.is_of_patience() {
                        // A machine may be slow, and nothing else will do.
                        true => forms.expanded(false).map_err(|_| none(error)),
                        false => Err(none(error)),
                    }
                }
            }
        }
        outcome => outcome.map_err(|failed| with_line(failed, snapshot)),
    }
}

/// The forms of one script.
struct Forms<'a, Accept> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    accept: Accept,
    learned: Learned,
    /// Of all attempts together.
    timings: Timings,
}

impl<T, Accept> Forms<'_, Accept>
where
    Accept: Fn(Attempt, &Module, &Object, &mut Timings) -> Result<T, EngineError>,
{
    fn expanded(&mut self, bounded: bool) -> Outcome<T> {
        let attempt = Attempt { bounded, ..Attempt::EXPANDED };
        self.made(attempt).or_else(|(error, module)| match error {
            // A function that the program calls has a stack frame of its own.
            EngineError::Emit(EmitError::ChainTooLarge { .. }) => {
                self.made(Attempt { subprograms: false, ..attempt })
            }
            error => Err((error, module)),
        })
    }

    /// General code, and compact code where that takes the verifier too much. Compact code has no lines: where there is none either, those
    /// of the other module tell which one it is.
    fn general(&mut self) -> Outcome<T> {
        self.made(Attempt::GENERAL).or_else(|(error, module)| match error.is_of_size() {
            true => self.made(Attempt::COMPACT).map_err(|(error, compact)| (error, module.or(compact))),
            false => Err((error, module)),
        })
    }

    fn made(&mut self, attempt: Attempt) -> Outcome<T> {
        let outcome = self.module(attempt).map_err(|error| (error, None)).and_then(|module| {
            let accepted = self.accepted(&module, attempt);
            match accepted {
                Ok((object, accepted)) => Ok((module, object, accepted)),
                Err(error) => Err((error, Some(Box::new(module)))),
            }
        });
        let refused = outcome.as_ref().err().map(|(error, _)| error.to_string());
        tracing::debug!(target: "engine", ?attempt, refused);
        let (module, object, accepted) = outcome?;
        self.timings.sum();
        let choice = Choice { form: attempt.form, reason: None };
        // Scripts may have nothing for the kernel.
        let has_none = self.settings.load.may_lack_handlers() && self.snapshot.handlers.is_empty();
        let points = if has_none { Vec::new() } else { self.snapshot.points().to_vec() };
        let receivers = self.snapshot.receivers.clone();
        let compiled = Compiled { module, object, points, receivers, attempt, choice, timings: self.timings };
        Ok((compiled, accepted))
    }

    fn module(&mut self, attempt: Attempt) -> Result<Module, EngineError> {
        let (snapshot, settings, learned) = (self.snapshot, self.settings, &mut self.learned);
        let mut module = timed(&mut self.timings.lower, || lower(snapshot, settings, attempt, learned))?;
        timed(&mut self.timings.passes, || rewrite(snapshot, settings, &mut module))?;
        Ok(module)
    }

    fn accepted(&mut self, module: &Module, attempt: Attempt) -> Result<(Object, T), EngineError> {
        if attempt.bounded && attempt.form == Form::Expanded {
            check_size(module)?;
        }
        let object = timed(&mut self.timings.emit, || emit(module))?;
        let accepted = (self.accept)(attempt, module, &object, &mut self.timings)?;
        Ok((object, accepted))
    }
}

/// The error with the line that made the module too large, where it does not say one.
fn with_line((error, module): Failed, snapshot: &Snapshot) -> EngineError {
    match &error {
        EngineError::Emit(_) => {
            let place = module.and_then(|module| largest_line(&module)).or_else(|| first_handler(snapshot));
            Noted { error, place, other: None }.into()
        }
        _ => error,
    }
}

/// Where the first handler starts.
fn first_handler(snapshot: &Snapshot) -> Option<Place> {
    let prototype = snapshot.prototype(snapshot.closure(snapshot.handlers.first()?.written).prototype);
    let (source, line) = (snapshot.source(prototype.source?), prototype.line_defined);
    let text = source.line(line).to_string();
    Some(Place { file: source.name.clone(), line, text, name: None })
}

/// The error where neither form can be had. That of general code tells more: what it is for has no other form. But where expanded code
/// failed for a fault of Moonhook, that is what the person has to know.
fn no_form(
    (expanded, reason): (EngineError, Reason),
    (general, module): (EngineError, Option<&Module>),
    snapshot: &Snapshot,
) -> EngineError {
    let (error, place, other) = match reason.bug {
        true => {
            let general = Reason::of(&general, module);
            (
                of_objects::last(expanded),
                reason.place,
                format!("nor is there general code, because {general}"),
            )
        }
        false => {
            let of_emit = matches!(general, EngineError::Emit(_));
            let handler = || of_emit.then(|| first_handler(snapshot)).flatten();
            let place = Reason::of(&general, module).place.or_else(handler);
            (general, place, format!("this is general code, because {reason}"))
        }
    };
    Noted { error, place, other: Some(other) }.into()
}

/// A rejection with the script's path and line as they are in the module: the kernel prints the file's name and the line's text alone,
/// without what is around them (`verbose_linfo`, kernel/bpf/log.c).
fn placed(mut error: InstallError, module: &Module) -> InstallError {
    if let InstallError::Rejected(rejection) = &mut error
        && let Some(place) = &mut rejection.place
    {
        let named = |source: &&SourceFile| {
            Path::new(&source.name).file_name().is_some_and(|name| *name == *place.file)
        };
        let mut lines = module.sources.iter().filter(named).filter_map(|source| {
            let line = source.text.lines().nth((place.line as usize).checked_sub(1)?)?;
            (printed(line) == place.text.trim()).then_some((source.name.clone(), line.to_string()))
        });
        if let Some(found) = lines.next() {
            (place.file, place.text) = found;
        }
    }
    error
}

/// Bytes of a line that the kernel prints (`BPF_VERIFIER_TMP_LOG_SIZE`, include/linux/bpf_verifier.h, with one for the end).
const PRINTED: usize = 1023;

/// A line as the kernel prints it, as far as it does, without what is around it.
fn printed(line: &str) -> Cow<'_, str> {
    let line = line.trim().as_bytes();
    match String::from_utf8_lossy(&line[..line.len().min(PRINTED)]) {
        Cow::Borrowed(text) => text.trim().into(),
        Cow::Owned(text) => text.trim().to_string().into(),
    }
}

/// What an attempt comes to; with an error, the module if there is one.
type Outcome<T> = Result<(Compiled, T), Failed>;

/// Why an attempt failed, and the module that it had come to.
type Failed = (EngineError, Option<Box<Module>>);

#[cfg(test)]
mod tests;
