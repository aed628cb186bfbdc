//! Removal of entries whose time is over: nobody sees them any more, but they take room in their maps.
//!
//! A pass through a table is made of steps of bounded work, with pauses for everything else between them.

use crate::ControlError;
use crate::table::{SharedTable, now};
use moonhook_install::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Batches that one step reads: some thousands of entries, a few milliseconds.
const BATCHES: usize = 4;

/// From one step of a pass to the next.
const PAUSE: Duration = Duration::from_millis(10);

/// From one pass to the next: a quarter of the lifetime, within these.
const SOONEST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(10);

/// How long an entry has been dead that is removed, in nanoseconds: a handler that found it alive has ended.
const GRACE: u64 = 100_000_000;

/// The tables with lifetimes, and where each pass stands.
pub struct Sweeper {
    passes: Vec<Pass>,
}

struct Pass {
    table: Arc<SharedTable>,
    interval: Duration,
    cursor: Cursor,
    due: Instant,
}

impl Sweeper {
    pub fn new(tables: &[Arc<SharedTable>]) -> Sweeper {
        let begin = Instant::now();
        let pass = |table: &Arc<SharedTable>| {
            let interval = Duration::from_nanos(table.schema().lifetime? / 4).clamp(SOONEST, LATEST);
            Some(Pass { table: table.clone(), interval, cursor: Cursor::default(), due: begin + interval })
        };
        Sweeper { passes: tables.iter().filter_map(pass).collect() }
    }

    /// Makes the steps that are due; gives when the next one is, and the last error.
    pub fn step(&mut self) -> (Option<Instant>, Option<ControlError>) {
        let begin = Instant::now();
        let mut failed = None;
        for pass in self.passes.iter_mut().filter(|pass| pass.due <= begin) {
            let ended = match pass.table.sweep(&mut pass.cursor, BATCHES, now().saturating_sub(GRACE)) {
                Ok(ended) => ended,
                Err(error) => {
                    failed = Some(error);
                    true
                }
            };
            if ended {
                pass.cursor = Cursor::default();
            }
            pass.due = Instant::now() + if ended { pass.interval } else { PAUSE };
        }
        (self.passes.iter().map(|pass| pass.due).min(), failed)
    }
}
