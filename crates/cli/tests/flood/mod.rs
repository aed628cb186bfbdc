//! Numbered datagrams through a running script, between two network namespaces.

use crate::common::Place;
use moonhook_daemon::{Client, Failure, Name, Request, RuntimeFolder, VERSION};
use moonhook_install::netns;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Two namespaces with a veth pair between them; they go with this value.
pub struct Network {
    pub left: String,
    pub right: String,
}

impl Network {
    pub fn new() -> Network {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("mh-reload-{side}{number}-{}", std::process::id());
        let network = Network { left: name("l"), right: name("r") };
        let (left, right) = (&network.left, &network.right);
        for command in [
            format!("netns add {left}"),
            format!("netns add {right}"),
            format!("link add left0 netns {left} type veth peer name right0 netns {right}"),
            format!("-n {left} address add 192.0.2.1/24 dev left0"),
            format!("-n {right} address add 192.0.2.2/24 dev right0"),
            format!("-n {left} link set left0 up"),
            format!("-n {right} link set right0 up"),
        ] {
            ip(&command);
        }
        network
    }

    pub fn socket(&self, netns: &str, address: &str) -> UdpSocket {
        let socket = netns::within(Some(netns), || UdpSocket::bind(address).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        ip(&format!("netns delete {}", self.left));
        ip(&format!("netns delete {}", self.right));
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// `moonhook run`; killed if the test fails.
pub struct Running {
    pub child: Child,
    pub folder: RuntimeFolder,
    pub name: Name,
}

impl Running {
    pub fn start(network: &Network, place: &Place, script: &str) -> Running {
        Running::start_with(network, place, script, &[])
    }

    pub fn start_with(network: &Network, place: &Place, script: &str, options: &[&str]) -> Running {
        Running::spawn(place, Running::command(network, place, script).args(options).stdout(Stdio::null()))
    }

    /// With its output and its errors there.
    pub fn start_into(
        network: &Network,
        place: &Place,
        script: &str,
        output: Stdio,
        errors: Stdio,
    ) -> Running {
        Running::spawn(place, Running::command(network, place, script).stdout(output).stderr(errors))
    }

    fn command(network: &Network, place: &Place, script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_moonhook"));
        command.args(["run", "right0", "--netns", &network.right, "--name", "flood", "--socket-dir"]);
        command.arg(place.path("run")).arg(place.path(script));
        command
    }

    fn spawn(place: &Place, command: &mut Command) -> Running {
        let folder = place.path("run");
        let child = command.spawn().unwrap();
        let running = Running { child, folder: RuntimeFolder::new(folder), name: "flood".parse().unwrap() };
        let deadline = Instant::now() + Duration::from_secs(20);
        while Client::connect(&running.folder, &running.name).is_err() {
            assert!(Instant::now() < deadline, "moonhook run does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        running
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.folder, &self.name).unwrap()
    }

    /// Waits until code that does not end has begun, which was asked for before: what is asked for behind it is not answered. Gives who asked
    /// last, and waits.
    pub fn waiting_behind(&self) -> JoinHandle<Result<Value, Box<Failure>>> {
        loop {
            let asked = self.asking(&Request::Exec { code: "return 1".to_string() });
            let begun = Instant::now();
            while !asked.is_finished() {
                if begun.elapsed() > Duration::from_millis(500) {
                    return asked;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            asked.join().unwrap().unwrap();
        }
    }

    /// Asks over a connection of its own, from a thread of its own. The request has been sent, and its connection is being looked after,
    /// when this returns.
    pub fn asking(&self, request: &Request) -> JoinHandle<Result<Value, Box<Failure>>> {
        let mut stream = UnixStream::connect(self.folder.socket(&self.name)).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut send = |request: &Request| {
            let mut line = serde_json::to_value(request).unwrap();
            line["version"] = VERSION.into();
            writeln!(stream, "{line}").unwrap();
        };
        send(&Request::Status);
        let mut answer = move || -> Value {
            serde_json::from_str(&lines.next().expect("an answer").expect("an answer")).unwrap()
        };
        assert_eq!(answer()["answer"]["name"], self.name.as_str());
        send(request);
        std::thread::spawn(move || {
            let mut answer = answer();
            match answer["error"].take() {
                Value::Null => Ok(answer["answer"].take()),
                error => Err(serde_json::from_value(error).unwrap()),
            }
        })
    }

    pub fn stop(mut self) {
        self.client().ask::<()>(&Request::Stop).unwrap().unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the scripts write into datagrams.
pub const MARKS: [u8; 2] = [b'a', b'b'];
/// Datagrams on their way at a time: as many as the receiver surely has room for.
pub const WINDOW: u64 = 64;

/// What became of the datagrams.
#[derive(Default)]
pub struct Flood {
    pub sent: u64,
    /// How many each script has marked.
    pub marked: [u64; 2],
    /// When another script's mark was seen than before.
    pub changes: Vec<Instant>,
}

/// Sends numbered datagrams until told to stop.
pub fn flood(sender: &UdpSocket, receiver: &UdpSocket, stop: &AtomicBool) -> Flood {
    let mut flood = Flood::default();
    let mut last = 0;
    let mut datagram = [0; 10];
    while !stop.load(Ordering::Relaxed) {
        let first = flood.sent;
        for number in first..first + WINDOW {
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            assert_eq!(sender.send_to(&datagram, "192.0.2.2:7001").unwrap(), 10);
        }
        flood.sent += WINDOW;
        for number in first..flood.sent {
            let mut received = [0; 100];
            let length =
                receiver.recv(&mut received).unwrap_or_else(|error| panic!("{number} is lost: {error}"));
            assert_eq!((length, &received[..8]), (10, &number.to_be_bytes()[..]), "lost, or twice");
            assert_eq!(received[8], 1, "{number} was handled {} times", received[8]);
            let mark = MARKS.iter().position(|mark| *mark == received[9]).expect("a mark");
            flood.marked[mark] += 1;
            if mark != last {
                flood.changes.push(Instant::now());
                last = mark;
            }
        }
    }
    flood
}
