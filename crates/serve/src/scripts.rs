//! The scripts that run, by their names: those that there are at the beginning, what they answer, their end. What clients change is in `scripts/changes.rs`.

mod changes;
mod claims;

use crate::ServeError;
use crate::config::Config;
use crate::events::{ENDED, Events};
use crate::limits::{self, Limits, Turn, aside, turn, within};
use crate::listener::Listener;
use crate::maps::{Maps, Presence};
use crate::pinned::Serial;
use crate::recorder::Recorder;
use crate::register::Register;
use crate::running::{Running, Task, client};
use crate::spec::Spec;
use crate::spool::{Source, Spool};
use moonhook_daemon::{DaemonError, Name, Request, Status};
use moonhook_session::{Busy, Pins, SessionError};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// All scripts. Clones are the same.
#[derive(Clone)]
pub struct Scripts(Arc<Inner>);

struct Inner {
    config: Arc<Config>,
    running: Arc<Register>,
    /// All that have a thread, also those that are being compiled.
    begun: Mutex<Vec<Arc<Running>>>,
    /// Who changes the script of a name.
    changing: Mutex<BTreeMap<Name, Arc<tokio::sync::Mutex<()>>>>,
    /// Scripts that have begun.
    begun_count: AtomicU64,
    claims: Arc<claims::Claims>,
    maps: Arc<Maps>,
    events: Events,
    spool: Spool,
    limits: Limits,
}

/// A script that is to run.
pub struct Load {
    pub name: Name,
    pub sources: Vec<Source>,
    pub spec: Spec,
    pub replace: Replace,
}

/// Whether a script that runs under the name gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    Never,
    /// Where the same is said of both, so that no packet is lost.
    Same,
    /// Also one with other interfaces or settings.
    Any,
}

/// Calls of `Status` that a list waits for.
const LIST: Duration = Duration::from_secs(3);

impl Scripts {
    /// # Errors
    /// `Folder`.
    pub fn new(config: Arc<Config>) -> Result<Scripts, ServeError> {
        let spool = Spool::open(&config.state)?;
        if !config.pin {
            spool.clear();
        }
        Ok(Scripts(Arc::new(Inner {
            maps: Arc::new(Maps::new(&config)),
            config,
            running: Arc::default(),
            begun_count: AtomicU64::new(0),
            begun: Mutex::default(),
            changing: Mutex::default(),
            claims: Arc::default(),
            events: Events::default(),
            spool,
            limits: Limits::default(),
        })))
    }

    pub fn config(&self) -> &Config {
        &self.0.config
    }

    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub fn maps(&self) -> Arc<Maps> {
        Arc::clone(&self.0.maps)
    }

    pub fn events(&self) -> &Events {
        &self.0.events
    }

    pub fn count(&self) -> usize {
        self.0.running.count()
    }

    /// # Errors
    /// `NoScript`.
    pub fn find(&self, name: &Name) -> Result<Arc<Running>, ServeError> {
        self.0.running.find(name)
    }

    /// Starts what there is at the beginning: what an earlier service has left, which clients may have put in the place of scripts of the
    /// folder, and the other scripts of the folder. Those that are refused are named in the log, and the others run.
    pub async fn start_all(&self) {
        let mut of_clients = BTreeSet::new();
        for (name, left) in self.0.spool.left() {
            match left {
                Ok((paths, spec)) => self.begin(&name, paths, Ok(spec)).await,
                Err(error) => self.log_refused(&name, &error),
            }
            of_clients.insert(name);
        }
        let Some(folder) = &self.0.config.scripts else { return };
        let paths = match found(folder) {
            Ok(paths) => paths,
            Err(error) => return self.0.config.log.line(&error.diagnostic().line()),
        };
        for path in paths {
            let (name, of_path) = (Name::of_script(&path), path.clone());
            let config = &self.0.config;
            let pins = || Pins::of(config.bpffs.as_deref(), &config.folder, &name);
            let spec = match of_clients.contains(&name) && pins().exist() {
                // Where the client's does not run, what is pinned of it goes on, and is not for the folder's to take over.
                true => Err(SessionError::Pinned { name: name.clone(), folder: None }.into()),
                false => self.parse(move || spec_of(&of_path)).await,
            };
            self.begin(&name, vec![path], spec).await;
        }
    }

    /// Starts a script unless one of that name runs; what is wrong goes to the log.
    async fn begin(&self, name: &Name, paths: Vec<PathBuf>, spec: Result<Spec, ServeError>) {
        let work = async {
            if self.0.running.get(name).is_some() {
                return Err(DaemonError::NameTaken { name: name.clone(), pid: None }.into());
            }
            let turn = self.turn().await?;
            self.start(name, paths, spec?, turn).await
        };
        if let Err(error) = self.change(name, work).await {
            self.log_refused(name, &error);
        }
    }

    fn log_refused(&self, name: &Name, error: &ServeError) {
        self.0.config.log.line(&format!("{name}: {}", error.diagnostic().line()));
    }

    /// Parses texts, on a thread that has room for what they nest.
    ///
    /// # Errors
    /// `TooLong`, `Crowded`; what is wrong with them.
    pub async fn parse<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ServeError> + Send + 'static,
    ) -> Result<T, ServeError> {
        let turn = turn(&self.0.limits.parses, (limits::READ, "scripts are being read")).await?;
        aside((limits::READ, "reading the script"), turn, work).await
    }

    async fn start(
        &self,
        name: &Name,
        scripts: Vec<PathBuf>,
        spec: Spec,
        turn: Turn,
    ) -> Result<(), ServeError> {
        if self.count() >= limits::SCRIPTS {
            return Err(ServeError::Crowded { what: "scripts" });
        }
        let (running, started) = Running::start(self.task(name, &scripts, spec, turn))?;
        self.note(&running);
        let told = async {
            // Where nobody tells, the thread has panicked, which its end is told of.
            started.await.unwrap_or_else(|_| Err(stopped()))
        };
        let started = within((limits::LOAD, "compiling the script"), told).await;
        if started.is_err() {
            running.end();
            // The next one of that name needs the name, and what was attached.
            let _ = running.ended(limits::STOP).await;
        }
        started
    }

    fn task(&self, name: &Name, scripts: &[PathBuf], spec: Spec, turn: Turn) -> Task {
        let serial: Serial = self.0.begun_count.fetch_add(1, Ordering::Relaxed);
        let recorder = Arc::new(Recorder::new(Arc::clone(&self.0.config.settings.load.packages)));
        let mut options = spec.options(&self.0.config, (name, scripts), &recorder);
        options.busy = Some(Busy(turn));
        let listener = Listener {
            name: name.clone(),
            config: Arc::clone(&self.0.config),
            recorder,
            presence: Presence::new(self.maps(), serial),
            events: self.events().clone(),
        };
        let (inner, ended) = (self.clone(), name.clone());
        let end = Box::new(move |outcome| inner.has_ended(&ended, outcome));
        let (name, register) = (name.clone(), Arc::clone(&self.0.running));
        Task { name, options, listener, spec, register, end }
    }

    /// A script has a thread from now on.
    fn note(&self, running: &Arc<Running>) {
        let mut begun = self.0.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|other| !other.wait(Instant::now()));
        begun.push(Arc::clone(running));
    }

    /// On the script's thread, at its end, when all that was the script's is gone.
    fn has_ended(&self, name: &Name, outcome: Option<Result<(), SessionError>>) {
        let Some(outcome) = outcome else { return };
        let problem = outcome.err().map(|error| error.diagnostic().line());
        let line = problem.as_ref().map_or("ended".to_string(), |problem| format!("ended: {problem}"));
        self.0.config.log.line(&format!("{name}: {line}"));
        self.events().tell(name, || json!({ "type": ENDED, "problem": problem }));
    }

    /// What each script answers about itself; those that do not are left out.
    pub async fn list(&self) -> Vec<Status> {
        let mut asked = JoinSet::new();
        for running in self.0.running.all() {
            asked.spawn(async move { parsed(running.ask(client(), Request::Status, LIST).await?) });
        }
        let answers = asked.join_all().await;
        let mut found: Vec<Status> = answers.into_iter().filter_map(Result::ok).collect();
        found.sort_by(|a: &Status, b: &Status| a.name.cmp(&b.name));
        found
    }

    /// Ends all scripts; what is pinned stays attached. To be called outside of a runtime.
    pub fn end_all(&self) {
        // Those that are being compiled look before they are attached.
        let all = self.0.begun.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().for_each(|running| running.end());
        let deadline = Instant::now() + limits::END;
        for running in &all {
            // One that does not end is left behind with its thread.
            let _ = running.wait(deadline);
        }
        if !self.0.config.pin {
            self.0.spool.clear();
        }
    }
}

fn stopped() -> ServeError {
    DaemonError::Unavailable { what: "a script that was stopped".to_string() }.into()
}

/// What a session has answered.
pub fn parsed<T: serde::de::DeserializeOwned>(answer: serde_json::Value) -> Result<T, ServeError> {
    let wrong = |error: serde_json::Error| SessionError::Panicked { problem: error.to_string() };
    Ok(serde_json::from_value(answer).map_err(wrong)?)
}

/// The scripts of a folder, by name.
fn found(folder: &Path) -> Result<Vec<PathBuf>, ServeError> {
    let entries = std::fs::read_dir(folder).map_err(ServeError::folder(folder))?;
    let is_script = |path: &PathBuf| path.extension().is_some_and(|end| end == "lua" || end == "eclat");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_script).collect();
    paths.sort();
    Ok(paths)
}

/// What the file beside a script says, and the script itself.
fn spec_of(path: &Path) -> Result<Spec, ServeError> {
    let mut spec = Spec::read(&path.with_extension("toml"))?;
    let text = std::fs::read_to_string(path).map_err(ServeError::folder(path))?;
    spec.complete(&path.to_string_lossy(), text)?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_scripts_with_what_is_said_of_them() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("b.lua", ""),
            ("b.toml", "interfaces = [\"eth7\"]"),
            ("a.eclat", "from loaders.basic import l\nl.attach('DEV', 'xdp')\ndef main():\n    return 0\n"),
            ("a.toml", "[define]\nDEV = \"eth8\""),
            ("notes.txt", ""),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let paths = found(folder.path()).unwrap();
        let specs: Vec<Spec> = paths.iter().map(|path| spec_of(path).unwrap()).collect();
        assert_eq!(specs.iter().map(|spec| spec.interfaces.join("")).collect::<Vec<_>>(), ["eth8", "eth7"]);
        assert_eq!(found(Path::new("/nowhere")).unwrap_err().code(), "MH1015");
    }
}
