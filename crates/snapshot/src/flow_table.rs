//! Flow tables: which function handles the packets of a flow (docs/flows.md).

use crate::ClosureId;
use moonhook_flows::{KeyKind, Layout};

/// A table that `flow.new` has made.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTable {
    /// What a person calls it.
    pub name: String,
    pub key: KeyKind,
    /// The code of the script's function that makes keys, without lines; empty where it is fields that do. By another one, the same values are other
    /// keys.
    pub key_code: Vec<u8>,
    /// Flows at most.
    pub capacity: u32,
    /// A flow without a packet for so many ticks is removed; `None`: none is.
    pub idle: Option<u32>,
    /// Functions of flows that load time has set, each once. Handlers do not call them, but share variables and tables with them.
    pub functions: Vec<ClosureId>,
}

impl FlowTable {
    /// How long a tick is, in milliseconds.
    pub const TICK: u32 = 250;

    /// How many seconds so many ticks are.
    pub fn seconds(ticks: u32) -> f64 {
        f64::from(ticks) * f64::from(Self::TICK) / 1000.0
    }

    /// Where what is in its memory.
    pub fn layout(&self) -> Layout {
        Layout { key_words: self.key.words(), capacity: self.capacity }
    }
}
