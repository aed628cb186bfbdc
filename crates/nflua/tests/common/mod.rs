//! A network namespace and a folder of pins for as long as a test takes; what is installed, in folders of its own; a daemon that answers as it is told.

#![allow(dead_code)]

pub mod daemon;
pub mod pin;

use moonhook_nflua::install::{Generation, Lua, PluginError, Wanted, install};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c")
}

/// Says that a test cannot run here, also to the file that collects such tests.
pub fn skipped(test: &str, reason: &str) {
    println!("skipped: {test}: {reason}");
    let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| writeln!(file, "{test}: {reason}")).expect("the file can be written");
}

/// Does a test on a thread in new namespaces, of the network and of mounts; it gets a folder for pins. Skipped without root, unless
/// `MOONHOOK_REQUIRE_KERNEL=1` demands it.
pub fn in_namespaces(test: &str, work: impl FnOnce(&Path) + Send + 'static) {
    let name = test.to_string();
    let thread = std::thread::spawn(move || {
        let folder = tempfile::tempdir().expect("a folder");
        if let Err(problem) = separate(folder.path()) {
            let required = std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_some_and(|value| value == "1");
            assert!(!required, "{name}: {problem}");
            return skipped(&name, &problem.to_string());
        }
        work(folder.path());
        nix::mount::umount(folder.path()).expect("the pins go");
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn separate(pins: &Path) -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    mount(Some("bpf"), pins, Some("bpf"), MsFlags::empty(), nothing)?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    up.is_ok_and(|status| status.success()).then_some(()).ok_or(nix::errno::Errno::ENOENT)
}

/// Plugins and perhaps the module in a folder of their own.
pub struct Installed {
    folder: tempfile::TempDir,
    /// Where the daemon is to be asked.
    socket: PathBuf,
}

impl Installed {
    /// Skips the test where there are no headers.
    pub fn new(test: &str, generation: Generation, lua: Option<Lua>) -> Option<Installed> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        let wanted = Wanted { xtables_dir: Some(path.clone()), lua, lua_dir: Some(path.clone()) };
        match install(&wanted, generation) {
            Ok(files) => assert_eq!(files.len(), 4 + usize::from(lua.is_some()), "{files:?}"),
            Err(error @ (PluginError::NoCompiler | PluginError::NoHeader { .. })) => {
                skipped(test, &error.to_string());
                return None;
            }
            Err(error) => panic!("{:?}", error.diagnostic()),
        }
        Some(Installed { folder, socket: path.join("socket") })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// A command that finds what is installed, and the daemon.
    pub fn command(&self, program: &str) -> Command {
        let folder = self.folder.path().display();
        let mut command = Command::new(program);
        command.env("XTABLES_LIBDIR", format!("{folder}:{}", xtables_folder()));
        command.env("LUA_CPATH", format!("{folder}/?.so")).env("MOONHOOK_NFLUA", &self.socket);
        command
    }

    /// Runs a program of iptables with these arguments, between which are spaces.
    pub fn run(&self, program: &str, arguments: &str) -> Output {
        self.command(program).args(arguments.split_whitespace()).output().expect(program)
    }
}

fn xtables_folder() -> String {
    let told =
        Command::new("pkg-config").args(["--variable=xtlibdir", "xtables"]).output().expect("pkg-config");
    String::from_utf8(told.stdout).expect("a path").trim().to_string()
}
