//! Counts what was compared, and writes it down.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::differences::{Difference, rules};

#[derive(Default)]
pub struct Summary {
    files: usize,
    /// Files of other link types, or not readable.
    skipped: usize,
    frames: usize,
    fields: usize,
    explained: BTreeMap<usize, Explained>,
    unexplained: Vec<String>,
}

#[derive(Default)]
struct Explained {
    fields: usize,
    files: BTreeMap<String, BTreeMap<u64, Vec<&'static str>>>,
}

impl Summary {
    pub fn add_file(&mut self, compared: bool) {
        self.files += usize::from(compared);
        self.skipped += usize::from(!compared);
    }

    pub fn add_frame(&mut self) {
        self.frames += 1;
    }

    pub fn add_field(&mut self) {
        self.fields += 1;
    }

    pub fn add_missing(&mut self, file: &str, number: u64) {
        self.unexplained.push(format!("{file} frame {number}: tshark does not list it"));
    }

    pub fn add_explained(&mut self, rule: usize, file: &str, number: u64, path: &'static str) {
        let explained = self.explained.entry(rule).or_default();
        explained.fields += 1;
        explained.files.entry(file.into()).or_default().entry(number).or_default().push(path);
    }

    pub fn add_unexplained(&mut self, file: &str, difference: &Difference) {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "nil".into());
        let protocols = difference.shown.first("frame.protocols").unwrap_or_default();
        self.unexplained.push(format!(
            "{file} frame {}: {} is {} here, {} there ({protocols})",
            difference.frame.number,
            difference.path,
            show(&difference.ours),
            show(&difference.theirs),
        ));
    }

    pub fn merge(&mut self, other: Summary) {
        self.files += other.files;
        self.skipped += other.skipped;
        self.frames += other.frames;
        self.fields += other.fields;
        for (rule, explained) in other.explained {
            let mine = self.explained.entry(rule).or_default();
            mine.fields += explained.fields;
            mine.files.extend(explained.files);
        }
        self.unexplained.extend(other.unexplained);
        self.unexplained.sort();
    }

    pub fn fields(&self) -> usize {
        self.fields
    }

    pub fn unexplained(&self) -> &[String] {
        &self.unexplained
    }

    /// The contents of `docs/tshark-differences.md`.
    pub fn text(&self, version: &str) -> String {
        let mut text = String::from("# Protocol fields: where tshark shows something else\n\n");
        let differing: usize = self.explained.values().map(|explained| explained.fields).sum();
        let _ = write!(
            text,
            "`tests/tshark` compares the fields of [packet.md](packet.md) with {version}, frame by frame, on the captures\n\
             that `MOONHOOK_TRACES` names. When this page was last written (`MOONHOOK_BLESS=1 cargo test -p moonhook-user\n\
             --test tshark`): {} Ethernet captures ({} files of other link types or without a readable header left out),\n\
             {} frames, {} fields that at least one side shows. {} of them differ, all for one of these reasons, each of\n\
             which is a rule in `tests/tshark/differences.rs`; a difference without a rule fails the test.\n\n",
            self.files, self.skipped, self.frames, self.fields, differing
        );
        text.push_str(
            "| difference | fields | frames | files | e.g. | reason |\n|---|---|---|---|---|---|\n",
        );
        for (rule, explained) in &self.explained {
            let Some(rule) = rules().nth(*rule) else { continue };
            let frames: usize = explained.files.values().map(BTreeMap::len).sum();
            let example = explained.files.iter().next().and_then(|(file, frames)| {
                let (number, fields) = frames.iter().next()?;
                Some(format!("{file} #{number}: {}", fields.first()?))
            });
            let _ = writeln!(
                text,
                "| {} | {} | {frames} | {} | {} | {} |",
                rule.name,
                explained.fields,
                explained.files.len(),
                example.unwrap_or_default(),
                rule.reason
            );
        }
        text
    }
}
