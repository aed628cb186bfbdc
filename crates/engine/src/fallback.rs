//! Which form a script gets: expanded code if that is possible and the kernel takes it, general code otherwise.
//!
//! [`first_accepted`] is the only place where that is decided. Expanded code is tried first, and what was learned of the script's tables
//! meanwhile is given to general code. What is wrong with the script itself, or with the host, is an error in either form
//! ([`EngineError::is_of_form`]).

use crate::Form;
use crate::error::Noted;
use crate::reason::largest_line;
use crate::stages::{Attempt, Timings, check_memory, check_size, emit, lower, object_name, timed};
use crate::{Choice, EngineError, Reason, Settings};
use moonhook_diagnostic::Place;
use moonhook_emit::{EmitError, Object};
use moonhook_hook::Point;
use moonhook_install::{InstallError, LoadOptions, LogDetail, Program};
use moonhook_ir::{Module, SourceFile};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Learned;
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

/// Compiles, and loads into the kernel with the maps that `maps` has for a module: each form has its own.
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
        let load = || moonhook_install::load_with_maps(&object.elf, &options, &maps);
        let loaded = timed(timings.kernel_load.get_or_insert_default(), load);
        Ok(loaded.map_err(|error| placed(error, module))?)
    })
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
        let points = self.snapshot.points();
        let receivers = self.snapshot.receivers.clone();
        let compiled = Compiled { module, object, points, receivers, attempt, choice, timings: self.timings };
        Ok((compiled, accepted))
    }

    fn module(&mut self, attempt: Attempt) -> Result<Module, EngineError> {
        let (snapshot, settings, learned) = (self.snapshot, self.settings, &mut self.learned);
        let mut module = timed(&mut self.timings.lower, || lower(snapshot, settings, attempt, learned))?;
        timed(&mut self.timings.passes, || moonhook_passes::optimise(&mut module));
        if !settings.arena {
            let moved = moonhook_passes::without_arena::run(&mut module);
            let most = moonhook_passes::without_arena::MOST;
            moved.map_err(|bytes| EngineError::TooMuchMemory { bytes, most })?;
        }
        check_memory(&module)?;
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
    let prototype = snapshot.prototype(snapshot.closure(snapshot.handlers.first()?.closure).prototype);
    let (source, line) = (snapshot.source(prototype.source?), prototype.line_defined);
    let text = source.text.lines().nth((line as usize).checked_sub(1)?).unwrap_or_default().to_string();
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
            (expanded, reason.place, format!("nor is there general code, because {general}"))
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
            (line.trim() == place.text.trim()).then_some((source.name.clone(), line.to_string()))
        });
        if let Some(found) = lines.next() {
            (place.file, place.text) = found;
        }
    }
    error
}

/// What an attempt comes to; with an error, the module if there is one.
type Outcome<T> = Result<(Compiled, T), Failed>;

/// Why an attempt failed, and the module that it had come to.
type Failed = (EngineError, Option<Box<Module>>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PATIENCE;
    use moonhook_install::Rejection;

    const SCRIPT: &str = "local hits = {}\nrequire('xdp').attach(function(pkt)\n  local n = pkt:getbyte(0)\n  \
                          hits[n] = (hits[n] or 0) + 1\n  print(('%d %d'):format(n, hits[n]))\nend)";

    fn snapshot(text: &str) -> Snapshot {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("rejected.lua");
        std::fs::write(&script, text).unwrap();
        moonhook_load::load(&[script], &Default::default()).unwrap_or_else(|e| panic!("{e}")).snapshot
    }

    fn rejection(message: &str) -> InstallError {
        InstallError::Rejected(Box::new(Rejection {
            program: "p".into(),
            message: message.into(),
            place: None,
            instruction: None,
            log: String::new(),
        }))
    }

    /// A kernel that takes general code only.
    fn made_where(script: &str, refusal: InstallError, form: Option<Form>) -> Result<Compiled, EngineError> {
        let settings = Settings { form, ..Settings::default() };
        let accept = |_, module: &Module, _: &Object, _: &mut Timings| match module.arena() {
            Some(_) => Ok(()),
            None => Err(refusal.clone().into()),
        };
        first_accepted(&snapshot(script), &settings, accept).map(|(compiled, ())| compiled)
    }

    #[test]
    fn what_the_kernel_refuses_becomes_general_code_with_a_reason() {
        let slow = InstallError::OutOfPatience { program: "p".into(), patience: PATIENCE };
        let (large, wrong) = (rejection("BPF program is too large"), rejection("R1 invalid mem access"));
        for (refusal, code, bug) in
            [(slow, "MH0522", false), (large, "MH0505", false), (wrong, "MH0505", true)]
        {
            let compiled = made_where(SCRIPT, refusal, None).unwrap_or_else(|error| panic!("{error}"));
            let reason = compiled.choice.reason.as_ref().unwrap();
            assert_eq!((reason.code, reason.bug), (code, bug));
            assert_eq!(compiled.choice.form, Form::General);
            assert!(
                reason.place.as_ref().is_some_and(|place| place.line == 4 || place.line == 5),
                "{reason}"
            );
            let shown = compiled.choice.to_string();
            assert!(
                shown.starts_with("general code, because ") && shown.contains("rejected.lua:"),
                "{shown}"
            );
            assert_eq!(shown.contains("a fault of Moonhook"), bug, "{shown}");
        }
    }

    /// Tables as keys have no general form.
    const KEYED: &str = "local hits = map { key = { a = 'int', b = 'int' }, value = 'int', capacity = 9 }\n\
                         require('xdp').attach(function(pkt) hits[{ a = #pkt, b = 2 }] = 1 end)";

    #[test]
    fn what_has_no_other_form_may_take_long() {
        let slow =
            |attempt: Attempt, _: &Module, _: &Object, _: &mut Timings| match attempt == Attempt::EXPANDED {
                true => Err(InstallError::OutOfPatience { program: "p".into(), patience: PATIENCE }.into()),
                false => Ok(()),
            };
        let (compiled, ()) = first_accepted(&snapshot(KEYED), &Settings::default(), slow)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(compiled.choice, Choice { form: Form::Expanded, reason: None });
        let (compiled, ()) = first_accepted(&snapshot(SCRIPT), &Settings::default(), slow)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(compiled.choice.form, Form::General);
    }

    #[test]
    fn what_other_code_cannot_mend_is_an_error() {
        let host = InstallError::LoadFailed { message: "no memory".into(), messages: String::new() };
        assert!(matches!(
            made_where(SCRIPT, host, None),
            Err(EngineError::Install(InstallError::LoadFailed { .. }))
        ));
        let asked = made_where(SCRIPT, rejection("too complex"), Some(Form::Expanded));
        assert!(matches!(asked, Err(EngineError::Install(InstallError::Rejected(_)))));
        assert!(
            made_where(SCRIPT, rejection("too complex"), Some(Form::General))
                .is_ok_and(|made| made.choice.reason.is_none())
        );
    }

    #[test]
    fn what_general_code_lacks_is_not_the_reason() {
        let refused = made_where(KEYED, rejection("R1 invalid mem access"), None);
        let refused = refused.map(|made| made.choice);
        let Err(error) = refused else { panic!("{refused:?}") };
        assert!(matches!(error.cause(), EngineError::Install(InstallError::Rejected(_))), "{error:?}");
        let reason = error.diagnostic().reason.unwrap_or_default();
        assert!(
            reason.contains("nor is there general code, because ") && reason.contains("tables as keys"),
            "{reason}"
        );
    }

    #[test]
    fn what_is_too_large_in_all_forms_has_a_line() {
        let large =
            |function: &str| EmitError::StackTooLarge { function: function.into(), bytes: 520, limit: 512 };
        let refuse = |_, _: &Module, _: &Object, _: &mut Timings| -> Result<(), EngineError> {
            Err(large("prim_x").into())
        };
        for form in [None, Some(Form::General), Some(Form::Expanded)] {
            let settings = Settings { form, ..Settings::default() };
            let outcome = first_accepted(&snapshot(SCRIPT), &settings, refuse);
            let diagnostic = outcome.err().expect("no form is taken").diagnostic();
            let line = diagnostic.place.as_ref().map(|place| place.line);
            assert!(diagnostic.code == "MH0401" && matches!(line, Some(2..=5)), "{form:?}: {diagnostic:?}");
        }
        assert_eq!(first_handler(&snapshot(SCRIPT)).map(|place| place.line), Some(2));
    }

    #[test]
    fn what_general_code_lacks_comes_with_what_made_it_general_code() {
        let both = "local hits = map { key = { a = 'int', b = 'int' }, value = 'int', capacity = 9 }\n\
                    require('xdp').attach(function(pkt)\n  pcall(error, 'x')\n  hits[{ a = #pkt, b = 2 }] = 1\nend)";
        let error = compile(&snapshot(both), &Settings::default()).err().expect("there is no form");
        let diagnostic = error.diagnostic();
        let reason = diagnostic.reason.unwrap_or_default();
        assert_eq!((diagnostic.code, diagnostic.place.map(|place| place.line)), ("MH0212", Some(4)));
        assert!(
            reason.contains("this is general code, because ") && reason.contains("rejected.lua:3: `pcall`"),
            "{reason}"
        );
    }

    #[test]
    fn a_rejection_has_the_path_and_the_whole_line() {
        let snapshot = snapshot(SCRIPT);
        let module =
            compile(&snapshot, &Settings::default()).unwrap_or_else(|error| panic!("{error}")).module;
        let place =
            |line, text: &str| Place { file: "rejected.lua".into(), line, text: text.into(), name: None };
        let of = |place| {
            let mut error = rejection("R1 invalid mem access");
            if let InstallError::Rejected(rejection) = &mut error {
                rejection.place = Some(place);
            }
            let InstallError::Rejected(rejection) = placed(error, &module) else { panic!("another error") };
            rejection.place.unwrap()
        };
        let found = of(place(3, "local n = pkt:getbyte(0)"));
        assert!(found.file.ends_with("/rejected.lua"), "{found:?}");
        assert_eq!(found.text, "  local n = pkt:getbyte(0)");
        // Another file of that name.
        assert_eq!(of(place(3, "return 1")), place(3, "return 1"));
        assert_eq!(of(place(0, "")), place(0, ""));
    }
}
