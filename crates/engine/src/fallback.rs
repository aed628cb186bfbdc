//! Which form a script gets: expanded code if that is possible and the kernel takes it, general code otherwise.
//!
//! [`first_accepted`] is the only place where that is decided. Expanded code is tried first, and what was learned of the script's tables
//! meanwhile is given to general code. What is wrong with the script itself, or with the host, is an error in either form
//! ([`EngineError::is_of_form`]).

use crate::stages::{Attempt, Timings, timed, xdp_program};
use crate::{Choice, EngineError, Reason, Settings};
use moonhook_emit::{EmitError, Object};
use moonhook_install::{LoadOptions, LogDetail, Program};
use moonhook_ir::Module;
use moonhook_lower::{Form, Learned};
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
        let options = LoadOptions { name: xdp_program(object)?.name.clone(), log };
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
    let mut made = |attempt: Attempt| {
        let (module, object) = attempt.make(snapshot, settings, &mut learned, &mut timings)?;
        let accepted = accept(&module, &object, &mut timings)?;
        timings.sum();
        let choice = Choice { form: attempt.form, reason: None };
        Ok((Compiled { module, object, attempt, choice, timings }, accepted))
    };
    let expanded = match settings.form {
        Some(Form::General) => return made(Attempt::GENERAL),
        _ => made(Attempt::EXPANDED).or_else(|error| match error {
            // A function that the program calls has a stack frame of its own.
            EngineError::Emit(EmitError::ChainTooLarge { .. }) => {
                made(Attempt { subprograms: false, ..Attempt::EXPANDED })
            }
            error => Err(error),
        }),
    };
    match expanded {
        Err(error) if settings.form.is_none() && error.is_of_form() => {
            let (mut compiled, accepted) = made(Attempt::GENERAL)?;
            compiled.choice.reason = Some(Reason::of(&error));
            Ok((compiled, accepted))
        }
        outcome => outcome,
    }
}
