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
    /// What they were when that was looked at last, and whether they were taken over, by table of the earlier program and key.
    seen: HashMap<(usize, Vec<u64>), (FlowEntry, bool)>,
    /// Why texts are no functions of a table of the new program.
    refused: HashMap<(usize, Content), String>,
}

impl Heritage {
    pub fn new(earlier: Arc<Mutex<FlowTables>>) -> Heritage {
        Heritage { earlier, seen: HashMap::new(), refused: HashMap::new() }
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
                let taken =
                    taken.and_then(|table| self.take_over(owner, table, &entry, &mut heritage.refused));
                heritage.seen.insert((number, entry.flow.key.clone()), (entry, taken.is_ok()));
                match taken {
                    Ok(()) => kept.kept += 1,
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
            let (mut lost, mut now) = (Vec::new(), Vec::new());
            for entry in entries {
                let key = (number, entry.flow.key.clone());
                let then = heritage.seen.remove(&key);
                let taken = self.follow(owner, table, (then, &entry), &mut heritage.refused);
                let is_taken = taken.unwrap_or_else(|why| {
                    lost.push(why);
                    false
                });
                now.push((key, (entry, is_taken)));
            }
            for ((_, key), (then, is_taken)) in heritage.seen.extract_if(|(of, _), _| *of == number) {
                let mut tables = owner.tables();
                if is_taken && !tables.is_changed(table, &key, Some(&then)) {
                    tables.remove(table, &key);
                }
            }
            heritage.seen.extend(now);
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

    /// Does with a flow what was done with it in the earlier program since `then`; gives whether it is taken over.
    fn follow(
        &self,
        owner: &Owner,
        table: usize,
        (then, entry): (Option<(FlowEntry, bool)>, &FlowEntry),
        refused: &mut HashMap<(usize, Content), String>,
    ) -> Result<bool, String> {
        let flow = match &then {
            Some((then, true)) => since(&entry.flow, &then.flow),
            _ => entry.flow.clone(),
        };
        match then {
            // What was lost is lost, and was reported.
            Some((then, is_taken)) if then.content == entry.content => {
                if is_taken {
                    owner.tables().add_counts(table, &flow);
                }
                Ok(is_taken)
            }
            then => {
                let key = &entry.flow.key;
                let then = then.filter(|(_, is_taken)| *is_taken).map(|(then, _)| then);
                if owner.tables().is_changed(table, key, then.as_ref()) {
                    owner.tables().add_counts(table, &flow);
                    return Ok(true);
                }
                let late = FlowEntry { flow, ..entry.clone() };
                let taken = self.take_over(owner, table, &late, refused);
                if taken.is_err() && then.is_some() {
                    // What it had before is not what it was given.
                    owner.tables().remove(table, key);
                }
                taken.map(|()| true)
            }
        }
    }

    /// Gives a flow the function that it has, and adds what it has counted.
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
        made.map_err(|diagnostic| diagnostic.line())
    }

    /// Makes all functions of flows once more, because the program has other maps by now. What fails is reported; of that, the old functions go
    /// on, with the maps that they have.
    pub fn remake_flows(&self, report: &mut dyn FnMut(Report)) {
        let Some(owner) = &self.flows else { return };
        let mut lost = 0;
        let all = owner.tables().functions_to_remake();
        for (id, content) in all {
            let function = match owner.given(id, Some(content)) {
                Given::Function(function) => Ok(function),
                Given::Text(text) => {
                    self.function_of(id.0, &text.text, Some(&text.name)).map(|own| own.function)
                }
                Given::Lost => {
                    lost += 1;
                    continue;
                }
            };
            let state = (&self.loaded.lua, &self.loaded.flows);
            let remade = function.map_err(|error| error.to_string()).and_then(|function| {
                let made = owner.made(state, id, &function);
                let made = made.map_err(|diagnostic| diagnostic.line())?;
                owner.tables().replace(id, made).map_err(|error| error.to_string())
            });
            if let Err(message) = remade {
                report(Report::Error(CallError { message, traceback: Vec::new() }));
            }
        }
        if lost > 0 {
            let message = format!(
                "{lost} functions of flows are of a Lua state that was left: they go on with the lists as they were, unless their flows are set again"
            );
            report(Report::Error(CallError { message, traceback: Vec::new() }));
        }
    }
}

impl FlowTables {
    /// Whether somebody has given a flow another function here than it was taken over with (`then`; `None`: it was not): that is newer than what
    /// the earlier program's control code does yet.
    fn is_changed(&self, table: usize, key: &[u64], then: Option<&FlowEntry>) -> bool {
        let others = |now: &FlowEntry| !now.is_first && then.is_none_or(|then| now.content != then.content);
        self.get(table, key).as_ref().is_some_and(others)
    }
}

/// A flow with what it has counted since.
fn since(flow: &Flow, then: &Flow) -> Flow {
    let packets = flow.packets.saturating_sub(then.packets);
    Flow { packets, errors: flow.errors.saturating_sub(then.errors), ..flow.clone() }
}
