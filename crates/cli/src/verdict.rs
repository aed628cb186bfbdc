//! Verdicts as people name and read them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use moonhook_hook::{HOOKS, Hook, OnError};
use std::borrow::Cow;

/// The verdict's name at a hook, or the number of one that has none.
pub fn name(hook: &Hook, verdict: i32) -> Cow<'static, str> {
    hook.verdict(verdict).map_or_else(|| Cow::Owned(verdict.to_string()), Cow::Borrowed)
}

/// Reads the name of a verdict that a person can ask for at some hook.
pub fn parser() -> impl TypedValueParser<Value = OnError> {
    let verdicts = HOOKS.iter().flat_map(|hook| hook.verdicts);
    let mut names: Vec<String> = Vec::new();
    for name in verdicts.filter(|verdict| !verdict.needs_target).flat_map(|verdict| verdict.names) {
        let name = name.to_lowercase();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "pass" => OnError::PASS,
        _ => OnError::from(name),
    })
}
