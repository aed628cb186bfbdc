//! A script with a flow table that runs in a network namespace, and datagrams that travel to it: a veth between two namespaces.

use moonhook_updates::{Operation, SecretKey, Update, sequence};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

use crate::error::Error;
use crate::process;

/// The port that updates are sent to.
const UPDATES: u16 = 9;
const LEFT: &str = "192.0.2.1";
const RIGHT: &str = "192.0.2.2";

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
        words(&format!("ip -n {left} link add left0 type veth peer name right0 netns {right}"))?;
        for (name, end, address) in [(left, "left0", LEFT), (right, "right0", RIGHT)] {
            words(&format!("ip netns exec {name} sysctl -q net.ipv6.conf.all.disable_ipv6=1"))?;
            words(&format!("ip -n {name} address add {address}/24 dev {end}"))?;
            words(&format!("ip -n {name} link set {end} up"))?;
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
        command.args(["run", "right0"]).arg(folder.join("flows.lua"));
        command.args(["--netns", namespace, "--name", "bench"]).arg("--socket-dir").arg(folder.join("run"));
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

/// The script, and sockets at both ends.
pub struct Travelling {
    // Dropped in this order.
    _session: Session,
    namespaces: Namespaces,
    _folder: TempDir,
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
        let session = Session::start(moonhook, folder.path(), &namespaces.names[1])?;
        let updates = namespaces.socket(0, format!("{LEFT}:0"))?;
        updates.connect((RIGHT, UPDATES)).map_err(Error::system("connect a socket"))?;
        Ok(Travelling { _session: session, namespaces, _folder: folder, key, updates })
    }

    pub fn flow(&self, port: u16) -> Result<Flow, Error> {
        let sender = self.namespaces.socket(0, format!("{LEFT}:0"))?;
        sender.connect((RIGHT, port)).map_err(Error::system("connect a socket"))?;
        let receiver = self.namespaces.socket(1, format!("{RIGHT}:{port}"))?;
        receiver.set_nonblocking(true).map_err(Error::system("set up a socket"))?;
        Ok(Flow { sender, receiver })
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
