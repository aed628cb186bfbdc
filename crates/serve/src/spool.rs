//! The texts of scripts that clients have loaded, as files: STATE/NAME/NUMBER/FILE, and STATE/NAME/run.toml with what is said of them.
//!
//! A new text lies beside the present one until it runs. Where scripts are pinned, the next service finds all of them there; what it cannot
//! read stays, for what is pinned of it does, too.

use crate::ServeError;
use crate::spec::Spec;
use moonhook_daemon::Name;
use moonhook_replace::replace_file;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder that one service has.
pub struct Spool {
    folder: PathBuf,
    _lock: Flock<File>,
}

/// A script as a client gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// A file name that ends as the language has it.
    pub name: String,
    pub text: String,
}

/// Files of a script that an earlier service ran, and what is said of them.
pub type Left = (Vec<PathBuf>, Spec);

/// Files of a script, which are removed unless they are kept.
pub struct Files {
    pub scripts: Vec<PathBuf>,
    folder: PathBuf,
    kept: bool,
}

/// What `run.toml` says.
#[derive(Serialize, Deserialize)]
struct Run {
    /// Below the script's folder.
    scripts: Vec<PathBuf>,
    spec: Spec,
}

const RUN: &str = "run.toml";

fn make_folder(path: &Path) -> Result<(), ServeError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(ServeError::folder(path))
}

impl Spool {
    /// # Errors
    /// `Folder`, also if another service has it.
    pub fn open(folder: &Path) -> Result<Spool, ServeError> {
        make_folder(folder)?;
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(ServeError::folder(&path))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| ServeError::Folder {
            path: folder.to_path_buf(),
            problem: "another service has it".to_string(),
        })?;
        Ok(Spool { folder: folder.to_path_buf(), _lock: lock })
    }

    fn of(&self, name: &Name) -> PathBuf {
        // Beside the lock there are names only, and no name has a dot in front.
        self.folder.join(format!("{name}.script"))
    }

    /// Writes texts into a folder of their own.
    ///
    /// # Errors
    /// `Call` for names of files; `Folder`.
    pub fn write(&self, name: &Name, sources: &[Source]) -> Result<Files, ServeError> {
        check(sources)?;
        let around = self.of(name);
        make_folder(&around)?;
        let free = (1..).map(|number: u64| around.join(number.to_string())).find(|path| !path.exists());
        let folder = free.unwrap_or(around);
        make_folder(&folder)?;
        let mut files = Files { scripts: Vec::new(), folder: folder.clone(), kept: false };
        for Source { name, text } in sources {
            let path = folder.join(name);
            let written = File::create(&path).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
            written.map_err(ServeError::folder(&path))?;
            files.scripts.push(path);
        }
        Ok(files)
    }

    /// These run from now on; others of the script are removed.
    ///
    /// # Errors
    /// `Folder`: the script runs all the same, and the next service does not know.
    pub fn keep(&self, name: &Name, mut files: Files, spec: &Spec) -> Result<(), ServeError> {
        files.kept = true;
        let around = self.of(name);
        let below = |path: &PathBuf| path.strip_prefix(&around).unwrap_or(path).to_path_buf();
        let run = Run { scripts: files.scripts.iter().map(below).collect(), spec: spec.clone() };
        let path = around.join(RUN);
        let text = toml::to_string(&run).map_err(|error| std::io::Error::other(error.to_string()));
        let written = text.and_then(|text| replace_file(&path, text.as_bytes()));
        written.map_err(ServeError::folder(&path))?;
        for entry in fs::read_dir(&around).into_iter().flatten().flatten() {
            if entry.path().is_dir() && entry.path() != files.folder {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    /// The script is forgotten.
    pub fn remove(&self, name: &Name) {
        let _ = fs::remove_dir_all(self.of(name));
    }

    /// Every script is.
    pub fn clear(&self) {
        self.names().iter().for_each(|name| self.remove(name));
    }

    fn names(&self) -> Vec<Name> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let name = |file: String| file.strip_suffix(".script")?.parse().ok();
        let names = entries.filter_map(|entry| name(entry.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<Name> = names.collect();
        names.sort();
        names
    }

    /// What an earlier service has left, by names: files, and what is said of them, or why that cannot be known.
    pub fn left(&self) -> Vec<(Name, Result<Left, ServeError>)> {
        let names = self.names().into_iter();
        names.filter_map(|name| self.read(&name).transpose().map(|left| (name, left))).collect()
    }

    /// `None` for texts that have never run.
    fn read(&self, name: &Name) -> Result<Option<Left>, ServeError> {
        let path = self.of(name).join(RUN);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(ServeError::folder(&path))?,
        };
        let wrong = |error: toml::de::Error| {
            let problem = format!("{}; what is pinned of '{name}' stays", error.to_string().trim());
            ServeError::Settings { path: path.clone(), problem }
        };
        let Run { scripts, spec } = toml::from_str(&text).map_err(wrong)?;
        Ok(Some((scripts.iter().map(|path| self.of(name).join(path)).collect(), spec)))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let _ = fs::remove_dir_all(&self.folder);
        // That of the script goes, too, if there is nothing else in it.
        let _ = self.folder.parent().map(fs::remove_dir);
    }
}

impl Files {
    /// They may be in use.
    pub fn leave(mut self) {
        self.kept = true;
    }
}

/// Several scripts have different names, each of a file in the folder itself.
fn check(sources: &[Source]) -> Result<(), ServeError> {
    let wrong = |problem: String| Err(ServeError::Call { problem });
    if sources.is_empty() {
        return wrong("there is no script in it".to_string());
    }
    for (number, Source { name, .. }) in sources.iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let is_script = name.ends_with(".lua") || name.ends_with(".eclat");
        if !is_script || name.starts_with('.') || name.len() > 100 || !name.chars().all(is_plain) {
            let shown: String = name.chars().take(100).collect();
            return wrong(format!("'{}' is no file name of a script", shown.escape_debug()));
        }
        if sources[..number].iter().any(|other| other.name == *name) {
            return wrong(format!("two scripts are called '{name}'"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str) -> Source {
        Source { name: name.to_string(), text: format!("-- {name}") }
    }

    #[test]
    fn texts_stay_when_they_run_and_go_when_they_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        assert_eq!(Spool::open(folder.path()).err().unwrap().code(), "MH1015");
        let name: Name = "x".parse().unwrap();
        drop(spool.write(&name, &[source("x.lua")]).unwrap());
        assert!(spool.names().is_empty());
        let spec = Spec { interfaces: vec!["eth0".into()], ..Spec::default() };
        spool.keep(&name, spool.write(&name, &[source("x.lua")]).unwrap(), &spec).unwrap();
        drop(spool.write(&name, &[source("y.lua")]).unwrap());
        let left = || {
            let mut left = spool.left();
            assert_eq!((left.len(), &left[0].0), (1, &name));
            left.remove(0).1
        };
        let (files, said) = left().unwrap();
        assert_eq!((fs::read_to_string(&files[0]).unwrap().as_str(), &said), ("-- x.lua", &spec));
        spool.keep(&name, spool.write(&name, &[source("z.lua")]).unwrap(), &spec).unwrap();
        assert!(!files[0].exists());
        assert!(left().unwrap().0[0].ends_with("z.lua"));
        // What cannot be read is said, and stays.
        let path = spool.of(&name).join(RUN);
        fs::write(&path, "scripts = 7").unwrap();
        let error = left().unwrap_err();
        assert_eq!(error.code(), "MH1004");
        assert!(error.to_string().contains("what is pinned of 'x' stays"), "{error}");
        assert!(path.exists());
        spool.clear();
        assert!(spool.left().is_empty());
    }

    #[test]
    fn names_of_files_lead_nowhere_else() {
        for names in
            [&["x"][..], &["../x.lua"], &["/x.lua"], &[".lua"], &["a b.lua"], &["x.lua", "x.lua"], &[]]
        {
            let sources: Vec<Source> = names.iter().map(|name| source(name)).collect();
            assert_eq!(check(&sources).unwrap_err().code(), "MH1006", "{names:?}");
        }
        check(&[source("x.lua"), source("chain-1.eclat")]).unwrap();
    }
}
