//! Calls tshark.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fields;

/// Separates the occurrences of a field.
const AGGREGATOR: char = '\u{1}';

/// Preferences that keep tshark to the bytes of the frame at hand.
const PREFERENCES: &[&str] = &[
    "tcp.desegment_tcp_streams:FALSE",
    "tcp.analyze_sequence_numbers:FALSE",
    "tcp.relative_sequence_numbers:FALSE",
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
    "http.desegment_headers:FALSE",
    "http.desegment_body:FALSE",
    "tls.desegment_ssl_records:FALSE",
    "tls.desegment_ssl_application_data:FALSE",
];

/// What tshark shows of one frame: the occurrences of each field that it has.
#[derive(Default)]
pub struct Shown(HashMap<&'static str, Vec<String>>);

impl Shown {
    /// The first occurrence.
    pub fn first(&self, field: &str) -> Option<&str> {
        self.nth(field, 0)
    }

    pub fn nth(&self, field: &str, index: usize) -> Option<&str> {
        self.0.get(field)?.get(index).map(String::as_str)
    }
}

/// tshark's name and version, without where it was built from.
pub fn version() -> Option<String> {
    let output = Command::new("tshark").arg("--version").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next()?.split(" (Git").next()?.trim_end_matches('.').to_owned())
}

/// All frames of a capture by number.
pub fn frames(path: &Path) -> HashMap<u64, Shown> {
    let names = fields::names();
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    command.args(["-E", &format!("aggregator={AGGREGATOR}")]).arg("-r").arg(path);
    command.args(PREFERENCES.iter().flat_map(|preference| ["-o", preference]));
    command.args(names.iter().flat_map(|name| ["-e", name]));
    let output = command.stderr(Stdio::null()).output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| numbered(line, &names)).collect()
}

fn numbered(line: &str, names: &[&'static str]) -> Option<(u64, Shown)> {
    let values = line.split('\t').map(|value| value.split(AGGREGATOR).map(str::to_owned).collect::<Vec<_>>());
    let shown =
        names.iter().copied().zip(values).filter(|(_, values)| !values[0].is_empty() || values.len() > 1);
    let shown = Shown(shown.collect());
    Some((shown.first("frame.number")?.parse().ok()?, shown))
}
