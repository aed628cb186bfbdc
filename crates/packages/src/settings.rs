//! What programs are compiled with, and where objects are kept.

use crate::error::PackageError;
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What a source is compiled with, and where objects are kept.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Macros with their values.
    pub defines: &'a [(String, String)],
    /// Folders in which headers are looked for, behind the source's own ([`crate::Sources::includes`]).
    pub includes: &'a [PathBuf],
    /// Is made if it is not there ([`default_cache`]).
    pub cache: &'a Path,
}

/// Where objects are kept if nobody says otherwise: `$XDG_CACHE_HOME/moonhook`, else `~/.cache/moonhook`. `None` without a home.
pub fn default_cache() -> Option<PathBuf> {
    cache_of(|name| env::var_os(name).map(PathBuf::from))
}

fn cache_of(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // One that is not absolute counts as none (XDG Base Directory Specification).
    let folder = |name| variable(name).filter(|folder| folder.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("moonhook"))
}

/// Makes the folder of a cache or of packages. What is in it is loaded into the kernel by who has it: nobody else may write there.
pub(crate) fn make_folder(folder: &Path) -> Result<(), PackageError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(PackageError::file(folder, "made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_caches_are() {
        for (cache, home, expected) in [
            (Some("/c"), Some("/h"), Some("/c/moonhook")),
            (Some("c"), Some("/h"), Some("/h/.cache/moonhook")),
            (Some(""), Some("/h"), Some("/h/.cache/moonhook")),
            (None, Some("/h"), Some("/h/.cache/moonhook")),
            (None, Some("h"), None),
            (None, None, None),
        ] {
            let variable = |name: &str| if name == "HOME" { home } else { cache }.map(PathBuf::from);
            assert_eq!(cache_of(variable), expected.map(PathBuf::from));
        }
    }
}
