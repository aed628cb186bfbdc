//! Answers to requests from the socket.

use crate::SessionError;
use crate::changes::Wanted;
use crate::lua_thread::{FlowOrder, Job};
use crate::report::JsonError;
use crate::session::{Session, mode};
use moonhook_daemon::{
    Answer, ClientId, Failure, FlowOperation, Listed, Neighbours, Pending, Request, Status, TableOperation,
};
use moonhook_install::{Link, Neighbour};
use serde_json::Value;

impl Session {
    /// Answers, at once or when the program was changed.
    pub(crate) fn answer(&mut self, pending: Pending) -> Result<(), SessionError> {
        let Pending { client, request, reply } = pending;
        let wanted = match request {
            Request::Reload { scripts, allow_read } => Ok(Wanted::Reload { scripts, allow_read }),
            Request::Exec { code } => {
                self.control.order(Job::Exec(code), reply);
                return Ok(());
            }
            Request::Flow { table, operation: FlowOperation::Set { key, source, name } } => {
                self.control.order(Job::Flow(FlowOrder { table, key, source, name }), reply);
                return Ok(());
            }
            Request::Table { table, operation: TableOperation::Commit } => self.finish_list(client, &table),
            request => {
                reply.send(self.answer_now(client, request));
                return Ok(());
            }
        };
        match wanted {
            Ok(wanted) => self.want(wanted, Some(reply)),
            Err(error) => {
                reply.send(Err(failure(&error)));
                Ok(())
            }
        }
    }

    fn answer_now(&mut self, client: ClientId, request: Request) -> Answer {
        match request {
            Request::Status => json(self.status()),
            Request::Stop => {
                self.stopping = true;
                Ok(Value::Null)
            }
            Request::Tables => json(Ok(self.tables())),
            Request::Table { table, operation } => json(self.table(client, &table, &operation)),
            Request::FlowTables => json(Ok(self.flow_tables())),
            Request::Flow { table, operation } => json(self.flow(table.as_deref(), &operation)),
            // The server's own, and what has an answer later.
            Request::Events | Request::Reload { .. } | Request::Exec { .. } => Ok(Value::Null),
        }
    }

    fn status(&self) -> Result<Status, SessionError> {
        let counters = self.counters()?;
        Ok(Status {
            name: self.name.clone(),
            pid: Some(std::process::id()),
            interface: self.attachments.interface(),
            netns: self.options.netns.clone(),
            hook: self.hooks(),
            mode: mode(&self.attachments),
            scripts: self.scripts.iter().map(|script| script.to_string_lossy().into_owned()).collect(),
            uptime_seconds: Some(self.started.elapsed().as_secs()),
            reloads: self.reloads,
            packets: counters.verdicts.iter().map(|verdict| verdict.count).sum(),
            errors: Some(counters.errors),
            lost_events: counters.lost_events,
            pinned: self.pins.is_some(),
            incomplete: false,
            neighbours: self.attachments.links().iter().filter_map(neighbours).collect(),
        })
    }
}

impl Session {
    /// The names of the hooks, as a person reads them.
    fn hooks(&self) -> String {
        let in_kernel = self.attachments.hooks();
        let in_states = self.decided().places;
        let queued = self.queues.points().chain(&in_states).map(|point| format!("{point} (NFQUEUE)"));
        let all = Some(in_kernel).filter(|hooks| !hooks.is_empty()).into_iter().chain(queued);
        all.collect::<Vec<_>>().join(", ")
    }
}

/// Who is asked besides the link's program.
fn neighbours(link: &Link) -> Option<Neighbours> {
    let listed = |found: Neighbour| Listed { id: found.id, name: found.name, own: found.is_own };
    let programs: Vec<Listed> = link.neighbours().into_iter().map(listed).collect();
    let others = programs.iter().any(|program| !program.own);
    others.then(|| Neighbours { point: link.point().to_string(), programs })
}

fn json<T: serde::Serialize>(result: Result<T, SessionError>) -> Answer {
    let value = result.map_err(|error| failure(&error))?;
    serde_json::to_value(value).map_err(|error| failure(&SessionError::Output(error.into())))
}

/// The error as a client gets it, with the exit code that it would have had here.
pub fn failure(error: &SessionError) -> Box<Failure> {
    Box::new(Failure {
        entry: error.entry(),
        ..Failure::new(JsonError::new(error).diagnostic, error.exit() as u8)
    })
}
