//! `moonhook doctor`: what this host can do, and what to change.

use crate::{CliError, Exit};
use moonhook_install::{Feature, Host, Need, Outcome};
use std::io::Write;

/// Say what this host can do, by trying, and what to change
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moonhook doctor
  moonhook doctor --json | jq '.features[] | select(.outcome == \"fails\")'

Exit codes: 0 scripts can run in this kernel, 3 they cannot")]
pub struct Arguments {
    /// Answer as a JSON document
    #[arg(long)]
    pub json: bool,
}

pub fn doctor(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let host = moonhook_install::probe();
    if arguments.json {
        let mut answer = serde_json::to_value(&host).map_err(std::io::Error::from)?;
        answer["usable"] = host.usable().into();
        writeln!(out, "{answer:#}")?;
    } else {
        show(&host, out)?;
    }
    Ok(if host.usable() { Exit::Success } else { Exit::Host })
}

fn show(host: &Host, out: &mut dyn Write) -> Result<(), CliError> {
    writeln!(out, "Linux {} on {}", host.kernel, host.machine)?;
    let width = host.features.iter().map(|feature| feature.name.len()).max().unwrap_or(0);
    for feature in &host.features {
        let (mark, detail) = match &feature.outcome {
            Outcome::Works(detail) => ("ok", detail),
            Outcome::Fails(why) => (severity(feature), why),
            Outcome::Unknown(why) => ("?", why),
        };
        let detail = if detail.is_empty() { feature.why } else { detail };
        writeln!(out, "{mark:>8}  {:width$}  {detail}", feature.name)?;
        if matches!(feature.outcome, Outcome::Fails(_)) {
            writeln!(out, "{:8}  {:width$}  for {}; {}", "", "", feature.why, feature.change)?;
        }
    }
    match host.usable() {
        true => writeln!(out, "Scripts can run in this kernel.")?,
        false => {
            writeln!(out, "Scripts cannot run in this kernel; `moonhook replay --tier user` works anywhere.")?
        }
    }
    Ok(())
}

fn severity(feature: &Feature) -> &'static str {
    match feature.need {
        Need::Required => "MISSING",
        Need::Useful => "no",
    }
}
