//! A script with a flow table that runs in a network namespace, and datagrams that travel to it: a veth between two namespaces.

use moonhook_daemon::{Client, Name, RuntimeFolder};
use moonhook_updates::{Operation, SecretKey, Update, sequence};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::net::UdpSocket;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

use crate::error::Error;
use crate::process;

/// The port that updates are sent to.
const UPDATES: u16 = 9;
const LEFT: &str = "192.0.2.1";
const RIGHT: &str = "192.0.2.2";

/// What the script that runs is called, and its file and the folder of its socket in the folder of all.
const NAME: &str = "bench";
const SCRIPT: &str = "script.lua";
const SOCKETS: &str = "run";

/// Both namespaces; they end with this.
struct Namespaces {
    names: [String; 2],
}

impl Namespaces {
    fn new() -> Result<Namespaces, Error> {
        let names = ["left", "right"].map(|side| format!("moonhook-bench-{}-{side}", std::process::id()));
        let namespaces = Namespaces { names };
        let [left, right] = &namespaces.names;
        for name in [left, right] {
            words(&format!("ip netns add {name}"))?;
            words(&format!("ip -n {name} link set lo up"))?;
        }
        let [here, there] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
        words(&format!(
            "ip -n {left} link add left0 address {here} type veth peer name right0 address {there} netns {right}"
        ))?;
        for (name, end, address) in [(left, "left0", LEFT), (right, "right0", RIGHT)] {
            words(&format!("ip netns exec {name} sysctl -q net.ipv6.conf.all.disable_ipv6=1"))?;
            words(&format!("ip -n {name} address add {address}/24 dev {end}"))?;
            words(&format!("ip -n {name} link set {end} up"))?;
        }
        // Scripts that drop everything drop what asks for addresses.
        for (name, end, other, at) in [(left, "left0", RIGHT, there), (right, "right0", LEFT, here)] {
            words(&format!("ip -n {name} neighbour replace {other} lladdr {at} dev {end} nud permanent"))?;
        }
        Ok(namespaces)
    }

    /// A socket in one of them, made on a thread that goes there.
    fn socket(&self, side: usize, address: String) -> Result<UdpSocket, Error> {
        let path = format!("/run/netns/{}", self.names[side]);
        let made = std::thread::spawn(move || -> std::io::Result<UdpSocket> {
            setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?;
            UdpSocket::bind(address)
        });
        let made = made.join().map_err(|_| failed("the thread that opens a socket has failed"))?;
        made.map_err(Error::system("open a socket in a namespace"))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = words(&format!("ip netns delete {name}"));
        }
    }
}

fn words(line: &str) -> Result<(), Error> {
    process::words(&line.split(' ').collect::<Vec<_>>()).map(drop)
}

fn failed(message: &str) -> Error {
    Error::Peer { contestant: "moonhook".to_string(), message: message.to_string() }
}

/// The command that runs the script; it ends with this.
struct Session(Child);

impl Session {
    fn start(moonhook: &Path, folder: &Path, namespace: &str) -> Result<Session, Error> {
        let mut command = Command::new(moonhook);
        command.args(["run", "right0"]).arg(folder.join(SCRIPT));
        command.args(["--netns", namespace, "--name", NAME]).arg("--socket-dir").arg(folder.join(SOCKETS));
        let output = folder.join("output");
        let file = File::create(&output).map_err(Error::system("make a file"))?;
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::inherit());
        let child = command.spawn().map_err(Error::system("start `moonhook run`"))?;
        let session = Session(child);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            let text = std::fs::read_to_string(&output).map_err(Error::system("read a file"))?;
            if text.lines().any(|line| line.starts_with("attached")) {
                return Ok(session);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(failed("`moonhook run` does not attach the script"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

/// A script, and both ends of a veth.
pub struct Travelling {
    // Dropped in this order.
    _session: Session,
    namespaces: Namespaces,
    folder: TempDir,
}

/// A script with a flow table that takes updates in packets, and who sends those.
pub struct Updated {
    travelling: Travelling,
    key: SecretKey,
    updates: UdpSocket,
}

/// A flow from one end to the other.
pub struct Flow {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Flow {
    /// Sends a datagram; whether one has arrived by then.
    pub fn try_send(&self) -> Result<bool, Error> {
        self.sender.send(&[7; 22]).map_err(Error::system("send a datagram"))?;
        self.has_arrived()
    }

    pub fn has_arrived(&self) -> Result<bool, Error> {
        match self.receiver.recv(&mut [0; 64]) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(Error::system("receive a datagram")(error)),
        }
    }
}

impl Travelling {
    pub fn start(moonhook: &Path, script: &str) -> Result<Travelling, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("make a folder"))?;
        std::fs::create_dir(folder.path().join(SOCKETS)).map_err(Error::system("make a folder"))?;
        std::fs::write(folder.path().join(SCRIPT), script).map_err(Error::system("write a script"))?;
        let namespaces = Namespaces::new()?;
        let session = Session::start(moonhook, folder.path(), &namespaces.names[1])?;
        Ok(Travelling { _session: session, namespaces, folder })
    }

    pub fn flow(&self, port: u16) -> Result<Flow, Error> {
        let sender = self.namespaces.socket(0, format!("{LEFT}:0"))?;
        sender.connect((RIGHT, port)).map_err(Error::system("connect a socket"))?;
        let receiver = self.namespaces.socket(1, format!("{RIGHT}:{port}"))?;
        receiver.set_nonblocking(true).map_err(Error::system("set up a socket"))?;
        Ok(Flow { sender, receiver })
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
        let updates = travelling.namespaces.socket(0, format!("{LEFT}:0"))?;
        updates.connect((RIGHT, UPDATES)).map_err(Error::system("connect a socket"))?;
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
}
