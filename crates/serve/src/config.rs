//! What a person has chosen for the service.

use moonhook_daemon::RuntimeFolder;
use moonhook_engine::Settings;
use moonhook_packages::Sources;
use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Takes a line about what happens; must not wait.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Log {
        Log(Arc::new(take))
    }

    pub fn line(&self, text: &str) {
        (self.0)(text);
    }
}

impl Default for Log {
    /// Nobody reads it.
    fn default() -> Log {
        Log::new(|_| ())
    }
}

impl Debug for Log {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// What a person has chosen for the service.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen, unless sockets are given.
    pub listen: SocketAddr,
    /// Of TLS, the files with certificate and key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// What calls have to have.
    pub token: Option<String>,
    /// Scripts that are started with the service, each with its `NAME.toml`.
    pub scripts: Option<PathBuf>,
    /// Where the service keeps the texts of scripts that clients have loaded.
    pub state: PathBuf,
    /// Programs outlive the process, and the next one takes them over.
    pub pin: bool,
    /// As `moonhook run` has it: a folder for pinned scripts.
    pub bpffs: Option<PathBuf>,
    /// Where maps of programs in C are pinned as PACKAGE/PROGRAM/MAP, and whether somebody has said so.
    pub maps: PathBuf,
    pub maps_are_chosen: bool,
    /// Where running scripts are found by commands on this machine.
    pub folder: RuntimeFolder,
    pub folder_is_chosen: bool,
    /// What scripts are compiled with that say nothing else.
    pub settings: Settings,
    /// Packages, and where those that are missing come from and go to.
    pub sources: Sources,
    pub index: Option<PathBuf>,
    pub fetched: PathBuf,
    /// Scripts may be in other network namespaces.
    pub enter_netns: bool,
    /// All capabilities stay.
    pub keep_privileges: bool,
    pub log: Log,
}
