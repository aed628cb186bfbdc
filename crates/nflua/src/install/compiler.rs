//! The host's C compiler, in a folder with the sources.

use super::error::PluginError;
use super::folders::{Lua, Target, own_folder, pkg_config};
use super::parts::SOURCES;
use crate::Generation;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// As POSIX calls it, whichever it is.
const COMPILER: &str = "cc";

const FLAGS: &[&str] =
    &["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"];

/// The compiler's messages that are kept, in bytes.
const MOST_LOG: usize = 4000;

pub(super) struct Compiler<'a> {
    folder: &'a Path,
    /// What does not depend on the file.
    flags: Vec<String>,
}

impl Compiler<'_> {
    /// Writes the sources into the folder.
    pub(super) fn new(folder: &Path, generation: Generation) -> Result<Compiler<'_>, PluginError> {
        for (name, text) in SOURCES {
            let path = folder.join(name);
            fs::write(&path, text).map_err(PluginError::unwritten(&path))?;
        }
        let mut flags: Vec<String> = FLAGS.iter().map(|flag| flag.to_string()).collect();
        flags.push(format!("-DGENERATION={}", generation.number()));
        flags.push(format!("-DXTABLES_FOLDER=\"{}\"", own_folder().display()));
        Ok(Compiler { folder, flags })
    }

    /// The bytes of the shared library.
    pub(super) fn compile(&self, target: &Target) -> Result<Vec<u8>, PluginError> {
        let path = self.folder.join(target.part.file);
        let mut command = self.command(target.lua);
        command.arg("-shared").arg("-o").arg(&path).args(target.part.sources);
        let output = run(&mut command)?;
        if !output.status.success() {
            return Err(self.why(target, &output)?);
        }
        fs::read(&path).map_err(|source| PluginError::Unreadable { path, source })
    }

    fn command(&self, lua: Option<Lua>) -> Command {
        let mut command = Command::new(COMPILER);
        command.current_dir(self.folder).env("LC_ALL", "C").stdin(Stdio::null()).args(&self.flags);
        command.args(lua.map(include_flags).unwrap_or_default());
        command
    }

    /// Why it has failed: the header can be missing, which the compiler is asked alone, for its messages are in many languages.
    fn why(&self, target: &Target, output: &Output) -> Result<PluginError, PluginError> {
        let header = target.part.header;
        let path = self.folder.join("probe.c");
        fs::write(&path, format!("#include <{header}>\n")).map_err(PluginError::unwritten(&path))?;
        let probe = run(self.command(target.lua).args(["-fsyntax-only", "probe.c"]))?;
        if !probe.status.success() {
            return Ok(PluginError::NoHeader { header, lua: target.lua.map(Lua::version) });
        }
        let said = &output.stderr[..output.stderr.len().min(MOST_LOG)];
        let log = String::from_utf8_lossy(said).into_owned();
        Ok(PluginError::Compile { file: target.part.file, log })
    }
}

/// Where the headers of that Lua are.
fn include_flags(lua: Lua) -> Vec<String> {
    let told = lua.packages().iter().find_map(|package| pkg_config(&["--cflags-only-I", package]));
    let usual = || vec![format!("-I/usr/include/lua{}", lua.version())];
    told.map_or_else(usual, |flags| flags.split_whitespace().map(str::to_string).collect())
}

fn run(command: &mut Command) -> Result<Output, PluginError> {
    command.output().map_err(|source| match source.kind() {
        ErrorKind::NotFound => PluginError::NoCompiler,
        _ => PluginError::Unreadable { path: PathBuf::from(COMPILER), source },
    })
}
