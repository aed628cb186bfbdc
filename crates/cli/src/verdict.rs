//! Verdicts as people name and read them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use moonhook_hook::XDP;
use std::borrow::Cow;

/// The verdict that lets a frame through.
pub const PASS: u32 = XDP.pass;

/// The verdict's name, or the number of one that has none.
pub fn name(verdict: u32) -> Cow<'static, str> {
    XDP.verdict(verdict).map_or_else(|| Cow::Owned(verdict.to_string()), Cow::Borrowed)
}

/// Reads the name of a verdict that a person can ask for.
pub fn parser() -> impl TypedValueParser<Value = u32> {
    let names: Vec<String> = XDP.plain_verdicts().map(|(name, _)| name).collect();
    PossibleValuesParser::new(names).map(|wanted| {
        XDP.plain_verdicts().find(|(name, _)| *name == wanted).map_or(PASS, |(_, number)| number)
    })
}
