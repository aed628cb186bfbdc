//! The ledgers: what examples, scripts of the contest and cases cost, recorded in `tests/ledger` and compared.
//!
//! A number may shrink freely and grow by a tenth; beyond that, and for a script that is not recorded, the ledger has to be
//! written anew (`MOONHOOK_BLESS=1`), so that growth is seen in the change that brings it.

use crate::{Pair, ProofError};
use moonhook_engine::Form;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What a program costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// eBPF instructions after the kernel's rewriting.
    pub instructions: u64,
    /// Instructions that the verifier has been through.
    pub verified: u64,
    /// Bytes of stack.
    pub stack: u64,
    /// The program is general code. Not recorded.
    pub general: bool,
}

/// No example and no script of the contest may take the verifier further than this.
pub const MOST_VERIFIED: u64 = 200_000;

/// Nor may a case, some of which have every construct of a kind several times: half of what the kernel allows.
pub const MOST_VERIFIED_OF_CASE: u64 = 500_000;

/// How often the verifier may walk an instruction of expanded code, on the average: of any script, and of the median of many.
const MOST_WALKED: u64 = 20;
const MEDIAN_WALKED: u64 = 3;

/// Of fewer scripts the median says little.
const MANY: usize = 100;
/// What complaints about the limit say.
const LIMIT: &str = "are more than";

impl Entry {
    /// Loads a script and asks the kernel.
    ///
    /// # Errors
    /// As [`Pair::new`].
    pub fn measure(script: &Path) -> Result<Entry, ProofError> {
        Ok(Entry::of(&Pair::new(script)?))
    }

    /// What a loaded script costs.
    pub fn of(pair: &Pair) -> Entry {
        let statistics = pair.statistics();
        Entry {
            instructions: statistics.instructions.into(),
            verified: statistics.verified_instructions.into(),
            stack: statistics.stack.unwrap_or_default().iter().map(|bytes| u64::from(*bytes)).sum(),
            general: pair.choice().is_some_and(|choice| choice.form == Form::General),
        }
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
            general: false,
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

/// Compares what was measured with the ledger of that name, which `MOONHOOK_BLESS=1` writes first, and with the `most` verified
/// instructions that a script may have. With `MOONHOOK_LEDGER=limits`, on kernels other than the one that was measured on, only
/// with the latter.
///
/// # Panics
/// With everything that has grown.
pub fn compare(ledger: &str, most: u64, measured: &[(String, Entry)]) {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../tests/ledger", &format!("{ledger}.json")].iter().collect();
    let sum: u64 = measured.iter().map(|(_, entry)| entry.verified).sum();
    println!("{ledger}: {} scripts, {sum} verified instructions", measured.len());
    if std::env::var_os("MOONHOOK_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text(measured)).expect("the ledger can be written");
    }
    let text = std::fs::read_to_string(&path).expect("the ledger can be read");
    let recorded: Map<String, Value> = serde_json::from_str(&text).expect("the ledger is JSON");
    let mut complaints = complaints(&recorded, most, measured);
    complaints.extend(verified_too_often(measured));
    if std::env::var_os("MOONHOOK_LEDGER").is_some_and(|value| value == "limits") {
        complaints.retain(|complaint| complaint.contains(LIMIT));
    }
    assert!(
        complaints.is_empty(),
        "{}\nMOONHOOK_BLESS=1 cargo test -p moonhook-proof records what is now",
        complaints.join("\n")
    );
}

/// A ledger: one line a script, by name.
fn text(measured: &[(String, Entry)]) -> String {
    let mut lines: Vec<String> =
        measured.iter().map(|(name, entry)| format!("  {}: {}", json!(name), entry.to_json())).collect();
    lines.sort();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// What is wrong with the measured entries, in the light of what is recorded.
fn complaints(recorded: &Map<String, Value>, most: u64, measured: &[(String, Entry)]) -> Vec<String> {
    let mut all = Vec::new();
    for (name, entry) in measured {
        if entry.verified > most {
            all.push(format!("{name}: {} verified instructions {LIMIT} {most}", entry.verified));
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
    all.extend(gone.map(|name| format!("{name} is in the ledger, but no script")));
    all
}

/// What the verifier walks too often, of expanded code.
fn verified_too_often(measured: &[(String, Entry)]) -> Vec<String> {
    let expanded = || measured.iter().filter(|(_, entry)| !entry.general);
    let mut all: Vec<String> = expanded()
        .filter(|(_, entry)| entry.verified > MOST_WALKED * entry.instructions)
        .map(|(name, entry)| {
            let Entry { instructions, verified, .. } = entry;
            format!("{name}: {verified} verified instructions, over {MOST_WALKED} times {instructions}")
        })
        .collect();
    let more_than = |entry: &Entry| entry.verified > MEDIAN_WALKED * entry.instructions;
    let often = expanded().filter(|(_, entry)| more_than(entry)).count();
    if expanded().count() >= MANY && 2 * often > expanded().count() {
        all.push(format!(
            "of more than half the scripts, the verifier walks instructions more than {MEDIAN_WALKED} times"
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_is_tolerated() {
        let entry = |verified| Entry { instructions: 100, verified, stack: 0, general: false };
        let recorded = Map::from_iter([("a".to_string(), entry(1000).to_json())]);
        let found = |verified| complaints(&recorded, 200_000, &[("a".to_string(), entry(verified))]).len();
        assert_eq!([found(10), found(1100), found(1101), found(200_001)], [0, 0, 1, 2]);
        let written = text(&[("b".to_string(), entry(7)), ("a".to_string(), entry(5))]);
        let read: Map<String, Value> = serde_json::from_str(&written).unwrap();
        assert_eq!(read.get("b").and_then(Entry::from_json), Some(entry(7)));
        assert_eq!(
            (written.lines().count(), written.lines().nth(1).unwrap().starts_with("  \"a\": {")),
            (4, true)
        );
        assert_eq!(complaints(&recorded, 200_000, &[("b".to_string(), entry(1))]).len(), 2);
    }

    #[test]
    fn expanded_code_is_verified_a_few_times() {
        let script =
            |verified, general| ("a".to_string(), Entry { instructions: 100, verified, stack: 0, general });
        let found = |scripts: &[(String, Entry)]| verified_too_often(scripts).len();
        assert_eq!(found(&[script(2000, false), script(9000, true)]), 0);
        assert_eq!(found(&[script(2001, false)]), 1);
        let half = |verified| vec![script(verified, false); MANY / 2];
        let median = |verified| [half(301), half(verified)].concat();
        assert_eq!((found(&median(300)), found(&median(301)), found(&median(301)[1..])), (0, 1, 0));
    }
}
