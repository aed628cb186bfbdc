//! Threads, and what becomes of a panic: an error like others, with a code, which whoever waits is told. What else runs goes on.

use crate::SessionError;
use moonhook_engine::EngineError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

/// What the main thread usually has: the stages recurse into what scripts nest.
pub const STACK: usize = 8 << 20;

/// Begins `work` on a thread with this name.
///
/// # Errors
/// `Resource` where the system gives no more threads.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, SessionError> {
    let thread = Builder::new().name(name.to_string()).stack_size(STACK);
    let spawned = thread.spawn(work);
    spawned.map_err(|source| EngineError::Resource { what: "thread", source }.into())
}

/// Does `work`, which owns all that it changes: nobody sees what a panic leaves half done.
///
/// # Errors
/// What `work` fails of; `Panicked`.
pub fn guarded<T, E: From<SessionError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(panic.as_ref()).into()))
}

/// Waits for a thread.
///
/// # Errors
/// `Panicked`.
pub fn join<T>(thread: JoinHandle<T>) -> Result<T, SessionError> {
    thread.join().map_err(|panic| panicked(panic.as_ref()))
}

/// The error of a panic with this payload.
fn panicked(payload: &(dyn Any + Send)) -> SessionError {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    SessionError::Panicked { problem: text.unwrap_or("a panic without a message").to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_diagnostic::Exit;

    #[test]
    fn a_panic_is_an_error_with_a_code() {
        let number = 7;
        let formatted = guarded::<(), SessionError>(|| panic!("number {number}")).unwrap_err();
        let plain = join(start("test", || panic!("plain")).unwrap()).map(|(): ()| ()).unwrap_err();
        for (error, text) in [(formatted, "number 7"), (plain, "plain")] {
            assert_eq!((error.code(), error.exit()), ("MH0022", Exit::Bug));
            assert!(error.to_string().ends_with(text), "{error}");
        }
        assert_eq!(guarded::<_, SessionError>(|| Ok(1)).unwrap(), 1);
    }
}
