//! `--watch`: which files a script was made of, and when they change.
//!
//! Folders are watched rather than files, since editors write a new file and give it the old one's name.

use crate::SessionError;
use crate::inbox::Inbox;
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Several files are often written one after another.
const QUIET: Duration = Duration::from_millis(50);

/// Watches files from a thread of its own, which ends with the process.
pub struct Watcher {
    shared: Arc<Shared>,
}

struct Shared {
    inotify: Inotify,
    watched: Mutex<HashSet<(WatchDescriptor, OsString)>>,
}

impl Watcher {
    /// # Errors
    /// `Watch`.
    pub fn start(inbox: &Arc<Inbox>) -> Result<Watcher, SessionError> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC).map_err(failed)?;
        let shared = Arc::new(Shared { inotify, watched: Mutex::default() });
        let (of_thread, inbox) = (Arc::clone(&shared), Arc::clone(inbox));
        let thread = std::thread::Builder::new().name("watch".to_string());
        let spawned = thread.spawn(move || of_thread.run(&inbox));
        spawned.map_err(|source| SessionError::Watch { source })?;
        Ok(Watcher { shared })
    }

    /// Watches these files, too. A folder that is not there is left out.
    pub fn watch(&self, files: &[PathBuf]) {
        let wanted = AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO;
        for file in files {
            let folder =
                file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if let (Ok(folder), Some(name)) =
                (self.shared.inotify.add_watch(folder, wanted), file.file_name())
            {
                self.shared.watched().insert((folder, name.to_os_string()));
            }
        }
    }
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, HashSet<(WatchDescriptor, OsString)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, inbox: &Inbox) {
        loop {
            match self.inotify.read_events() {
                Ok(events) if events.iter().any(|event| self.concerns(event)) => {
                    std::thread::sleep(QUIET);
                    inbox.change();
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn concerns(&self, event: &InotifyEvent) -> bool {
        // After an overflow nobody knows what has changed.
        let lost = event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW);
        lost || event.name.as_ref().is_some_and(|name| self.watched().contains(&(event.wd, name.clone())))
    }
}

fn failed(errno: Errno) -> SessionError {
    SessionError::Watch { source: errno.into() }
}
