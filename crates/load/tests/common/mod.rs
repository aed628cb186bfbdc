//! A folder with files, and shorthand for loading scripts from it.
#![allow(dead_code)] // each test file uses its part

use std::fs;
use std::path::PathBuf;

use moonhook_load::{LoadError, Loaded, Options, load};
use moonhook_snapshot::{Closure, Snapshot, Value};

/// A temporary folder that holds `files` (path and content).
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn load(&self, name: &str) -> Result<Loaded, LoadError> {
        load(&[self.path(name)], &Options::default())
    }
}

/// Loads a script of its own.
pub fn load_text(script: &str) -> Result<Loaded, LoadError> {
    Folder::new(&[("x.lua", script)]).load("x.lua")
}

/// Loads a script that is followed by `require("xdp").attach(handler)`.
pub fn load_handler(script: &str) -> Loaded {
    let script = format!("{script}\nrequire('xdp').attach(handler)\n");
    load_text(&script).unwrap_or_else(|error| panic!("{error}\nin:\n{script}"))
}

pub fn handler(snapshot: &Snapshot) -> &Closure {
    snapshot.closure(snapshot.handlers[0].closure)
}

/// The value of the first handler's upvalue `name`.
pub fn upvalue<'a>(snapshot: &'a Snapshot, name: &str) -> &'a Value {
    upvalue_of(snapshot, handler(snapshot), name)
}

pub fn upvalue_of<'a>(snapshot: &'a Snapshot, closure: &Closure, name: &str) -> &'a Value {
    let upvalues = &snapshot.prototype(closure.prototype).upvalues;
    let index = upvalues.iter().position(|upvalue| upvalue.name == name).expect("an upvalue of that name");
    &snapshot.cell(closure.upvalues[index]).value
}
