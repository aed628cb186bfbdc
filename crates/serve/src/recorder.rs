//! Which programs of packages a script has, as they are asked for at its load time: their objects have the types of its maps.

use moonhook_diagnostic::Diagnostic;
use moonhook_link::Object;
use moonhook_load::{Packaged, Packages};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A program of a package that a script has asked for.
#[derive(Clone)]
pub struct Asked {
    /// As the script names it.
    pub package: String,
    pub program: String,
    pub object: Arc<Object>,
}

/// Gives a script its packages, and notes what it gets.
pub struct Recorder {
    packages: Arc<dyn Packages>,
    asked: Mutex<Vec<Asked>>,
}

impl Recorder {
    pub fn new(packages: Arc<dyn Packages>) -> Recorder {
        Recorder { packages, asked: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A load time is about to begin, which asks anew.
    pub fn begin(&self) {
        self.all().clear();
    }

    /// What was asked for since, each once, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.all().clone()
    }
}

impl Packages for Recorder {
    fn find(&self, package: &str, program: &str) -> Result<Packaged, Box<Diagnostic>> {
        let found = self.packages.find(package, program)?;
        let Packaged::Object(object) = &found else { return Ok(found) };
        let mut all = self.all();
        let is_it =
            |asked: &&mut Asked| (asked.package.as_str(), asked.program.as_str()) == (package, program);
        match all.iter_mut().find(is_it) {
            // It may have been compiled anew.
            Some(asked) => asked.object = Arc::clone(object),
            None => all.push(Asked {
                package: package.to_string(),
                program: program.to_string(),
                object: Arc::clone(object),
            }),
        }
        drop(all);
        Ok(found)
    }
}

impl Debug for Recorder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("packages", &self.packages).finish_non_exhaustive()
    }
}
