//! Packages that are not there yet.

use crate::error::PackageError;
use crate::index::origin;
use crate::process::{self, End};
use crate::scratch::Scratch;
use crate::settings::make_folder;
use crate::sources::{Sources, check_name};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What git has for a package.
const LIMIT: Duration = Duration::from_secs(120);

/// A package in its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub folder: PathBuf,
    /// Whether it was there before.
    pub was_there: bool,
}

/// Puts a package into the folder `into`, if it is not there: what the index's line names, by git; or its folder, where the index is a
/// folder of packages. When this fails, or ends, nothing is there that was not before.
///
/// # Errors
/// A package that the index does not have, a name that can be none, what git says.
pub fn fetch(index: &Path, package: &str, into: &Path) -> Result<Fetched, PackageError> {
    check_name("package", package)?;
    let folder = into.join(package);
    if folder.is_dir() {
        return Ok(Fetched { folder, was_there: true });
    }
    let is_folder = fs::metadata(index).map_err(PackageError::file(index, "read"))?.is_dir();
    make_folder(into)?;
    // Beside its place, for a folder can be moved within a file system only.
    let scratch = Scratch::new(into, ".fetch-");
    let scratch = scratch.map_err(PackageError::file(into, "written to"))?;
    let made = scratch.path().join(package);
    if is_folder {
        let sources = Sources { folders: vec![index.to_owned()], aliases: Vec::new() };
        copy(&sources.package(package)?, &made)?;
    } else {
        clone(index, package, &made)?;
    }
    match fs::rename(&made, &folder) {
        // Somebody else has been faster.
        Err(_) if folder.is_dir() => Ok(Fetched { folder, was_there: true }),
        Err(problem) => Err(PackageError::file(&folder, "made")(problem)),
        Ok(()) => Ok(Fetched { folder, was_there: false }),
    }
}

fn clone(index: &Path, package: &str, to: &Path) -> Result<(), PackageError> {
    let origin = origin(index, package)?;
    let mut command = Command::new("git");
    command.args(["-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1"]);
    command.arg(format!("--branch={}", origin.tag)).arg("--").arg(&origin.url).arg(to);
    // Nobody is there to be asked for a password.
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    let failed =
        |problem: String, log: String| Err(PackageError::Fetch { package: package.into(), problem, log });
    match process::run(&mut command, LIMIT) {
        Ok(End::Exit { status, .. }) if status.success() => Ok(()),
        Ok(End::Exit { log, .. }) => {
            let fatal = log.lines().find(|line| line.starts_with("fatal: ")).or_else(|| log.lines().last());
            let fatal = fatal.unwrap_or("git does not say why").trim_start_matches("fatal: ");
            failed(format!("{fatal} ({} at {})", origin.url, origin.tag), log.clone())
        }
        Ok(End::Signal(signal)) => failed(format!("git was ended by signal {signal}"), String::new()),
        Ok(End::TooLong) => {
            failed(format!("git took longer than {} seconds", LIMIT.as_secs()), String::new())
        }
        Err(problem) => failed(format!("git cannot be run: {problem}"), String::new()),
    }
}

/// Folders and files, without git's own. Links are left out: they may lead anywhere.
fn copy(from: &Path, to: &Path) -> Result<(), PackageError> {
    fs::create_dir(to).map_err(PackageError::file(to, "made"))?;
    for entry in fs::read_dir(from).map_err(PackageError::file(from, "read"))? {
        let entry = entry.map_err(PackageError::file(from, "read"))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(PackageError::file(&source, "read"))?;
        if kind.is_dir() && entry.file_name() != ".git" {
            copy(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(PackageError::file(&source, "copied"))?;
        }
    }
    Ok(())
}
