//! Both compilers behind one function.

use moonhook_engine::Form;
use moonhook_ir::Module;
use moonhook_snapshot::Snapshot;
use moonhook_specialise::{LowerError, Options};

pub fn lower(snapshot: &Snapshot, options: &Options, form: Form) -> Result<Module, LowerError> {
    match form {
        Form::Expanded => moonhook_specialise::lower(snapshot, options, &mut Default::default()),
        Form::General => moonhook_baseline::lower(snapshot, options, false, &mut Default::default()),
    }
}
