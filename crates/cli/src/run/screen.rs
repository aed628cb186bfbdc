//! Standard output and error of a process that has other things to do than wait for who reads them.
//!
//! A thread writes. What is to be written waits in a queue, so that signals and requests are seen to while nobody reads, as behind a
//! pager or on a terminal that was stopped. Where the queue is full nothing more is to be brought ([`Screen::has_room`]). A disk that is full is no
//! reason to end: what finds no room there is lost, and told of when there is room again, or at the end.

use moonhook_session::{SessionError, threads};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that wait while more are welcome.
const FULL: usize = 256 << 10;
/// Bytes that wait at most: what comes on its own is dropped beyond them.
const MOST: usize = 16 << 20;
/// How long the end waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Error,
}

pub struct Screen {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    texts: VecDeque<(Stream, Vec<u8>)>,
    /// Bytes of the texts, of the one that is being written too.
    waiting: usize,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
    /// How many texts have found no room since that was told, and why the last one did not.
    lost: u64,
    no_room: Option<io::Error>,
    ended: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    /// Writes to the process's standard output and error; `drained` is called when there is room after there was none.
    ///
    /// # Errors
    /// `Output`, `Resource`.
    pub fn start(drained: impl Fn() + Send + 'static) -> Result<Screen, SessionError> {
        // Descriptors of its own: the library's have locks, which a write that does not end would hold.
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let error = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        Screen::with(output, error, drained)
    }

    fn with(
        mut output: impl Write + Send + 'static,
        mut error: impl Write + Send + 'static,
        drained: impl Fn() + Send + 'static,
    ) -> Result<Screen, SessionError> {
        let shared = Arc::new(Shared::default());
        let queue = Arc::clone(&shared);
        threads::start("screen", move || {
            while let Some((stream, text)) = next(&queue) {
                let written = match stream {
                    Stream::Output => output.write_all(&text),
                    Stream::Error => error.write_all(&text),
                };
                done(&queue, stream, text.len(), written, &drained);
            }
        })?;
        Ok(Screen { shared })
    }

    /// Puts text into the queue; false if it is dropped, since too much waits.
    ///
    /// # Errors
    /// `Output` with why earlier text could not be written.
    pub fn write(&self, stream: Stream, text: Vec<u8>) -> Result<bool, SessionError> {
        let mut queue = self.shared.queue();
        if let Some(error) = queue.failed.take() {
            return Err(error.into());
        }
        if queue.waiting + text.len() > MOST {
            return Ok(false);
        }
        queue.waiting += text.len();
        queue.texts.push_back((stream, text));
        self.shared.changed.notify_all();
        Ok(true)
    }

    /// Whether text that can be held back should come.
    pub fn has_room(&self) -> bool {
        self.shared.queue().waiting < FULL
    }

    /// Waits until all is written, as long as somebody takes it.
    ///
    /// # Errors
    /// `Output`: why something could not be written; `TimedOut` if nobody takes it.
    pub fn finish(&self) -> Result<(), SessionError> {
        let mut queue = self.shared.queue();
        loop {
            if let Some(error) = queue.failed.take() {
                return Err(error.into());
            }
            let before = queue.waiting;
            if before == 0 {
                // Of what was told of already it is not the end that tells.
                let lost = std::mem::take(&mut queue.lost) > 0;
                return queue.no_room.take().filter(|_| lost).map_or(Ok(()), |error| Err(error.into()));
            }
            let waited =
                self.shared.changed.wait_timeout_while(queue, PATIENCE, |queue| queue.waiting == before);
            let (held, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = held;
            if timeout.timed_out() {
                return Err(io::Error::new(ErrorKind::TimedOut, "nobody reads it").into());
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.shared.queue().ended = true;
        self.shared.changed.notify_all();
    }
}

/// Waits for the next text; `None` at the end.
fn next(shared: &Shared) -> Option<(Stream, Vec<u8>)> {
    let idle = |queue: &mut Queue| queue.texts.is_empty() && !queue.ended;
    let queue = shared.changed.wait_while(shared.queue(), idle);
    queue.unwrap_or_else(PoisonError::into_inner).texts.pop_front()
}

/// Notes what came of a text. Where errors go has no reader that matters: what cannot be written there is gone.
fn done(shared: &Shared, stream: Stream, length: usize, written: io::Result<()>, drained: &impl Fn()) {
    let mut queue = shared.queue();
    let was_full = queue.waiting >= FULL;
    queue.waiting -= length;
    match written {
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            queue.lost += 1;
            queue.no_room = Some(error);
        }
        Err(error) if stream == Stream::Output => {
            queue.texts.clear();
            queue.waiting = 0;
            queue.failed.get_or_insert(error);
        }
        Ok(()) if queue.lost > 0 => {
            let text = format!("note: {} messages found no room where they are written\n", queue.lost);
            queue.lost = 0;
            queue.waiting += text.len();
            queue.texts.push_front((Stream::Error, text.into_bytes()));
        }
        Ok(()) | Err(_) => {}
    }
    let has_room = queue.waiting < FULL;
    shared.changed.notify_all();
    drop(queue);
    if was_full && has_room {
        drained();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    /// Takes a text whenever it is told to.
    struct Slow(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
            self.1.lock().unwrap().extend(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Screen, SyncSender<()>, Arc<Mutex<Vec<u8>>>) {
        let (told, tell) = sync_channel(100);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let screen = Screen::with(Slow(tell, Arc::clone(&seen)), io::sink(), || ()).unwrap();
        (screen, told, seen)
    }

    #[test]
    fn nobody_waits_for_a_reader_that_takes_nothing() {
        let (screen, told, seen) = slow();
        assert!(screen.write(Stream::Output, b"first ".to_vec()).unwrap());
        assert!(screen.has_room());
        assert!(screen.write(Stream::Output, vec![b'x'; FULL]).unwrap());
        assert!(!screen.has_room());
        assert!(!screen.write(Stream::Output, vec![b'y'; MOST]).unwrap());
        let SessionError::Output(error) = screen.finish().unwrap_err() else { panic!() };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        (0..2).for_each(|_| told.send(()).unwrap());
        screen.finish().unwrap();
        assert!(screen.has_room());
        assert_eq!(seen.lock().unwrap().len(), 6 + FULL);
    }

    /// Has no room for as many texts as that.
    struct Disk(Arc<Mutex<u32>>, Arc<Mutex<Vec<u8>>>);

    impl Write for Disk {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let mut missing = self.0.lock().unwrap();
            if *missing > 0 {
                *missing -= 1;
                return Err(io::Error::from(ErrorKind::StorageFull));
            }
            self.1.lock().unwrap().extend(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_ends_nothing_and_is_told_of() {
        let (missing, seen) = (Arc::new(Mutex::new(2)), Arc::new(Mutex::new(Vec::new())));
        let disk = || Disk(Arc::clone(&missing), Arc::clone(&seen));
        let screen = Screen::with(disk(), disk(), || ()).unwrap();
        for text in ["one", "two"] {
            assert!(screen.write(Stream::Output, text.into()).unwrap());
        }
        let SessionError::Output(error) = screen.finish().unwrap_err() else { panic!() };
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        *missing.lock().unwrap() = 2;
        for text in ["three", "four", "five ", "six"] {
            assert!(screen.write(Stream::Output, text.into()).unwrap());
        }
        screen.finish().unwrap();
        let note = "note: 2 messages found no room where they are written\n";
        assert_eq!(String::from_utf8_lossy(&seen.lock().unwrap()), format!("five {note}six"));
    }

    #[test]
    fn who_writes_learns_of_the_readers_end() {
        let (screen, told, _) = slow();
        drop(told);
        screen.write(Stream::Output, b"text".to_vec()).unwrap();
        assert!(screen.finish().unwrap_err().is_broken_pipe());
        assert!(screen.write(Stream::Error, b"text".to_vec()).unwrap());
        screen.finish().unwrap();
    }
}
