//! The function of a flow, once it is in the kernel.

use crate::raw::RawFunction;
use crate::{Compiled, EngineError, Entry, Form, Timings, duplicate, entries};
use moonhook_install::Program;
use moonhook_records::Decoder;
use std::any::Any;
use std::os::fd::OwnedFd;

/// A function in the kernel.
pub struct Installed {
    pub programs: Vec<OwnedFd>,
    pub decoder: Decoder,
    /// What the programs need.
    pub held: Box<dyn Any + Send>,
    pub form: Form,
    pub timings: Timings,
    /// Slots of 8 bytes.
    pub instructions: usize,
}

impl Installed {
    pub fn from_raw(made: RawFunction) -> Installed {
        let RawFunction { programs, module, timings, instructions } = made;
        let decoder = Decoder::new(&module);
        Installed { programs, decoder, held: Box::new(()), form: Form::Expanded, timings, instructions }
    }

    pub fn from_object(compiled: Compiled, program: Program) -> Result<Installed, EngineError> {
        let program_of = |entry: &Entry| duplicate(program.program_fd(&entry.name)?);
        let programs =
            entries(&compiled.object)?.iter().map(program_of).collect::<Result<_, EngineError>>()?;
        let (decoder, form, timings) =
            (Decoder::new(&compiled.module), compiled.choice.form, compiled.timings);
        let instructions = compiled.object.functions.iter().map(|function| function.instructions).sum();
        Ok(Installed { programs, decoder, held: Box::new(program), form, timings, instructions })
    }
}
