//! Packages of programs on this machine, for load time.

use moonhook_diagnostic::Diagnostic;
use moonhook_link::Object;
use moonhook_load::{Packaged, Packages};
use moonhook_packages::{Found, Kind, PackageError, Settings, Sources};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders with packages, whose programs are compiled when they are needed.
#[derive(Debug)]
pub struct Folders {
    sources: Sources,
    cache: PathBuf,
}

/// Where objects are kept for who has no home.
pub const OBJECTS: &str = "/var/cache/moonhook";

impl Folders {
    /// The packages there; objects are kept where [`moonhook_packages::default_cache`] says.
    pub fn new(sources: Sources) -> Folders {
        let cache = moonhook_packages::default_cache().unwrap_or_else(|| PathBuf::from(OBJECTS));
        Folders { sources, cache }
    }

    /// The file with the object of a program.
    fn file(&self, Found { kind, path, .. }: &Found) -> Result<PathBuf, PackageError> {
        if *kind != Kind::Source {
            return Ok(path.clone());
        }
        let includes = self.sources.includes();
        let settings = Settings { defines: &[], includes: &includes, cache: &self.cache };
        moonhook_packages::build(path, &settings).map(|built| built.object)
    }
}

impl Packages for Folders {
    fn find(&self, package: &str, program: &str) -> Result<Packaged, Box<Diagnostic>> {
        let told = |error: PackageError| Box::new(error.diagnostic());
        let found = self.sources.find(package, program).map_err(told)?;
        if found.kind == Kind::Lua {
            return Ok(Packaged::Lua(found.path));
        }
        let file = self.file(&found).map_err(told)?;
        let bytes = std::fs::read(&file).map_err(|error| unreadable(&file, &error))?;
        let object = Object::read(&bytes, &found.path.to_string_lossy());
        object.map(|object| Packaged::Object(Arc::new(object))).map_err(|error| Box::new(error.diagnostic()))
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    let message = format!("{} cannot be read: {error}", file.display());
    Box::new(Diagnostic::new("MH0917", message).help("check the file and its permissions"))
}
