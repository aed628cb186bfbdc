//! A script's handlers in the kernel: compiled in one of the forms that they can have, loaded, and run frame by frame.

use crate::outcome::Seen;
use crate::shared::{self, Tables};
use crate::{ProofError, host};
use moonhook_control::FlowsOfState;
use moonhook_engine::{Choice, Entry, Form, Settings};
use moonhook_hook::OnError;
use moonhook_install::{Events, InstallError, LogDetail, Program, ProgramStatistics, TestRun};
use moonhook_ir::{Module, maps};
use moonhook_load::Loaded;
use moonhook_records::{Decoder, Message};
use moonhook_snapshot::Snapshot;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Which form a program has must not depend on what else the machine does: verifying what takes a tenth of a second alone was seen to take more than
/// [`moonhook_engine::PATIENCE`] beside other tests.
const UNHURRIED: Duration = Duration::from_secs(3);

/// A verdict that no script returns by accident, where its hooks have one, or else one that is not what no verdict means: an error shows.
pub fn on_error(snapshot: &Snapshot) -> OnError {
    let all_have = |name: &OnError| snapshot.hooks().all(|hook| name.is_of(hook));
    let names = ["aborted", "drop", "match", "keep"].map(OnError::named);
    names.into_iter().find(all_have).unwrap_or(OnError::PASS)
}

/// How handlers are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// `None`: whichever a script gets.
    pub form: Option<Form>,
    /// General code is interpreted, whatever the script's size.
    pub compact: bool,
    /// The program takes frames in several buffers, too.
    pub frags: bool,
}

/// What consumes a program's records, and where it puts them.
type Records = (Events, Receiver<Vec<u8>>);

/// A program in the kernel that was made of a script.
pub struct Kernel {
    program: Program,
    entries: Vec<Entry>,
    module: Module,
    tables: Tables,
    decoder: Decoder,
    events: Option<Records>,
    /// The functions of flows, which go with it.
    _flows: Option<FlowsOfState>,
    /// Where all frames run: what belongs to a CPU, as the state of `math.random` does, goes on from frame to frame, as in real
    /// Lua.
    cpu: usize,
    pub choice: Choice,
    /// Processor time that this thread took to compile and load it.
    pub time: Duration,
}

impl Kernel {
    /// Takes a loaded script through all other stages, up to the kernel.
    ///
    /// # Errors
    /// `Stage` for what a stage or the verifier refuses.
    pub fn new(loaded: &Loaded, variant: Variant) -> Result<Kernel, ProofError> {
        let start = host::processor_time()?;
        let settings = Settings {
            any_interface: true,
            on_error: on_error(&loaded.snapshot),
            form: variant.form,
            compact: variant.compact,
            frags: variant.frags,
            patience: UNHURRIED * host::slowness(),
            ..Settings::default()
        };
        let installed =
            moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Statistics, |_| Vec::new());
        let (made, program) = installed?;
        let (module, choice) = (made.module, made.choice);
        let time = host::processor_time()?.saturating_sub(start);
        moonhook_engine::tables::fill(&program, &module, &|_| false)?;
        moonhook_engine::tables::fill_objects(&program, &module)?;
        let entries = moonhook_engine::entries(&made.object)?;
        let decoder = Decoder::new(&module);
        let flows = moonhook_engine::set_flows(loaded, &module, (&program, &decoder), &settings)?;
        Ok(Kernel {
            _flows: flows,
            events: events(&program)?,
            tables: Tables::new(loaded, &module),
            decoder,
            cpu: host::current_cpu()?,
            program,
            entries,
            module,
            choice,
            time,
        })
    }

    /// Runs a packet through the program with that number.
    ///
    /// # Errors
    /// `NoProgram`; `Stage` where the kernel refuses to.
    pub fn run(&mut self, program: usize, frame: &[u8]) -> Result<Seen, ProofError> {
        self.run_by(program, |kernel, name| kernel.test_run(name, frame, 1))
    }

    /// As [`Kernel::run`], at a point of a family of netfilter ([`Program::test_run_at`]).
    ///
    /// # Errors
    /// As of [`Kernel::run`].
    pub fn run_at(&mut self, program: usize, frame: &[u8], place: (u8, u8)) -> Result<Seen, ProofError> {
        self.run_by(program, |kernel, name| kernel.test_run_at(name, frame, place))
    }

    fn run_by(
        &mut self,
        program: usize,
        run: impl Fn(&Program, &str) -> Result<TestRun, InstallError>,
    ) -> Result<Seen, ProofError> {
        let Entry { name, hook, .. } = self.entries.get(program).ok_or(ProofError::NoProgram)?;
        let run = host::on_cpu(self.cpu, || run(&self.program, name))??;
        let tables = shared::of_kernel(&self.program, &self.module)?;
        let (verdict, passed) = (run.verdict, run.verdict == hook.default);
        let mut seen = Seen { verdict, passed, data: run.data, tables, ..Seen::default() };
        let Some((events, records)) = &mut self.events else { return Ok(seen) };
        events.consume()?;
        for record in records.try_iter() {
            match self.decoder.decode(&record)? {
                Message::Print(line) => seen.output.push(line),
                Message::Event(notice) => seen.output.push(notice.line),
                Message::Frame(_) => {}
                Message::Error(failure) => seen.error = Some(failure.message),
            }
        }
        Ok(seen)
    }

    /// What the tables that the handlers share hold in real Lua.
    pub fn tables_of_lua(&self) -> Vec<String> {
        self.tables.of_lua()
    }

    /// Whether the handlers keep entries from packet to packet.
    pub fn has_tables(&self) -> bool {
        !self.module.tables.is_empty()
    }

    /// Whether it is general code.
    pub fn is_general(&self) -> bool {
        self.choice.form == Form::General
    }

    /// Its form, as a failure names it.
    pub fn form(&self) -> &'static str {
        if self.is_general() { "general code" } else { "expanded code" }
    }

    /// What the verifier says about the program.
    pub fn statistics(&self) -> ProgramStatistics {
        self.program.statistics().into_iter().next().unwrap_or_default()
    }
}

/// What a program has to say, where it can say anything.
fn events(program: &Program) -> Result<Option<Records>, ProofError> {
    if !program.has_map(maps::EVENTS) {
        return Ok(None);
    }
    let (send, receive) = channel();
    let events = program.events(maps::EVENTS, move |record| {
        // The receiver lives as long as the consumer.
        let _ = send.send(record.to_vec());
    })?;
    Ok(Some((events, receive)))
}
