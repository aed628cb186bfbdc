//! The other end: a command that asks a service about its scripts, as it would ask a script on the same machine.

use crate::ServeError;
use crate::events::ENDED;
use crate::limits::{LOAD, MAX_ANSWER, MAX_CALL, PONG};
use crate::proto::v1;
use crate::proto::v1::flows_request::Operation as Flows;
use crate::proto::v1::moonhook_client::MoonhookClient;
use crate::proto::v1::table_request::Operation as Tables;
use crate::scripts::parsed;
use crate::status::failure;
use crate::token::BEARER;
use moonhook_daemon::{FlowOperation, Name, Request, Status, TableOperation};
use prost::Message;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;
use tonic::Streaming;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

/// A connection to a service.
pub struct Client {
    url: String,
    runtime: Runtime,
    client: MoonhookClient<Channel>,
    token: Option<MetadataValue<Ascii>>,
    /// A list that was begun, which is sent as a whole.
    list: Vec<v1::Pair>,
}

impl Client {
    /// Connects to `http://ADDRESS:PORT` or `https://…`; with `ca`, to one whose certificate that one has signed.
    ///
    /// # Errors
    /// `Unreachable`, `Tls`.
    pub fn connect(url: &str, token: Option<&str>, ca: Option<&Path>) -> Result<Client, ServeError> {
        let unreachable = |problem: String| ServeError::Unreachable { url: url.to_string(), problem };
        let failed = |error: tonic::transport::Error| unreachable(why(&error));
        let endpoint = Endpoint::from_shared(url.to_string()).map_err(failed)?;
        let mut endpoint = endpoint.connect_timeout(PONG).timeout(LOAD);
        if url.starts_with("https:") {
            let mut tls = ClientTlsConfig::new();
            if let Some(path) = ca {
                let pem = std::fs::read(path).map_err(|error| ServeError::Tls {
                    path: path.to_path_buf(),
                    problem: error.to_string(),
                })?;
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(failed)?;
        }
        let token = token.map(|token| format!("{BEARER}{token}").parse()).transpose();
        let token = token.map_err(|_| unreachable("the token cannot be sent".to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
        let channel = runtime.block_on(endpoint.connect()).map_err(failed)?;
        let client = MoonhookClient::new(channel).max_decoding_message_size(MAX_ANSWER);
        Ok(Client { url: url.to_string(), runtime, client, token, list: Vec::new() })
    }

    /// The scripts that the service runs.
    ///
    /// # Errors
    /// `Unreachable`; what the service answers.
    pub fn list(&mut self) -> Result<Vec<Status>, ServeError> {
        let request = self.request(v1::ListRequest::default());
        let answer = self.runtime.block_on(self.client.list(request));
        let scripts = self.answered(answer)?.scripts;
        scripts.iter().map(|script| self.read(&script.json)).collect()
    }

    /// Asks about a script.
    ///
    /// # Errors
    /// `Unreachable`, `Call` for what services are not asked; what the service answers.
    pub fn ask<T: DeserializeOwned>(&mut self, name: &Name, request: &Request) -> Result<T, ServeError> {
        let name = name.to_string();
        let answer = match request {
            Request::Status => {
                let request = self.request(v1::ListRequest { name });
                let answer = self.runtime.block_on(self.client.list(request));
                let first = self.answered(answer)?.scripts.into_iter().next();
                first.map(|script| script.json).unwrap_or_default()
            }
            Request::Reload { scripts, allow_read } if allow_read.is_empty() => {
                let scripts = scripts.iter().flatten().map(source).collect::<Result<_, _>>()?;
                let request = self.request(v1::ReloadRequest { name, scripts });
                let answer = self.runtime.block_on(self.client.reload(request));
                self.answered(answer)?.json
            }
            Request::Stop => {
                let request = self.request(v1::StopRequest { name });
                let answer = self.runtime.block_on(self.client.stop(request));
                self.answered(answer).map(|_| "null".to_string())?
            }
            Request::Tables => {
                let request = self.request(v1::TablesRequest { name });
                let answer = self.runtime.block_on(self.client.tables(request));
                let tables = self.answered(answer)?.tables;
                let tables: Vec<String> = tables.into_iter().map(|table| table.json).collect();
                format!("[{}]", tables.join(","))
            }
            Request::Table { table, operation } => self.table(name, table.clone(), operation)?,
            Request::FlowTables => self.flows(name, None, None)?,
            Request::Flow { table, operation } => self.flows(name, table.clone(), Some(flow(operation)))?,
            Request::Exec { code } => {
                let request = self.request(v1::ExecRequest { name, code: code.clone() });
                let answer = self.runtime.block_on(self.client.exec(request));
                self.answered(answer)?.json
            }
            Request::Reload { .. } | Request::Events => {
                let problem = "services are not asked this".to_string();
                return Err(ServeError::Call { problem });
            }
        };
        self.read(&answer)
    }

    /// Follows what happens to a script from now on; what this gives is to be asked for it.
    ///
    /// # Errors
    /// `Unreachable`; what the service answers.
    pub fn follow(mut self, name: &Name) -> Result<Following, ServeError> {
        let request = self.request(v1::EventsRequest { name: name.to_string() });
        let answer = self.runtime.block_on(self.client.events(request));
        let events = self.answered(answer)?;
        Ok(Following { client: self, events, has_ended: false })
    }

    fn table(
        &mut self,
        name: String,
        table: String,
        operation: &TableOperation,
    ) -> Result<String, ServeError> {
        let operation = match operation {
            TableOperation::Begin => {
                self.list.clear();
                return Ok("null".to_string());
            }
            TableOperation::Add { entries, keys } => {
                let before = self.list.len();
                self.list.extend(pairs(entries, keys));
                return Ok((self.list.len() - before).to_string());
            }
            TableOperation::Commit => Tables::Replace(v1::Pairs { pairs: std::mem::take(&mut self.list) }),
            TableOperation::Get { key } => Tables::Get(key.to_string()),
            TableOperation::Set { key, value } => {
                Tables::Set(v1::Pair { key: key.to_string(), value: value.to_string() })
            }
            TableOperation::Delete { key } => Tables::Delete(key.to_string()),
            TableOperation::Dump { dump } => Tables::Dump(dump.unwrap_or(0)),
            TableOperation::Load { entries, keys } => Tables::Load(v1::Pairs { pairs: pairs(entries, keys) }),
            TableOperation::Count => Tables::Count(true),
            TableOperation::Clear => Tables::Clear(true),
        };
        let request = v1::TableRequest { name, table, operation: Some(operation) };
        // The service would cut it off without a word of what is wrong.
        if request.encoded_len() > MAX_CALL {
            let (has, most) = (request.encoded_len(), MAX_CALL);
            let problem = format!(
                "the list has {has} bytes, and a call takes {most}: load it with `--add`, which sends parts"
            );
            return Err(ServeError::Call { problem });
        }
        let request = self.request(request);
        let answer = self.runtime.block_on(self.client.table(request));
        self.answered(answer).map(|answer| answer.json)
    }

    fn flows(
        &mut self,
        name: String,
        table: Option<String>,
        operation: Option<Flows>,
    ) -> Result<String, ServeError> {
        let request = self.request(v1::FlowsRequest { name, table: table.unwrap_or_default(), operation });
        let answer = self.runtime.block_on(self.client.flows(request));
        self.answered(answer).map(|answer| answer.json)
    }

    fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    fn unreachable(&self, problem: impl ToString) -> ServeError {
        ServeError::Unreachable { url: self.url.clone(), problem: problem.to_string() }
    }

    fn answered<T>(&self, answer: Result<tonic::Response<T>, tonic::Status>) -> Result<T, ServeError> {
        answer.map(tonic::Response::into_inner).map_err(|status| match failure(&status) {
            Some(failure) => failure.into(),
            None => self.unreachable(status.message()),
        })
    }

    fn read<T: DeserializeOwned>(&self, answer: &str) -> Result<T, ServeError> {
        let value: Value = serde_json::from_str(answer).map_err(|error| self.unreachable(error))?;
        parsed(value)
    }
}

/// What happens to a script of a service.
pub struct Following {
    client: Client,
    events: Streaming<v1::Event>,
    has_ended: bool,
}

impl Following {
    /// Waits for the next event; `None` when the script, or the service, has ended.
    ///
    /// # Errors
    /// `Unreachable`; what the service answers.
    pub fn event(&mut self) -> Result<Option<Value>, ServeError> {
        if self.has_ended {
            return Ok(None);
        }
        let told = self.client.runtime.block_on(self.events.message());
        let Some(event) = self.client.answered(told.map(tonic::Response::new))? else { return Ok(None) };
        self.has_ended = event.r#type == ENDED;
        self.client.read(&event.json).map(Some)
    }
}

/// The innermost reason: the others say that there is one.
fn why(error: &dyn std::error::Error) -> String {
    let mut reason = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}

/// The file as the service gets it.
fn source(path: &PathBuf) -> Result<v1::Source, ServeError> {
    let text = std::fs::read_to_string(path).map_err(ServeError::folder(path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(v1::Source { name, text })
}

fn pairs(entries: &[(Value, Value)], keys: &[Value]) -> Vec<v1::Pair> {
    let pair = |key: &Value, value: &Value| v1::Pair { key: key.to_string(), value: value.to_string() };
    let known = json!(true);
    let entries = entries.iter().map(|(key, value)| pair(key, value));
    entries.chain(keys.iter().map(|key| pair(key, &known))).collect()
}

fn flow(operation: &FlowOperation) -> Flows {
    match operation.clone() {
        FlowOperation::List { from } => Flows::List(from as u64),
        FlowOperation::Get { key } => Flows::Get(key),
        FlowOperation::Delete { key } => Flows::Delete(key),
        FlowOperation::Set { key, source, name } => {
            Flows::Set(v1::FlowFunction { key, source, name: name.unwrap_or_default() })
        }
    }
}
