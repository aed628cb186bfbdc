//! From a C program to an object: taken from the cache, or compiled and put there.

use crate::cache::{self, Key, Note};
use crate::clang::Compiler;
use crate::error::PackageError;
use crate::include;
use crate::scratch::Scratch;
use crate::settings::{Settings, make_folder};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub object: PathBuf,
    /// What the compiler has said: warnings.
    pub log: String,
    /// Whether it was there already.
    pub cached: bool,
    /// The source, and what it includes.
    pub files: Vec<PathBuf>,
}

impl Built {
    fn of(object: PathBuf, note: Note, cached: bool) -> Built {
        Built { object, log: note.log, cached, files: note.files.into_iter().map(|(_, file)| file).collect() }
    }
}

/// Makes an object of a C program, if it is not in the cache.
///
/// # Errors
/// A source that does not compile, a compiler that is not there, files that cannot be read or written.
pub fn build(source: &Path, settings: &Settings<'_>) -> Result<Built, PackageError> {
    let source = fs::canonicalize(source).map_err(PackageError::file(source, "read"))?;
    let (key, compiler) = (Key::of(&source, settings), Compiler::find());
    let fingerprint = compiler.as_ref().ok().map(Compiler::fingerprint);
    if let Some((object, note)) = cache::look_up(settings.cache, &key, fingerprint.as_deref()) {
        return Ok(Built::of(object, note, true));
    }
    let compiler = compiler?;
    make_folder(settings.cache)?;
    // In the cache, and not in a folder that all users share. It goes with all that is in it when this ends.
    let scratch = Scratch::new(settings.cache, ".build-");
    let scratch = scratch.map_err(PackageError::file(settings.cache, "written to"))?;
    let place = |name: &str| scratch.path().join(name);
    let (include, object, rule) = (place("include"), place("object"), place("rule"));
    include::write(&include)?;
    let begun = SystemTime::now();
    let log = compiler.compile(&source, settings, &include, (&object, &rule))?;
    let rule = fs::read_to_string(&rule).map_err(PackageError::file(&rule, "read"))?;
    let mut files = cache::dependencies(&rule);
    // Ours are known by the key.
    files.retain(|file| !file.starts_with(&include));
    let candidates = key.candidates(files.iter().map(PathBuf::as_path));
    let note = Note::new(fingerprint.unwrap_or_default(), &files, &candidates, log)?;
    let object = cache::store_object(settings.cache, &key, &note, &object)?;
    // What was written meanwhile may not be what was compiled.
    if !files.iter().chain(&candidates).any(|file| is_newer(file, begun)) {
        cache::store_note(settings.cache, &key, &note)?;
    }
    Ok(Built::of(object, note, false))
}

/// The object of a C program, if it is in the cache; nothing is compiled.
pub fn built(source: &Path, settings: &Settings<'_>) -> Option<Built> {
    let source = fs::canonicalize(source).ok()?;
    let compiler = Compiler::find().ok().map(|compiler| compiler.fingerprint());
    let found = cache::look_up(settings.cache, &Key::of(&source, settings), compiler.as_deref());
    found.map(|(object, note)| Built::of(object, note, true))
}

fn is_newer(file: &Path, than: SystemTime) -> bool {
    fs::metadata(file).and_then(|file| file.modified()).is_ok_and(|modified| modified >= than)
}
