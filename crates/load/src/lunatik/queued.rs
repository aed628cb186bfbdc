//! Handlers of netfilter whose packets are queued for a process.

use super::needs::{Found, Need, of_handler};
use crate::Script;
use crate::error::LoadError;
use crate::registry::Registration;
use mlua::Function;
use moonhook_hook::{Point, can_queue};
use moonhook_snapshot::Snapshot;
use std::collections::BTreeMap;

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
}

/// A place with handlers that run in this process.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedPlace {
    pub point: Point,
    /// What the first of them needs that needs something.
    pub need: Option<Need>,
}

impl QueuedPlace {
    /// Those of handlers, in order.
    pub fn of(queued: &[Queued]) -> Vec<QueuedPlace> {
        let mut places: Vec<QueuedPlace> = Vec::new();
        for Queued { point, need, .. } in queued {
            match places.iter_mut().find(|place| place.point == *point) {
                Some(place) => place.need = place.need.take().or_else(|| need.clone()),
                None => places.push(QueuedPlace { point: point.clone(), need: need.clone() }),
            }
        }
        places
    }

    /// Why its handlers run in this process, in a few words.
    pub fn why(&self) -> String {
        match &self.need {
            None => "as asked for".to_string(),
            Some(Need { what, place: None }) => format!("because a handler {what}"),
            Some(Need { what, place: Some(place) }) => {
                format!("because {}:{} {what}", place.file, place.line)
            }
        }
    }
}

/// Takes the handlers that run in this process out of those that were registered, of which that is the snapshot. All of one place run in the same way.
///
/// # Errors
/// `Verdict`.
pub(crate) fn take_queued(
    snapshot: &Snapshot,
    at: Option<At>,
    registered: &mut Vec<Registration>,
    scripts: &mut [Script],
) -> Result<Vec<Queued>, LoadError> {
    let mut needs: BTreeMap<usize, Option<Need>> = BTreeMap::new();
    for (number, handler) in snapshot.handlers.iter().enumerate() {
        if !can_queue(handler.point.hook) {
            continue;
        }
        match of_handler(snapshot, handler.written, |_| true) {
            Found::Never { verdict, place } => {
                return Err(LoadError::Verdict { verdict, place: place.map(Box::new) });
            }
            Found::Need(need) if at != Some(At::Link) => drop(needs.insert(number, Some(need))),
            _ if at == Some(At::Queue) => drop(needs.insert(number, None)),
            _ => {}
        }
    }
    let points: Vec<Point> = needs.keys().map(|number| registered[*number].point.clone()).collect();
    let mut queued = Vec::new();
    let mut left = Vec::new();
    // Where what is left of each begins.
    let mut begins = vec![0];
    for (number, registration) in registered.drain(..).enumerate() {
        if points.contains(&registration.point) {
            let Registration { point, function, written, .. } = registration;
            let need = needs.remove(&number).flatten();
            queued.push(Queued { point, function: written.unwrap_or(function), need });
        } else {
            left.push(registration);
        }
        begins.push(left.len());
    }
    *registered = left;
    for script in scripts {
        script.handlers = begins[script.handlers.start]..begins[script.handlers.end];
    }
    Ok(queued)
}
