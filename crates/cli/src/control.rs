//! `--control`: Lunatik's modules for processes, for the load stage and the session.

use crate::probes::Programs;
use mlua::{Function, Lua, Table};
use moonhook_load::ControlModules;
use moonhook_lunatik::Host;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// What handles packets in the states of runtimes.
static EXTENSIONS: [moonhook_lunatik::Extension; 1] = [moonhook_netfilter::MODULE];

#[derive(Debug)]
struct Modules {
    host: Arc<Host>,
    /// Functions that scripts return are run.
    runs_mains: bool,
}

/// The modules for scripts whose folder that is, and whose functions for processes are run or wait. Lines go to standard output as soon as they are printed, errors of threads to standard error.
pub fn modules(root: &Path, runs_mains: bool) -> Arc<dyn ControlModules> {
    let output = |line: &[u8]| write_line(&mut std::io::stdout().lock(), line);
    let warnings = |line: &[u8]| write_line(&mut std::io::stderr().lock(), line);
    let (output, warnings) = (Box::new(output), Box::new(warnings));
    let (root, constants) = (root.to_path_buf(), moonhook_load::constants);
    let counting = Arc::new(Programs::default());
    let host = moonhook_lunatik::host(root, constants, output, warnings, &EXTENSIONS, counting);
    Arc::new(Modules { host, runs_mains })
}

/// Nobody is left to be told where that fails.
fn write_line(stream: &mut dyn Write, line: &[u8]) {
    let _ = stream.write_all(&[line, b"\n"].concat()).and_then(|()| stream.flush());
}

impl ControlModules for Modules {
    fn open(&self, lua: &Lua, globals: &Table) -> mlua::Result<()> {
        self.host.open(lua, globals)
    }

    fn run_main(&self, lua: &Lua, name: &str, main: &Function) {
        if self.runs_mains {
            self.host.run_main(lua, name, main);
        }
    }

    fn serve(&self, lua: &Lua) {
        self.host.serve(lua);
    }

    fn is_busy(&self) -> bool {
        self.host.is_busy()
    }

    fn has_begun(&self) -> bool {
        self.host.has_begun()
    }

    fn stop(&self) {
        self.host.stop();
    }
}
