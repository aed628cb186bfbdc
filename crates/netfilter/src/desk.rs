//! What all handlers in runtimes have in common: where their packets are, by how many queues they come, and what has been decided.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use moonhook_load::Decided;

use moonhook_user::Line;

use crate::server::Hook;

/// One for a script's runtimes.
pub struct Desk {
    wanted: Mutex<Wanted>,
    hooks: Mutex<Vec<Weak<Hook>>>,
    counted: Mutex<Counted>,
    /// That handlers lack marks of connections has been told, or there is nothing to tell.
    is_told: AtomicBool,
}

/// How packets are to come.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// The network namespace (`None`: the process's).
    pub netns: Option<String>,
    /// Of each place.
    pub queues: u16,
}

#[derive(Default)]
struct Counted {
    verdicts: BTreeMap<i32, u64>,
    errors: u64,
}

impl Default for Desk {
    fn default() -> Desk {
        let wanted = Mutex::new(Wanted { netns: None, queues: 1 });
        Desk { wanted, hooks: Mutex::default(), counted: Mutex::default(), is_told: AtomicBool::new(false) }
    }
}

impl Desk {
    /// Handlers that are registered from now on have their packets from that network namespace (`None`: the process's), by so many queues of each place.
    pub fn take_packets(&self, netns: Option<&str>, queues: u16) {
        *locked(&self.wanted) = Wanted { netns: netns.map(str::to_string), queues };
    }

    /// The places whose packets handlers are asked about, in the order in which they were registered, and all that was decided, also by those that are gone.
    pub fn decided(&self) -> Decided {
        let hooks: Vec<_> = locked(&self.hooks).iter().filter_map(Weak::upgrade).collect();
        let hooks = hooks.iter().filter(|hook| !hook.is_over());
        let places = hooks.flat_map(|hook| hook.places().to_vec()).collect();
        let counted = locked(&self.counted);
        Decided { places, verdicts: counted.verdicts.clone(), errors: counted.errors }
    }

    pub(crate) fn wanted(&self) -> Wanted {
        locked(&self.wanted).clone()
    }

    pub(crate) fn add(&self, hook: &Arc<Hook>) {
        let mut hooks = locked(&self.hooks);
        hooks.retain(|hook| hook.strong_count() > 0);
        hooks.push(Arc::downgrade(hook));
    }

    /// What a person should know, once, of a handler that has asked for the mark of a connection at that line and got none: whether that is the kernel's.
    pub(crate) fn lack_of_marks(&self, line: &Line) -> Option<String> {
        if self.is_told.swap(true, Ordering::Relaxed)
            || moonhook_install::queues_have_connections() != Some(false)
        {
            return None;
        }
        let warning = moonhook_install::without_marks();
        let help = warning.help.unwrap_or_default();
        Some(format!("warning[{}]: {}:{}: {}; {help}", warning.code, line.file, line.number, warning.message))
    }

    pub(crate) fn count(&self, verdict: i32, is_error: bool) {
        let mut counted = locked(&self.counted);
        *counted.verdicts.entry(verdict).or_default() += 1;
        counted.errors += u64::from(is_error);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
