//! What the commands that reach running scripts have in common.

use crate::CliError;
use moonhook_daemon::{Client, Name, Request, RuntimeFolder};
use moonhook_serve::{Client as Service, Following};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

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
}

/// A service that has the scripts, in the place of this machine's folder of sockets.
#[derive(Clone, Debug, clap::Args)]
pub struct ServiceOptions {
    /// The scripts of a service (`moonhook serve`), for example http://127.0.0.1:50051, with TLS https://…
    #[arg(long = "remote", value_name = "URL", conflicts_with = "socket_dir")]
    url: Option<String>,
    /// A file whose first line is the service's token
    #[arg(long, value_name = "FILE", requires = "url")]
    token: Option<PathBuf>,
    /// A certificate, as PEM, by which the service's is signed
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,
}

impl ServiceOptions {
    /// The service, if one is named.
    pub fn connect(&self) -> Result<Option<Service>, CliError> {
        let Some(url) = &self.url else { return Ok(None) };
        let token = self.token.as_deref().map(token).transpose()?;
        Ok(Some(Service::connect(url, token.as_deref(), self.ca.as_deref())?))
    }

    /// The script of that name, at the service or on this machine.
    pub fn script(&self, remote: &RemoteOptions, name: &Name) -> Result<Script, CliError> {
        Ok(match self.connect()? {
            Some(service) => Script::OfService(Box::new(service), name.clone()),
            None => Script::Own(Client::connect(&remote.folder(), name)?),
        })
    }
}

/// A script that runs somewhere, and can be asked.
pub enum Script {
    Own(Client),
    OfService(Box<Service>, Name),
}

impl Script {
    /// Asks; a refusal of the other side is the command's error.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, CliError> {
        match self {
            Script::Own(client) => ask(client, request),
            Script::OfService(service, name) => Ok(service.ask(name, request)?),
        }
    }

    /// Follows what happens to it from now on.
    pub fn follow(self) -> Result<Events, CliError> {
        Ok(match self {
            Script::Own(mut client) => {
                ask::<()>(&mut client, &Request::Events)?;
                Events::Own(client)
            }
            Script::OfService(service, name) => Events::OfService(Box::new(service.follow(&name)?)),
        })
    }
}

/// What happens to a script that runs somewhere.
pub enum Events {
    Own(Client),
    OfService(Box<Following>),
}

impl Events {
    /// Waits for the next event; `None` when the script has ended.
    pub fn event(&mut self) -> Result<Option<Value>, CliError> {
        match self {
            Events::Own(client) => Ok(client.event()?),
            Events::OfService(following) => Ok(following.event()?),
        }
    }
}

/// The first line of a file.
pub fn token(path: &Path) -> Result<String, CliError> {
    let unreadable = |source| CliError::Unreadable { path: path.to_path_buf(), source };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let line = text.lines().next().unwrap_or_default().trim();
    // What cannot stand in a header cannot be brought by anybody.
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_graphic()) {
        let empty = "its first line is no token of printable characters";
        return Err(unreadable(std::io::Error::other(empty)));
    }
    Ok(line.to_string())
}

fn from_environment() -> Option<PathBuf> {
    std::env::var_os("MOONHOOK_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Asks over a connection; a refusal of the other side is the command's error.
pub fn ask<T: DeserializeOwned>(client: &mut Client, request: &Request) -> Result<T, CliError> {
    client.ask(request)?.map_err(CliError::Remote)
}
