//! Where in the kernel handlers run, as data: a hook is a file with its row, and an entry of [`HOOKS`]. Numbers are those of
//! include/uapi/linux/bpf.h.

mod xdp;

use std::fmt;
use std::hash;

pub use xdp::XDP;

/// All hooks.
pub const HOOKS: &[&Hook] = &[&XDP];

/// A hook. Two are equal if their names are.
pub struct Hook {
    /// As scripts, dumps and messages have it.
    pub name: &'static str,
    /// The section of its programs in object files, as libbpf knows it.
    pub section: &'static str,
    /// The section of programs that also take frames in several buffers, if the hook tells those apart.
    pub section_for_frags: Option<&'static str>,
    /// `enum bpf_prog_type`.
    pub program_type: u32,
    pub context: Context,
    /// The names of what a program can return, by number.
    pub verdicts: &'static [&'static str],
    /// The verdict of a handler that returns nothing. Where a handler returns it, the next one is asked.
    pub pass: u32,
    /// The verdicts, at the end of `verdicts`, that need more than their number.
    pub with_targets: usize,
}

/// What a program gets.
pub struct Context {
    /// The structure's name, by which the kernel knows a program's context.
    pub structure: &'static str,
    /// Where the addresses of the packet's first byte and of the one behind its last are in it: words of 32 bits.
    pub start: i16,
    pub end: i16,
}

impl Hook {
    /// The hook whose programs are in that section.
    pub fn of_section(section: &str) -> Option<&'static Hook> {
        HOOKS.iter().copied().find(|hook| hook.section == section || hook.section_for_frags == Some(section))
    }

    /// The section of programs, of such that also take frames in several buffers if wanted.
    pub fn section(&self, frags: bool) -> &'static str {
        self.section_for_frags.filter(|_| frags).unwrap_or(self.section)
    }

    /// The name of a verdict.
    pub fn verdict(&self, number: u32) -> Option<&'static str> {
        self.verdicts.get(usize::try_from(number).ok()?).copied()
    }

    /// The greatest verdict.
    pub fn last_verdict(&self) -> u32 {
        self.verdicts.len() as u32 - 1
    }

    /// Verdicts that a person can ask for, in any case: names in lower case, and numbers.
    pub fn plain_verdicts(&self) -> impl Iterator<Item = (String, u32)> {
        let plain = self.verdicts.len() - self.with_targets;
        self.verdicts[..plain].iter().zip(0..).map(|(name, number)| (name.to_lowercase(), number))
    }
}

impl PartialEq for Hook {
    fn eq(&self, other: &Hook) -> bool {
        self.name == other.name
    }
}

impl Eq for Hook {}

impl hash::Hash for Hook {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_and_have_their_own_verdicts() {
        for (number, hook) in HOOKS.iter().enumerate() {
            assert!(hook.verdict(hook.pass).is_some() && hook.verdict(hook.last_verdict() + 1).is_none());
            assert!(hook.plain_verdicts().any(|(_, number)| number == hook.pass));
            for section in [hook.section(false), hook.section(true)] {
                assert_eq!(Hook::of_section(section), Some(*hook));
            }
            assert!(HOOKS[..number].iter().all(|other| other != hook && other.section != hook.section));
        }
        assert_eq!(Hook::of_section("license"), None);
    }
}
