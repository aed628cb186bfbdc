//! The ledger: what every example costs, recorded in `tests/ledger.json` and compared.
//!
//! A number may shrink freely and grow by a tenth; beyond that, and for an example that is not recorded, the ledger has to be
//! written anew (`MOONHOOK_BLESS=1`), so that growth is seen in the change that brings it.

use crate::{Pair, ProofError};
use serde_json::{Map, Value, json};
use std::path::Path;

/// What a program costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// eBPF instructions after the kernel's rewriting.
    pub instructions: u64,
    /// Instructions that the verifier walked.
    pub verified: u64,
    /// Bytes of stack.
    pub stack: u64,
}

/// No example may take the verifier further than this.
pub const MOST_VERIFIED: u64 = 200_000;

impl Entry {
    /// Loads a script and asks the kernel.
    ///
    /// # Errors
    /// As [`Pair::new`].
    pub fn measure(script: &Path) -> Result<Entry, ProofError> {
        let statistics = Pair::new(script)?.statistics();
        Ok(Entry {
            instructions: statistics.instructions.into(),
            verified: statistics.verified_instructions.into(),
            stack: statistics.stack.unwrap_or_default().iter().map(|bytes| u64::from(*bytes)).sum(),
        })
    }

    pub fn to_json(self) -> Value {
        json!({ "instructions": self.instructions, "verified": self.verified, "stack": self.stack })
    }

    fn from_json(value: &Value) -> Option<Entry> {
        let number = |name: &str| value.get(name)?.as_u64();
        Some(Entry {
            instructions: number("instructions")?,
            verified: number("verified")?,
            stack: number("stack")?,
        })
    }

    fn numbers(self) -> [(&'static str, u64); 3] {
        [
            ("instructions", self.instructions),
            ("verified instructions", self.verified),
            ("bytes of stack", self.stack),
        ]
    }
}

/// What is wrong with the measured entries, in the light of what is recorded.
pub fn complaints(recorded: &Map<String, Value>, measured: &[(String, Entry)]) -> Vec<String> {
    let mut all = Vec::new();
    for (name, entry) in measured {
        if entry.verified > MOST_VERIFIED {
            all.push(format!(
                "{name}: {} verified instructions are more than {MOST_VERIFIED}",
                entry.verified
            ));
        }
        let Some(before) = recorded.get(name).and_then(Entry::from_json) else {
            all.push(format!("{name} is not in the ledger"));
            continue;
        };
        for ((what, now), (_, before)) in entry.numbers().into_iter().zip(before.numbers()) {
            if now * 10 > before * 11 {
                all.push(format!("{name}: {now} {what}, {before} are recorded"));
            }
        }
    }
    let gone = recorded.keys().filter(|name| measured.iter().all(|(measured, _)| measured != *name));
    all.extend(gone.map(|name| format!("{name} is in the ledger, but no example")));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_is_tolerated() {
        let entry = |verified| Entry { instructions: 100, verified, stack: 0 };
        let recorded = Map::from_iter([("a".to_string(), entry(1000).to_json())]);
        let found = |verified| complaints(&recorded, &[("a".to_string(), entry(verified))]).len();
        assert_eq!([found(10), found(1100), found(1101), found(200_001)], [0, 0, 1, 2]);
        assert_eq!(complaints(&recorded, &[("b".to_string(), entry(1))]).len(), 2);
    }
}
