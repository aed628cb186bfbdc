//! The other end: a command that asks a running script.

use crate::protocol::{AnswerLine, Envelope};
use crate::request_line::{Line, Lines};
use crate::{DaemonError, Failure, Name, Request, RuntimeFolder, VERSION};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Bytes of an answer or event at most.
const MAX_ANSWER: usize = 256 << 20;

/// A connection to a running script.
pub struct Client {
    name: Name,
    stream: UnixStream,
    lines: Lines<UnixStream>,
}

impl Client {
    /// Connects to the script of that name.
    ///
    /// # Errors
    /// `NotRunning`; `Socket`, also for want of permission.
    pub fn connect(folder: &RuntimeFolder, name: &Name) -> Result<Client, DaemonError> {
        let path = folder.socket(name);
        let failed =
            |error: io::Error| DaemonError::Socket { path: path.clone(), problem: error.to_string() };
        let stream = match UnixStream::connect(&path) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                let answers = |name: &Name| UnixStream::connect(folder.socket(name)).is_ok();
                let running = folder.names().unwrap_or_default().into_iter().filter(answers).collect();
                return Err(DaemonError::NotRunning { name: name.clone(), running });
            }
            Err(error) => return Err(failed(error)),
        };
        let lines = Lines::new(stream.try_clone().map_err(failed)?, MAX_ANSWER);
        Ok(Client { name: name.clone(), stream, lines })
    }

    /// How long an answer may take; `None`: for ever.
    ///
    /// # Errors
    /// `NoAnswer`.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<(), DaemonError> {
        self.stream.set_read_timeout(timeout).map_err(|error| self.no_answer(error.to_string()))
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// `NoAnswer`. The inner error is what the script's process answered.
    pub fn ask<T: DeserializeOwned>(
        &mut self,
        request: &Request,
    ) -> Result<Result<T, Box<Failure>>, DaemonError> {
        let envelope = Envelope { version: VERSION, request: request.clone() };
        let mut line = serde_json::to_vec(&envelope).map_err(|error| self.no_answer(error.to_string()))?;
        line.push(b'\n');
        // Who refuses to listen says why before closing.
        let sent = self.stream.write_all(&line);
        let Some(line) = self.line()? else {
            let why = sent.err().map_or("the connection was closed".to_string(), |error| error.to_string());
            return Err(self.no_answer(why));
        };
        let answer: AnswerLine = self.parsed(&line)?;
        match answer.error {
            Some(failure) => Ok(Err(failure)),
            None => serde_json::from_value(answer.answer)
                .map(Ok)
                .map_err(|error| self.no_answer(error.to_string())),
        }
    }

    /// After [`Request::Events`]: the next event; `None` when the script has ended.
    ///
    /// # Errors
    /// `NoAnswer`.
    pub fn event(&mut self) -> Result<Option<Value>, DaemonError> {
        match self.line()? {
            None => Ok(None),
            Some(line) => self.parsed(&line).map(Some),
        }
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, DaemonError> {
        match self.lines.next() {
            Ok(Line::Whole(line)) => Ok(Some(line)),
            Ok(Line::End) => Ok(None),
            Ok(Line::TooLong) => Err(self.no_answer("the answer is too long".to_string())),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(None),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                Err(self.no_answer("it takes too long".to_string()))
            }
            Err(error) => Err(self.no_answer(error.to_string())),
        }
    }

    fn parsed<T: DeserializeOwned>(&self, line: &[u8]) -> Result<T, DaemonError> {
        serde_json::from_slice(line).map_err(|error| self.no_answer(error.to_string()))
    }

    fn no_answer(&self, problem: String) -> DaemonError {
        DaemonError::NoAnswer { name: self.name.clone(), problem }
    }
}
