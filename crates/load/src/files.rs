//! The files that load time reads: scripts, modules, lists.
//!
//! Resolves names against the script's folder, keeps the text of everything that is run, and a list of everything that is
//! read. Scripts read regular files of their folder and of others that a person allows ([`crate::roots`]), so that reading ends and
//! tells nothing that is no business of theirs.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaString, MultiValue, Table, Value};
use moonhook_snapshot::Source;

use crate::roots::{self, Roots};

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Files {
    read: RefCell<Vec<PathBuf>>,
    sources: RefCell<Vec<Source>>,
}

impl Files {
    /// Every file that was read, in the order of first reading.
    pub fn read(&self) -> Vec<PathBuf> {
        self.read.borrow().clone()
    }

    pub fn sources(&self) -> Vec<Source> {
        self.sources.borrow().clone()
    }

    /// The whole content of a script, which a person has named.
    pub fn script(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Asking first keeps `open` from waiting for the other end of a FIFO.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        self.content(path, File::open(path)?)
    }

    /// The whole content of a file that is open; `path` is what leads to it.
    fn content(&self, path: &Path, mut file: File) -> io::Result<Vec<u8>> {
        roots::regular(&file)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        self.note(path);
        Ok(content)
    }

    /// A file's code as a function whose globals are `env`. Messages call the file by its path.
    pub fn chunk(&self, lua: &Lua, path: &Path, mut content: Vec<u8>, env: Value) -> mlua::Result<Function> {
        blank_first_comment(&mut content);
        let name = path.to_string_lossy().into_owned();
        self.note_source(Source::new(name.clone(), String::from_utf8_lossy(&content)));
        let function = compile(lua, &name, &content).map_err(|error| match is_nested(&error) {
            true => nested_too_deeply(lua, &name, &content),
            false => error,
        })?;
        set_first_upvalue(lua, &function, env)?;
        Ok(function)
    }

    /// Forgets the texts of all but so many that were run last.
    pub fn forget_texts(&self, but: usize) {
        let mut sources = self.sources.borrow_mut();
        let gone = sources.len().saturating_sub(but);
        sources.drain(..gone);
    }

    fn note(&self, path: &Path) {
        let mut read = self.read.borrow_mut();
        if !read.iter().any(|known| known == path) {
            read.push(path.to_owned());
        }
    }

    fn note_source(&self, source: Source) {
        let mut sources = self.sources.borrow_mut();
        sources.retain(|known| known.name != source.name);
        sources.push(source);
    }
}

/// What is said where Lua's parser has met more levels of nested syntax than it allows.
pub const TOO_DEEP: &str = "expressions or blocks within one another that are too deep for Lua";

/// The main function of a script's text.
fn compile(lua: &Lua, name: &str, content: &[u8]) -> mlua::Result<Function> {
    lua.load(content).set_name(format!("@{name}")).set_mode(ChunkMode::Text).into_function()
}

/// Whether Lua's parser has met more levels of nested syntax than it allows (`LUAI_MAXCCALLS`), which it says without a line
/// (`luaE_checkcstack` in `lstate.c`).
fn is_nested(error: &mlua::Error) -> bool {
    matches!(error, mlua::Error::RuntimeError(message) if message.starts_with("C stack overflow"))
}

/// The error with its line: that of the first token that is nested too deeply, with which the shortest text of whole lines ends that has
/// this error.
fn nested_too_deeply(lua: &Lua, name: &str, content: &[u8]) -> mlua::Error {
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let mut ends: Vec<usize> = Vec::with_capacity(lines.len());
    lines.iter().for_each(|line| ends.push(ends.last().unwrap_or(&0) + line.len()));
    let line = ends.partition_point(|end| match content.get(..*end).map(|text| compile(lua, name, text)) {
        Some(Err(error)) => !is_nested(&error),
        _ => true,
    });
    let message = format!("{name}:{}: {TOO_DEEP}", line + 1);
    mlua::Error::SyntaxError { message, incomplete_input: false }
}

/// The variable `_ENV` of a main chunk is its first upvalue (Lua manual § 2.2). Unlike mlua's `set_environment` this
/// allows any value.
fn set_first_upvalue(lua: &Lua, function: &Function, env: Value) -> mlua::Result<()> {
    let set: Function = lua.globals().get::<Table>("debug")?.get("setupvalue")?;
    set.call((function, 1, env))
}

/// A first line that starts with `#` is a comment for the shell (Lua manual § 7). Its line end stays, for line numbers.
fn blank_first_comment(content: &mut Vec<u8>) {
    if content.starts_with(b"\xef\xbb\xbf") {
        content.drain(..3);
    }
    if content.first() == Some(&b'#') {
        let end = content.iter().position(|&byte| byte == b'\n').unwrap_or(content.len());
        content.drain(..end);
    }
}

/// The system's words for an error, as C's `strerror` has them.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The functions that `prelude.lua` calls: they return values or `nil` and a message, and raise nothing.
pub(crate) fn functions(
    lua: &Lua,
    (folder, root): (PathBuf, Option<PathBuf>),
    roots: &Roots,
    files: &Rc<Files>,
    globals: &Table,
) -> mlua::Result<Table> {
    let table = lua.create_table()?;

    // The file is held until it is opened once more by its descriptor, which `prelude.lua` does at once: no name is resolved again.
    let held: RefCell<Option<File>> = RefCell::default();
    let (known, base, allowed) = (files.clone(), folder.clone(), roots.clone());
    table.set(
        "readable",
        lua.create_function(move |lua, name: LuaString| {
            let path = base.join(OsStr::from_bytes(&name.as_bytes()));
            match allowed.open(&path) {
                Ok(file) => {
                    known.note(&path);
                    let real = roots::by_descriptor(&file);
                    held.replace(Some(file));
                    lua.pack_multi(lua.create_string(real.as_os_str().as_bytes())?)
                }
                Err(error) => {
                    let message = format!("{}: {}", name.to_string_lossy(), reason(&error));
                    lua.pack_multi((Value::Nil, message, error_number(&error)))
                }
            }
        })?,
    )?;

    let (known, base, allowed) = (files.clone(), folder.clone(), roots.clone());
    table.set(
        "load_file",
        lua.create_function(move |lua, (name, env): (LuaString, Value)| {
            let path = base.join(OsStr::from_bytes(&name.as_bytes()));
            match allowed.open(&path).and_then(|file| known.content(&path, file)) {
                Ok(content) => chunk_or_message(lua, known.chunk(lua, &path, content, env)),
                Err(error) => {
                    let message = format!("cannot open {}: {}", name.to_string_lossy(), reason(&error));
                    lua.pack_multi((Value::Nil, message))
                }
            }
        })?,
    )?;

    let (known, env, roots) = (files.clone(), globals.clone(), roots.clone());
    let find = move |lua: &Lua, name: LuaString| {
        let folders: Vec<&Path> = root.iter().chain([&folder]).map(PathBuf::as_path).collect();
        let (paths, message) = match module_paths(&folders, &name) {
            Ok(paths) => paths,
            Err(message) => return lua.pack_multi((Value::Nil, message)),
        };
        find_module(lua, &known, &roots, &env, &name, paths, message)
    };
    table.set("find_module", lua.create_function(find)?)?;
    Ok(table)
}

/// The number of an error, as `io.open` gives it.
fn error_number(error: &io::Error) -> Option<i32> {
    let refused = (error.kind() == io::ErrorKind::PermissionDenied).then_some(nix::libc::EACCES);
    error.raw_os_error().or(refused)
}

fn chunk_or_message(lua: &Lua, chunk: mlua::Result<Function>) -> mlua::Result<MultiValue> {
    match chunk {
        Ok(function) => lua.pack_multi(function),
        Err(mlua::Error::SyntaxError { message, .. }) => lua.pack_multi((Value::Nil, message)),
        Err(error) => Err(error),
    }
}

/// `a.b` is `a/b.lua` or `a/b/init.lua` in one of the folders. Gives the paths, and how a message begins that there is no module.
fn module_paths(folders: &[&Path], name: &LuaString) -> Result<(Vec<PathBuf>, String), String> {
    let mut message = format!("module '{}' not found:", name.to_string_lossy());
    let bytes = name.as_bytes();
    let parts: Vec<&[u8]> = bytes.split(|&byte| byte == b'.').collect();
    if parts.iter().any(|part| part.is_empty() || part.contains(&b'/') || part.contains(&0)) {
        message.push_str("\n\ta module name is words joined by dots");
        return Err(message);
    }
    let in_folder = |folder: &&Path| {
        let base = parts.iter().fold(folder.to_path_buf(), |path, part| path.join(OsStr::from_bytes(part)));
        let mut flat = base.clone().into_os_string();
        flat.push(".lua");
        [PathBuf::from(flat), base.join("init.lua")]
    };
    Ok((folders.iter().flat_map(in_folder).collect(), message))
}

/// The first of the files that is there, as a function.
fn find_module(
    lua: &Lua,
    files: &Files,
    roots: &Roots,
    env: &Table,
    name: &LuaString,
    paths: Vec<PathBuf>,
    mut message: String,
) -> mlua::Result<MultiValue> {
    let shown = name.to_string_lossy();
    for path in paths {
        match roots.open(&path).and_then(|file| files.content(&path, file)) {
            Ok(content) => {
                return match files.chunk(lua, &path, content, Value::Table(env.clone())) {
                    Ok(function) => lua.pack_multi((function, path.to_string_lossy().into_owned())),
                    Err(mlua::Error::SyntaxError { message, .. }) => {
                        let message = format!(
                            "error loading module '{shown}' from file '{}':\n\t{message}",
                            path.display()
                        );
                        lua.pack_multi((Value::Nil, message))
                    }
                    Err(error) => Err(error),
                };
            }
            Err(error) => message.push_str(&format!("\n\t{}: {}", path.display(), reason(&error))),
        }
    }
    lua.pack_multi((Value::Nil, message))
}
