//! How long scripts take to compile and load: the promise of two seconds, whichever form a script gets.
//!
//! Processor time is what counts, that of the kernel's verifier included; other work on the machine is no part of it.

use crate::{Pair, host};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// What a person may wait for is 2 s. Builds of the compiler that check themselves take several times as long as others.
pub const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 8 } else { 2 });

/// What most scripts take at most.
const SHORT: Duration = Duration::from_millis(50);

/// How many of the slowest are named.
const NAMED: usize = 5;

/// What many programs took: the time, the script's name and the form.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<(Duration, String, &'static str)>);

impl Times {
    /// Adds what each of a script's programs took.
    pub fn add(&mut self, name: &str, times: &[(Duration, &'static str)]) {
        self.0.extend(times.iter().map(|(time, form)| (*time, name.to_string(), *form)));
    }

    /// Adds what the programs of a pair took.
    pub fn add_pair(&mut self, name: &str, pair: &Pair) {
        self.add(name, &pair.times());
    }

    /// Those that took longer than a person may wait for.
    pub fn too_long(&self) -> Vec<String> {
        let long = self.0.iter().filter(|(time, ..)| *time > LONGEST * host::slowness());
        long.map(|(time, name, form)| format!("{name}, {form}: {time:.2?}")).collect()
    }
}

impl Display for Times {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut forms: Vec<&str> = self.0.iter().map(|(.., form)| *form).collect();
        forms.sort_unstable();
        forms.dedup();
        for form in forms {
            let mut all: Vec<_> = self.0.iter().filter(|(.., own)| *own == form).collect();
            all.sort();
            let at = |part: usize| all[(all.len() - 1) * part / 100].0;
            let short = all.iter().filter(|(time, ..)| *time <= SHORT).count();
            let slowest = all.iter().rev().take(NAMED);
            let slowest: Vec<_> = slowest.map(|(time, name, _)| format!("{name} {time:.0?}")).collect();
            writeln!(
                out,
                "{form}: {} programs, half within {:.0?}, nine of ten within {:.0?}, {} % within {SHORT:?}; {}",
                all.len(),
                at(50),
                at(90),
                100 * short / all.len(),
                slowest.join(", ")
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_named_and_counted() {
        let mut times = Times::default();
        for n in 0..20 {
            let general = Duration::from_millis(10 * n);
            times.add(&format!("{n}.lua"), &[(general / 10, "expanded code"), (general, "general code")]);
        }
        let shown = times.to_string();
        assert!(
            shown.contains("expanded code: 20 programs, half within 9ms, nine of ten within 17ms, 100 %"),
            "{shown}"
        );
        assert!(
            shown.contains("general code: 20 programs")
                && shown.contains("30 % within 50ms; 19.lua 190ms, 18.lua"),
            "{shown}"
        );
        assert!(times.too_long().is_empty());
        times.add("slow.lua", &[(LONGEST * 2, "general code")]);
        assert_eq!(times.too_long().len(), 1);
    }
}
