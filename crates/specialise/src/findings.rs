//! What an attempt finds out about the script itself: errors, refusals, and that it has to be made again.

use crate::error::{LowerError, Result, Stop};
use crate::sites::Site;
use std::collections::HashSet;

/// The findings of one attempt.
#[derive(Default)]
pub struct Findings {
    /// Errors that happen whenever an instruction is executed in some state, for code that is not rolled back, with that
    /// instruction. They are no reason to warn of if it is among [`Findings::passed`].
    pub certain: Vec<(Option<Site>, LowerError)>,
    /// Other errors that happened in some state. Of an instruction that did nothing else, there is a reason to warn.
    pub failed: Vec<(Site, LowerError)>,
    /// A refusal that holds unless specialisation has to start again.
    pub deferred: Option<Box<LowerError>>,
    /// Something was learned that code before depends on: what is made now only serves to learn more, see
    /// [`crate::context::Context::learned`].
    pub stale: bool,
    /// Instructions that were executed without an error in some state.
    passed: HashSet<Site>,
}

impl Findings {
    /// Goes on after a refusal, to see whether handlers do something further on that makes specialisation start again.
    pub fn refuse_later<T>(&mut self, refusal: Result<T>) -> Result<()> {
        match refusal {
            Err(Stop::Error(error)) => self.deferred.get_or_insert(error),
            Err(Stop::Restart) => return Err(Stop::Restart),
            Ok(_) => return Ok(()),
        };
        Ok(())
    }

    /// Starts again before something is learned that does not hold in code that takes account of what this attempt has learned: a loop
    /// may need to be unrolled over a table of load time, and not over the map that the table turns out to be. What values variables
    /// and tables get holds: the handlers' first packet may be handled like this one.
    pub fn stop_if_stale(&self) -> Result<()> {
        if self.stale { Err(Stop::Restart) } else { Ok(()) }
    }

    /// The instruction was executed without an error.
    pub fn note_passed(&mut self, site: Option<Site>) {
        self.passed.extend(site);
    }

    /// The errors of instructions that failed in all states that they were executed in: those that are certain, and of other instructions the
    /// first one of each.
    pub fn errors_of_failing(&mut self) -> Vec<LowerError> {
        let (certain, failed) = (std::mem::take(&mut self.certain), std::mem::take(&mut self.failed));
        let mut known: HashSet<Site> = certain.iter().filter_map(|(site, _)| *site).collect();
        let failed = failed.into_iter().filter(|(site, _)| known.insert(*site));
        let all = certain.into_iter().chain(failed.map(|(site, error)| (Some(site), error)));
        all.filter(|(site, _)| self.never_passed(*site)).map(|(_, error)| error).collect()
    }

    /// Whether the instruction failed in all states that it was executed in.
    pub fn never_passed(&self, site: Option<Site>) -> bool {
        site.is_none_or(|site| !self.passed.contains(&site))
    }
}
