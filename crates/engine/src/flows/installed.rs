//! The function of a flow, once it is in the kernel.

use super::own_variables::{Own, map_in};
use crate::raw::RawFunction;
use crate::{Compiled, EngineError, Entry, Form, Timings, duplicate, entries};
use moonhook_diagnostic::Diagnostic;
use moonhook_install::Program;
use moonhook_records::Decoder;
use std::any::Any;
use std::os::fd::OwnedFd;

/// A function in the kernel.
pub struct Installed {
    pub programs: Vec<OwnedFd>,
    pub decoder: Decoder,
    pub own: Option<Own>,
    /// What the programs need.
    pub held: Box<dyn Any + Send>,
    pub form: Form,
    pub warnings: Vec<Diagnostic>,
    pub timings: Timings,
    /// Slots of 8 bytes.
    pub instructions: usize,
}

impl Installed {
    pub fn from_raw(made: RawFunction) -> Installed {
        let RawFunction { programs, module, variables, timings, instructions } = made;
        let (decoder, form) = (Decoder::new(&module), Form::Expanded);
        let own = variables.map(|map| Own { variables: module.variables, map });
        let (warnings, held) = (module.warnings, Box::new(()));
        Installed { programs, decoder, own, held, form, warnings, timings, instructions }
    }

    pub fn from_object(compiled: Compiled, program: Program) -> Result<Installed, EngineError> {
        let program_of = |entry: &Entry| duplicate(program.program_fd(&entry.name)?);
        let programs =
            entries(&compiled.object)?.iter().map(program_of).collect::<Result<_, EngineError>>()?;
        let (decoder, form, timings) =
            (Decoder::new(&compiled.module), compiled.choice.form, compiled.timings);
        let instructions = compiled.object.functions.iter().map(|function| function.instructions).sum();
        let own =
            map_in(&program, &compiled.module)?.map(|map| Own { variables: compiled.module.variables, map });
        let (warnings, held) = (compiled.module.warnings, Box::new(program));
        Ok(Installed { programs, decoder, own, held, form, warnings, timings, instructions })
    }
}
