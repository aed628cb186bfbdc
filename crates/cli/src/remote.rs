//! What the commands that reach running scripts have in common.

use crate::CliError;
use moonhook_daemon::{Client, Name, Request, RuntimeFolder};
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// Where running scripts are found.
#[derive(Clone, Debug, clap::Args)]
pub struct RemoteOptions {
    /// Folder with the sockets of running scripts [default: $MOONHOOK_RUNTIME_DIR or /run/moonhook]
    #[arg(long, value_name = "DIR")]
    socket_dir: Option<PathBuf>,
}

const DEFAULT: &str = "/run/moonhook";

impl RemoteOptions {
    pub fn folder(&self) -> RuntimeFolder {
        let chosen = self.socket_dir.clone().or_else(from_environment);
        RuntimeFolder::new(chosen.unwrap_or_else(|| DEFAULT.into()))
    }

    /// A person has said where.
    pub fn is_chosen(&self) -> bool {
        self.socket_dir.is_some() || from_environment().is_some()
    }

    /// An option says where.
    pub fn is_named(&self) -> bool {
        self.socket_dir.is_some()
    }

    /// Asks the script of that name once.
    pub fn ask<T: DeserializeOwned>(&self, name: &Name, request: &Request) -> Result<T, CliError> {
        ask(&mut Client::connect(&self.folder(), name)?, request)
    }
}

fn from_environment() -> Option<PathBuf> {
    std::env::var_os("MOONHOOK_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Asks over a connection; a refusal of the other side is the command's error.
pub fn ask<T: DeserializeOwned>(client: &mut Client, request: &Request) -> Result<T, CliError> {
    client.ask(request)?.map_err(CliError::Remote)
}
