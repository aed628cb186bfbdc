//! Which programs of packages a script has, as they are asked for at its load time: what its objects are called.

use moonhook_diagnostic::Diagnostic;
use moonhook_link::Object;
use moonhook_load::{Packaged, Packages};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Gives a script its packages, and notes under which names it gets what. Each time is another object.
pub struct Recorder {
    packages: Arc<dyn Packages>,
    /// Those that are gone were of load times that have come to nothing, or of programs that were replaced.
    known: Mutex<Vec<(Weak<Object>, [String; 2])>>,
}

impl Recorder {
    pub fn new(packages: Arc<dyn Packages>) -> Recorder {
        Recorder { packages, known: Mutex::default() }
    }

    /// Package and program, as the script names them; `None` for an object of no package.
    pub fn names(&self, object: &Arc<Object>) -> Option<[String; 2]> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Weak<Object>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(object));
        known.iter().find(|(known, _)| is_it(known)).map(|(_, names)| names.clone())
    }
}

impl Packages for Recorder {
    fn find(&self, package: &str, program: &str) -> Result<Packaged, Box<Diagnostic>> {
        let found = self.packages.find(package, program)?;
        if let Packaged::Object(object) = &found {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|(object, _)| object.strong_count() > 0);
            known.push((Arc::downgrade(object), [package.to_string(), program.to_string()]));
        }
        Ok(found)
    }
}

impl Debug for Recorder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("packages", &self.packages).finish_non_exhaustive()
    }
}
