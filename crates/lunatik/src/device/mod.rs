//! A file that behaves like a character device, and is served by this process (fuse(4)): what is done with it becomes calls of somebody else's.

mod calls;
mod place;
mod protocol;
mod server;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;

use self::calls::Calls;
use self::place::Place;
use self::server::Server;

/// What somebody does with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Open,
    /// At most so many bytes, from there on.
    Read {
        length: usize,
        offset: i64,
    },
    Write {
        bytes: Vec<u8>,
        offset: i64,
    },
    Release,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Opened or released.
    Nothing,
    /// Bytes, and where the next ones are; no more bytes than were wanted.
    Read(Vec<u8>, i64),
    /// How many of the bytes are written, and where the next ones go.
    Written(usize, i64),
}

/// Something to be done, once; dropped without, whoever waits is told that there is no such device (`ENXIO`).
pub(crate) struct Job {
    calls: Arc<Calls>,
    unique: u64,
    place: protocol::Place,
    wanted: Option<Wanted>,
}

impl Job {
    /// Does it, unless nobody waits for it any more, and answers.
    pub fn run(mut self, mut make: impl FnMut(Wanted) -> Result<Done, Errno>) {
        let (Some(mut wanted), Some(task)) = (self.wanted.take(), self.calls.task(self.unique)) else {
            return;
        };
        // Where others have left off meanwhile.
        match &mut wanted {
            Wanted::Read { offset, .. } | Wanted::Write { offset, .. } => {
                *offset = self.calls.offset(self.place);
            }
            Wanted::Open | Wanted::Release => {}
        }
        let is_open = wanted == Wanted::Open;
        let answer = match task.run(|| make(wanted)) {
            Ok(Done::Nothing) if is_open => {
                if !self.opened() {
                    // Nobody has it open, and nobody is going to close it.
                    let _ = make(Wanted::Release);
                }
                return;
            }
            Ok(Done::Nothing) => protocol::answer(self.unique, &[]),
            Ok(Done::Read(bytes, next)) => {
                self.calls.advance(self.place, bytes.len(), next);
                protocol::answer(self.unique, &bytes)
            }
            Ok(Done::Written(count, next)) => {
                self.calls.advance(self.place, count, next);
                protocol::answer(self.unique, &protocol::written(count))
            }
            Err(error) => protocol::refusal(self.unique, error),
        };
        self.calls.answer(self.unique, &answer);
    }

    /// Says whether whoever has opened it has it open.
    fn opened(&self) -> bool {
        let handle = self.calls.open();
        let body = protocol::opened(handle);
        let is_open = self.calls.answer(self.unique, &protocol::answer(self.unique, &body));
        if !is_open {
            self.calls.release(handle);
        }
        is_open
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.calls.answer(self.unique, &protocol::refusal(self.unique, Errno::ENXIO));
    }
}

/// Hands a job to whoever does it.
pub(crate) type Ask = Box<dyn Fn(Job) + Send>;

/// A device that is there until it stops.
pub(crate) struct Device(Arc<Held>);

/// What of a device has to go.
struct Held {
    place: Place,
    calls: Arc<Calls>,
    is_gone: Mutex<bool>,
}

impl Held {
    /// Who calls this while somebody else does waits for them.
    fn leave(&self) {
        self.calls.stop();
        let mut is_gone = self.is_gone.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *is_gone, true) {
            self.place.leave();
        }
    }
}

impl Device {
    /// A device with that name in a folder, and those permissions.
    ///
    /// # Errors
    /// `EINVAL` and `ENAMETOOLONG` for names, `EEXIST` where there is something, `EPERM` for who may not mount, `ENODEV` without FUSE,
    /// `ESHUTDOWN` when the process is at its end.
    pub fn new(folder: &Path, name: &[u8], mode: u32, ask: Ask) -> nix::Result<Arc<Device>> {
        let calls = Arc::new(Calls::new(place::fuse()?)?);
        let device = {
            // Who ends the process waits until what is made here can be found, and taken away.
            let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
            let all = all.as_mut().ok_or(Errno::ESHUTDOWN)?;
            let place = Place::take(folder, name)?;
            let held = Arc::new(Held { place, calls, is_gone: Mutex::new(false) });
            if let Err(error) = held.place.mount(&held.calls.fuse) {
                held.leave();
                return Err(error);
            }
            all.push(Arc::clone(&held));
            Arc::new(Device(held))
        };
        let calls = Arc::clone(&device.0.calls);
        let server = Server::new(calls, String::from_utf8_lossy(name).into_owned(), mode, ask);
        let thread = std::thread::Builder::new().name("device".to_string()).spawn(move || server.run());
        thread.map_err(|error| error.raw_os_error().map_or(Errno::EAGAIN, Errno::from_raw))?;
        Ok(device)
    }

    /// Removes it. Who has it open is answered `ENXIO`, also who waits for an answer; what is done for these is ended.
    pub fn stop(&self) {
        self.0.leave();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let rest =
            all.as_mut().map(|all| all.extract_if(.., |held| Arc::ptr_eq(held, &self.0)).collect::<Vec<_>>());
        drop(all);
        drop(rest);
    }
}

/// All devices of this process that are there; `None` when no more are to come.
static ALL: Mutex<Option<Vec<Arc<Held>>>> = Mutex::new(Some(Vec::new()));

/// Removes all devices of this process, which is to end, whatever its threads are at.
pub fn abandon() {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner).take();
    all.iter().flatten().for_each(|held| held.leave());
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop();
    }
}
