//! One generation of a running script: the program in the kernel, and the thread that takes its records.

use super::inbox::Inbox;
use super::inherit::{self, Inheritance};
use crate::driver::{self, Settings, Timings};
use crate::kernel::Kernel;
use crate::{CliError, report};
use moonhook_control::Control;
use moonhook_install::{Events, InstallError, LogDetail};
use moonhook_ir::{SharedTable, Variable};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a consumer waits for records before it looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// A program in the kernel with what it takes to run and to replace it.
pub struct Installed {
    pub kernel: Kernel,
    /// The Lua state that the scripts ran in.
    pub control: Control,
    pub timings: Timings,
    pub tables: Vec<Table>,
    pub variables: Vec<Variable>,
    /// Every file that the script was made of.
    pub files: Vec<PathBuf>,
    consumer: Option<Consumer>,
}

/// A shared table and the map that it lives in.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub shared: SharedTable,
    pub map: String,
}

struct Consumer {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), InstallError>>,
}

impl Installed {
    /// Compiles the scripts and loads them; tables and variables that `earlier` has, too, are common to both.
    ///
    /// # Errors
    /// What a stage refuses. `earlier` is as it was.
    pub fn load(
        scripts: &[PathBuf],
        settings: &Settings,
        prints_to_stderr: bool,
        earlier: Option<&Installed>,
    ) -> Result<(Installed, Inheritance), CliError> {
        let compile = || driver::compile(scripts, settings);
        let mut compiled = report::with_prints_to_stderr(prints_to_stderr, compile)?;
        let (mut kernel, mut inheritance) = (None, Inheritance::default());
        while kernel.is_none() {
            inheritance = inherit::plan(&compiled.module, earlier);
            let maps = inherit::maps(&inheritance, earlier)?;
            kernel = Kernel::load_or_generalise(&mut compiled, LogDetail::Nothing, &maps)?;
        }
        let kernel = kernel.ok_or(CliError::NoProgram)?;
        let map = |id| compiled.module.map(id).name.clone();
        let tables = compiled.module.tables.iter();
        let tables = tables.map(|table| Table { shared: table.clone(), map: map(table.map) }).collect();
        let files = compiled.loaded.files.clone();
        let options = moonhook_control::Options::default();
        let control = Control::new(compiled.loaded, &compiled.module, &kernel.program, options)?;
        let installed = Installed {
            kernel,
            control,
            timings: compiled.timings,
            tables,
            variables: compiled.module.variables,
            files,
            consumer: None,
        };
        Ok((installed, inheritance))
    }

    /// Begins to take the handlers' records out of the ring.
    pub fn consume(&mut self, inbox: &Arc<Inbox>) -> Result<(), CliError> {
        let (decoder, receiver) = (self.kernel.decoder.clone(), Arc::clone(inbox));
        let Some(events) = self.kernel.events(move |record| receiver.message(decoder.decode(record)))? else {
            return Ok(());
        };
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = std::thread::Builder::new().name("events".to_string());
        let thread = thread.spawn(move || consume(events, &flag))?;
        self.consumer = Some(Consumer { ended, thread });
        Ok(())
    }

    /// Lets the consumer end when it has taken what is there.
    pub fn end_events(&self) {
        if let Some(consumer) = &self.consumer {
            consumer.ended.store(true, Ordering::Relaxed);
        }
    }

    /// No more records come in.
    pub fn events_have_ended(&self) -> bool {
        self.consumer.as_ref().is_none_or(|consumer| consumer.thread.is_finished())
    }

    /// Waits for the consumer; what it failed of, if it did.
    pub fn join(&mut self) -> Result<(), InstallError> {
        match self.consumer.take() {
            None => Ok(()),
            Some(consumer) => consumer.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

/// Takes records out of the ring until `ended`, and then the last ones.
fn consume(mut events: Events, ended: &AtomicBool) -> Result<(), InstallError> {
    while !ended.load(Ordering::Relaxed) {
        events.poll(NAP)?;
    }
    events.consume()?;
    Ok(())
}

/// A generation that was replaced. A processor may still be in the middle of a frame with it.
pub struct Retired {
    pub installed: Installed,
    since: Instant,
}

/// No processor takes as long for a frame, whatever it does.
const GRACE: Duration = Duration::from_millis(50);

impl Retired {
    pub fn new(installed: Installed) -> Retired {
        Retired { installed, since: Instant::now() }
    }

    /// Whether the generation has nothing more to say. To be called again and again.
    pub fn is_done(&self) -> bool {
        if self.since.elapsed() < GRACE {
            return false;
        }
        self.installed.end_events();
        self.installed.events_have_ended()
    }
}
