//! Answers to requests from the socket.

use super::session::Session;
use crate::CliError;
use crate::report::JsonError;
use moonhook_daemon::{Answer, Failure, Request, Service, Status};
use serde_json::Value;

impl Service for Session<'_> {
    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Status => json(self.status()),
            Request::Reload { scripts } => json(self.reload(scripts)),
            Request::Stop => {
                self.stopping = true;
                Ok(Value::Null)
            }
            Request::Exec { code } => json(Ok(self.exec(&code))),
            Request::Tables => json(Ok(self.tables())),
            Request::Table { table, operation } => json(self.table(&table, &operation)),
            // The server's own.
            Request::Events => Ok(Value::Null),
        }
    }
}

impl Session<'_> {
    fn status(&self) -> Result<Status, CliError> {
        let counters = self.counters()?;
        Ok(Status {
            name: self.name.clone(),
            pid: Some(std::process::id()),
            interface: self.link.interface().name.clone(),
            netns: self.arguments.netns.clone(),
            hook: "xdp".to_string(),
            mode: self.link.mode().to_string(),
            scripts: self.scripts.iter().map(|script| script.to_string_lossy().into_owned()).collect(),
            uptime_seconds: Some(self.started.elapsed().as_secs()),
            reloads: self.reloads,
            packets: counters.verdicts.iter().sum(),
            errors: Some(counters.errors),
            lost_events: counters.lost_events,
            pinned: self.pins.is_some(),
        })
    }
}

fn json<T: serde::Serialize>(result: Result<T, CliError>) -> Answer {
    let value = result.map_err(|error| failure(&error))?;
    serde_json::to_value(value).map_err(|error| failure(&CliError::Output(error.into())))
}

/// The error as a client gets it, with the exit code that it would have had here.
fn failure(error: &CliError) -> Box<Failure> {
    Box::new(Failure::new(JsonError::new(error).diagnostic, error.exit() as u8))
}
