//! Who a session tells what happens: events for those who follow, lines for the log, maps for those who ask.

use crate::config::Config;
use crate::events::Events;
use crate::maps::{Presence, ScriptMap};
use crate::recorder::Recorder;
use moonhook_daemon::{Name, Reloaded};
use moonhook_install::Program;
use moonhook_records::{Counters, Message};
use moonhook_session::{
    Attached, Audience, ObjectMap, SessionError, message_json, refused_json, reloaded_json, replaced_json,
};
use serde_json::json;
use std::sync::Arc;

pub struct Listener {
    pub name: Name,
    pub config: Arc<Config>,
    pub recorder: Arc<Recorder>,
    pub presence: Presence,
    pub events: Events,
}

impl Listener {
    fn log(&self, text: &str) {
        self.config.log.line(&format!("{}: {text}", self.name));
    }
}

impl Audience for Listener {
    fn installed(&mut self, program: &Program, objects: &[ObjectMap]) -> Result<(), SessionError> {
        let maps = ScriptMap::all(&self.recorder, objects, program);
        match maps.and_then(|maps| self.presence.prepare(maps)) {
            // The program runs by now; what is shown is the one's before, whose maps go on.
            Err(error) if self.presence.is_shown() => {
                self.log(&error.to_string());
                Ok(())
            }
            done => Ok(done?),
        }
    }

    fn attached(&mut self, attached: &Attached<'_>) -> Result<(), SessionError> {
        self.presence.show();
        let points: Vec<String> =
            attached.attachments.links().iter().map(|link| link.point().to_string()).collect();
        let queued =
            attached.queued.iter().map(|place| format!("{} runs as NFQUEUE {}", place.point, place.why()));
        let interface = attached.attachments.interface();
        let to = interface.as_ref().map(|names| format!(" to {names}")).unwrap_or_default();
        let again = if attached.taken_over.is_some() { ", in the place of what was pinned" } else { "" };
        self.log(&format!("attached{to} at {}{again}", points.join(", ")));
        queued.for_each(|line| self.log(&line));
        attached.moved.iter().for_each(|place| self.log(&place.text()));
        attached.forwarding.iter().for_each(|place| self.log(&place.text()));
        attached.warnings.iter().for_each(|warning| self.log(&warning.line()));
        let event =
            || json!({ "type": "attached", "name": self.name, "interface": interface, "points": points });
        self.events.tell(&self.name, event);
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SessionError> {
        self.events.tell(&self.name, || message_json(message));
        Ok(())
    }

    fn counters(&mut self, _counters: &Counters, _last: bool) -> Result<(), SessionError> {
        Ok(())
    }

    fn reloaded(&mut self, reloaded: &Reloaded) -> Result<(), SessionError> {
        self.log(&format!("replaced in {:.1} ms", reloaded.timing.total as f64 / 1e3));
        self.events.tell(&self.name, || reloaded_json(reloaded));
        Ok(())
    }

    fn replaced(&mut self, table: &str, entries: u64) -> Result<(), SessionError> {
        self.events.tell(&self.name, || replaced_json(table, entries));
        Ok(())
    }

    fn refused(&mut self, error: &SessionError) -> Result<(), SessionError> {
        self.log(&error.diagnostic().line());
        self.events.tell(&self.name, || refused_json(error));
        Ok(())
    }

    fn left(&mut self, _name: &Name) -> Result<(), SessionError> {
        self.log("stays attached");
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    fn has_room(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}
