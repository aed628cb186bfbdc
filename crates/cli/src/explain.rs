//! `moonhook explain`: pages about the codes of diagnostics, and about a few topics.

use crate::{CliError, Exit};
use std::io::Write;

/// Code and text of every page, by code.
pub const PAGES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Name and text of pages about something else than a code.
pub const TOPICS: &[(&str, &str)] = &[("lunatik", include_str!("../explain/topics/lunatik.md"))];

/// Explain the code of a message, or a topic; without one, list them all
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moonhook explain MH0201
  moonhook explain 201
  moonhook explain lunatik

Exit codes: 0 shown, 2 no such code")]
pub struct Arguments {
    /// Such as MH0201; `lunatik` is a topic
    code: Option<String>,
}

pub fn explain(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let Some(code) = &arguments.code else {
        for (_, page) in PAGES.iter().chain(TOPICS) {
            writeln!(out, "{}", title(page))?;
        }
        return Ok(Exit::Success);
    };
    let canonical = canonical(code);
    let is_meant = |(name, _): &&(&str, &str)| *name == canonical || name.eq_ignore_ascii_case(code);
    let found = PAGES.iter().chain(TOPICS).find(is_meant);
    let (_, page) = found.ok_or(CliError::NoPage { code: code.clone() })?;
    writeln!(out, "{}", page.trim_end())?;
    Ok(Exit::Success)
}

/// The code, if it is one of ours; that of answers that are not understood otherwise.
pub fn known_code(code: &str) -> &'static str {
    PAGES.iter().find(|(known, _)| *known == code).map_or("MH0807", |(known, _)| known)
}

/// `mh0201`, `201` and `E-MH0201` are what `MH0201` is.
fn canonical(code: &str) -> String {
    let digits: String = code.chars().filter(char::is_ascii_digit).collect();
    format!("MH{digits:0>4}")
}

fn title(page: &str) -> &str {
    page.lines().next().unwrap_or_default().trim_start_matches('#').trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_can_be_abbreviated() {
        for code in ["MH0101", "mh0101", "101", "0101"] {
            assert_eq!(canonical(code), "MH0101");
        }
    }
}
