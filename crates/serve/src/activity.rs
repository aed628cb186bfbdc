//! Whether anything comes of a connection: it has to bring a call that is let in soon, and another one from time to time.

use crate::limits::{IDLE, PONG};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;
use tonic::codegen::http::Extensions;
use tonic::transport::server::TlsConnectInfo;

/// What a connection and its calls know of one another.
#[derive(Debug)]
pub struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    /// One of its calls was let in.
    is_welcome: bool,
    /// Calls that are not over.
    open: usize,
    /// When it began, or the last call ended.
    since: Instant,
}

/// A call that is not over.
pub struct Open(Arc<Activity>);

impl Activity {
    /// Of a connection that begins.
    pub fn begin() -> Arc<Activity> {
        Arc::new(Activity(Mutex::new(State { is_welcome: false, open: 0, since: Instant::now() })))
    }

    /// Of the connection that a request came by.
    pub fn of(extensions: &Extensions) -> Option<&Arc<Activity>> {
        let encrypted = || extensions.get::<TlsConnectInfo<Arc<Activity>>>().map(TlsConnectInfo::get_ref);
        extensions.get::<Arc<Activity>>().or_else(encrypted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is let in, and begins.
    pub fn open(self: &Arc<Activity>) -> Open {
        let mut state = self.state();
        state.is_welcome = true;
        state.open += 1;
        Open(Arc::clone(self))
    }

    /// When it is to be let go of, if nothing happens until then; `None` while a call is open.
    pub fn end(&self) -> Option<Instant> {
        let State { is_welcome, open, since } = *self.state();
        (open == 0).then(|| since + if is_welcome { IDLE } else { PONG })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_when_nothing_comes_of_it() {
        let activity = Activity::begin();
        let begun = activity.end().unwrap();
        assert!(begun <= Instant::now() + PONG);
        let (first, second) = (activity.open(), activity.open());
        drop(first);
        assert_eq!(activity.end(), None);
        drop(second);
        let end = activity.end().unwrap();
        assert!(end > begun && end <= Instant::now() + IDLE);
    }
}
