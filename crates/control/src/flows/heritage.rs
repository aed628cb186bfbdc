//! Flows of an earlier program: those go on whose functions compile for the new one.
//!
//! They are taken over twice: before the new program is put in the place of the earlier one ([`Control::inherit`]), so that no packet
//! finds its flow missing, and once the earlier one handles no packet any more ([`Control::catch_up`]): what has changed in between, and
//! what was counted.

use super::{Content, FlowEntry, FlowTables, KeptFlows, Owner};
use crate::{Control, Report};
use moonhook_flows::Flow;
use moonhook_load::{CallError, Given};
use moonhook_snapshot::FlowTable as Description;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a function of a script's own does not go on.
const OF_SCRIPT: &str = "its function is one of the script's, which sets it again if it is to stay";

/// Flows of an earlier program, and what has become of them.
pub(super) struct Heritage {
    earlier: Arc<Mutex<FlowTables>>,
    /// Those that were taken over, as they were then, by table of the earlier program and key.
    taken: HashMap<(usize, Vec<u64>), FlowEntry>,
    /// Why texts are no functions of a table of the new program.
    refused: HashMap<(usize, Content), String>,
}

impl Heritage {
    pub fn new(earlier: Arc<Mutex<FlowTables>>) -> Heritage {
        Heritage { earlier, taken: HashMap::new(), refused: HashMap::new() }
    }

    /// The earlier tables with the flows that they have now. Nobody waits for what becomes of them.
    fn flows(&self) -> Vec<(Description, Vec<FlowEntry>)> {
        let earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = earlier.descriptions().enumerate();
        tables.map(|(number, table)| (table.clone(), earlier.flows(number))).collect()
    }
}

impl Control {
    /// Takes over the flows of an earlier program's tables of the same names and keys. What load time has set for a flow gives way to
    /// what the flow was given since the earlier script was loaded.
    pub(super) fn inherit(&self, owner: &Owner, mut heritage: Heritage) {
        for (number, (description, entries)) in heritage.flows().into_iter().enumerate() {
            if entries.is_empty() {
                continue;
            }
            let mut kept = KeptFlows { table: description.name.clone(), ..KeptFlows::default() };
            let table = owner.tables().like(&description);
            for entry in entries {
                let none = || "there is no table of that name and with such keys".to_string();
                let taken = table.ok_or_else(none);
                match taken.and_then(|table| self.take_over(owner, table, &entry, &mut heritage.refused)) {
                    Ok(()) => {
                        kept.kept += 1;
                        heritage.taken.insert((number, entry.flow.key.clone()), entry);
                    }
                    Err(why) => {
                        kept.lost += 1;
                        kept.why.get_or_insert(why);
                    }
                }
            }
            owner.tables().kept.push(kept);
        }
        owner.heritage.replace(Some(heritage));
    }

    /// Takes over what has become of the flows since, once the earlier program handles no packets any more, and for the last time when nobody
    /// gives its flows functions any more. What fails is reported.
    pub fn catch_up(&self, is_last: bool, report: &mut dyn FnMut(Report)) {
        let Some(owner) = &self.flows else { return };
        let Some(mut heritage) = owner.heritage.take() else { return };
        for (number, (description, entries)) in heritage.flows().into_iter().enumerate() {
            let Some(table) = owner.tables().like(&description) else { continue };
            let mut lost = Vec::new();
            let mut now = Vec::new();
            for mut entry in entries {
                now.push(entry.clone());
                let then = heritage.taken.remove(&(number, entry.flow.key.clone()));
                let is_same = then.as_ref().is_some_and(|then| then.content == entry.content);
                if let Some(then) = then {
                    entry.flow = since(entry.flow, &then.flow);
                }
                match is_same {
                    true => owner.tables().add_counts(table, &entry.flow),
                    false => lost.extend(self.take_late(owner, table, &entry, &mut heritage).err()),
                }
            }
            for ((_, key), _) in heritage.taken.extract_if(|(of, _), _| *of == number) {
                owner.tables().remove(table, &key);
            }
            let key = |entry: &FlowEntry| (number, entry.flow.key.clone());
            heritage.taken.extend(now.into_iter().map(|entry| (key(&entry), entry)));
            if let Some(why) = lost.first() {
                let name = &description.name;
                let message = format!(
                    "{} flows of table '{name}' that came during the reload are lost: {why}",
                    lost.len()
                );
                report(Report::Error(CallError { message, traceback: Vec::new() }));
            }
        }
        if !is_last {
            owner.heritage.replace(Some(heritage));
        }
    }

    /// Takes over a flow that came, or got another function, while the new program was made.
    fn take_late(
        &self,
        owner: &Owner,
        table: usize,
        entry: &FlowEntry,
        heritage: &mut Heritage,
    ) -> Result<(), String> {
        let is_known = |content: &Content| heritage.refused.contains_key(&(table, content.clone()));
        // Those were lost before, and reported.
        if entry.is_of_script() || entry.content.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        self.take_over(owner, table, entry, &mut heritage.refused)
    }

    fn take_over(
        &self,
        owner: &Owner,
        table: usize,
        entry: &FlowEntry,
        refused: &mut HashMap<(usize, Content), String>,
    ) -> Result<(), String> {
        let key = &entry.flow.key;
        match &entry.content {
            Some(content) if !entry.is_of_script() => {
                let number = match refused.get(&(table, content.clone())) {
                    Some(why) => return Err(why.clone()),
                    None => self.made_again(owner, table, content),
                };
                let note = |why: &String| drop(refused.insert((table, content.clone()), why.clone()));
                let number = number.inspect_err(note)?;
                owner.tables().assign(table, key, number).map_err(|error| error.to_string())?;
            }
            _ if owner.tables().get(table, key).is_some() => {}
            _ => return Err(OF_SCRIPT.to_string()),
        }
        owner.tables().add_counts(table, &entry.flow);
        Ok(())
    }

    /// The number of the function that a text is, which is made if there is none yet.
    fn made_again(&self, owner: &Owner, table: usize, content: &Content) -> Result<u32, String> {
        let known = owner.tables().find(table, content);
        let (None, Content::Text(text)) = (known, content) else {
            return known.ok_or_else(|| OF_SCRIPT.to_string());
        };
        let own = self.function_of(table, &text.text, Some(&text.name)).map_err(|error| error.to_string())?;
        let made = owner.number_of((&self.loaded.lua, &self.loaded.flows), table, own);
        made.map_err(|diagnostic| super::owner::line(&diagnostic))
    }

    /// Makes all functions of flows once more, because the program has other maps by now. What fails is reported; of that, the old functions go
    /// on.
    pub fn remake_flows(&self, report: &mut dyn FnMut(Report)) {
        let Some(owner) = &self.flows else { return };
        let all = owner.tables().functions();
        for (id, content) in all {
            let function = match owner.given(id, Some(content)) {
                Given::Function(function) => Ok(function),
                Given::Text(text) => {
                    self.function_of(id.0, &text.text, Some(&text.name)).map(|own| own.function)
                }
                Given::Lost => continue,
            };
            let state = (&self.loaded.lua, &self.loaded.flows);
            let remade = function.map_err(|error| error.to_string()).and_then(|function| {
                let made = owner.made(state, id, &function);
                let made = made.map_err(|diagnostic| super::owner::line(&diagnostic))?;
                owner.tables().replace(id, made).map_err(|error| error.to_string())
            });
            if let Err(message) = remade {
                report(Report::Error(CallError { message, traceback: Vec::new() }));
            }
        }
    }
}

/// A flow with what it has counted since.
fn since(flow: Flow, then: &Flow) -> Flow {
    let packets = flow.packets.saturating_sub(then.packets);
    Flow { packets, errors: flow.errors.saturating_sub(then.errors), ..flow }
}
