//! Which form a script gets: expanded code if that is possible and the kernel takes it, general code otherwise.
//!
//! [`first_accepted`] is the only place where that is decided. Expanded code is tried first, and what was learned of the script's tables
//! meanwhile is given to general code. What is wrong with the script itself, or with the host, is an error in either form
//! ([`EngineError::is_of_form`]).

use crate::Form;
use crate::stages::{Attempt, Timings, emit, lower, packet_program, timed};
use crate::{Choice, EngineError, Reason, Settings};
use moonhook_emit::{EmitError, Object};
use moonhook_install::{LoadOptions, LogDetail, Program};
use moonhook_ir::Module;
use moonhook_lower::Learned;
use moonhook_snapshot::Snapshot;
use std::os::fd::BorrowedFd;

/// A program in one of its forms.
pub struct Compiled {
    pub module: Module,
    pub object: Object,
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
    let made = first_accepted(snapshot, settings, |_, _, _| Ok(()));
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
    first_accepted(snapshot, settings, |module, object, timings| {
        // Of general code the verifier's work is bounded by its size, and there is no other form to fall back to.
        let patience = (settings.form.is_none() && module.arena().is_none()).then_some(settings.patience);
        let options = LoadOptions { name: packet_program(object)?.name.clone(), log, patience };
        let maps = maps(module);
        let load = || moonhook_install::load_with_maps(&object.elf, &options, &maps);
        Ok(timed(timings.kernel_load.get_or_insert_default(), load)?)
    })
}

/// Makes the first of the script's forms that all stages and `accept` take, and says why it is not the one before.
fn first_accepted<T>(
    snapshot: &Snapshot,
    settings: &Settings,
    accept: impl Fn(&Module, &Object, &mut Timings) -> Result<T, EngineError>,
) -> Result<(Compiled, T), EngineError> {
    let (mut learned, mut timings) = (Learned::default(), Timings::default());
    let mut make = |attempt: Attempt| {
        let mut module = timed(&mut timings.lower, || lower(snapshot, settings, attempt, &mut learned))
            .map_err(|error| (error, None))?;
        timed(&mut timings.passes, || moonhook_passes::optimise(&mut module));
        if !settings.arena {
            let moved = moonhook_passes::without_arena::run(&mut module);
            moved.map_err(|bytes| (EngineError::TooMuchMemory { bytes }, None))?;
        }
        let outcome = timed(&mut timings.emit, || emit(&module)).and_then(|object| {
            let accepted = accept(&module, &object, &mut timings)?;
            Ok((object, accepted))
        });
        let (object, accepted) = match outcome {
            Ok(made) => made,
            Err(error) => return Err((error, Some(Box::new(module)))),
        };
        timings.sum();
        let choice = Choice { form: attempt.form, reason: None };
        Ok((Compiled { module, object, attempt, choice, timings }, accepted))
    };
    let mut made = |attempt: Attempt| {
        let outcome = make(attempt);
        let refused = outcome.as_ref().err().map(|(error, _)| error.to_string());
        tracing::debug!(target: "engine", ?attempt, refused);
        outcome
    };
    let expanded = match settings.form {
        Some(Form::General) => return general(&mut made).map_err(|(error, _)| error),
        _ => made(Attempt::EXPANDED).or_else(|(error, module)| match error {
            // A function that the program calls has a stack frame of its own.
            EngineError::Emit(EmitError::ChainTooLarge { .. }) => {
                made(Attempt { subprograms: false, ..Attempt::EXPANDED })
            }
            error => Err((error, module)),
        }),
    };
    match expanded {
        Err((error, module)) if settings.form.is_none() && error.is_of_form() => {
            let (mut compiled, accepted) = general(&mut made).map_err(|(error, _)| error)?;
            compiled.choice.reason = Some(Reason::of(&error, module.as_deref()));
            Ok((compiled, accepted))
        }
        outcome => outcome.map_err(|(error, _)| error),
    }
}

/// What an attempt comes to; with an error, the module if there is one.
type Outcome<T> = Result<(Compiled, T), (EngineError, Option<Box<Module>>)>;

/// General code, and compact code where that takes the verifier too much.
fn general<T>(made: &mut impl FnMut(Attempt) -> Outcome<T>) -> Outcome<T> {
    made(Attempt::GENERAL).or_else(|(error, module)| match error.is_of_size() {
        true => made(Attempt::COMPACT),
        false => Err((error, module)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_install::{InstallError, Rejection};

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
    fn made_where(refusal: InstallError, form: Option<Form>) -> Result<Compiled, EngineError> {
        let settings = Settings { form, ..Settings::default() };
        let accept = |module: &Module, _: &Object, _: &mut Timings| match module.arena() {
            Some(_) => Ok(()),
            None => Err(refusal.clone().into()),
        };
        first_accepted(&snapshot(SCRIPT), &settings, accept).map(|(compiled, ())| compiled)
    }

    #[test]
    fn what_the_kernel_refuses_becomes_general_code_with_a_reason() {
        let slow = InstallError::OutOfPatience { program: "p".into(), patience: crate::settings::PATIENCE };
        let (large, wrong) = (rejection("BPF program is too large"), rejection("R1 invalid mem access"));
        for (refusal, code, bug) in
            [(slow, "MH0522", false), (large, "MH0505", false), (wrong, "MH0505", true)]
        {
            let compiled = made_where(refusal, None).unwrap_or_else(|error| panic!("{error}"));
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

    #[test]
    fn what_other_code_cannot_mend_is_an_error() {
        let host = InstallError::LoadFailed { message: "no memory".into(), messages: String::new() };
        assert!(matches!(made_where(host, None), Err(EngineError::Install(InstallError::LoadFailed { .. }))));
        let asked = made_where(rejection("too complex"), Some(Form::Expanded));
        assert!(matches!(asked, Err(EngineError::Install(InstallError::Rejected(_)))));
        assert!(
            made_where(rejection("too complex"), Some(Form::General))
                .is_ok_and(|made| made.choice.reason.is_none())
        );
    }
}
