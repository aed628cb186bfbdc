//! Programs that name interfaces are told their numbers, and told again when interfaces come or go.

use crate::SessionError;
use moonhook_engine::{EngineError, Kernel};
use moonhook_install::{InterfaceWatch, netns};

/// Hears of interfaces, once a program names one.
#[derive(Default)]
pub struct Interfaces {
    watch: Option<InterfaceWatch>,
}

impl Interfaces {
    /// Tells a program that nothing runs yet.
    ///
    /// # Errors
    /// `NoInterface` for one that its code names; what the kernel refuses.
    pub fn tell(&mut self, kernel: &Kernel, netns: Option<&str>) -> Result<(), SessionError> {
        kernel.open_cpus()?;
        if !kernel.names_interfaces() {
            return Ok(());
        }
        self.listen(netns)?;
        Ok(kernel.tell_interfaces(&netns::interfaces(netns)?, netns)?)
    }

    /// Begins to listen, for others that want to know of changes.
    ///
    /// # Errors
    /// As of [`InterfaceWatch::new`].
    pub fn listen(&mut self, netns: Option<&str>) -> Result<(), SessionError> {
        if self.watch.is_none() {
            self.watch = Some(InterfaceWatch::new(netns)?);
        }
        Ok(())
    }

    /// Whether something has changed since this was asked last.
    pub fn have_changed(&self) -> bool {
        self.watch.as_ref().is_some_and(InterfaceWatch::has_changed)
    }

    /// Tells a program that runs of a change.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn follow(&self, kernel: &Kernel, netns: Option<&str>) -> Result<(), SessionError> {
        if !kernel.names_interfaces() {
            return Ok(());
        }
        match kernel.tell_interfaces(&netns::interfaces(netns)?, netns) {
            // Its handlers say so when they want it.
            Err(EngineError::NoInterface { .. }) => Ok(()),
            told => Ok(told?),
        }
    }
}
