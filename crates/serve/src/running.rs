//! One script that runs: a session on a thread of its own, asked without waiting for it.

use crate::ServeError;
use crate::limits::{Turn, within};
use crate::listener::Listener;
use crate::recorder::Recorder;
use crate::register::Register;
use crate::spec::Spec;
use moonhook_daemon::{Answer, Asker, ClientId, DaemonError, Delivery, Name, Pending, Reply, Request};
use moonhook_session::{Inbox, Options, Session, SessionError, threads};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// A script that runs, or is about to.
pub struct Running {
    inbox: Arc<Inbox>,
    stop: Arc<AtomicBool>,
    ended: watch::Receiver<bool>,
    pub recorder: Arc<Recorder>,
    /// What is said of it, and the files of its scripts.
    present: Mutex<(Spec, Vec<PathBuf>)>,
}

/// Is told of the end, and of what came of the script if it has run.
pub type End = Box<dyn FnOnce(Option<Result<(), SessionError>>) + Send>;

/// A script that begins, and who is told when it is attached, or why not.
pub type Begun = (Arc<Running>, oneshot::Receiver<Result<(), ServeError>>);

/// What a thread is to do.
pub struct Task {
    pub name: Name,
    pub options: Options,
    pub listener: Listener,
    pub spec: Spec,
    /// Where the script is to be found while it is attached.
    pub register: Arc<Register>,
    pub end: End,
}

/// Connections of sockets are counted upwards.
static CLIENTS: AtomicU64 = AtomicU64::new(u64::MAX);

/// Who asks: what one has begun (a list for a table), no other one adds to.
pub fn client() -> ClientId {
    ClientId(CLIENTS.fetch_sub(1, Ordering::Relaxed))
}

impl Running {
    /// Begins; the receiver is told when the script is attached, or why not.
    ///
    /// # Errors
    /// Where the system gives no more threads.
    pub fn start(task: Task) -> Result<Begun, ServeError> {
        let Task { name, options, listener, spec, register, end } = task;
        let (tell_start, started) = oneshot::channel();
        let (tell_end, ended) = watch::channel(false);
        let running = Arc::new(Running {
            inbox: Arc::default(),
            stop: Arc::default(),
            ended,
            recorder: Arc::clone(&listener.recorder),
            present: Mutex::new((spec, options.scripts.clone())),
        });
        let of_thread = Arc::clone(&running);
        threads::start("script", move || {
            let Running { inbox, stop, .. } = &*of_thread;
            let outcome = threads::guarded(|| {
                match Session::start(options, Arc::clone(inbox), Box::new(listener), stop) {
                    Ok(Some(session)) => {
                        // Until the session has ended. One that was given up meanwhile ends at once.
                        let _entry = register.enter(&name, &of_thread);
                        let _ = tell_start.send(Ok(()));
                        session.run(stop).map(Some)
                    }
                    // It was stopped before.
                    Ok(None) => Ok(None),
                    Err(error) => {
                        let _ = tell_start.send(Err(error.into()));
                        Ok(None)
                    }
                }
            });
            end(outcome.transpose());
            let _ = tell_end.send(true);
        })?;
        Ok((running, started))
    }

    /// One that does nothing.
    #[cfg(test)]
    pub fn idle() -> Arc<Running> {
        let packages = moonhook_load::Options::default().packages;
        Arc::new(Running {
            inbox: Arc::default(),
            stop: Arc::default(),
            ended: watch::channel(true).1,
            recorder: Arc::new(Recorder::new(packages)),
            present: Mutex::default(),
        })
    }

    /// What is said of it, and the files of its scripts.
    pub fn present(&self) -> (Spec, Vec<PathBuf>) {
        self.lock().clone()
    }

    /// Whether that is said of it.
    pub fn is(&self, spec: &Spec) -> bool {
        self.lock().0 == *spec
    }

    /// It runs these from now on, and that is said of it.
    pub fn note(&self, spec: Option<Spec>, scripts: Vec<PathBuf>) {
        let mut present = self.lock();
        present.1 = scripts;
        if let Some(spec) = spec {
            present.0 = spec;
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Spec, Vec<PathBuf>)> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the session.
    ///
    /// # Errors
    /// `TooLong`; what it answers, also that it is ending.
    pub async fn ask(&self, client: ClientId, request: Request, limit: Duration) -> Answered {
        self.ask_in_turn(client, request, limit, None).await
    }

    /// As [`Running::ask`], with a turn that is over when the session has answered, whoever waits for that.
    pub async fn ask_in_turn(
        &self,
        client: ClientId,
        request: Request,
        limit: Duration,
        turn: Option<Turn>,
    ) -> Answered {
        let ask = |reply| self.inbox.deliver(Delivery::Request(Pending { client, request, reply }));
        answered(ask, limit, turn).await
    }

    /// Has it go on with other options (see [`Inbox::replace`]).
    ///
    /// # Errors
    /// As [`Running::ask`].
    pub async fn replace(&self, options: Options, limit: Duration, turn: Turn) -> Answered {
        answered(|reply| self.inbox.replace(options, reply), limit, Some(turn)).await
    }

    /// There are no more requests of that client.
    pub fn leave(&self, client: ClientId) {
        self.inbox.deliver(Delivery::Gone(client));
    }

    /// Has it end, without waiting; what is pinned stays.
    pub fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// `TooLong`.
    pub async fn ended(&self, limit: Duration) -> Result<(), ServeError> {
        let mut ended = self.ended.clone();
        let gone = async {
            // Where the thread is gone without a word, it has ended as well.
            let _ = ended.wait_for(|ended| *ended).await;
            Ok(())
        };
        within((limit, "the script's end"), gone).await
    }

    /// As [`Running::ended`], for who is in no runtime; says whether it has ended.
    pub fn wait(&self, deadline: Instant) -> bool {
        while !*self.ended.borrow() && self.ended.has_changed().is_ok() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// A call that waits for a session, as long as its client does.
struct Call {
    sender: oneshot::Sender<Answer>,
    /// Over when the session is done with it, which may be later.
    _turn: Option<Turn>,
}

impl Asker for Call {
    fn answer(self: Box<Self>, answer: Answer) {
        drop(self.sender.send(answer));
    }

    fn waits(&self) -> bool {
        !self.sender.is_closed()
    }
}

/// What a session has answered.
pub type Answered = Result<serde_json::Value, ServeError>;

/// The answer of a session that is asked so.
async fn answered(ask: impl FnOnce(Reply), limit: Duration, turn: Option<Turn>) -> Answered {
    let (sender, answer) = oneshot::channel::<Answer>();
    ask(Reply::to(Call { sender, _turn: turn }));
    let unanswered = || DaemonError::Unavailable { what: "an answer of a script that is ending".into() };
    let answered = async { Ok(answer.await.map_err(|_| unanswered())??) };
    within((limit, "the script's answer"), answered).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// A reload of which nobody waits any more for the end is still being compiled.
    #[test]
    fn a_turn_lasts_as_long_as_the_session_is_at_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let turns = Arc::new(Semaphore::new(1));
        let turn = runtime.block_on(Arc::clone(&turns).acquire_owned()).unwrap();
        let running = Running::idle();
        let request = Request::Reload { scripts: None, allow_read: Vec::new() };
        let asked = running.ask_in_turn(client(), request, Duration::from_millis(20), Some(Arc::new(turn)));
        assert_eq!(runtime.block_on(asked).unwrap_err().code(), "MH1010");
        assert_eq!(turns.available_permits(), 0);
        // The session ends.
        running.inbox.close();
        assert_eq!(turns.available_permits(), 1);
    }
}
