//! What happens to scripts, to whoever follows it: nobody waits for a slow reader, who misses some.

use crate::limits::EVENTS;
use moonhook_daemon::Name;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::broadcast::{Receiver, Sender};

/// Something that has happened.
#[derive(Clone, Debug)]
pub struct Event {
    pub script: Arc<str>,
    /// What the JSON has as its `type`.
    pub kind: Arc<str>,
    pub json: Arc<str>,
}

/// The type of a script's last event.
pub const ENDED: &str = "ended";

/// Gives each event to all who follow. Clones are the same.
#[derive(Clone, Debug)]
pub struct Events(Sender<Followed>);

/// What a follower gets; `None`: there will be no more.
pub type Followed = Option<Event>;

impl Default for Events {
    fn default() -> Events {
        Events(Sender::new(EVENTS))
    }
}

impl Events {
    /// Hands over an event, an object with a `type`, which is made only if somebody follows. Never waits.
    pub fn tell(&self, script: &Name, event: impl FnOnce() -> Value) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let event = event();
        let kind = event["type"].as_str().unwrap_or_default().into();
        // Nobody may be left by now.
        let event = Event { script: script.as_str().into(), kind, json: event.to_string().into() };
        let _ = self.0.send(Some(event));
    }

    /// All who follow are told that the service ends: they need not be cut off.
    pub fn end(&self) {
        let _ = self.0.send(None);
    }

    pub fn follow(&self) -> Receiver<Followed> {
        self.0.subscribe()
    }
}

impl Event {
    /// So many were missed.
    pub fn lost(count: u64) -> Event {
        let json = json!({ "type": "lost", "count": count }).to_string();
        Event { script: "".into(), kind: "lost".into(), json: json.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::broadcast::error::TryRecvError;

    #[test]
    fn a_slow_reader_misses_events_and_nobody_waits() {
        let (events, name) = (Events::default(), "x".parse().unwrap());
        events.tell(&name, || unreachable!("nobody follows"));
        let mut reader = events.follow();
        for number in 0..2 * EVENTS {
            events.tell(&name, || json!({ "type": "print", "text": number.to_string() }));
        }
        let Err(TryRecvError::Lagged(lost)) = reader.try_recv() else { panic!("nothing was missed") };
        assert_eq!(lost, EVENTS as u64);
        let event = reader.try_recv().unwrap().unwrap();
        assert_eq!((&*event.script, &*event.kind), ("x", "print"));
        assert_eq!(&*Event::lost(lost).json, format!("{{\"count\":{EVENTS},\"type\":\"lost\"}}"));
        let mut reader = events.follow();
        events.end();
        assert!(reader.try_recv().unwrap().is_none());
    }
}
