//! `--control`: Lunatik's modules for processes, for the load stage and the session.

use crate::probes::Programs;
use mlua::{Function, Lua, Table};
use moonhook_load::{ControlModules, Decided};
use moonhook_lunatik::Host;
use moonhook_netfilter::Desk;
use std::fmt::{self, Debug, Formatter};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

struct Modules {
    host: Arc<Host>,
    /// What handles packets in the states of runtimes.
    desk: Arc<Desk>,
    /// Functions that scripts return are run.
    runs_mains: bool,
}

/// What Lunatik's command says that a script is for, as far as it matters here.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Context {
    Process,
    Softirq,
    Hardirq,
}

/// The modules for scripts of that context, whose folder that is, and whose functions for processes are run or wait, and in whose runtimes a state may have that much memory. Lines go to standard output as soon as they are printed, errors of threads to standard error.
pub fn modules(
    (root, context): (&Path, Context),
    runs_mains: bool,
    memory: usize,
) -> Arc<dyn ControlModules> {
    let output = |line: &[u8]| write_line(&mut std::io::stdout().lock(), line);
    let warnings = |line: &[u8]| write_line(&mut std::io::stderr().lock(), line);
    let (output, warnings) = (Box::new(output), Box::new(warnings));
    let (root, constants) = (root.to_path_buf(), moonhook_load::constants);
    let counting = Arc::new(Programs::default());
    let desk = Arc::<Desk>::default();
    let extensions = vec![moonhook_netfilter::module(&desk)];
    let host = moonhook_lunatik::host(root, constants, output, warnings, extensions, counting, memory);
    host.set_context(match context {
        Context::Process => moonhook_lunatik::Context::Process,
        Context::Softirq => moonhook_lunatik::Context::Softirq,
        Context::Hardirq => moonhook_lunatik::Context::Hardirq,
    });
    Arc::new(Modules { host, desk, runs_mains })
}

/// Nobody is left to be told where that fails.
fn write_line(stream: &mut dyn Write, line: &[u8]) {
    let _ = stream.write_all(&[line, b"\n"].concat()).and_then(|()| stream.flush());
}

impl Debug for Modules {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modules").field("host", &self.host).finish_non_exhaustive()
    }
}

impl ControlModules for Modules {
    fn open(&self, lua: &Lua, globals: &Table) -> mlua::Result<()> {
        self.host.open(lua, globals)
    }

    fn finalizers(&self, lua: &Lua) -> mlua::Result<Function> {
        self.host.finalizers(lua)
    }

    fn finish(&self, lua: &Lua, time: Duration) -> bool {
        self.host.finish(lua, time)
    }

    fn run_main(&self, lua: &Lua, name: &str, main: &Function) {
        if self.runs_mains {
            self.host.run_main(lua, name, main);
        }
    }

    fn serve(&self, lua: &Lua, between: &mut dyn FnMut() -> bool) {
        self.host.serve(lua, between);
    }

    fn wake(&self) {
        self.host.wake();
    }

    fn called_for(&self) -> Option<Duration> {
        self.host.called_for()
    }

    fn is_busy(&self) -> bool {
        self.host.is_busy()
    }

    fn has_begun(&self) -> bool {
        self.host.has_begun()
    }

    fn take_packets(&self, netns: Option<&str>, queues: u16) {
        self.desk.take_packets(netns, queues);
    }

    fn decided(&self) -> Decided {
        self.desk.decided()
    }

    fn stop(&self) {
        self.host.stop();
    }
}
