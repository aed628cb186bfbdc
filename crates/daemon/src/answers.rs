//! What answers of running scripts say.

use crate::Name;
use crate::protocol::Failure;
use moonhook_diagnostic::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The table that a person has named: by its name, or by what its script calls it if no other one is called so; a map of a C object by
    /// the end of its path.
    pub fn named(tables: Vec<TableInfo>, name: &str) -> Option<TableInfo> {
        let is_called = |info: &TableInfo| {
            let script = info.script.as_ref().map(|script| format!("{script}.")).unwrap_or_default();
            info.name.strip_prefix(&script) == Some(name)
        };
        let at = tables.iter().position(|info| info.name == name);
        let at = at.or_else(|| tables.iter().position(is_called));
        let end = format!("/{name}");
        let at = at.or_else(|| tables.iter().position(|info| info.name.ends_with(&end)))?;
        tables.into_iter().nth(at)
    }
}

/// A flow table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowTableInfo {
    pub name: String,
    /// What keys are made of: names of fields, or nothing where a function of the script makes them.
    pub key: Vec<String>,
    pub flows: u32,
    pub capacity: u32,
    /// How many different functions the flows have.
    pub functions: usize,
    /// Seconds after which a flow without packets goes.
    pub idle: Option<f64>,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowInfo {
    pub key: String,
    /// What its function was made of; `None` for a function of the script's.
    pub source: Option<String>,
    /// `expanded code` or `general code`.
    pub form: String,
    pub packets: u64,
    /// How often its function failed.
    pub errors: u32,
    /// Seconds since its last packet.
    pub idle: f64,
}

/// Some of the flows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowPage {
    pub flows: Vec<FlowInfo>,
    /// Where to go on; `None` at the end.
    pub next: Option<usize>,
}

/// A flow has another function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowChanged {
    /// From the arrival of the text until packets were handled by it.
    pub microseconds: u64,
    pub form: String,
    pub warnings: Vec<Remark>,
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
    pub reason: Option<Remark>,
}

/// What a person is told of a script: what stands in the way of expanded code, or a warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
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
    /// The flow tables that had flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowsKept>,
    /// What a person should know of the scripts, which run all the same.
    pub warnings: Vec<Remark>,
    /// Places of netfilter whose handlers run in the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<QueuedHandlers>,
    /// Those whose handlers did, and run in the kernel now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unqueued: Vec<String>,
    /// The scripts had handlers, and have none any more: nothing is attached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    pub timing: Timing,
}

/// A place of netfilter whose handlers run in the process (NFQUEUE).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedHandlers {
    pub point: String,
    /// In a few words.
    pub why: String,
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

/// What became of the flows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowsKept {
    pub name: String,
    pub kept: usize,
    pub lost: usize,
    /// Why the first of those was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of the content of a table or variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableKept {
    pub name: String,
    #[serde(flatten)]
    pub outcome: Kept,
    /// Of a map whose entries scripts list: how many there are that the scripts before did not list, and how many went that they did.
    #[serde(default, skip_serializing_if = "is_none")]
    pub added: usize,
    #[serde(default, skip_serializing_if = "is_none")]
    pub removed: usize,
}

impl TableKept {
    pub fn new(name: &str, outcome: Kept) -> TableKept {
        TableKept { name: name.to_string(), outcome, added: 0, removed: 0 }
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
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

    #[test]
    fn tables_are_named_by_what_tells_them_from_others() {
        let table = |name: &str, script: Option<&str>| TableInfo {
            name: name.to_string(),
            script: script.map(str::to_string),
            key: String::new(),
            value: String::new(),
            capacity: 1,
            fields: Vec::new(),
        };
        let tables =
            [table("web.hits", Some("web")), table("own/meter/hits", None), table("own/meter/last", None)];
        for (name, expected) in [
            ("web.hits", Some("web.hits")),
            // A table of a script's comes before the maps of C objects.
            ("hits", Some("web.hits")),
            ("meter/hits", Some("own/meter/hits")),
            ("own/meter/hits", Some("own/meter/hits")),
            ("last", Some("own/meter/last")),
            ("ast", None),
            ("meter", None),
        ] {
            let found = TableInfo::named(tables.to_vec(), name).map(|info| info.name);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }
}
