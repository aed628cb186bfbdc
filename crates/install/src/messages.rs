//! What libbpf would print to stderr, collected instead.
//!
//! libbpf has one print function for the whole process and calls it on the thread that is inside libbpf, so the
//! messages of a call are those that its thread got while it ran.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static COLLECTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work` and returns its result with the warnings libbpf had for it. Warnings outside of any `collect` are dropped.
pub(crate) fn collect<T>(work: impl FnOnce() -> T) -> (T, String) {
    silence();
    let outer = COLLECTED.replace(Some(String::new()));
    let result = work();
    let messages = COLLECTED.replace(outer).unwrap_or_default();
    (result, messages)
}

/// Keeps libbpf's messages off stderr from now on.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, keep)));
    });
}

fn keep(_level: PrintLevel, message: String) {
    COLLECTED.with_borrow_mut(|collected| {
        if let Some(collected) = collected {
            collected.push_str(&message);
        }
    });
}
