//! Answers about flow tables.

use crate::SessionError;
use crate::session::Session;
use moonhook_control::{Content, FlowEntry, FlowTables};
use moonhook_daemon::{FlowInfo, FlowOperation, FlowPage, FlowTableInfo};
use moonhook_flows::KeyKind;
use moonhook_snapshot::FlowTable;
use serde_json::{Value, json};
use std::sync::{MutexGuard, PoisonError};

/// Flows of one answer.
const PAGE: usize = 1000;

impl Session {
    fn flows(&self) -> Option<MutexGuard<'_, FlowTables>> {
        let (tables, _) = self.installed.flows.as_ref()?;
        Some(tables.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn flow_tables(&self) -> Vec<FlowTableInfo> {
        let Some(tables) = self.flows() else { return Vec::new() };
        let info = |(number, description): (usize, &FlowTable)| {
            let (flows, functions) = tables.counts(number);
            FlowTableInfo {
                name: description.name.clone(),
                key: match &description.key {
                    KeyKind::Values => Vec::new(),
                    KeyKind::Fields(fields) => fields.iter().map(|field| field.name.to_string()).collect(),
                },
                flows,
                capacity: description.capacity,
                functions,
                idle: description.idle.map(FlowTable::seconds),
            }
        };
        tables.descriptions().enumerate().map(info).collect()
    }

    /// Does one thing with a flow table that takes no Lua.
    pub(crate) fn flow(&self, table: Option<&str>, operation: &FlowOperation) -> Result<Value, SessionError> {
        let Some(mut tables) = self.flows() else {
            let name = table.unwrap_or_default().to_string();
            return Err(moonhook_control::ControlError::NoSuchFlowTable { name, existing: Vec::new() }.into());
        };
        let table = tables.named(table)?;
        Ok(match operation {
            FlowOperation::List { from } => {
                let (flows, next) = tables.some_flows(table, *from, PAGE);
                let kind = tables.key_kind(table);
                json!(FlowPage { flows: flows.into_iter().map(|flow| info(kind, flow)).collect(), next })
            }
            FlowOperation::Get { key } => {
                let key = tables.key(table, key)?;
                json!(tables.get(table, &key).map(|flow| info(tables.key_kind(table), flow)))
            }
            FlowOperation::Delete { key } => {
                let key = tables.key(table, key)?;
                json!(tables.remove(table, &key))
            }
            // Seen to by who has the Lua state.
            FlowOperation::Set { .. } => Value::Null,
        })
    }
}

fn info(kind: &KeyKind, entry: FlowEntry) -> FlowInfo {
    FlowInfo {
        key: kind.text(&kind.decode(&entry.flow.key)),
        source: match entry.content {
            Some(Content::Text(source)) => Some(source.text.to_string()),
            _ => None,
        },
        form: entry.form.to_string(),
        packets: entry.flow.packets,
        errors: entry.flow.errors,
        idle: FlowTable::seconds(entry.flow.idle),
    }
}
