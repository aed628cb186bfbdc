//! Packages of programs on this machine, for load time.

use moonhook_diagnostic::Diagnostic;
use moonhook_link::Object;
use moonhook_load::{Packaged, Packages};
use moonhook_packages::{Found, Kind, PackageError, Settings, Sources};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Folders with packages, whose programs are compiled when they are needed.
#[derive(Debug)]
pub struct Folders {
    sources: Sources,
    cache: PathBuf,
    /// What programs that were found were made of.
    files: Mutex<BTreeSet<PathBuf>>,
}

/// Where objects are kept for who has no home.
pub const OBJECTS: &str = "/var/cache/moonhook";

impl Folders {
    /// The packages there; objects are kept where [`moonhook_packages::default_cache`] says.
    pub fn new(sources: Sources) -> Folders {
        let cache = moonhook_packages::default_cache().unwrap_or_else(|| PathBuf::from(OBJECTS));
        Folders { sources, cache, files: Mutex::default() }
    }

    /// The file with the object of a program.
    fn file(&self, Found { kind, path, .. }: &Found) -> Result<PathBuf, PackageError> {
        if *kind != Kind::Source {
            return Ok(path.clone());
        }
        let includes = self.sources.includes();
        let settings = Settings { defines: &[], includes: &includes, cache: &self.cache };
        let built = moonhook_packages::build(path, &settings)?;
        self.note(built.files);
        Ok(built.object)
    }

    fn note(&self, files: impl IntoIterator<Item = PathBuf>) {
        // Headers of the system are changed by who installs others.
        let own = files.into_iter().filter(|file| !file.starts_with("/usr"));
        self.files.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
    }
}

impl Packages for Folders {
    fn find(&self, package: &str, program: &str) -> Result<Packaged, Box<Diagnostic>> {
        let told = |error: PackageError| Box::new(error.diagnostic());
        let found = self.sources.find(package, program).map_err(told)?;
        self.note([found.path.clone()]);
        if found.kind == Kind::Lua {
            return Ok(Packaged::Lua(found.path));
        }
        let file = self.file(&found).map_err(told)?;
        let bytes = std::fs::read(&file).map_err(|error| unreadable(&file, &error))?;
        let object = Object::read(&bytes, &found.path.to_string_lossy());
        object.map(|object| Packaged::Object(Arc::new(object))).map_err(|error| Box::new(error.diagnostic()))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    let message = format!("{} cannot be read: {error}", file.display());
    Box::new(Diagnostic::new("MH0917", message).help("check the file and its permissions"))
}
