//! A script with a flow table that runs in a network namespace, and datagrams that travel to it.

use moonhook_updates::{Operation, SecretKey, Update, sequence};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use tempfile::TempDir;

use super::namespaces::{Background, Flow, Namespaces, RIGHT, failed};
use crate::error::Error;
use crate::process;

/// The port that updates are sent to.
pub const UPDATES: u16 = 9;

/// The script, and sockets at both ends.
pub struct Travelling {
    // Dropped in this order.
    _session: Background,
    pub namespaces: Namespaces,
    folder: TempDir,
    moonhook: PathBuf,
    key: SecretKey,
    updates: UdpSocket,
}

/// Starts the command that runs the script.
fn session(moonhook: &Path, folder: &Path, namespace: &str) -> Result<Background, Error> {
    let mut command = Command::new(moonhook);
    command.args(["run", "right0"]).arg(folder.join("flows.lua"));
    command.args(["--netns", namespace, "--name", "bench"]).arg("--socket-dir").arg(folder.join("run"));
    Background::start(command, &folder.join("output"), "attached")
}

impl Travelling {
    pub fn start(moonhook: &Path) -> Result<Travelling, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("make a folder"))?;
        let key = SecretKey::new().map_err(|error| failed(&error.to_string()))?;
        let public = key.public().to_pem().map_err(|error| failed(&error.to_string()))?;
        let script = format!(
            "local flow, updates, xdp = require 'flow', require 'updates', require 'xdp'\n\
             xdp.attach(flow.new{{key = 'dport', capacity = 1000}})\n\
             updates.listen{{port = {UPDATES}, keys = {{[[{public}]]}}, hook = xdp.attach, rate = 100000, total = 100000}}\n"
        );
        std::fs::create_dir(folder.path().join("run")).map_err(Error::system("make a folder"))?;
        std::fs::write(folder.path().join("flows.lua"), script).map_err(Error::system("write a script"))?;
        let namespaces = Namespaces::new()?;
        let session = session(moonhook, folder.path(), &namespaces.names[1])?;
        let updates = namespaces.sender(UPDATES)?;
        let moonhook = moonhook.to_owned();
        Ok(Travelling { _session: session, namespaces, folder, moonhook, key, updates })
    }

    pub fn flow(&self, port: u16) -> Result<Flow, Error> {
        Flow::new(self.namespaces.sender(port)?, self.namespaces.socket(1, format!("{RIGHT}:{port}"))?)
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
        let mut command = Command::new(&self.moonhook);
        command.args(["table", "bench", "updates", "get", "taken", "--socket-dir"]);
        let shown = process::run(command.arg(self.folder.path().join("run")))?;
        shown.trim().parse().map_err(|_| failed(&format!("the script has taken {shown:?} updates")))
    }
}
