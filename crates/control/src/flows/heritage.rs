//! Flows of an earlier program: those go on whose functions compile for the new one.

use super::{Content, FlowEntry, FlowTables, KeptFlows, Owner};
use mlua::Lua;
use moonhook_load::{Flows, Given};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Why a function of a script's own does not go on.
const OF_SCRIPT: &str = "its function is one of the script's, which sets it again if it is to stay";

impl Owner {
    /// Takes over the flows of an earlier program's tables of the same names and keys. What load time has set for a flow gives way to what the flow
    /// was given as a text.
    pub fn inherit(&self, (lua, flows): (&Lua, &Flows), earlier: &Mutex<FlowTables>) {
        let earlier = earlier.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, description) in earlier.descriptions().enumerate() {
            let entries = earlier.flows(number);
            if entries.is_empty() {
                continue;
            }
            let mut kept = KeptFlows { table: description.name.clone(), ..KeptFlows::default() };
            let like = self.tables().like(description);
            match like {
                Some(table) => self.inherit_table((lua, flows), table, entries, &mut kept),
                None => {
                    kept.lost = entries.len();
                    kept.why = Some("there is no table of that name and with such keys".to_string());
                }
            }
            self.tables().kept.push(kept);
        }
    }

    fn inherit_table(
        &self,
        (lua, flows): (&Lua, &Flows),
        table: usize,
        entries: Vec<FlowEntry>,
        kept: &mut KeptFlows,
    ) {
        let mut made: HashMap<Content, Result<(), String>> = HashMap::new();
        for FlowEntry { flow, content, .. } in entries {
            let is_there = self.tables().get(table, &flow.key).is_some();
            let outcome = match content {
                Some(content @ Content::Text(_)) => {
                    let known = made.entry(content.clone()).or_insert(Ok(())).clone();
                    let outcome =
                        known.and_then(|()| self.give_again((lua, flows), table, &flow.key, &content));
                    if outcome.is_err() {
                        made.insert(content, outcome.clone());
                    }
                    outcome
                }
                _ if is_there => Ok(()),
                _ => Err(OF_SCRIPT.to_string()),
            };
            match outcome {
                Ok(()) => {
                    self.tables().add_counts(table, &flow);
                    kept.kept += 1;
                }
                Err(why) => {
                    kept.lost += 1;
                    kept.why.get_or_insert(why);
                }
            }
        }
    }

    fn give_again(
        &self,
        (lua, flows): (&Lua, &Flows),
        table: usize,
        key: &[u64],
        content: &Content,
    ) -> Result<(), String> {
        let Content::Text(text) = content else { return Ok(()) };
        let known = self.tables().find(table, content);
        if let Some(number) = known {
            return self.tables().assign(table, key, number).map_err(|error| error.to_string());
        }
        let own =
            flows.function_of(lua, table, &text.text, Some(&text.name)).map_err(|error| error.to_string())?;
        let changed = self.give((lua, flows), table, key, own);
        changed.map(drop).map_err(|diagnostic| super::owner::line(&diagnostic))
    }

    /// Makes all functions that flows have once more: the program has other maps by now. Gives what failed, of which the old functions go on.
    pub fn remake(&self, (lua, flows): (&Lua, &Flows)) -> Vec<String> {
        let mut failed = Vec::new();
        let all = self.tables().functions();
        for (id, content) in all {
            let function = match self.given(id, Some(content)) {
                Given::Function(function) => Some(function),
                Given::Text(text) => {
                    let made = flows.function_of(lua, id.0, &text.text, Some(&text.name));
                    made.map(|own| own.function).map_err(|error| failed.push(error.to_string())).ok()
                }
                Given::Lost => None,
            };
            let Some(function) = function else { continue };
            let remade = self.made((lua, flows), id, &function);
            let remade = remade
                .map_err(|diagnostic| super::owner::line(&diagnostic))
                .and_then(|made| self.tables().replace(id, made).map_err(|error| error.to_string()));
            failed.extend(remade.err());
        }
        failed
    }
}
