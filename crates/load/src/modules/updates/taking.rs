//! What becomes of a datagram in control code.

use mlua::{Lua, LuaString};
use moonhook_updates::{Operation, Receiver, Refusal, Sequences, Update};
use std::cell::RefCell;
use std::sync::LazyLock;
use std::time::SystemTime;

use super::options::Options;
use crate::flows::Flows;

/// What this process has taken. A script that is loaded again goes on with it.
static SEQUENCES: LazyLock<Sequences> = LazyLock::new(|| Sequences::since(SystemTime::now()));

/// Takes updates for the flow tables of a state.
pub(super) struct Taking {
    receiver: RefCell<Receiver>,
    flows: Flows,
}

impl Taking {
    pub fn new(options: &Options, flows: Flows) -> Taking {
        let receiver = Receiver::new(options.keys.clone(), options.limits.clone(), SEQUENCES.clone());
        Taking { receiver: RefCell::new(receiver), flows }
    }

    /// Takes a datagram's payload. Gives what it is to be counted as, nothing if other parts are still to come; and what is wrong with an
    /// update that someone has signed.
    pub fn take(
        &self,
        lua: &Lua,
        payload: LuaString,
    ) -> mlua::Result<(Option<&'static str>, Option<String>)> {
        let taken = self.receiver.borrow_mut().take(&payload.as_bytes(), SystemTime::now());
        Ok(match taken {
            Err(refusal) => (Some(counted(refusal)), None),
            Ok(None) => (None, None),
            Ok(Some(update)) => match self.perform(lua, &update) {
                Ok(()) => (Some("taken"), None),
                Err(problem) => (Some("refused"), Some(format!("update of flow {}: {problem}", update.key))),
            },
        })
    }

    fn perform(&self, lua: &Lua, update: &Update) -> Result<(), String> {
        let owner = self.flows.owner().ok_or("no program runs yet")?;
        let name = Some(update.table.as_str()).filter(|name| !name.is_empty());
        let (table, key) = owner.place(name, &update.key)?;
        match update.operation {
            Operation::Delete => {
                owner.delete(table, &key).then_some(()).ok_or("there is no such flow".into())
            }
            Operation::Set => {
                let function = self.flows.function_of(lua, table, &update.text, None)?;
                owner.set((lua, &self.flows), table, &key, function).map(drop)
            }
        }
    }
}

/// What a datagram that is not taken is counted as.
fn counted(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Malformed(_) | Refusal::Mixed => "malformed",
        Refusal::Unknown => "unknown",
        Refusal::Unsigned => "unsigned",
        Refusal::Foreign => "foreign",
        Refusal::Replayed => "replayed",
        Refusal::Late => "late",
        Refusal::Oversized => "oversized",
    }
}
