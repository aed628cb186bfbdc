//! What rules ask in the kernel: a pinned program for each function that rules name, all made of one snapshot of the state.

use crate::NfluaError;
use crate::functions::Functions;
use crate::log::Journal;
use crate::question::Question;
use crate::state::{Order, Orders};
use mlua::Function;
use moonhook_control::{Connection, Control};
use moonhook_engine::{Kernel, Settings};
use moonhook_hook::Point;
use moonhook_install::{InstallError, Link, LogDetail, RequestedMode, Site, Target};
use moonhook_load::Living;
use nix::errno::Errno;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program that was replaced may still be at work.
const GRACE: Duration = Duration::from_secs(1);

/// Programs that may still be at work, at most.
const MOST_RETIRED: usize = 4;

/// How long the thread that takes a program's messages waits before it looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// The matches of a state.
pub struct Matches {
    folder: PathBuf,
    settings: Settings,
    orders: Orders,
    log: Journal,
    all: Vec<Match>,
    running: Option<Running>,
    /// Programs that were replaced, and since when.
    retired: Vec<(Instant, Running)>,
}

/// What rules ask.
struct Match {
    question: Question,
    link: Link,
}

/// A program that packets are given to, and whose messages a thread takes.
struct Running {
    /// Its maps are there as long as it is.
    _kernel: Kernel,
    end: Arc<AtomicBool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

/// What a state is made of, for programs.
pub struct Sources<'a> {
    pub living: &'a mut Living,
    pub control: &'a mut Control,
    pub functions: &'a Functions,
}

impl Sources<'_> {
    /// A problem with a function that a rule asks for: one of the library has no line in a script.
    fn about(&self, function: &str, problem: String) -> String {
        let found = self.living.globals().raw_get::<Option<Function>>(function).ok().flatten();
        if found.is_none_or(|found| found.info().what != "C") {
            return problem;
        }
        let text = problem.split_once(": ").map_or(problem.as_str(), |(_, text)| text);
        format!(
            "the rule asks for a function of the library, `{function}`, and not for one of a script: {text}"
        )
    }
}

impl Matches {
    /// None yet; their files will be in `folder`.
    pub fn new(folder: PathBuf, settings: Settings, orders: Orders, log: Journal) -> Matches {
        Matches { folder, settings, orders, log, all: Vec::new(), running: None, retired: Vec::new() }
    }

    /// The file of the program that asks a question.
    ///
    /// # Errors
    /// `Refused` where the function cannot be a program, or the kernel does not take it.
    pub fn path(&mut self, question: &Question, sources: &mut Sources<'_>) -> Result<PathBuf, NfluaError> {
        if let Some(known) = self.all.iter().find(|known| known.question == *question) {
            return path_of(&known.link);
        }
        let (wanted, function) = (question.point(), question.function.clone());
        let mut points: Vec<Point> = self.all.iter().map(Match::point).collect();
        points.push(wanted.clone());
        let made = self.make(&points, sources).and_then(|kernel| {
            let link = self.attach(&kernel, &wanted).map_err(|error| error.diagnostic().line())?;
            Ok((kernel, link))
        });
        let (kernel, link) = match made {
            Ok(made) => made,
            Err(problem) => {
                // Those that there were go on with what the state is.
                if let Err(problem) = self.renew(sources) {
                    self.log.failed(&problem);
                }
                return Err(NfluaError::refused(Errno::EINVAL, sources.about(&question.function, problem)));
            }
        };
        let path = path_of(&link)?;
        self.all.extend(Match::of(link));
        let listens = self.replace(kernel);
        listens.map_err(|problem| NfluaError::refused(Errno::EINVAL, sources.about(&function, problem)))?;
        Ok(path)
    }

    /// Rules that an earlier process has left ask functions of this state from now on; gives which.
    ///
    /// # Errors
    /// Why they do not.
    pub fn adopt(&mut self, sources: &mut Sources<'_>) -> Result<Vec<String>, String> {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let points: Vec<Point> = files
            .filter_map(|file| Some(Question::left(&file.file_name().to_string_lossy())?.point()))
            .collect();
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let kernel = self.make(&points, sources)?;
        let attached = points.iter().map(|point| self.attach(&kernel, point));
        let links: Vec<Link> =
            attached.collect::<Result<_, _>>().map_err(|error| error.diagnostic().line())?;
        self.all.extend(links.into_iter().filter_map(Match::of));
        self.replace(kernel)?;
        Ok(self.all.iter().map(|known| known.question.function.clone()).collect())
    }

    /// Makes all programs anew, of what the state is now.
    ///
    /// # Errors
    /// Why that is not possible, and what rules do then: they find no packet.
    pub fn renew(&mut self, sources: &mut Sources<'_>) -> Result<(), String> {
        if self.all.is_empty() {
            return Ok(());
        }
        let points: Vec<Point> = self.all.iter().map(Match::point).collect();
        let problem = match self.make(&points, sources) {
            Ok(kernel) => return self.replace(kernel),
            Err(problem) => problem,
        };
        match self.make_of_nothing(&points, sources) {
            Ok(kernel) => {
                self.replace(kernel)?;
                Err(format!("rules find no packet: {problem}"))
            }
            Err(other) => {
                Err(format!("rules ask what they have asked: {problem}; nor can they ask nothing: {other}"))
            }
        }
    }

    /// Programs that find no packet, whatever memory the state has left.
    fn make_of_nothing(&self, points: &[Point], sources: &mut Sources<'_>) -> Result<Kernel, String> {
        let limit = sources.control.limit_memory(0).map_err(|error| error.to_string())?;
        let made = self.make_of(points, sources, |functions, _| Ok(functions.miss()));
        sources.control.limit_memory(limit).map_err(|error| error.to_string())?;
        made
    }

    fn make(&self, points: &[Point], sources: &mut Sources<'_>) -> Result<Kernel, String> {
        self.make_of(points, sources, |functions, point| {
            Question::of(point).map_or_else(|| Ok(functions.miss()), |question| functions.handler(&question))
        })
    }

    /// A program for each of these, in the kernel; the state's tables and variables are that one's.
    fn make_of(
        &self,
        points: &[Point],
        Sources { living, control, functions }: &mut Sources<'_>,
        handler: impl Fn(&Functions, &Point) -> mlua::Result<Function>,
    ) -> Result<Kernel, String> {
        let failed = |error: mlua::Error| error.to_string();
        let lua = control.lua().clone();
        let handlers = points.iter().map(|point| Ok((point.clone(), handler(functions, point)?)));
        let handlers: Vec<_> = handlers.collect::<mlua::Result<_>>().map_err(failed)?;
        let loaded = control.take_back().map_err(|error| error.diagnostic().line())?;
        let mut freeze = |handlers| {
            let frozen = functions.for_packets(|| living.freeze(loaded, handlers)).map_err(failed)?;
            frozen.map_err(|error| error.diagnostic().line())
        };
        let mut snapshot = freeze(handlers.clone())?;
        // What is known of formats is known from the next snapshot on.
        if functions.plan(&lua, &snapshot).map_err(failed)? {
            snapshot = freeze(handlers)?;
        }
        let installed = Kernel::install(&snapshot, &self.settings, LogDetail::Nothing, |_| Vec::new());
        let (compiled, kernel) = installed.map_err(|error| error.diagnostic().line())?;
        let connection = Connection::open(&compiled.module, &snapshot.owners, &kernel.program);
        let bound = connection.and_then(|connection| control.bind(connection));
        bound.map_err(|error| error.diagnostic().line())?;
        Ok(kernel)
    }

    fn attach(&self, kernel: &Kernel, point: &Point) -> Result<Link, InstallError> {
        let target =
            Target { interface: None, mode: RequestedMode::Auto, netns: None, folder: Some(&self.folder) };
        let entry = kernel.programs().find(|(_, known)| *known == point);
        let name = entry.map(|(entry, _)| entry.name.as_str()).unwrap_or_default();
        kernel.program.attach_at(name, point, &target)
    }

    /// Gives packets to other programs, and listens to them.
    ///
    /// # Errors
    /// The first thing that did not succeed: that rule asks what it has asked, or what programs say is not heard.
    fn replace(&mut self, kernel: Kernel) -> Result<(), String> {
        let mut outcome = Ok(());
        for known in &mut self.all {
            let entry = kernel.programs().find(|(_, point)| *point == known.link.point());
            let Some((entry, _)) = entry else { continue };
            let updated = known.link.update(&kernel.program, &entry.name);
            outcome = outcome.and(updated.map(drop).map_err(|error| error.to_string()));
        }
        match Running::listened_to(kernel, &self.orders) {
            Ok(running) => {
                let now = Instant::now();
                self.retired.extend(self.running.replace(running).map(|before| (now, before)));
                // Each has descriptors, of which a process has so many.
                let too_many = self.retired.len().saturating_sub(MOST_RETIRED);
                self.retired.drain(..too_many);
            }
            Err(problem) => outcome = outcome.and(Err(problem)),
        }
        outcome
    }

    /// Lets go of programs that are surely over; gives when to do so again.
    pub fn bury(&mut self) -> Option<Instant> {
        self.retired.retain(|(since, _)| since.elapsed() < GRACE);
        self.retired.iter().map(|(since, _)| *since + GRACE).min()
    }

    /// Ends those that no rule has; says whether that are all.
    pub fn end_unruled(&mut self) -> bool {
        if self.all.is_empty() {
            return true;
        }
        let links = std::mem::take(&mut self.all).into_iter().map(|known| known.link).collect();
        // What cannot be found out may be a rule.
        let left = Link::detach_unruled(links).unwrap_or_else(|(links, _)| links);
        self.all.extend(left.into_iter().filter_map(Match::of));
        self.all.is_empty()
    }

    /// Ends all. Rules that are left find no packet.
    pub fn end(mut self) {
        self.end_unruled();
        self.all.drain(..).for_each(|known| known.link.leave_to_rules());
        // Only an empty folder goes.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

impl Match {
    /// All links are of questions' points.
    fn of(link: Link) -> Option<Match> {
        Some(Match { question: Question::of(link.point())?, link })
    }

    fn point(&self) -> Point {
        self.link.point().clone()
    }
}

impl Running {
    fn listened_to(kernel: Kernel, orders: &Orders) -> Result<Running, String> {
        let end = Arc::<AtomicBool>::default();
        let (decoder, orders) = (kernel.decoder.clone(), orders.clone());
        let receive = move |record: &[u8]| {
            if let Ok(message) = decoder.decode(record) {
                // Where the state does not keep up, messages are lost, as in the ring.
                let _ = orders.try_send(Order::Said(message));
            }
        };
        if let Some(mut events) = kernel.events(receive).map_err(|error| error.to_string())? {
            let flag = Arc::clone(&end);
            let listen = move || {
                while !flag.load(Ordering::Relaxed) && events.poll(NAP).is_ok() {}
                while events.consume_some().is_ok_and(|taken| taken != 0) {}
            };
            let thread = thread::Builder::new().name("events".to_string());
            thread.spawn(listen).map_err(|error| error.to_string())?;
        }
        Ok(Running { _kernel: kernel, end })
    }
}

fn path_of(link: &Link) -> Result<PathBuf, NfluaError> {
    match link.site() {
        Site::File(path) => Ok(path.clone()),
        _ => Err(NfluaError::refused(Errno::EINVAL, "the program has no file")),
    }
}
