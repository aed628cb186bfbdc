//! A script with a flow table that runs in a network namespace, and datagrams that travel to it.

use moonhook_daemon::{Client, Name, Request, RuntimeFolder, TableOperation};
use moonhook_updates::{Operation, SecretKey, Update, sequence};
use std::net::UdpSocket;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use tempfile::TempDir;

use super::namespaces::{Background, Flow, Namespaces, RIGHT, failed};
use crate::error::Error;

/// The port that updates are sent to.
pub const UPDATES: u16 = 9;

/// What the script that runs is called, and its file and the folder of its socket in the folder of all.
const NAME: &str = "bench";
const SCRIPT: &str = "script.lua";
const SOCKETS: &str = "run";

/// A script, and sockets at both ends of the veth that it is attached to.
pub struct Travelling {
    // Dropped in this order.
    _session: Background,
    pub namespaces: Namespaces,
    folder: TempDir,
}

/// A script with a flow table that takes updates in packets, and who sends those.
pub struct Updated {
    travelling: Travelling,
    key: SecretKey,
    updates: UdpSocket,
}

/// Starts the command that runs the script.
fn session(moonhook: &Path, folder: &Path, namespace: &str) -> Result<Background, Error> {
    let mut command = Command::new(moonhook);
    command.args(["run", "right0"]).arg(folder.join(SCRIPT));
    command.args(["--netns", namespace, "--name", NAME]).arg("--socket-dir").arg(folder.join(SOCKETS));
    Background::start(command, &folder.join("output"), "attached")
}

impl Travelling {
    pub fn start(moonhook: &Path, script: &str) -> Result<Travelling, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("make a folder"))?;
        std::fs::create_dir(folder.path().join(SOCKETS)).map_err(Error::system("make a folder"))?;
        std::fs::write(folder.path().join(SCRIPT), script).map_err(Error::system("write a script"))?;
        let namespaces = Namespaces::new()?;
        let session = session(moonhook, folder.path(), &namespaces.names[1])?;
        Ok(Travelling { _session: session, namespaces, folder })
    }

    pub fn flow(&self, port: u16) -> Result<Flow, Error> {
        Flow::new(self.namespaces.sender(port)?, self.namespaces.socket(1, format!("{RIGHT}:{port}"))?)
    }

    /// What a command asks the script by.
    pub fn client(&self) -> Result<Client, Error> {
        let name: Name = NAME.parse().map_err(|_| failed("a name that is none"))?;
        let folder = RuntimeFolder::new(self.folder.path().join(SOCKETS));
        Client::connect(&folder, &name).map_err(|error| failed(&error.to_string()))
    }

    /// Another script beside the one that runs; gives where it is.
    pub fn write(&self, name: &str, script: &str) -> Result<PathBuf, Error> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, script).map_err(Error::system("write a script"))?;
        Ok(path)
    }
}

impl Deref for Updated {
    type Target = Travelling;

    fn deref(&self) -> &Travelling {
        &self.travelling
    }
}

impl Updated {
    pub fn start(moonhook: &Path) -> Result<Updated, Error> {
        let key = SecretKey::new().map_err(|error| failed(&error.to_string()))?;
        let public = key.public().to_pem().map_err(|error| failed(&error.to_string()))?;
        let script = format!(
            "local flow, updates, xdp = require 'flow', require 'updates', require 'xdp'\n\
             xdp.attach(flow.new{{key = 'dport', capacity = 1000}})\n\
             updates.listen{{port = {UPDATES}, keys = {{[[{public}]]}}, hook = xdp.attach, rate = 100000, total = 100000}}\n"
        );
        let travelling = Travelling::start(moonhook, &script)?;
        let updates = travelling.namespaces.sender(UPDATES)?;
        Ok(Updated { travelling, key, updates })
    }

    /// The datagram that gives a flow the function that a text is.
    pub fn datagram(&self, port: u16, text: &str) -> Result<Vec<u8>, Error> {
        let update = Update {
            operation: Operation::Set,
            sequence: sequence(SystemTime::now()),
            receiver: String::new(),
            table: String::new(),
            key: port.to_string(),
            text: text.to_string(),
        };
        let datagrams = update.datagrams(&self.key).map_err(|error| failed(&error.to_string()))?;
        datagrams.into_iter().next().ok_or_else(|| failed("an update has no datagram"))
    }

    pub fn send(&self, datagram: &[u8]) -> Result<(), Error> {
        self.updates.send(datagram).map(drop).map_err(Error::system("send an update"))
    }

    /// How many updates the script has taken.
    pub fn taken(&self) -> Result<u64, Error> {
        let operation = TableOperation::Get { key: "taken".into() };
        let request = Request::Table { table: "updates".to_string(), operation };
        match self.client()?.ask(&request) {
            Ok(Ok(taken)) => Ok(taken),
            Ok(Err(refusal)) => Err(failed(&refusal.message)),
            Err(error) => Err(failed(&error.to_string())),
        }
    }
}
