//! Rejections by the kernel's verifier, and who is to blame for them: a function of a C object, or code of ours.

use crate::stages::Attempt;
use crate::{EngineError, Form};
use moonhook_diagnostic::Place;
use moonhook_install::{InstallError, Rejection};
use moonhook_ir::Module;
use moonhook_link::{Flaw, Function, Line, Object};
use moonhook_snapshot::Snapshot;

/// A rejection of a function of a C object is no fault of the code around it. One that is too complex may be so because of that, in expanded code.
pub fn blamed(
    error: InstallError,
    (snapshot, module): (&Snapshot, &Module),
    attempt: Attempt,
) -> EngineError {
    let is_last = attempt.form == Form::General;
    match error {
        InstallError::Rejected(rejection) if is_last || !rejection.is_too_complex() => {
            match of_line(&rejection, snapshot).or_else(|| of_flaw(snapshot, module)) {
                Some(error) => error,
                None => rejected(rejection, is_last),
            }
        }
        InstallError::Rejected(rejection) => rejected(rejection, is_last),
        error => error.into(),
    }
}

/// The error of a form behind which there is no other one that could be advised.
pub fn last(error: EngineError) -> EngineError {
    match error {
        EngineError::Install(InstallError::Rejected(rejection)) => rejected(rejection, true),
        error => error,
    }
}

fn rejected(mut rejection: Box<Rejection>, is_last: bool) -> EngineError {
    rejection.is_last_form |= is_last;
    InstallError::Rejected(rejection).into()
}

/// The verifier was at a line of C.
fn of_line(rejection: &Rejection, snapshot: &Snapshot) -> Option<EngineError> {
    let place = rejection.place.as_ref()?;
    let has_line = |line: &Line| line.file == place.file && line.number == place.line;
    let has_file = |line: &Line| line.file == place.file;
    let functions =
        || snapshot.objects.iter().flat_map(|object| object.functions.iter().map(move |f| (object, f)));
    let found = functions().find(|(_, function)| function.lines.iter().any(has_line));
    let found = found.or_else(|| functions().find(|(_, function)| function.lines.iter().any(has_file)));
    let (object, function) = found?;
    let problem = rejection.message.clone();
    Some(EngineError::OfObject {
        function: named(object, function),
        problem,
        place: Some(place.clone().into()),
        is_broken: false,
    })
}

/// The verifier was at no line, and a function of the program has instructions that it does not take from anybody.
fn of_flaw(snapshot: &Snapshot, module: &Module) -> Option<EngineError> {
    module.functions.iter().filter(|function| function.given.is_some()).find_map(|function| {
        // Their names begin with `c` and the object's number.
        let (number, name) = function.name.strip_prefix('c')?.split_once('_')?;
        let object = snapshot.objects.get(number.parse::<usize>().ok()?)?;
        let function = object.functions.iter().find(|function| function.name == name)?;
        let Flaw { slot, problem } = function.flaw()?;
        let line = function.lines.iter().rfind(|line| line.slot <= slot);
        let place = line.map(|Line { file, number, text, .. }| {
            Box::new(Place { file: file.clone(), line: *number, text: text.clone(), name: None })
        });
        let function = named(object, function);
        Some(EngineError::OfObject { function, problem, place, is_broken: true })
    })
}

fn named(object: &Object, function: &Function) -> String {
    format!("'{}' of {}", function.name, object.name)
}
