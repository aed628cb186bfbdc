//! What programs of the host get for NFLua's states: plugins of iptables (the match `lua`, the target `LUA`), and the Lua module `nflua`.
//!
//! Their sources in C are part of the command, and are compiled where they are installed, for plugins have to suit the host's iptables, and the
//! module the host's Lua. First everything is compiled, then everything is put in its place: what fails leaves what was there before.

mod compiler;
mod error;
mod folders;
mod parts;

pub use crate::Generation;
pub use error::PluginError;
pub use folders::{Lua, Wanted};

use compiler::Compiler;
use folders::Target;
use moonhook_replace::{Replacement, finish_all};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Stands in every file that is installed.
const SIGN: &[u8] = b"moonhook nflua install: ";

/// Compiles what is wanted and puts it where iptables and Lua find it; gives the files.
///
/// # Errors
/// There is no compiler, headers are missing, a folder cannot be found or written to, or somebody else's file would be replaced. Nothing is
/// installed then.
pub fn install(wanted: &Wanted, generation: Generation) -> Result<Vec<PathBuf>, PluginError> {
    let targets = folders::targets(wanted)?;
    for target in &targets {
        refuse_foreign(&target.path)?;
    }
    let scratch = tempfile::tempdir()
        .map_err(|source| PluginError::Unwritten { path: std::env::temp_dir(), source })?;
    let compiler = Compiler::new(scratch.path(), generation)?;
    let compiled: Result<Vec<Vec<u8>>, PluginError> =
        targets.iter().map(|target| compiler.compile(target)).collect();
    put(&targets, &compiled?)?;
    Ok(targets.into_iter().map(|target| target.path).collect())
}

/// Removes what [`install`] has installed; gives the files that were there. Those that somebody else has put there stay.
///
/// # Errors
/// A folder cannot be found, or a file cannot be read or removed.
pub fn uninstall(wanted: &Wanted) -> Result<Vec<PathBuf>, PluginError> {
    let mut removed = Vec::new();
    for Target { path, .. } in folders::targets(wanted)? {
        if has_sign(&path)? == Some(true) {
            fs::remove_file(&path).map_err(PluginError::unwritten(&path))?;
            removed.push(path);
        }
    }
    Ok(removed)
}

/// NFLua's own files have the same names.
fn refuse_foreign(path: &Path) -> Result<(), PluginError> {
    match has_sign(path)? {
        Some(false) => Err(PluginError::Foreign { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Whether the file is one of [`install`]'s; `None` where there is none.
fn has_sign(path: &Path) -> Result<Option<bool>, PluginError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes.windows(SIGN.len()).any(|window| window == SIGN))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PluginError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Puts all files in their places, which everybody may read, however restrictive the caller's umask is.
fn put(targets: &[Target], compiled: &[Vec<u8>]) -> Result<(), PluginError> {
    let mut files = Vec::new();
    for (target, bytes) in targets.iter().zip(compiled) {
        let failed = || PluginError::unwritten(&target.path);
        if let (true, Some(folder)) = (target.makes_folder, target.path.parent()) {
            fs::create_dir_all(folder).map_err(failed())?;
        }
        let mut file = Replacement::of(&target.path).map_err(failed())?;
        file.write_all(bytes).map_err(failed())?;
        files.push(file);
    }
    let Some(first) = targets.first() else { return Ok(()) };
    finish_all(files).map_err(PluginError::unwritten(&first.path))?;
    for target in targets {
        let permissions = fs::Permissions::from_mode(0o644);
        fs::set_permissions(&target.path, permissions).map_err(PluginError::unwritten(&target.path))?;
    }
    Ok(())
}
