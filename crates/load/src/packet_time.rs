//! At which hook a handler is at work, for functions that do there what they cannot do at load time.

use moonhook_hook::Hook;
use std::cell::Cell;

thread_local! {
    static AT: Cell<Option<&'static Hook>> = const { Cell::new(None) };
}

/// From now on a handler of that hook is at work on this thread, or none.
pub fn set_hook(hook: Option<&'static Hook>) {
    AT.set(hook);
}

/// The hook whose handler is at work.
pub(crate) fn hook() -> Option<&'static Hook> {
    AT.get()
}
