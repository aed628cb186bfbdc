//! What goes over a socket: one JSON object a line, requests one way, answers and events the other.

use crate::DaemonError;
use moonhook_diagnostic::{Diagnostic, Place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;

/// The version of the protocol. A server refuses requests of another one.
pub const VERSION: u32 = 1;

/// Bytes of a request at most, the line end not counted.
pub const MAX_REQUEST: usize = 1 << 20;

/// What a running script can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Answer: [`Status`].
    Status,
    /// Compile again and replace the program. Answer: [`Reloaded`].
    Reload {
        /// Absolute paths of other scripts than the present ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scripts: Option<Vec<PathBuf>>,
        /// Absolute paths of more folders in which scripts may read files, from now on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        allow_read: Vec<PathBuf>,
    },
    /// Run Lua code in the script's state. Answer: [`Executed`].
    Exec { code: String },
    /// The shared tables. Answer: an array of [`TableInfo`].
    Tables,
    Table {
        table: String,
        #[serde(flatten)]
        operation: TableOperation,
    },
    /// The flow tables. Answer: an array of [`FlowTableInfo`](crate::FlowTableInfo).
    FlowTables,
    Flow {
        /// The table's name, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        table: Option<String>,
        #[serde(flatten)]
        operation: FlowOperation,
    },
    /// From here on the connection brings events and takes no more requests. Answer: null.
    Events,
    /// Detach and end. Answer: null.
    Stop,
}

/// What can be done with a shared table. Keys and values are JSON: numbers, booleans, strings, objects for records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum TableOperation {
    /// Answer: the value, or null.
    Get { key: Value },
    /// Answer: null.
    Set { key: Value, value: Value },
    /// Answer: whether there was an entry.
    Delete { key: Value },
    /// Some of the entries, in the table's own order. Answer: [`Dumped`].
    Dump {
        /// Which dump is to go on, as the answer before has it; a new one begins without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dump: Option<u64>,
    },
    /// Sets many. Answer: how many.
    Load {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<(Value, Value)>,
        /// Keys whose value is true.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<Value>,
    },
    /// Begins a list that is to take the place of the table's content. A connection has one list at most; it is forgotten
    /// when the connection ends, or anything about it fails. Answer: null.
    Begin,
    /// Adds to the list that was begun. Answer: how many.
    Add {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<(Value, Value)>,
        /// Keys whose value is true.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<Value>,
    },
    /// Puts the list that was begun in the place of the table's content, at once. Answer: [`Replaced`].
    Commit,
    /// Answer: how many entries there are.
    Count,
    /// Removes all entries. Answer: how many.
    Clear,
}

/// What can be done with a flow table. Keys are texts: `src=10.0.0.1,dport=53`, or the values alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum FlowOperation {
    /// Some of the flows. Answer: [`FlowPage`](crate::FlowPage).
    List {
        /// Where to go on, as the answer before has it.
        #[serde(default)]
        from: usize,
    },
    /// Gives a flow the function that a text is. Answer: [`FlowChanged`](crate::FlowChanged).
    Set {
        key: String,
        source: String,
        /// What messages call the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Answer: a [`FlowInfo`](crate::FlowInfo), or null.
    Get { key: String },
    /// Answer: whether there was such a flow.
    Delete { key: String },
}

/// A request as a line has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub version: u32,
    #[serde(flatten)]
    pub request: Request,
}

/// Just enough of a request to judge its version before its content, and that names are names: where they choose among variants,
/// numbers would do too.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
    request: Option<Value>,
    operation: Option<Value>,
}

/// Reads a line.
pub(crate) fn parse(line: &[u8]) -> Result<Request, DaemonError> {
    let problem = |error: serde_json::Error| DaemonError::Request { problem: error.to_string() };
    let Versioned { version, request, operation } = serde_json::from_slice(line).map_err(problem)?;
    if version != VERSION {
        let problem = format!("it is of version {version}, this is version {VERSION}");
        return Err(DaemonError::Request { problem });
    }
    for (field, name) in [("request", request), ("operation", operation)] {
        if let Some(name) = name.filter(|name| !name.is_string()) {
            return Err(DaemonError::Request { problem: format!("`{field}` is {name}, not a string") });
        }
    }
    let request = serde_json::from_slice::<Envelope>(line).map_err(problem)?.request;
    match senseless(&request) {
        Some(problem) => Err(DaemonError::Request { problem }),
        None => Ok(request),
    }
}

/// What keeps a request from meaning anything, though each of its parts is of the right type.
fn senseless(request: &Request) -> Option<String> {
    match request {
        // Without scripts there would be no program either.
        Request::Reload { scripts: Some(scripts), .. } if scripts.is_empty() => {
            Some("`scripts` is empty; leave it out to reload the present ones".to_string())
        }
        // The client's folder is not the server's.
        Request::Reload { scripts, allow_read } => scripts
            .iter()
            .flatten()
            .chain(allow_read)
            .find(|path| !path.is_absolute())
            .map(|path| format!("'{}' is not an absolute path", path.display())),
        Request::Table { table, .. } if table.is_empty() => Some("`table` is empty".to_string()),
        _ => None,
    }
}

/// What a request comes to.
pub type Answer = Result<Value, Box<Failure>>;

/// An answer as a line has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct AnswerLine {
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Failure>>,
    #[serde(default)]
    pub answer: Value,
}

impl From<Answer> for AnswerLine {
    fn from(answer: Answer) -> AnswerLine {
        match answer {
            Ok(answer) => AnswerLine { version: VERSION, error: None, answer },
            Err(error) => AnswerLine { version: VERSION, error: Some(error), answer: Value::Null },
        }
    }
}

/// A diagnostic on its way to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub place: Option<Place>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub help: Option<String>,
    /// What a command that gets this ends with.
    pub exit: u8,
    /// Which entry of the request it is about, from 0; keys come after other entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
}

impl Failure {
    pub fn new(diagnostic: Diagnostic, exit: u8) -> Failure {
        let Diagnostic { code, message, place, reason, help } = diagnostic;
        Failure { code: code.to_string(), message, place, reason, help, exit, entry: None }
    }
}

/// A failure of the host's side, exit code 3.
impl From<DaemonError> for Box<Failure> {
    fn from(error: DaemonError) -> Box<Failure> {
        Box::new(Failure::new(error.diagnostic(), 3))
    }
}

/// One connection: no other one of the same server has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

/// What a server hands over to whoever answers requests.
#[derive(Debug)]
pub enum Delivery {
    Request(Pending),
    /// The connection has ended. There are no more requests of it.
    Gone(ClientId),
}

/// A request that waits for its answer: any but [`Request::Events`], which the server sees to.
#[derive(Debug)]
pub struct Pending {
    pub client: ClientId,
    pub request: Request,
    pub reply: Reply,
}

/// Who waits for an answer. Where it is dropped, there will be none.
pub trait Asker: Send {
    /// Must not wait.
    fn answer(self: Box<Self>, answer: Answer);

    /// Whether somebody still does: else what is asked need not be seen to.
    fn waits(&self) -> bool;
}

/// Takes the answer to a request, on whatever thread. Dropped without one, the client is told so.
pub struct Reply(Box<dyn Asker>);

impl<F: FnOnce(Answer) + Send> Asker for F {
    fn answer(self: Box<Self>, answer: Answer) {
        self(answer);
    }

    fn waits(&self) -> bool {
        true
    }
}

impl Reply {
    /// Gives the answer to `take`, which must not wait. Where `take` is dropped, there will be none.
    pub fn new(take: impl FnOnce(Answer) + Send + 'static) -> Reply {
        Reply::to(take)
    }

    /// Gives the answer to who may have gone by then.
    pub fn to(asker: impl Asker + 'static) -> Reply {
        Reply(Box::new(asker))
    }

    pub fn send(self, answer: Answer) {
        self.0.answer(answer);
    }

    /// Whether somebody waits for the answer.
    pub fn is_awaited(&self) -> bool {
        self.0.waits()
    }
}

impl Debug for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_are_lines_of_json() {
        let get = TableOperation::Get { key: json!("192.0.2.1") };
        for (request, line) in [
            (Request::Status, json!({"version": 1, "request": "status"})),
            (
                Request::Reload { scripts: None, allow_read: Vec::new() },
                json!({"version": 1, "request": "reload"}),
            ),
            (
                Request::Table { table: "t".into(), operation: get },
                json!({"version": 1, "request": "table", "table": "t", "operation": "get", "key": "192.0.2.1"}),
            ),
        ] {
            let written =
                serde_json::to_value(Envelope { version: VERSION, request: request.clone() }).unwrap();
            assert_eq!(written, line);
            assert_eq!(parse(line.to_string().as_bytes()).unwrap(), request);
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for (line, part) in [
            (&b""[..], "EOF"),
            (b"[]", "invalid length"),
            (b"{\"request\":\"status\"}", "version"),
            (b"{\"version\":2,\"request\":\"status\"}", "version 2"),
            (b"{\"version\":2,\"request\":\"new\"}", "version 2"),
            (b"{\"version\":1,\"request\":\"format\"}", "unknown variant"),
            (b"{\"version\":1}", "request"),
            (b"{\"version\":1,\"request\":0}", "`request` is 0"),
            (b"{\"version\":1,\"request\":\"table\",\"table\":\"t\",\"operation\":5}", "`operation` is 5"),
            (b"{\"version\":2,\"request\":0}", "version 2"),
            (b"\xff\xff", "expected value"),
            (b"{\"version\":1,\"request\":\"table\",\"table\":\"t\"}", "operation"),
            (
                b"{\"version\":1,\"request\":\"table\",\"table\":\"\",\"operation\":\"count\"}",
                "`table` is empty",
            ),
            (b"{\"version\":1,\"request\":\"table\",\"table\":7,\"operation\":\"count\"}", "string"),
            (b"{\"version\":1,\"request\":\"reload\",\"scripts\":[]}", "`scripts` is empty"),
            (b"{\"version\":1,\"request\":\"reload\",\"scripts\":[\"\"]}", "absolute"),
            (b"{\"version\":1,\"request\":\"reload\",\"scripts\":[\"/a.lua\",\"b.lua\"]}", "'b.lua' is not"),
            (b"{\"version\":1,\"request\":\"reload\",\"scripts\":\"/a.lua\"}", "sequence"),
            (b"{\"version\":1,\"request\":\"reload\",\"scripts\":{}}", "sequence"),
            (b"{\"version\":1,\"request\":\"exec\",\"code\":[]}", "string"),
            (b"{\"version\":1e400,\"request\":\"status\"}", "out of range"),
            (b"{\"version\":-1,\"request\":\"status\"}", "invalid value"),
            (b"{\"version\":4294967297,\"request\":\"status\"}", "invalid value"),
            (b"{\"version\":1,\"request\":\"status\"} {}", "trailing"),
        ] {
            let problem = parse(line).unwrap_err().to_string();
            assert!(problem.contains(part), "{}: {problem}", line.escape_ascii());
        }
    }
}
