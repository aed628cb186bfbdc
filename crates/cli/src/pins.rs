//! Where pinned scripts are found.

use moonhook_daemon::{Name, RuntimeFolder};
use moonhook_session::Pins;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Where scripts are pinned.
#[derive(Clone, Debug, clap::Args)]
pub struct PinOptions {
    /// Folder in a BPF file system where scripts are pinned [default: where the script is pinned already, or /sys/fs/bpf/moonhook]
    #[arg(long, value_name = "DIR")]
    pub bpffs: Option<PathBuf>,
}

impl PinOptions {
    /// The pins of a script.
    pub fn of(&self, runtime: &RuntimeFolder, name: &Name) -> Pins {
        Pins::of(self.bpffs.as_deref(), runtime, name)
    }

    /// The names of scripts that are pinned, wherever that is.
    pub fn names(&self, runtime: &RuntimeFolder) -> BTreeSet<Name> {
        Pins::names(self.bpffs.as_deref(), runtime)
    }
}
