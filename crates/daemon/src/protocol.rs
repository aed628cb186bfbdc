//! What goes over a socket: one JSON object a line, requests one way, answers and events the other.

use crate::{DaemonError, Name};
use moonhook_diagnostic::{Diagnostic, Place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

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

/// Takes the answer to a request, on whatever thread. Dropped without one, the client is told so.
#[derive(Debug)]
pub struct Reply(SyncSender<Answer>);

impl Reply {
    pub(crate) fn new(sender: SyncSender<Answer>) -> Reply {
        Reply(sender)
    }

    pub fn send(self, answer: Answer) {
        // A client that has gone meanwhile needs no answer; the room in the channel is for this one.
        let _ = self.0.try_send(answer);
    }
}

/// What came of Lua code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executed {
    /// Lines that it printed.
    pub printed: Vec<String>,
    /// Its results as `tostring` shows them; strings, here and above, have U+FFFD for what is not UTF-8.
    pub results: Vec<String>,
    pub error: Option<Failure>,
}

/// A shared table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableInfo {
    /// `script.name` where there are several scripts.
    pub name: String,
    /// Which of several scripts has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Types of keys and values, in the words of declarations.
    pub key: String,
    pub value: String,
    pub capacity: u32,
    /// The names of the fields of records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

impl TableInfo {
    /// The table that a person has named: by its name, or by what its script calls it if no other one is called so.
    pub fn named(tables: Vec<TableInfo>, name: &str) -> Option<TableInfo> {
        let is_called = |info: &TableInfo| {
            let script = info.script.as_ref().map(|script| format!("{script}.")).unwrap_or_default();
            info.name.strip_prefix(&script) == Some(name)
        };
        let at = tables.iter().position(|info| info.name == name);
        let at = at.or_else(|| tables.iter().position(is_called))?;
        tables.into_iter().nth(at)
    }
}

/// A part of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dumped {
    /// With this number the dump goes on; `None` at the end.
    pub dump: Option<u64>,
    pub entries: Vec<(Value, Value)>,
}

/// A running script as `moonhook list` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub name: Name,
    /// `None` if the process has ended, and the program is pinned.
    pub pid: Option<u32>,
    /// `None` where no hook of the script is one of an interface's.
    pub interface: Option<String>,
    /// The network namespace, if it was named.
    pub netns: Option<String>,
    pub hook: String,
    pub mode: String,
    pub scripts: Vec<String>,
    pub uptime_seconds: Option<u64>,
    /// How often the program was replaced.
    pub reloads: u64,
    /// Frames that the handlers have seen.
    pub packets: u64,
    /// Run-time errors of handlers.
    pub errors: Option<u64>,
    /// Prints and errors that nobody saw because the ring was full.
    pub lost_events: u64,
    /// The program outlives the process.
    pub pinned: bool,
    /// A process was killed before it had pinned all: not all hooks have a program, maybe none.
    #[serde(default)]
    pub incomplete: bool,
    /// Who is asked besides, at hooks with lists of programs where there is somebody else.
    #[serde(default)]
    pub neighbours: Vec<Neighbours>,
}

/// The programs that are at a place of a script's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// Hook and place, as in the script.
    pub point: String,
    /// In the order in which they are asked.
    pub programs: Vec<Listed>,
}

/// A program in the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    pub id: u32,
    /// 15 bytes at most; empty if it cannot be known.
    pub name: String,
    /// It is the script's.
    pub own: bool,
}

/// What handlers were compiled to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// `expanded` or `general`.
    pub name: String,
    /// Why not to expanded code, unless that was asked for.
    pub reason: Option<FormReason>,
}

/// What stands in the way of expanded code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormReason {
    pub code: String,
    pub place: Option<Place>,
    pub message: String,
    pub help: Option<String>,
}

/// What a reload did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reloaded {
    pub scripts: Vec<String>,
    pub form: Form,
    pub tables: Vec<TableKept>,
    pub variables: Vec<TableKept>,
    pub timing: Timing,
}

/// What became of a list that was to be a table's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replaced {
    /// How many entries were given; equal keys count each time.
    pub entries: u64,
    /// The script was compiled again, with the list as the content of a table that handlers only read.
    pub reloaded: Option<Reloaded>,
    /// The update of the link alone, in microseconds.
    pub update: u64,
}

/// What became of the content of a table or variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableKept {
    pub name: String,
    #[serde(flatten)]
    pub outcome: Kept,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Kept {
    Kept,
    /// It has another schema, and begins anew.
    Reset {
        from: String,
        to: String,
    },
    New,
    Dropped,
    /// Several of one script have this name: which is which is not known, and they begin anew.
    Ambiguous,
}

/// How long the parts of a reload took, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Running the script, and compiling what its handlers are.
    pub compile: u64,
    /// Loading into the kernel, the verifier's work included.
    pub verify: u64,
    /// The update of the link alone.
    pub update: u64,
    /// From the request to the update's end.
    pub total: u64,
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
