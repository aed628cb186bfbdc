//! Counts that tests set.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use moonhook_lunatik::{Counted, Counting, Counts, Uncounted};

type All = BTreeMap<Counted, BTreeMap<u32, u64>>;

/// What there is to count, and what of it is counted.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    all: Arc<Mutex<All>>,
    counted: Arc<Mutex<Vec<Counted>>>,
}

impl Counters {
    /// Something happens so often.
    pub fn add(&self, counted: &Counted, number: u32, times: u64) {
        *self.all.lock().unwrap().entry(counted.clone()).or_default().entry(number).or_default() += times;
    }

    /// What is counted now.
    pub fn counted(&self) -> Vec<Counted> {
        self.counted.lock().unwrap().clone()
    }
}

impl Counting for Counters {
    fn count(&self, counted: &Counted) -> Result<Box<dyn Counts>, Uncounted> {
        match counted {
            Counted::Function(name) if name == "absent" => {
                Err(Uncounted { errno: 2, reason: "there is no such function".to_string() })
            }
            _ => {
                self.counted.lock().unwrap().push(counted.clone());
                Ok(Box::new(Counter { counted: counted.clone(), of: self.clone() }))
            }
        }
    }
}

struct Counter {
    counted: Counted,
    of: Counters,
}

impl Counts for Counter {
    fn all(&self) -> Result<Vec<(u32, u64)>, String> {
        let all = self.of.all.lock().unwrap();
        Ok(all.get(&self.counted).into_iter().flatten().map(|(number, count)| (*number, *count)).collect())
    }

    fn one(&self, number: u32) -> Result<u64, String> {
        Ok(self.all()?.into_iter().find(|(known, _)| *known == number).map_or(0, |(_, count)| count))
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.of.counted.lock().unwrap().retain(|counted| *counted != self.counted);
    }
}
