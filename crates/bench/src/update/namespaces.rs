//! Two network namespaces with a veth between them, and programs that run there.

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use nix::unistd::Pid;
use std::fs::File;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::process;

pub const LEFT: &str = "192.0.2.1";
pub const RIGHT: &str = "192.0.2.2";

/// Both namespaces; they end with this.
pub struct Namespaces {
    pub names: [String; 2],
}

impl Namespaces {
    pub fn new() -> Result<Namespaces, Error> {
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
        // Nobody answers who asks for an address of which a script drops all, or that is not the kernel's.
        for (name, end, other, at) in [(left, "left0", RIGHT, there), (right, "right0", LEFT, here)] {
            words(&format!("ip -n {name} neighbour replace {other} lladdr {at} nud permanent dev {end}"))?;
        }
        Ok(namespaces)
    }

    /// Takes the right end from the kernel's IP, for a program that answers in its place.
    pub fn without_kernel(&self) -> Result<(), Error> {
        words(&format!("ip -n {} address flush dev right0", self.names[1])).map(drop)
    }

    /// Frames for which the veth had no room: those that a program on the right has not seen.
    pub fn dropped(&self) -> Result<u64, Error> {
        let file = "/sys/class/net/left0/statistics/tx_dropped";
        let shown = words(&format!("ip netns exec {} cat {file}", self.names[0]))?;
        shown.trim().parse().map_err(|_| failed(&format!("the veth has dropped {shown:?} frames")))
    }

    /// A socket in one of them, made on a thread that goes there.
    pub fn socket(&self, side: usize, address: String) -> Result<UdpSocket, Error> {
        let path = format!("/run/netns/{}", self.names[side]);
        let made = std::thread::spawn(move || -> std::io::Result<UdpSocket> {
            setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?;
            UdpSocket::bind(address)
        });
        let made = made.join().map_err(|_| failed("the thread that opens a socket has failed"))?;
        made.map_err(Error::system("open a socket in a namespace"))
    }

    /// A socket on the left whose datagrams go to a port on the right.
    pub fn sender(&self, port: u16) -> Result<UdpSocket, Error> {
        let sender = self.socket(0, format!("{LEFT}:0"))?;
        sender.connect((RIGHT, port)).map_err(Error::system("connect a socket"))?;
        Ok(sender)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = words(&format!("ip netns delete {name}"));
        }
    }
}

fn words(line: &str) -> Result<String, Error> {
    process::words(&line.split(' ').collect::<Vec<_>>())
}

pub fn failed(message: &str) -> Error {
    Error::Peer { contestant: "updates in packets".to_string(), message: message.to_string() }
}

/// A program that runs meanwhile; it ends with this.
pub struct Background(Child);

impl Background {
    /// Starts it, and waits until it has printed a line that begins with `ready`.
    pub fn start(mut command: Command, output: &Path, ready: &str) -> Result<Background, Error> {
        let shown = process::shown(&command);
        let file = File::create(output).map_err(Error::system("make a file"))?;
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::inherit());
        let child = command.spawn().map_err(Error::system(format!("start `{shown}`")))?;
        let mut background = Background(child);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            let text = std::fs::read_to_string(output).map_err(Error::system("read a file"))?;
            if text.lines().any(|line| line.starts_with(ready)) {
                return Ok(background);
            }
            if background.has_ended() {
                return Err(failed(&format!("`{shown}` has ended")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(failed(&format!("`{shown}` does not say '{ready}'")))
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
        let begin = Instant::now();
        while !self.has_ended() {
            if begin.elapsed() > Duration::from_secs(5) {
                let _ = self.0.kill();
                let _ = self.0.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A flow from the left to the right, and where what passes there is seen to arrive.
pub struct Flow {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Flow {
    pub fn new(sender: UdpSocket, receiver: UdpSocket) -> Result<Flow, Error> {
        receiver.set_nonblocking(true).map_err(Error::system("set up a socket"))?;
        // Datagrams may have to wait while whoever looks at them is not running.
        setsockopt(&receiver, RcvBufForce, &(64 << 20))
            .map_err(|error| Error::system("set up a socket")(error.into()))?;
        Ok(Flow { sender, receiver })
    }

    pub fn send(&self, payload: &[u8]) -> Result<(), Error> {
        self.sender.send(payload).map(drop).map_err(Error::system("send a datagram"))
    }

    /// Sends a datagram; whether one has arrived by then.
    pub fn try_send(&self) -> Result<bool, Error> {
        self.send(&[7; 22])?;
        self.has_arrived()
    }

    pub fn has_arrived(&self) -> Result<bool, Error> {
        self.receive(&mut [0; 64]).map(|length| length.is_some())
    }

    /// The next datagram that has arrived, if one has.
    pub fn receive(&self, payload: &mut [u8]) -> Result<Option<usize>, Error> {
        match self.receiver.recv(payload) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(Error::system("receive a datagram")(error)),
        }
    }
}
