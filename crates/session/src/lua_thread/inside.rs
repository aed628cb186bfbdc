//! What the thread that has a Lua state does: load time, and one job after another.

use super::frames::{Objects, hand_over};
use super::queued::Deciders;
use super::{CatchUp, Done, FlowOrder, Job, LuaId, Order, Prepared, Reports, Sources, Told};
use crate::announce::remark;
use crate::inbox::Inbox;
use crate::{Busy, SessionError};
use mlua::Function;
use moonhook_control::{Connection, Control, ControlError, Options, Report};
use moonhook_daemon::{Answer, Executed, Failure, FlowChanged};
use moonhook_diagnostic::Exit;
use moonhook_engine::timed;
use moonhook_load::{Loaded, QueuedPlace};
use moonhook_records::{Failure as HandlerFailure, Message, Text};
use moonhook_snapshot::Snapshot;
use serde_json::json;
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long events are seen to before something else is.
const SLICE: Duration = Duration::from_millis(20);

/// What all finalizers of a state may take that ends.
const LAST_WORDS: Duration = Duration::from_millis(700);

/// The thread's own side.
pub(super) struct Thread {
    pub id: LuaId,
    pub inbox: Arc<Inbox>,
    pub begun: Arc<AtomicU64>,
    pub reports: Reports,
}

impl Thread {
    pub fn run(self, sources: &Sources, orders: &Receiver<Order>, busy: Option<Busy>) {
        let mut load_time = 0;
        let Sources { scripts, options, budget, contents, netns } = sources;
        let loaded = timed(&mut load_time, || moonhook_load::load_with_contents(scripts, options, contents));
        drop(busy);
        let mut loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => return self.tell(Told::Loaded(Err(error))),
        };
        let snapshot = std::mem::take(&mut loaded.snapshot);
        let (fingerprint, files) = (fingerprint(&snapshot), loaded.files.clone());
        let queued = std::mem::take(&mut loaded.queued);
        let (places, moved) = (QueuedPlace::of(&queued), std::mem::take(&mut loaded.moved));
        let forwarding = std::mem::take(&mut loaded.forwarding);
        let is_over = loaded.is_over;
        let prepared =
            Prepared { snapshot, queued: places, moved, forwarding, is_over, fingerprint, files, load_time };
        let mut deciders = Deciders::new(queued);
        self.tell(Told::Loaded(Ok(Box::new(prepared))));
        // Whoever has loaded may find that nothing is to become of it.
        let Ok(Order::Connect { connection, answer }) = orders.recv() else { return };
        let mains = mains(&mut loaded);
        let lua = loaded.lua.clone();
        let Some(mut control) = self.control(loaded, (connection, netns.clone(), u64::from(*budget)), answer)
        else {
            return;
        };
        let objects = Objects::default();
        let mut carry_out = |order| self.carry_out(order, &mut control, &mut deciders, &objects);
        let mut goes_on = true;
        if let Some(modules) = &options.control {
            mains.iter().for_each(|(name, main)| modules.run_main(&lua, name, main));
            modules.serve(&lua, &mut || {
                // Each call is another function.
                self.begun.fetch_add(1, Ordering::Relaxed);
                while goes_on && let Ok(order) = orders.try_recv() {
                    goes_on = carry_out(order);
                }
                goes_on
            });
        }
        drop(mains);
        // Others may still have the way to this thread when it is to end: then nothing more may come.
        while goes_on && let Ok(order) = orders.recv() {
            goes_on = carry_out(order);
        }
        if let Some(modules) = &options.control {
            drop(control);
            modules.finish(&lua, LAST_WORDS);
        }
    }

    /// Says whether there may be more.
    fn carry_out(
        &self,
        order: Order,
        control: &mut Control,
        deciders: &mut Deciders,
        objects: &Objects,
    ) -> bool {
        match order {
            Order::Connect { .. } => {}
            Order::End => return false,
            Order::Work(job) => {
                let done = self.work(control, job, objects);
                self.tell(Told::Done(Box::new(done)));
            }
            // Who has asked may have given up waiting.
            Order::Decide { point, packet, answer } => {
                drop(answer.send(deciders.decide(control, &point, &packet)));
            }
        }
        true
    }

    fn control(
        &self,
        loaded: Loaded,
        (connection, netns, packet_steps): (Connection, Option<String>, u64),
        answer: Option<SyncSender<Result<(), SessionError>>>,
    ) -> Option<Control> {
        let begun = Arc::clone(&self.begun);
        let options = Options { begun, sweeps: false, netns, packet_steps, ..Options::default() };
        let control = Control::connect(loaded, connection, options);
        let (control, outcome) = match control {
            Ok(control) => (Some(control), Ok(())),
            Err(error) => (None, Err(error.into())),
        };
        match answer {
            // Nobody waits any more: then there is nothing to do either.
            Some(answer) => drop(answer.send(outcome)),
            None => self.tell(Told::Connected(outcome)),
        }
        control
    }

    fn work(&self, control: &mut Control, job: Job, objects: &Objects) -> Done {
        let mut messages = Vec::new();
        let (mut answer, mut is_before) = (None, false);
        match job {
            Job::Turn => {}
            Job::Events(events) => self.events(control, &events, objects),
            Job::Exec(code) => answer = Some(Ok(json!(exec(control, &code)))),
            Job::CatchUp(when) => {
                is_before = when == CatchUp::Before;
                control.catch_up(when == CatchUp::Last, &mut |report| messages.push(message(report)));
            }
            Job::RemakeFlows => control.remake_flows(&mut |report| messages.push(message(report))),
            Job::Flow(order) => answer = Some(set_flow(control, &order)),
        }
        // Another state may have taken its place meanwhile, whose timers and flows these are now.
        let ends = self.reports.lock().unwrap_or_else(PoisonError::into_inner).ends;
        let due =
            if ends || is_before { None } else { control.turn(&mut |report| messages.push(message(report))) };
        Done { messages, due, listened_to: control.listened_to(), answer }
    }

    fn events(&self, control: &mut Control, events: &[Message], objects: &Objects) {
        let begin = Instant::now();
        let heard = || self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            {
                let mut heard = heard();
                if heard.ends {
                    break;
                }
                heard.is_at_one = true;
            }
            let mut messages = Vec::new();
            let mut report = |report| messages.push(message(report));
            match event {
                Message::Event(notice) => control.event(&notice.name, &notice.values, &mut report),
                Message::Frame(frame) => hand_over(control, frame, objects, &mut report),
                Message::Print(_) | Message::Error(_) => {}
            }
            let mut heard = heard();
            heard.is_at_one = false;
            heard.reports.push(messages);
            // Others wait, too.
            if begin.elapsed() > SLICE {
                break;
            }
        }
    }

    fn tell(&self, told: Told) {
        self.inbox.tell(self.id, told);
    }
}

/// Functions that go on as long as the scripts, with their names.
fn mains(loaded: &mut Loaded) -> Vec<(String, Function)> {
    let scripts = loaded.scripts.iter_mut();
    let named = scripts.filter_map(|script| {
        let name = script.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Some((name, script.main.take()?))
    });
    named.collect()
}

/// What control code prints and its errors look like those of handlers.
fn message(report: Report) -> Message {
    match report {
        Report::Print(line) => Message::Print(Text::whole(line)),
        Report::Error(error) => {
            let message = Text::whole(error.message.into_bytes());
            Message::Error(HandlerFailure { message, traceback: error.traceback })
        }
    }
}

/// Carries out Lua code.
fn exec(control: &mut Control, code: &str) -> Executed {
    let answer = control.exec(code);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = answer.printed.iter().map(|line| text(line)).collect();
    let (results, error) = match answer.result {
        Ok(shown) => (shown.iter().map(|shown| text(&shown.text)).collect(), None),
        Err(error) => {
            let diagnostic = ControlError::Call(error).diagnostic();
            (Vec::new(), Some(Failure::new(diagnostic, Exit::Refused as u8)))
        }
    };
    Executed { printed, results, error }
}

/// Gives a flow another function.
fn set_flow(control: &mut Control, order: &FlowOrder) -> Answer {
    let FlowOrder { table, key, source, name } = order;
    let changed = control.set_flow(table.as_deref(), key, (source, name.as_deref()));
    let changed = changed.map_err(|error| Failure::new(error.diagnostic(), Exit::Refused as u8))?;
    let warnings = changed.warnings.iter().map(remark).collect();
    Ok(json!(FlowChanged { microseconds: changed.took, form: changed.form.to_string(), warnings }))
}

/// Hashes what is written.
#[derive(Default)]
struct Hashing(DefaultHasher);

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn fingerprint(snapshot: &Snapshot) -> u64 {
    let mut hashing = Hashing::default();
    // Writing into a hash does not fail.
    let _ = write!(hashing, "{snapshot:?}");
    hashing.0.finish()
}
