//! Programs that talk to the process with the states.

use crate::NfluaError;
use crate::protocol::{DATA, LONGEST, Request, answer, field};
use crate::socket::Connection;
use nix::errno::Errno;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A connection with requests, or one with bytes for states and from them.
pub struct Client {
    connection: Connection,
    path: PathBuf,
    port: u32,
}

/// A state as others see it: its name, the bytes of memory that its scripts may take, and those that they have taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub memory: usize,
    pub used: usize,
}

impl Client {
    /// For requests.
    ///
    /// # Errors
    /// `NoProcess`, `Socket`.
    pub fn control(path: &Path) -> Result<Client, NfluaError> {
        Client::open(path, &Request::Control { port: 0 })
    }

    /// For bytes, by that port (0: any).
    ///
    /// # Errors
    /// `NoProcess`, `Socket`; `Refused` where the port is another's.
    pub fn data(path: &Path, port: u32) -> Result<Client, NfluaError> {
        Client::open(path, &Request::Data { port })
    }

    fn open(path: &Path, first: &Request) -> Result<Client, NfluaError> {
        let connection = Connection::open(path)?;
        let mut client = Client { connection, path: path.to_path_buf(), port: 0 };
        let fields = client.ask(first)?;
        let port = fields.first().and_then(|field| std::str::from_utf8(field).ok()?.parse().ok());
        Ok(Client { port: port.unwrap_or(0), ..client })
    }

    pub fn port(&self) -> u32 {
        self.port
    }

    /// The fields of the answer.
    ///
    /// # Errors
    /// `Refused`, `Gone`, `Socket`.
    pub fn ask(&mut self, request: &Request) -> Result<Vec<Vec<u8>>, NfluaError> {
        let path = self.path.clone();
        let failed = |errno| NfluaError::Socket { path: path.clone(), errno };
        let message = request.bytes();
        if message.len() > LONGEST {
            return Err(too_long(LONGEST, message.len()));
        }
        self.connection.send(&message).map_err(failed)?;
        match self.connection.receive(None).map_err(failed)? {
            Some(message) if !message.is_empty() => answer(message),
            _ => Err(NfluaError::Gone),
        }
    }

    /// # Errors
    /// As of [`Client::ask`].
    pub fn list(&mut self) -> Result<Vec<Listed>, NfluaError> {
        let text = |field: &Vec<u8>| String::from_utf8_lossy(field).into_owned();
        let fields = self.ask(&Request::List)?;
        let (states, _) = fields.as_chunks::<3>();
        let listed = |[name, memory, used]: &[Vec<u8>; 3]| Listed {
            name: text(name),
            memory: text(memory).parse().unwrap_or(0),
            used: text(used).parse().unwrap_or(0),
        };
        Ok(states.iter().map(listed).collect())
    }

    /// Has the process end, and waits until another one can have the states.
    ///
    /// # Errors
    /// As of [`Client::ask`]; `Refused` where it does not end in that time.
    pub fn stop(&mut self, time: Duration) -> Result<(), NfluaError> {
        self.ask(&Request::Stop)?;
        // It closes the connection then.
        match self.connection.receive(Some(time)) {
            Ok(None) => {
                let reason =
                    format!("the process was told to end, and has not after {} seconds", time.as_secs());
                Err(NfluaError::refused(Errno::ETIMEDOUT, reason))
            }
            Ok(Some(_)) | Err(_) => Ok(()),
        }
    }

    /// Sends bytes to a state. Nobody says whether it is there.
    ///
    /// # Errors
    /// `Socket`; `Refused` for more bytes than a message may have.
    pub fn send(&self, state: &str, bytes: &[u8]) -> Result<(), NfluaError> {
        if bytes.len() > DATA {
            return Err(too_long(DATA, bytes.len()));
        }
        let message = [state.as_bytes(), &[0], bytes].concat();
        let failed = |errno| NfluaError::Socket { path: self.path.clone(), errno };
        self.connection.send(&message).map_err(failed)
    }

    /// A state's name and the bytes that it has sent, if some come in that time (`None`: any time).
    ///
    /// # Errors
    /// `Gone`, `Socket`.
    pub fn receive(&mut self, timeout: Option<Duration>) -> Result<Option<(String, Vec<u8>)>, NfluaError> {
        let path = self.path.clone();
        let failed = |errno| NfluaError::Socket { path: path.clone(), errno };
        match self.connection.receive(timeout).map_err(failed)? {
            None => Ok(None),
            Some([]) => Err(NfluaError::Gone),
            Some(message) => {
                let (state, bytes) = field(message);
                Ok(Some((String::from_utf8_lossy(state).into_owned(), bytes.unwrap_or_default().to_vec())))
            }
        }
    }
}

fn too_long(most: usize, length: usize) -> NfluaError {
    NfluaError::refused(Errno::EMSGSIZE, format!("a message has {most} bytes at most, this one {length}"))
}
