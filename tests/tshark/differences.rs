//! The differences that have a reason. A rule says exactly which differences it explains; one that explains none of a
//! folder of traces is not in the summary.

use moonhook_capture::Frame;

use crate::layers::Layers;
use crate::run::Shown;

/// A field that the two sides show differently.
pub struct Difference<'a> {
    pub frame: &'a Frame,
    pub shown: &'a Shown,
    pub layers: &'a Layers,
    pub path: &'static str,
    pub ours: Option<String>,
    pub theirs: Option<String>,
}

pub struct Rule {
    /// A few words that name the class.
    pub name: &'static str,
    pub reason: &'static str,
    pub explains: fn(&Difference) -> bool,
}

pub static RULES: &[Rule] = &[];

/// The first rule that explains the difference, by its number.
pub fn rule(difference: &Difference) -> Option<usize> {
    RULES.iter().position(|rule| (rule.explains)(difference))
}
