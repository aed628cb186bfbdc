//! What a session is to do.

use moonhook_daemon::{Name, RuntimeFolder};
use moonhook_engine::Settings;
use moonhook_hook::{Place, Point};
use moonhook_install::{InterfaceName, RequestedMode, Target};
use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a session is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// For the hooks of interfaces.
    pub interfaces: Vec<String>,
    /// At least one; several become one program.
    pub scripts: Vec<PathBuf>,
    pub mode: RequestedMode,
    /// Put an empty program to the other end of each interface.
    pub peer: bool,
    /// The network namespace of the interface; `None`: the process's own.
    pub netns: Option<String>,
    pub settings: Settings,
    /// What the script is called; `None`: the script's file name, and a number if that is taken.
    pub name: Option<Name>,
    /// Where running scripts are found.
    pub folder: RuntimeFolder,
    /// Somebody has said where: it is an error if there can be no such folder.
    pub folder_is_chosen: bool,
    /// Reload when a file changes that the script was made of.
    pub watch: bool,
    /// The program outlives the process.
    pub pin: bool,
    /// The folder in a BPF file system for pins; `None`: where the script is pinned already, or the usual one.
    pub bpffs: Option<PathBuf>,
    /// The script's folder for pins; `None` until its name is known.
    pub pins: Option<PathBuf>,
    /// By how many queues packets come to handlers that run in this process, of each place.
    pub queues: u16,
    /// End after that time.
    pub duration: Option<Duration>,
    /// From one telling of the counters to the next.
    pub interval: Duration,
    /// Dropped when nothing is compiled any more for the session's start, whoever waits for that.
    pub busy: Option<Busy>,
}

/// Somebody's note that a session is at work.
#[derive(Clone)]
pub struct Busy(pub Arc<dyn Any + Send + Sync>);

impl Debug for Busy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Busy")
    }
}

impl Options {
    /// The point as programs have it: the only interface has no name there.
    pub fn point(&self, point: Point) -> Point {
        match (&point.place, &self.interfaces[..]) {
            (Place::Named(name), [only]) if **name == **only => point.moved_to(Place::Interface),
            _ => point,
        }
    }

    /// Where programs are to be put.
    pub fn target(&self) -> Target<'_> {
        Target {
            interface: self.interfaces.first().map(|name| InterfaceName::from(name.as_str())),
            mode: self.mode,
            netns: self.netns.as_deref(),
            folder: self.pins.as_deref(),
        }
    }
}
