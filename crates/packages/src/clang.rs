//! The compiler: which one, what it is told, and what it says.

use crate::error::PackageError;
use crate::include::HEADER;
use crate::process::{self, End};
use crate::settings::Settings;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Says which compiler to use.
const VARIABLE: &str = "MOONHOOK_CLANG";

/// Its versions, the one that packages were tried with first.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=19;

/// What a program takes at most; the longest of HIKe's takes two seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// As HIKe compiles its programs, but for newer instructions (`v3`); and what is redefined on purpose is not told.
pub const FLAGS: [&str; 10] = [
    "-O2",
    "-g",
    "-target",
    "bpf",
    "-mcpu=v3",
    "-D__HIKE_CFLAGS_EXTMAKE",
    "-Wno-macro-redefined",
    // A warning in the compilers that packages were written for.
    "-Wno-error=incompatible-pointer-types",
    "-fno-color-diagnostics",
    "-c",
];

/// A compiler.
pub struct Compiler {
    pub path: PathBuf,
}

impl Compiler {
    /// The one that `MOONHOOK_CLANG` names, else the first of those in PATH.
    ///
    /// # Errors
    /// There is none.
    pub fn find() -> Result<Compiler, PackageError> {
        Compiler::of(env::var_os(VARIABLE), env::var_os("PATH").unwrap_or_default())
    }

    fn of(given: Option<OsString>, path: OsString) -> Result<Compiler, PackageError> {
        let folders = || env::split_paths(&path);
        let in_folders =
            |name: &OsStr| folders().map(|folder| folder.join(name)).find(|file| is_program(file));
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            let named = Path::new(&given);
            let is_path = named.components().count() > 1;
            let found = if is_path {
                Some(named.to_owned()).filter(|file| is_program(file))
            } else {
                in_folders(&given)
            };
            let missing = || format!("{VARIABLE} is '{}'", named.display());
            return found
                .map(|path| Compiler { path })
                .ok_or_else(|| PackageError::NoCompiler { given: Some(missing()) });
        }
        let names = std::iter::once("clang".to_string())
            .chain(VERSIONS.rev().map(|number| format!("clang-{number}")));
        let found = names.into_iter().find_map(|name| in_folders(OsStr::new(&name)));
        found.map(|path| Compiler { path }).ok_or(PackageError::NoCompiler { given: None })
    }

    /// What changes with the compiler: asking for its version would take longer than all else about an object that is there.
    pub fn fingerprint(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let of_file = std::fs::metadata(&path).map(|file| format!("{} {}", file.size(), file.mtime()));
        format!("{} {}", of_file.unwrap_or_default(), path.display())
    }

    /// Compiles, with our headers in the folder `include`. What was included is listed in `dependencies`, as for `make`.
    ///
    /// Gives what the compiler has said.
    ///
    /// # Errors
    /// What is wrong with the source; a compiler that does not end in time, or cannot be run.
    pub fn compile(
        &self,
        source: &Path,
        settings: &Settings<'_>,
        include: &Path,
        (object, dependencies): (&Path, &Path),
    ) -> Result<String, PackageError> {
        let mut command = self.command(source, settings, include);
        command.arg("-MD").arg("-MF").arg(dependencies).arg("-o").arg(object).arg(source);
        let ended = |problem| {
            let what = self.path.display().to_string();
            Err(PackageError::Ended { what, problem })
        };
        match process::run(&mut command, LIMIT).map_err(PackageError::file(&self.path, "run"))? {
            End::Exit { status, log } if status.success() => Ok(log),
            End::Exit { log, .. } => {
                let first = first_error(&log, source);
                Err(PackageError::Compile { source_file: source.to_owned(), first, log })
            }
            End::Signal(signal) => ended(format!("was ended by signal {signal}")),
            End::TooLong => ended(format!("took longer than {} seconds", LIMIT.as_secs())),
        }
    }

    /// All but the names of the files.
    fn command(&self, source: &Path, settings: &Settings<'_>, include: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.args(FLAGS).args(settings.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        command.arg("-include").arg(include.join(HEADER)).arg("-isystem").arg(include);
        command.arg("-I").arg(source.parent().unwrap_or(Path::new(".")));
        for folder in settings.includes {
            command.arg("-I").arg(folder);
        }
        if let Some(folder) = of_processor() {
            command.arg("-idirafter").arg(folder);
        }
        // Where our headers lie for now says nothing to anybody, and would make each object another one.
        let mut renamed = OsString::from("-ffile-prefix-map=");
        renamed.push(include);
        renamed.push("=moonhook");
        command.arg(renamed);
        // Messages are read: their language is known.
        command.env("LC_ALL", "C");
        command
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Where Debian has the headers of this machine's processor, which compilers for eBPF do not look for.
fn of_processor() -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/usr/include/{}-linux-gnu", env::consts::ARCH));
    folder.is_dir().then_some(folder)
}

/// The first error among what the compiler says, or its last words, if it has none. Without the name of the source, which is told before.
fn first_error(log: &str, source: &Path) -> String {
    let error = log.lines().find(|line| line.contains("error: "));
    let last = || log.lines().rfind(|line| !line.trim().is_empty());
    let words = error.or_else(last).unwrap_or("the compiler does not say why").trim();
    words.strip_prefix(&format!("{}:", source.display())).unwrap_or(words).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_told() {
        let log = "a.c:1:1: warning: odd [-Wodd]\na.c:2:3: error: no x\n  x\n  ^\na.c:3:3: error: no y\n2 errors generated.\n";
        assert_eq!(first_error(log, Path::new("b.c")), "a.c:2:3: error: no x");
        assert_eq!(first_error(log, Path::new("a.c")), "2:3: error: no x");
        let first_error = |log| first_error(log, Path::new("a.c"));
        assert_eq!(first_error("Segmentation fault\n\n"), "Segmentation fault");
        assert_eq!(first_error(""), "the compiler does not say why");
    }

    #[test]
    fn compilers_that_fail_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let (fake, source) = (folder.path().join("clang"), folder.path().join("a.bpf.c"));
        let settings = Settings { defines: &[], includes: &[], cache: folder.path() };
        let says = |script: &str| {
            // By another program: a file that this one has open for writing, or a child of another test, cannot be run.
            let write = "printf '#!/bin/sh\n%s\n' \"$2\" >\"$1\" && chmod +x \"$1\"";
            let written = Command::new("sh").args(["-c", write, "sh"]).arg(&fake).arg(script).status();
            assert!(written.is_ok_and(|status| status.success()));
            let compiler = Compiler { path: fake.clone() };
            let result = compiler.compile(&source, &settings, folder.path(), (&source, &source));
            result.map_err(|error| (error.code(), error.to_string()))
        };
        let code = |script| says(script).unwrap_err().0;
        assert_eq!(code("exit 1"), "MH0915");
        let (code, text) = says("kill -INT $$").unwrap_err();
        assert_eq!((code, text.ends_with("clang was ended by signal 2")), ("MH0916", true), "{text}");
        assert_eq!(says("echo odd >&2"), Ok("odd\n".into()));
    }

    #[test]
    fn compilers_are_looked_for_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = || folder.path().as_os_str().to_owned();
        let find = |given: Option<&str>| Compiler::of(given.map(OsString::from), path());
        let none = find(None).err().unwrap();
        assert_eq!((none.code(), none.to_string().as_str()), ("MH0914", "there is no clang"));
        let none = find(Some("gone")).err().unwrap();
        assert_eq!(none.to_string(), "there is no clang: MOONHOOK_CLANG is 'gone'");
        for (name, mode) in [("clang-14", 0o755), ("clang-15", 0o755), ("clang-16", 0o644)] {
            let file = folder.path().join(name);
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let named = |given| find(given).ok().unwrap().path.file_name().unwrap().to_owned();
        assert_eq!(named(None), "clang-15");
        assert_eq!(named(Some("")), "clang-15");
        assert_eq!(named(Some("clang-14")), "clang-14");
        let whole = folder.path().join("clang-14");
        assert_eq!(
            Compiler::of(whole.to_str().map(OsString::from), OsString::new()).ok().unwrap().path,
            whole
        );
    }
}
