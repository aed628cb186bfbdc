//! The service `moonhook.v1.Moonhook`.

use crate::ServeError;
use crate::convert::{flow_operation, name, name_of_load, source, spec, summary, table_steps};
use crate::events::Event;
use crate::limits;
use crate::proto::v1;
use crate::proto::v1::moonhook_server::Moonhook;
use crate::running::client;
use crate::scripts::{Load, Replace, Scripts, parsed};
use moonhook_daemon::{Executed, Request as Asked, Status as ScriptStatus, TableInfo};
use std::pin::Pin;
use std::time::Instant;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError::Lagged;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

pub struct Service {
    pub scripts: Scripts,
    pub started: Instant,
}

type Answer<T> = Result<Response<T>, Status>;

impl Service {
    async fn status(&self, name: &moonhook_daemon::Name) -> Result<ScriptStatus, ServeError> {
        parsed(self.scripts.find(name)?.ask(client(), Asked::Status, limits::ASK).await?)
    }

    /// What several requests of one client come to; the answer is the last one's.
    async fn ask_all(&self, script: &str, requests: Vec<Asked>) -> Result<String, ServeError> {
        let running = self.scripts.find(&name(script)?)?;
        let (client, has_list) = (client(), requests.len() > 1);
        let mut answer = Ok(serde_json::Value::Null);
        for request in requests {
            let limit = if changes(&request) { limits::LOAD } else { limits::ASK };
            answer = running.ask(client, request, limit).await;
            if answer.is_err() {
                break;
            }
        }
        if has_list {
            running.leave(client);
        }
        answer.map(|answer| answer.to_string())
    }
}

/// Whether the answer comes when a program was compiled, or Lua code has run.
fn changes(request: &Asked) -> bool {
    use moonhook_daemon::{FlowOperation, TableOperation};
    matches!(
        request,
        Asked::Table { operation: TableOperation::Commit, .. }
            | Asked::Flow { operation: FlowOperation::Set { .. }, .. }
    )
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[tonic::async_trait]
impl Moonhook for Service {
    async fn load(&self, request: Request<v1::LoadRequest>) -> Answer<v1::LoadResponse> {
        let request = request.into_inner();
        let name = name_of_load(&request)?;
        let replace = if request.replace { Replace::Any } else { Replace::Never };
        let read = move || spec(&request).map(|spec| (spec, request.scripts));
        let (spec, scripts) = self.scripts.parse(read).await?;
        let sources = scripts.into_iter().map(source).collect();
        let replaced = self.scripts.load(Load { name: name.clone(), sources, spec, replace }).await?;
        let script = self.status(&name).await.ok().as_ref().map(summary);
        Ok(Response::new(v1::LoadResponse { name: name.to_string(), replaced, script }))
    }

    async fn reload(&self, request: Request<v1::ReloadRequest>) -> Answer<v1::ReloadResponse> {
        let v1::ReloadRequest { name: script, scripts } = request.into_inner();
        let sources = scripts.into_iter().map(source).collect();
        let reloaded = self.scripts.reload(&name(&script)?, sources).await?;
        let (total_us, update_us) = (reloaded.timing.total, reloaded.timing.update);
        Ok(Response::new(v1::ReloadResponse { total_us, update_us, json: json(&reloaded) }))
    }

    async fn stop(&self, request: Request<v1::StopRequest>) -> Answer<v1::StopResponse> {
        self.scripts.stop(&name(&request.into_inner().name)?).await?;
        Ok(Response::new(v1::StopResponse {}))
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Answer<v1::ListResponse> {
        let wanted = request.into_inner().name;
        let found = match wanted.as_str() {
            "" => self.scripts.list().await,
            wanted => vec![self.status(&name(wanted)?).await?],
        };
        Ok(Response::new(v1::ListResponse { scripts: found.iter().map(summary).collect() }))
    }

    async fn tables(&self, request: Request<v1::TablesRequest>) -> Answer<v1::TablesResponse> {
        let running = self.scripts.find(&name(&request.into_inner().name)?)?;
        let tables: Vec<TableInfo> = parsed(running.ask(client(), Asked::Tables, limits::ASK).await?)?;
        let table = |info: &TableInfo| v1::TableInfo {
            name: info.name.clone(),
            key: info.key.clone(),
            value: info.value.clone(),
            capacity: info.capacity,
            json: json(info),
        };
        Ok(Response::new(v1::TablesResponse { tables: tables.iter().map(table).collect() }))
    }

    async fn table(&self, request: Request<v1::TableRequest>) -> Answer<v1::TableResponse> {
        let v1::TableRequest { name, table, operation } = request.into_inner();
        let steps = table_steps(operation)?.into_iter();
        let requests = steps.map(|operation| Asked::Table { table: table.clone(), operation }).collect();
        let json = self.ask_all(&name, requests).await?;
        Ok(Response::new(v1::TableResponse { json }))
    }

    async fn exec(&self, request: Request<v1::ExecRequest>) -> Answer<v1::ExecResponse> {
        let v1::ExecRequest { name: script, code } = request.into_inner();
        let running = self.scripts.find(&name(&script)?)?;
        let answer = running.ask(client(), Asked::Exec { code }, limits::LOAD).await?;
        let json = answer.to_string();
        let Executed { printed, results, .. } = parsed(answer)?;
        Ok(Response::new(v1::ExecResponse { printed, results, json }))
    }

    async fn flows(&self, request: Request<v1::FlowsRequest>) -> Answer<v1::FlowsResponse> {
        let v1::FlowsRequest { name, table, operation } = request.into_inner();
        let request = match operation {
            None => Asked::FlowTables,
            Some(operation) => Asked::Flow {
                table: Some(table).filter(|table| !table.is_empty()),
                operation: flow_operation(operation),
            },
        };
        let json = self.ask_all(&name, vec![request]).await?;
        Ok(Response::new(v1::FlowsResponse { json }))
    }

    type EventsStream = Pin<Box<dyn Stream<Item = Result<v1::Event, Status>> + Send>>;

    async fn events(&self, request: Request<v1::EventsRequest>) -> Answer<Self::EventsStream> {
        let wanted = request.into_inner().name;
        if !wanted.is_empty() {
            self.scripts.find(&name(&wanted)?)?;
        }
        let watchers = std::sync::Arc::clone(&self.scripts.limits().watchers);
        let permit =
            watchers.try_acquire_owned().map_err(|_| ServeError::Crowded { what: "who follows events" })?;
        let events = BroadcastStream::new(self.scripts.events().follow());
        let events = events.map(|event| event.unwrap_or_else(|Lagged(count)| Some(Event::lost(count))));
        let events = events.take_while(Option::is_some).filter_map(move |event| {
            // Held as long as somebody reads.
            let _ = &permit;
            let Event { script, kind, json } = event?;
            let is_wanted = wanted.is_empty() || script.is_empty() || *script == *wanted;
            is_wanted.then(|| {
                Ok(v1::Event { script: script.to_string(), r#type: kind.to_string(), json: json.to_string() })
            })
        });
        Ok(Response::new(Box::pin(events)))
    }

    async fn health(&self, _request: Request<v1::HealthRequest>) -> Answer<v1::HealthResponse> {
        Ok(Response::new(v1::HealthResponse {
            version: env!("CARGO_PKG_VERSION").to_string(),
            scripts: u32::try_from(self.scripts.count()).unwrap_or(u32::MAX),
            uptime_seconds: self.started.elapsed().as_secs(),
        }))
    }
}
