//! Who answers at the socket as the test says.

use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, UnixAddr, accept, bind, listen, recv, send, socket,
};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Longer messages there are none of.
const MOST: usize = 1 << 17;

type Answers = Arc<dyn Fn(&[&[u8]]) -> Vec<Vec<u8>> + Send + Sync>;

/// Answers until the test's process ends: its threads wait in calls that nothing but that ends.
pub struct Daemon {
    asked: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    /// Each message, as its fields, is answered by those that `answers` gives.
    pub fn new(path: &Path, answers: impl Fn(&[&[u8]]) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Daemon {
        let kind = SockType::SeqPacket;
        let listener = socket(AddressFamily::Unix, kind, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
        bind(listener.as_raw_fd(), &UnixAddr::new(path).expect("an address")).expect("it is free");
        listen(&listener, Backlog::new(16).expect("a number")).expect("it listens");
        let daemon = Daemon { asked: Arc::default() };
        let (asked, answers) = (daemon.asked.clone(), Arc::new(answers) as Answers);
        std::thread::spawn(move || {
            while let Ok(connection) = accept(listener.as_raw_fd()) {
                // SAFETY: the descriptor is new, and nobody else has it.
                let connection = unsafe { OwnedFd::from_raw_fd(connection) };
                let (asked, answers) = (asked.clone(), answers.clone());
                std::thread::spawn(move || serve(&File::from(connection), &asked, &answers));
            }
        });
        daemon
    }

    /// What was asked since the last time; fields with `|` between them.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("nobody panics"))
    }
}

fn serve(connection: &File, asked: &Mutex<Vec<String>>, answers: &Answers) {
    let mut buffer = vec![0; MOST];
    while let Ok(length @ 1..) = recv(connection.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
        let fields: Vec<&[u8]> = buffer[..length].split(|byte| *byte == 0).collect();
        let shown: Vec<_> = fields.iter().map(|field| String::from_utf8_lossy(field)).collect();
        asked.lock().expect("nobody panics").push(shown.join("|"));
        for answer in answers(&fields) {
            send(connection.as_raw_fd(), &answer, MsgFlags::MSG_NOSIGNAL).expect("somebody listens");
        }
    }
}

/// A message of fields.
#[macro_export]
macro_rules! message {
    ($($field:expr),+) => { [$($field.as_ref()),+].join(&b"\0"[..]) };
}
