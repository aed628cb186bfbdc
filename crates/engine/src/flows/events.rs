//! Which numbers of events functions of flows have.

use moonhook_control::FunctionId;
use moonhook_records::{Decoder, EVENTS_OF_FUNCTION};
use std::collections::{HashMap, VecDeque};

/// The numbers that functions have, and those that are free.
#[derive(Default)]
pub struct Events {
    of: HashMap<FunctionId, u32>,
    last: u32,
    /// Of functions that are gone; records of them may still be read.
    free: VecDeque<u32>,
    forgotten: VecDeque<u32>,
}

/// Functions that are gone of which records are still understood.
const REMEMBERED: usize = 256;

impl Events {
    /// The number of a function's first event.
    pub fn of(&mut self, id: FunctionId) -> u32 {
        *self.of.entry(id).or_insert_with(|| {
            // Those that are free are used as late as possible: records of the function that had them may still be read.
            const MOST: u32 = u32::MAX / EVENTS_OF_FUNCTION;
            let number = match self.last + 1 < MOST {
                true => {
                    self.last += 1;
                    self.last
                }
                false => self.forgotten.pop_front().or_else(|| self.free.pop_front()).unwrap_or(self.last),
            };
            number * EVENTS_OF_FUNCTION
        })
    }

    /// A function is no more.
    pub fn forget(&mut self, id: FunctionId, decoder: &Decoder) {
        if let Some(first) = self.of.remove(&id) {
            self.free.push_back(first / EVENTS_OF_FUNCTION);
        }
        // Of those that went a while ago, no record is left.
        while self.free.len() > REMEMBERED {
            let Some(number) = self.free.pop_front() else { break };
            decoder.forget_function(number * EVENTS_OF_FUNCTION);
            self.forgotten.push_back(number);
        }
    }
}
