//! What calls say, as the service's own values: names, sources, what is said of scripts, operations on tables and flows.

use crate::ServeError;
use crate::proto::v1;
use crate::proto::v1::flows_request::Operation as Flows;
use crate::proto::v1::table_request::Operation as Tables;
use crate::spec::{FormName, Mode, Spec};
use crate::spool::Source;
use moonhook_daemon::{FlowOperation, Name, Status, TableOperation};
use serde_json::Value;
use std::path::Path;

fn wrong(problem: impl Into<String>) -> ServeError {
    ServeError::Call { problem: problem.into() }
}

/// A script's name.
///
/// # Errors
/// What names cannot be.
pub fn name(text: &str) -> Result<Name, ServeError> {
    // What is not shown whole has more characters than names have, too.
    let text: String = text.chars().take(200).collect();
    Ok(text.parse::<Name>()?)
}

/// What a script is to be called.
pub fn name_of_load(request: &v1::LoadRequest) -> Result<Name, ServeError> {
    match (request.name.as_str(), request.scripts.first()) {
        ("", Some(first)) => Ok(Name::of_script(Path::new(&first.name))),
        ("", None) => Err(wrong("there is no script in it")),
        (text, _) => name(text),
    }
}

pub fn source(source: v1::Source) -> Source {
    Source { name: source.name, text: source.text }
}

/// What is said of the scripts, with what scripts of eCLAT say themselves. To be called where texts may nest deeply.
///
/// # Errors
/// `Call`.
pub fn spec(request: &v1::LoadRequest) -> Result<Spec, ServeError> {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let number = |number: u32| Some(number).filter(|number| *number > 0);
    let mode = v1::Mode::try_from(request.mode).map_err(|_| wrong("there is no such mode"))?;
    let form = v1::Form::try_from(request.form).map_err(|_| wrong("there is no such form"))?;
    let mut spec = Spec {
        interfaces: request.interfaces.clone(),
        mode: match mode {
            v1::Mode::Unspecified => None,
            v1::Mode::Native => Some(Mode::Native),
            v1::Mode::Generic => Some(Mode::Generic),
        },
        netns: given(&request.netns),
        peer: request.peer,
        on_error: given(&request.on_error),
        budget: number(request.budget),
        memory: number(request.memory),
        form: match form {
            v1::Form::Unspecified => None,
            v1::Form::Expanded => Some(FormName::Expanded),
            v1::Form::General => Some(FormName::General),
        },
        hook: given(&request.hook),
        frags: request.frags,
        allow_read: Vec::new(),
        root: None,
        at: None,
        define: request.define.clone().into_iter().collect(),
    };
    spec.check().map_err(wrong)?;
    for v1::Source { name, text } in &request.scripts {
        spec.complete(name, text.clone())?;
    }
    Ok(spec)
}

/// A script that runs, with the most important of what it answers.
pub fn summary(status: &Status) -> v1::Script {
    let status = status.clone();
    v1::Script {
        json: serde_json::to_string(&status).unwrap_or_default(),
        name: status.name.to_string(),
        interface: status.interface.unwrap_or_default(),
        hook: status.hook,
        mode: status.mode,
        netns: status.netns.unwrap_or_default(),
        uptime_seconds: status.uptime_seconds.unwrap_or_default(),
        reloads: status.reloads,
        packets: status.packets,
        errors: status.errors.unwrap_or_default(),
        pinned: status.pinned,
    }
}

fn value(text: &str) -> Result<Value, ServeError> {
    let shown = || text.chars().take(60).collect::<String>();
    serde_json::from_str(text)
        .map_err(|error| wrong(format!("'{}' is no JSON: {error}", shown().escape_debug())))
}

fn pairs(pairs: &v1::Pairs) -> Result<Vec<(Value, Value)>, ServeError> {
    pairs.pairs.iter().map(|pair| Ok((value(&pair.key)?, value(&pair.value)?))).collect()
}

/// The requests that make up an operation.
///
/// # Errors
/// `Call`.
pub fn table_steps(operation: Option<Tables>) -> Result<Vec<TableOperation>, ServeError> {
    let keys = Vec::new;
    Ok(match operation.ok_or_else(|| wrong("no operation is given"))? {
        Tables::Get(key) => vec![TableOperation::Get { key: value(&key)? }],
        Tables::Set(pair) => {
            vec![TableOperation::Set { key: value(&pair.key)?, value: value(&pair.value)? }]
        }
        Tables::Delete(key) => vec![TableOperation::Delete { key: value(&key)? }],
        Tables::Dump(dump) => vec![TableOperation::Dump { dump: Some(dump).filter(|dump| *dump > 0) }],
        Tables::Load(all) => vec![TableOperation::Load { entries: pairs(&all)?, keys: keys() }],
        Tables::Count(_) => vec![TableOperation::Count],
        Tables::Clear(_) => vec![TableOperation::Clear],
        Tables::Replace(all) => vec![
            TableOperation::Begin,
            TableOperation::Add { entries: pairs(&all)?, keys: keys() },
            TableOperation::Commit,
        ],
    })
}

pub fn flow_operation(operation: Flows) -> FlowOperation {
    match operation {
        Flows::List(from) => FlowOperation::List { from: usize::try_from(from).unwrap_or(usize::MAX) },
        Flows::Get(key) => FlowOperation::Get { key },
        Flows::Delete(key) => FlowOperation::Delete { key },
        Flows::Set(v1::FlowFunction { key, source, name }) => {
            FlowOperation::Set { key, source, name: Some(name).filter(|name| !name.is_empty()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_make_no_sense_are_refused() {
        let request = || v1::LoadRequest::default();
        let refused = |request: v1::LoadRequest| spec(&request).err().map(|error| error.code());
        assert_eq!(refused(request()), None);
        assert_eq!(refused(v1::LoadRequest { mode: 77, ..request() }), Some("MH1006"));
        assert_eq!(refused(v1::LoadRequest { form: -1, ..request() }), Some("MH1006"));
        assert_eq!(refused(v1::LoadRequest { hook: "x".into(), ..request() }), Some("MH1006"));
        assert_eq!(name_of_load(&request()).unwrap_err().code(), "MH1006");
        assert_eq!(name("../x").unwrap_err().code(), "MH0802");
        assert_eq!(table_steps(None).unwrap_err().code(), "MH1006");
        assert_eq!(table_steps(Some(Tables::Get("{".into()))).unwrap_err().code(), "MH1006");
        assert_eq!(table_steps(Some(Tables::Replace(v1::Pairs::default()))).unwrap().len(), 3);
    }
}
