//! What a state has begun that others see, and that has to go before the state ends: where its functions wait, they wait no more.

use std::sync::{Mutex, PoisonError, Weak};

/// Something that ends, from whatever thread.
pub trait Ending: Send + Sync {
    /// Ends it, without waiting for Lua; nothing more happens the second time.
    fn end(&self);
}

/// All of a state; `None` when they have ended.
pub(crate) struct Endings(Mutex<Option<Vec<Weak<dyn Ending>>>>);

impl Default for Endings {
    fn default() -> Endings {
        Endings(Mutex::new(Some(Vec::new())))
    }
}

impl Endings {
    /// One more, which ends at once if the others have.
    pub fn add(&self, ending: Weak<dyn Ending>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *all {
            Some(all) => {
                all.retain(|ending| ending.strong_count() > 0);
                all.push(ending);
            }
            None => {
                drop(all);
                if let Some(ending) = ending.upgrade() {
                    ending.end();
                }
            }
        }
    }

    pub fn end(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        all.iter().flatten().filter_map(Weak::upgrade).for_each(|ending| ending.end());
    }
}
