//! What can go wrong between a script's Lua state and the maps of its handlers.

use moonhook_diagnostic::Diagnostic;
use moonhook_flows::KeyError;
use moonhook_install::InstallError;
use moonhook_load::CallError;
use moonhook_schema::SchemaError;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// `what` is `key` or `value`, of which the table has those of the type `takes`.
    #[error("bad {what} for table '{table}' ({problem})")]
    Unfit { table: String, what: &'static str, takes: String, problem: SchemaError },
    #[error("table '{table}' is full")]
    Full { table: String },
    /// Entry number `entry`, from 0, of those that were to be loaded.
    #[error("{error}")]
    Entry { entry: usize, error: Box<ControlError> },
    #[error("the entry of table '{table}' is gone")]
    Gone { table: String },
    #[error("there is no table '{name}'")]
    NoSuchTable { name: String, existing: Vec<String> },
    #[error("several scripts have a table '{name}'")]
    Ambiguous { name: String, existing: Vec<String> },
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the Lua state failed: {0}")]
    State(String),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("{}", no_flow_table(name, existing))]
    NoSuchFlowTable { name: String, existing: Vec<String> },
    #[error("{problem}")]
    FlowKey { problem: KeyError, names: String },
    /// A function of a flow, as the stage that refuses it says it.
    #[error("{}", .0.message)]
    Flow(Box<Diagnostic>),
}

impl From<mlua::Error> for ControlError {
    /// In words: errors of Lua belong to the thread that has its state.
    fn from(error: mlua::Error) -> ControlError {
        ControlError::State(error.to_string())
    }
}

impl ControlError {
    /// The error as one of an entry of many.
    pub(crate) fn of_entry(self, entry: usize) -> ControlError {
        ControlError::Entry { entry, error: Box::new(self) }
    }

    /// Which of the entries that were to be loaded the error is about.
    pub fn entry(&self) -> Option<usize> {
        if let ControlError::Entry { entry, .. } = self { Some(*entry) } else { None }
    }

    /// The stable code; `moonhook explain` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            ControlError::Unfit { .. } => "MH0701",
            ControlError::Full { .. } => "MH0702",
            ControlError::Entry { error, .. } => error.code(),
            ControlError::Gone { .. } => "MH0703",
            ControlError::NoSuchTable { .. } => "MH0704",
            ControlError::Call(_) => "MH0705",
            ControlError::State(_) => "MH0706",
            ControlError::Ambiguous { .. } => "MH0707",
            ControlError::Install(error) => error.code(),
            ControlError::NoSuchFlowTable { .. } => "MH0709",
            ControlError::FlowKey { .. } => "MH0710",
            ControlError::Flow(diagnostic) => diagnostic.code,
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            ControlError::Install(error) => return error.diagnostic(),
            ControlError::Flow(diagnostic) => return (**diagnostic).clone(),
            ControlError::Entry { error, .. } => return error.diagnostic(),
            _ => {}
        }
        let diagnostic = Diagnostic::new(self.code(), self.to_string());
        let diagnostic = match self {
            ControlError::Call(error) if !error.traceback.is_empty() => {
                diagnostic.reason(format!("at {}", error.traceback.join(", ")))
            }
            _ => diagnostic,
        };
        diagnostic.help(self.help())
    }

    fn help(&self) -> String {
        match self {
            ControlError::Unfit { what, takes, .. } => format!(
                "{what}s of this table are `{takes}`; a script that needs others declares them: `map{{{what} = …}}`"
            ),
            ControlError::Full { .. } => {
                "declare more: `map{capacity = …}`, or let old entries go: `map{evict = \"lru\"}`".to_string()
            }
            ControlError::Gone { .. } => "assign a whole record to the key".to_string(),
            ControlError::NoSuchTable { existing, .. } if existing.is_empty() => {
                "a table becomes a shared one if handlers write it, or if it is made with `map{…}`"
                    .to_string()
            }
            ControlError::NoSuchTable { existing, .. } => format!("there are {}", existing.join(", ")),
            ControlError::Ambiguous { existing, .. } => format!("name one of {}", existing.join(", ")),
            ControlError::NoSuchFlowTable { existing, .. } if existing.is_empty() => {
                "the script makes one with `flow.new{…}` (docs/flows.md)".to_string()
            }
            ControlError::NoSuchFlowTable { existing, .. } => {
                format!("name one of them with `--table`: {}", existing.join(", "))
            }
            ControlError::FlowKey { names, .. } => format!("keys of this table have {names}"),
            ControlError::Call(error) if error.message.contains("nil value (global '") => {
                "names are those of global variables, shared tables, and local variables that some function of the script uses: \
                 others are gone when it has ended".to_string()
            }
            ControlError::Call(_) => "correct the text, or the function it calls".to_string(),
            ControlError::State(_) => "a larger `--load-memory` may help; else please report it".to_string(),
            ControlError::Install(_) | ControlError::Entry { .. } | ControlError::Flow(_) => String::new(),
        }
    }
}

/// What is wrong where a flow table is named, or none is.
fn no_flow_table(name: &str, existing: &[String]) -> String {
    match (name, existing) {
        ("", []) => "the script has no flow table".to_string(),
        ("", _) => "there are several flow tables".to_string(),
        _ => format!("there is no flow table '{name}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_code_and_says_what_to_do() {
        let table = || "t".to_string();
        let call =
            CallError { message: "exec:1: no".into(), traceback: vec!["exec:1: in main chunk".into()] };
        let no_such = |existing| ControlError::NoSuchTable { name: table(), existing };
        for (error, code, message, help) in [
            (
                ControlError::Unfit {
                    table: table(),
                    what: "key",
                    takes: "string:2".to_string(),
                    problem: SchemaError::TooLong { length: 3, capacity: 2 },
                },
                "MH0701",
                "bad key for table 't' (the string has 3 bytes, the table takes 2)",
                "keys of this table are `string:2`; a script that needs others",
            ),
            (ControlError::Full { table: table() }, "MH0702", "table 't' is full", "declare more"),
            (
                ControlError::Gone { table: table() },
                "MH0703",
                "the entry of table 't' is gone",
                "assign a whole",
            ),
            (no_such(vec![]), "MH0704", "there is no table 't'", "a table becomes a shared one"),
            (no_such(vec![table()]), "MH0704", "there is no table 't'", "there are t"),
            (
                ControlError::Ambiguous { name: table(), existing: vec!["a.t".into(), "b.t".into()] },
                "MH0707",
                "several scripts have a table 't'",
                "name one of a.t, b.t",
            ),
            (
                ControlError::NoSuchFlowTable { name: String::new(), existing: vec!["a".into(), "b".into()] },
                "MH0709",
                "there are several flow tables",
                "name one of them with `--table`: a, b",
            ),
            (
                ControlError::NoSuchFlowTable { name: String::new(), existing: vec![] },
                "MH0709",
                "the script has no flow table",
                "the script makes one",
            ),
            (
                ControlError::NoSuchFlowTable { name: table(), existing: vec![] },
                "MH0709",
                "there is no flow table 't'",
                "the script makes one",
            ),
            (
                ControlError::NoSuchFlowTable { name: table(), existing: vec!["a".into(), "b".into()] },
                "MH0709",
                "there is no flow table 't'",
                "name one of them with `--table`: a, b",
            ),
            (
                ControlError::FlowKey { problem: KeyError::Missing { name: "src" }, names: "`src`".into() },
                "MH0710",
                "the key has no `src`",
                "keys of this table have `src`",
            ),
            (ControlError::Call(call), "MH0705", "exec:1: no", "correct the text"),
            (
                ControlError::from(mlua::Error::StackError),
                "MH0706",
                "the Lua state failed: out of Lua stack, too many arguments to a Lua function or too many return values from a callback",
                "a larger `--load-memory`",
            ),
        ] {
            let diagnostic = error.diagnostic();
            assert_eq!((diagnostic.code, diagnostic.message.as_str()), (code, message));
            assert!(diagnostic.help.is_some_and(|given| given.starts_with(help)), "{code}");
        }
    }
}
