//! A script that is attached: shows what happens, answers requests, replaces the program.

use crate::attachments::Attachments;
use crate::audience::Audience;
use crate::changes::{Change, Making, Wanted};
use crate::content::Content;
use crate::control_code::{ControlCode, RetiredControl};
use crate::dump::OpenDump;
use crate::frames::Frames;
use crate::inbox::{Inbox, Incoming};
use crate::installed::{Installed, Retired};
use crate::interfaces::Interfaces;
use crate::lists::List;
use crate::lua_thread::Told;
use crate::peers::Peers;
use crate::pins::{Pins, Record};
use crate::queues::Queues;
use crate::sockets::Sockets;
use crate::watcher::Watcher;
use crate::{Options, SessionError};
use moonhook_daemon::{ClientId, Name, Publisher, Server};
use moonhook_engine::Kernel;
use moonhook_engine::Settings;
use moonhook_hook::Point;
use moonhook_install::Link;
use moonhook_load::Decided;
use moonhook_records::Counters;
use moonhook_records::Message;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a stop, or the end of the interface, can go unnoticed.
const NAP: Duration = Duration::from_millis(100);

/// How long events are still shown of a program that goes on without this process.
const LAST_EVENTS: Duration = Duration::from_millis(500);

/// How long what a script does at its very end (`__gc`) is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A script that is attached.
pub struct Session {
    pub(crate) options: Options,
    pub(crate) settings: Settings,
    pub(crate) name: Name,
    pub(crate) scripts: Vec<PathBuf>,
    pub(crate) installed: Installed,
    /// The present generation's Lua state, and those of earlier ones that are still at work.
    pub(crate) control: ControlCode,
    pub(crate) retired_control: Vec<RetiredControl>,
    /// Messages that control code has given back, before those of the inbox.
    pub(crate) again: VecDeque<Message>,
    pub(crate) attachments: Attachments,
    pub(crate) interfaces: Interfaces,
    pub(crate) peers: Peers,
    /// What socket filters keep, and what handlers send to sockets.
    pub(crate) frames: Frames,
    pub(crate) sockets: Sockets,
    /// Packets for handlers that run in this process.
    pub(crate) queues: Queues,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) publisher: Publisher,
    /// Answers those who connect; it ends after what they wait for.
    pub(crate) server: Option<Server>,
    pub(crate) audience: Box<dyn Audience>,
    pub(crate) started: Instant,
    pub(crate) reloads: u64,
    pub(crate) retired: Vec<Retired>,
    /// Errors and losses of generations that are gone.
    pub(crate) earlier: Counters,
    pub(crate) watcher: Option<Watcher>,
    /// Where the script is pinned, if it is.
    pub(crate) pins: Option<Pins>,
    /// Dumps of tables that are to go on, and the number of the last one.
    pub(crate) dumps: Vec<OpenDump>,
    pub(crate) last_dump: u64,
    /// Lists that clients have begun.
    pub(crate) lists: BTreeMap<ClientId, List>,
    /// Changes of the program that are wanted, and the one that is on its way.
    pub(crate) changes: VecDeque<Change>,
    pub(crate) making: Option<Making>,
    pub(crate) stopping: bool,
}

impl Session {
    /// Shows messages and counters and answers requests until `stop` is set, a request, the end of the time or of the interface; then takes
    /// the program out of its hook, unless it is pinned, and shows what is left.
    ///
    /// # Errors
    /// The first that something failed of; the program is detached all the same.
    pub fn run(mut self, stop: &AtomicBool) -> Result<(), SessionError> {
        let watched = self.watch(stop);
        let watched = watched.and_then(|()| self.look_at_peers(&self.counters()?));
        if let Some(control) = &self.settings.load.control {
            control.stop();
        }
        // First no more events come in, then those that are there are shown.
        self.queues.end();
        let detached = self.detach();
        let finished = self.finish(watched.is_ok(), !matches!(detached, Ok(false)));
        // Its clients wait for what the session has just let go of.
        drop(self.server.take());
        let told = watched.and(finished).and(detached).and_then(|goes_on| match goes_on {
            true => self.audience.left(&self.name),
            false => Ok(()),
        });
        let written = self.audience.finish();
        told.and(written)
    }

    /// Shows messages and counters and answers requests until a signal, a request, the end of the time or of the interface.
    fn watch(&mut self, stop: &AtomicBool) -> Result<(), SessionError> {
        let (duration, interval) = (self.options.duration, self.options.interval);
        let start = Instant::now();
        let (mut next_counters, mut next_look) = (start + interval, start + NAP);
        while !stop.load(Ordering::Relaxed)
            && !self.stopping
            && duration.is_none_or(|duration| start.elapsed() < duration)
        {
            self.control.feed()?;
            let sweep = self.sweep()?;
            let due = self.control.due().into_iter().chain(sweep).min();
            let until = next_counters.min(next_look).min(due.unwrap_or(next_look));
            let takes_messages = self.control.takes_messages() && self.audience.has_room();
            let again = takes_messages && !self.again.is_empty();
            let timeout =
                if again { Duration::ZERO } else { until.saturating_duration_since(Instant::now()) };
            match self.inbox.next(timeout, takes_messages && !again) {
                Some(incoming) => self.see_to(incoming)?,
                None if again => {
                    if let Some(message) = self.again.pop_front() {
                        self.show(message)?;
                    }
                }
                None => self.audience.flush()?,
            }
            let now = Instant::now();
            if now >= next_counters {
                let counters = self.counters()?;
                self.look_at_peers(&counters)?;
                self.audience.counters(&counters, false)?;
                next_counters = now + interval;
            }
            if now >= next_look {
                for complaint in self.attachments.take_lost(self.options.netns.as_deref()) {
                    self.complain(complaint)?;
                }
                self.frames.follow(self.attachments.links(), &self.inbox)?;
                if self.attachments.are_gone() {
                    let kind = self.attachments.kind_of_place();
                    return Err(SessionError::Gone { kind, name: self.attachments.place() });
                }
                self.follow_queues()?;
                self.follow_interfaces()?;
                if self.peers.wait() {
                    self.look_at_peers(&self.counters()?)?;
                }
                self.look_after_making()?;
                self.look_after_control()?;
                self.bury()?;
                next_look = now + NAP;
            }
        }
        Ok(())
    }

    fn see_to(&mut self, incoming: Incoming) -> Result<(), SessionError> {
        match incoming {
            Incoming::Message(message) => {
                let message = message?;
                self.show(message)
            }
            Incoming::Request(request) => self.answer(request),
            Incoming::Other(options, reply) => self.want(Wanted::Other(options), Some(reply)),
            Incoming::Gone(client) => {
                self.lists.remove(&client);
                Ok(())
            }
            Incoming::Changed => self.files_changed(),
            Incoming::Room => Ok(()),
            Incoming::Made(made) => self.made(made),
            Incoming::Lua(id, told) => self.lua_told(id, told),
        }
    }

    /// Sees to what depends on the interfaces that there are, if they have changed.
    fn follow_interfaces(&mut self) -> Result<(), SessionError> {
        if !self.interfaces.have_changed() {
            return Ok(());
        }
        let (kernel, links) = (&self.installed.kernel, self.attachments.links());
        let told = self.interfaces.follow(kernel, self.options.netns.as_deref());
        match told.and_then(|()| self.peers.follow(&self.options, links, kernel)) {
            Ok(()) => Ok(()),
            Err(error) => self.complain(error.to_string()),
        }
    }

    /// Says so where packets are sent to nowhere.
    fn look_at_peers(&mut self, counters: &Counters) -> Result<(), SessionError> {
        let links = self.attachments.links();
        let complaints = self.peers.complaints(counters, links, &self.installed, &self.options);
        complaints.into_iter().try_for_each(|complaint| self.complain(complaint))
    }

    /// Packets are for the present Lua state, which may be another one by now. Ends where a queue has failed.
    fn follow_queues(&mut self) -> Result<(), SessionError> {
        if let Some(decider) = self.control.decider() {
            self.queues.ask(decider);
        }
        self.queues.failed().map_or(Ok(()), Err)
    }

    /// Removes entries whose time is over, some of them; gives when to go on.
    fn sweep(&mut self) -> Result<Option<Instant>, SessionError> {
        let (next, failed) = self.installed.sweeper.step();
        match failed {
            Some(error) => self.complain(error.to_string()).map(|()| next),
            None => Ok(next),
        }
    }

    /// What handlers in states of their own are asked about, and have decided.
    pub(crate) fn decided(&self) -> Decided {
        self.settings.load.control.as_ref().map(|control| control.decided()).unwrap_or_default()
    }

    /// What all generations have counted.
    pub(crate) fn counters(&self) -> Result<Counters, SessionError> {
        let mut counters = self.installed.counters()?;
        counters.add_whole(&self.earlier);
        for retired in &self.retired {
            retired.add_to(&mut counters)?;
        }
        counters.lost_events += self.frames.lost();
        self.queues.add_to(&mut counters, self.decided());
        Ok(counters)
    }

    /// Takes the program out of the hook, unless it is pinned and nobody has asked for its end. Says whether it is still there.
    fn detach(&self) -> Result<bool, SessionError> {
        let is_attached = self.attachments.are_attached();
        match &self.pins {
            Some(pins) if self.stopping || !is_attached => pins.remove().map(|_| false),
            Some(_) => Ok(true),
            None if is_attached => self.attachments.detach().map(|()| false),
            None => Ok(false),
        }
    }

    /// Lets go of replaced generations that have nothing more to say.
    fn bury(&mut self) -> Result<(), SessionError> {
        let mut index = 0;
        while index < self.retired.len() {
            if self.retired[index].is_done() {
                let mut retired = self.retired.swap_remove(index);
                retired.add_to(&mut self.earlier)?;
                if let Err(error) = retired.installed.join() {
                    self.complain(error.to_string())?;
                }
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    /// The program that runs, and those before it of which there may still be records.
    fn generations(&self) -> impl Iterator<Item = &Installed> {
        self.retired.iter().map(|retired| &retired.installed).chain([&self.installed])
    }

    /// Shows what is left in the rings, if `show`, and the last counters. Where the program `goes_on`, there may always be more in them.
    fn finish(&mut self, show: bool, goes_on: bool) -> Result<(), SessionError> {
        let deadline = Instant::now() + LAST_EVENTS;
        // Of a function that is at work no more is heard.
        let mut result = self.leave_batch();
        for message in std::mem::take(&mut self.again).into_iter().filter(|_| show) {
            result = result.and_then(|()| self.say(&message));
        }
        self.generations().for_each(Installed::end_events);
        self.frames.end();
        while !goes_on || Instant::now() < deadline {
            let ended = self.generations().all(Installed::events_have_ended) && self.frames.have_ended();
            match self.inbox.next(Duration::from_millis(if ended { 0 } else { 5 }), true) {
                Some(Incoming::Message(message)) if show && result.is_ok() => {
                    let shown = message.map_err(SessionError::from);
                    result = shown.and_then(|message| self.say(&message));
                }
                // Control code that has just ended; what is at work is not waited for.
                Some(Incoming::Lua(_, Told::Done(done))) if show && result.is_ok() => {
                    result = done.messages.iter().try_for_each(|message| self.say(message));
                }
                None if ended => break,
                _ => {}
            }
        }
        self.generations().for_each(Installed::cut_events);
        self.inbox.close();
        // Who waits for a change, or for control code, is told that nothing will come of it.
        self.changes.clear();
        self.making = None;
        self.control.end();
        self.retired_control.clear();
        for installed in
            self.retired.iter_mut().map(|retired| &mut retired.installed).chain([&mut self.installed])
        {
            result = result.and(installed.join());
        }
        result = result.and(self.frames.join());
        if self.settings.load.control.is_some() {
            self.control.close(LAST_WORDS);
        }
        let counters = self.counters()?;
        result.and(self.audience.counters(&counters, true))
    }
}

/// What is noted of a script that is pinned.
pub fn record(
    options: &Options,
    attachments: &Attachments,
    kernel: &Kernel,
    content: &Content,
    scripts: &[PathBuf],
) -> Record {
    let points: Vec<String> = kernel.points().map(Point::to_string).collect();
    // Others are about to be left.
    let is_own = |link: &Link| kernel.points().any(|point| point == link.point());
    Record {
        interface: attachments.interface_of(is_own),
        hook: points.join(", "),
        programs: kernel.entries.len(),
        netns: options.netns.clone(),
        mode: mode_of(attachments.links().iter().filter(|link| is_own(link))),
        scripts: scripts.to_vec(),
        folder: None,
        content: content.clone(),
        maps: BTreeMap::new(),
    }
}

/// The mode as `moonhook list` shows it.
pub fn mode(attachments: &Attachments) -> String {
    mode_of(attachments.links().iter())
}

fn mode_of<'a>(mut links: impl Iterator<Item = &'a Link>) -> String {
    links.find_map(Link::mode).map_or_else(String::new, |mode| mode.to_string())
}
