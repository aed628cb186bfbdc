//! A place to run scripts in: a folder for them, a state, and what they have printed.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, LuaOptions, StdLib, Table};
use moonhook_lunatik::Host;

use crate::counters::Counters;

/// Modules of constants that the modules need.
const CONSTANTS: [&str; 7] = [
    "linux.socket",
    "linux.eth",
    "linux.netlink",
    "linux.genl",
    "linux.rtnetlink",
    "linux.nl80211",
    "linux.syscall",
];

/// What the state of a runtime may have, in bytes.
const MEMORY: usize = 64 << 20;

pub struct Place {
    pub folder: tempfile::TempDir,
    pub host: Arc<Host>,
    pub lua: Lua,
    pub lines: Arc<Mutex<Vec<String>>>,
    /// What probes are told of.
    pub counters: Counters,
}

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let counters = Counters::default();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let output = || -> moonhook_lunatik::Output {
            let lines = Arc::clone(&lines);
            Box::new(move |line| lines.lock().unwrap().push(String::from_utf8_lossy(line).into_owned()))
        };
        let host = moonhook_lunatik::host(
            folder.path().to_path_buf(),
            moonhook_load::constants,
            output(),
            output(),
            Vec::new(),
            Arc::new(counters.clone()),
            MEMORY,
        );
        // SAFETY: what these tests run keeps to Lua.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) };
        for name in CONSTANTS {
            let find = lua
                .create_function(move |lua, ()| {
                    let table = lua.create_table()?;
                    moonhook_load::constants(lua, name, &table)?;
                    Ok(table)
                })
                .unwrap();
            let preload: Table = lua.load("return package.preload").eval().unwrap();
            preload.set(name, find).unwrap();
        }
        host.open(&lua, &lua.globals()).unwrap();
        Place { folder, host, lua, lines, counters }
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs code as a script's own function.
    pub fn run(&self, code: &str) -> Vec<String> {
        let main: Function = self.lua.load(code).set_name("=test").into_function().unwrap();
        self.host.run_main(&self.lua, "test", &main);
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    /// The error of code.
    pub fn error(&self, code: &str) -> String {
        self.lua.globals().set("code", code).unwrap();
        let lines = self.run("print(select(2, pcall(load(code, '=test'))))");
        lines.join("\n")
    }
}

/// Notes that a test cannot run here (ARCHITECTURE.md, `MOONHOOK_SKIPPED`).
pub fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_string();
    if let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "lunatik {name}: {reason}")).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.host.stop();
    }
}
