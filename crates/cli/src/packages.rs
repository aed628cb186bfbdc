//! Packages of programs, for scripts that are loaded.

use crate::options::absolute;
use moonhook_diagnostic::Diagnostic;
use moonhook_link::Object;
use moonhook_load::{Packaged, Packages};
use moonhook_packages::{Found, Kind, PackageError, Settings, Sources};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where packages are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PackageOptions {
    /// A folder with packages of programs that chains of eCLAT call: folders of the packages' names, or checkouts; can be given several times
    #[arg(long, value_name = "DIR")]
    packages: Vec<PathBuf>,
    /// A name for several packages, which are searched in their order: `--alias mynet=hike_default,meter`
    #[arg(long, value_name = "NAME=PACKAGE,…", value_parser = alias)]
    alias: Vec<(String, Vec<String>)>,
}

fn alias(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, packages) = text.split_once('=').ok_or("not NAME=PACKAGE,…")?;
    let packages: Vec<String> = packages.split(',').map(|package| package.trim().to_string()).collect();
    match name.is_empty() || packages.iter().any(String::is_empty) {
        true => Err("not NAME=PACKAGE,…".to_string()),
        false => Ok((name.to_string(), packages)),
    }
}

impl PackageOptions {
    /// Where scripts find their programs.
    pub fn folders(&self) -> Arc<dyn Packages> {
        let folders = self.packages.iter().map(|folder| absolute(folder)).collect();
        Arc::new(Folders { sources: Sources { folders, aliases: self.alias.clone() } })
    }
}

/// Folders with packages, whose programs are compiled when they are needed.
#[derive(Debug)]
struct Folders {
    sources: Sources,
}

impl Folders {
    /// The file with the object of a program.
    fn file(&self, Found { kind, path, .. }: &Found) -> Result<PathBuf, PackageError> {
        if *kind != Kind::Source {
            return Ok(path.clone());
        }
        let cache =
            moonhook_packages::default_cache().unwrap_or_else(|| PathBuf::from("/var/cache/moonhook"));
        let includes = self.sources.includes();
        let settings = Settings { defines: &[], includes: &includes, cache: &cache };
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
