//! Whether the kernel takes a program whose handlers may run elsewhere as well: load time asks before it decides where they do.

use crate::{EngineError, Settings, compile, install};
use moonhook_install::{InstallError, LogDetail};
use moonhook_snapshot::Snapshot;
use std::sync::Arc;

/// Makes programs as [`install`] does, or without a kernel as [`compile`] does, and lets go of them.
#[derive(Debug)]
pub struct Trial {
    settings: Settings,
    has_kernel: bool,
}

impl Trial {
    /// Of programs with these settings.
    pub fn of(settings: &Settings, has_kernel: bool) -> Arc<dyn moonhook_load::Trial> {
        let mut settings = settings.clone();
        settings.load.trial = None;
        Arc::new(Trial { settings, has_kernel })
    }
}

impl moonhook_load::Trial for Trial {
    fn refusal(&self, snapshot: &Snapshot) -> Option<String> {
        let made = match self.has_kernel {
            true => install(snapshot, &self.settings, LogDetail::Nothing, |_| Vec::new()).map(drop),
            false => compile(snapshot, &self.settings).map(drop),
        };
        made.err().filter(is_of_program).map(|error| error.to_string())
    }
}

/// Whether it is the program that is wrong. What this process may not do, or this host has not, is told when the program is to be attached.
fn is_of_program(error: &EngineError) -> bool {
    matches!(
        error.cause(),
        EngineError::Lower(_)
            | EngineError::Emit(_)
            | EngineError::Install(InstallError::Rejected(_) | InstallError::OutOfPatience { .. })
    )
}
