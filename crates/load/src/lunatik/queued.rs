//! Handlers of netfilter whose packets are queued for a process.

use super::needs::{Found, Need, Wish, of_handler};
use crate::Script;
use crate::error::LoadError;
use crate::registry::Registration;
use mlua::Function;
use moonhook_diagnostic::Place;
use moonhook_hook::{Point, can_queue};
use moonhook_snapshot::Snapshot;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where handlers of netfilter run, if a person says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In the kernel, whatever they do: what they cannot do there is an error when they do it.
    Link,
    /// In this process.
    Queue,
    /// In the kernel, those of packets that have come in, or leave, at tc.
    Tcx,
}

/// A handler that runs in this process.
pub struct Queued {
    /// Where its packets are taken from.
    pub point: Point,
    /// As the script has registered it: it gets an `skb`.
    pub function: Function,
    /// What it needs that a program in the kernel has not; `None` where a person wants it so, or where another handler of the same place
    /// needs something.
    pub need: Option<Need>,
    /// Where it first uses the mark of the packet's connection, if it does.
    pub connection_mark: Option<Place>,
}

/// A place with handlers that run in this process.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedPlace {
    pub point: Point,
    /// What the first of them needs that needs something.
    pub need: Option<Need>,
    /// Where one of them first uses the marks of connections, if one does.
    pub connection_mark: Option<Place>,
}

impl QueuedPlace {
    /// Those of handlers, in order.
    pub fn of(queued: &[Queued]) -> Vec<QueuedPlace> {
        let mut places: Vec<QueuedPlace> = Vec::new();
        for Queued { point, need, connection_mark, .. } in queued {
            let (need, connection_mark) = (need.clone(), connection_mark.clone());
            match places.iter_mut().find(|place| place.point == *point) {
                Some(place) => {
                    place.need = place.need.take().or(need);
                    place.connection_mark = place.connection_mark.take().or(connection_mark);
                }
                None => places.push(QueuedPlace { point: point.clone(), need, connection_mark }),
            }
        }
        places
    }

    /// Why its handlers run in this process, in a few words.
    pub fn why(&self) -> String {
        match &self.need {
            None => "as asked for".to_string(),
            Some(Need { what, place: None, .. }) => format!("because a handler {what}"),
            Some(Need { what, place: Some(place), .. }) => {
                format!("because {}:{} {what}", place.file, place.line)
            }
        }
    }
}

/// A place of netfilter whose handlers run in the kernel and forward copies of packets, which a process sends.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardingPlace {
    pub point: Point,
    /// Where the first of them does.
    pub place: Option<Place>,
}

impl ForwardingPlace {
    /// Who sends them, in a few words.
    pub fn text(&self) -> String {
        let copies = match &self.place {
            Some(place) => format!("the copies that {}:{} forwards", place.file, place.line),
            None => "the copies that handlers forward".to_string(),
        };
        format!("{} runs in the kernel, and the process sends {copies}", self.point)
    }
}

/// Where the handlers of netfilter run.
#[derive(Clone)]
pub(crate) struct Plan {
    /// By their numbers, those that run in this process, and what they need.
    needs: BTreeMap<usize, Option<Need>>,
    /// By their numbers, where those that use the marks of connections first do.
    marks: BTreeMap<usize, Place>,
    pub forwarding: Vec<ForwardingPlace>,
}

impl Plan {
    /// Of handlers in a snapshot. `has_copies`: what runs in the kernel may copy packets, and forward the copies.
    ///
    /// # Errors
    /// `Verdict`.
    pub fn of(snapshot: &Snapshot, at: Option<At>, has_copies: bool) -> Result<Plan, LoadError> {
        let (mut needs, mut marks) = (BTreeMap::new(), BTreeMap::new());
        let mut forwarding: Vec<ForwardingPlace> = Vec::new();
        for (number, handler) in snapshot.handlers.iter().enumerate() {
            if !can_queue(handler.point.hook) {
                continue;
            }
            let uses_mark = |wish| wish == Wish::ConnectionMark;
            if let Found::Need(Need { place: Some(place), .. }) =
                of_handler(snapshot, handler.written, has_copies, uses_mark)
            {
                marks.insert(number, place);
            }
            match of_handler(snapshot, handler.written, has_copies, |_| true) {
                Found::Never { verdict, place } => {
                    return Err(LoadError::Verdict { verdict, place: place.map(Box::new) });
                }
                Found::Need(need) if at != Some(At::Link) => drop(needs.insert(number, Some(need))),
                _ if at == Some(At::Queue) => drop(needs.insert(number, None)),
                Found::Forwards(Need { place, .. }) => {
                    forwarding.push(ForwardingPlace { point: handler.point.clone(), place });
                }
                _ => {}
            }
        }
        let is_queued = |point: &Point| needs.keys().any(|number| snapshot.handlers[*number].point == *point);
        let mut known: Vec<Point> = Vec::new();
        forwarding.retain(|ForwardingPlace { point, .. }| {
            let is_new = !known.contains(point);
            known.push(point.clone());
            is_new && !is_queued(point)
        });
        Ok(Plan { needs, marks, forwarding })
    }

    /// The same for one that no kernel takes: what it forwards goes by queues.
    ///
    /// # Errors
    /// `Verdict`.
    pub fn refused(snapshot: &Snapshot, at: Option<At>, problem: &str) -> Result<Plan, LoadError> {
        let mut plan = Plan::of(snapshot, at, false)?;
        for need in plan.needs.values_mut().flatten().filter(|need| need.is_of_copies) {
            let _ = write!(need.what, ", and no program does it here: {problem}");
        }
        Ok(plan)
    }
}

/// Takes the handlers that run in this process out of those that were registered, of which the plan is. All of one place run in the same way.
pub(crate) fn take_queued(
    Plan { mut needs, mut marks, .. }: Plan,
    registered: &mut Vec<Registration>,
    scripts: &mut [Script],
) -> Vec<Queued> {
    let points: Vec<Point> = needs.keys().map(|number| registered[*number].point.clone()).collect();
    let mut queued = Vec::new();
    let mut left = Vec::new();
    // Where what is left of each begins.
    let mut begins = vec![0];
    for (number, registration) in registered.drain(..).enumerate() {
        if points.contains(&registration.point) {
            let Registration { point, function, written, .. } = registration;
            let need = needs.remove(&number).flatten();
            let (function, connection_mark) = (written.unwrap_or(function), marks.remove(&number));
            queued.push(Queued { point, function, need, connection_mark });
        } else {
            left.push(registration);
        }
        begins.push(left.len());
    }
    *registered = left;
    for script in scripts {
        script.handlers = begins[script.handlers.start]..begins[script.handlers.end];
    }
    queued
}
