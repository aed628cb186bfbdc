//! What programs and the process with the states say to one another: messages of a socket (unix(7), `SOCK_SEQPACKET`) with fields that have a NUL between them.
//!
//! | message | answer |
//! |---|---|
//! | `control`, port (0: any) | `ok`, port; then requests of [`Request`]'s first five |
//! | `data`, port (0: any) | `ok`, port; then state, bytes, in both directions and without answers |
//! | `match`, state, function, flags (1: packets with a payload of TCP; 2: the function is called as CUJO's generation does), mask | `ok`, path of a pinned program |
//! | `target`, state, function, flags (2 as above) | `ok`, number of a queue |
//!
//! Instead of `ok` there is `error`, errno, text. Numbers are decimal.

use crate::{Generation, NfluaError, Question};
use nix::errno::Errno;

/// Longest names, in bytes (NFLua: `NFLUA_NAME_MAXSIZE`, `NFLUA_SCRIPTNAME_MAXSIZE`, with a NUL behind them).
pub const NAME: usize = 63;
pub const TITLE: usize = 254;

/// States at a time.
pub const STATES: usize = 128;

/// Bytes that a message for a state has at most, or one of a state's (NFLua: `NFLUA_DATA_MAXSIZE`, with pages of 4,096 bytes).
pub const DATA: usize = 4012;

/// Bytes of a message: code, and what is around it.
pub const LONGEST: usize = 1 << 17;

/// Ports that are given have this bit, others do not.
pub const GIVEN: u32 = 1 << 31;

/// Flags of what rules ask.
const PAYLOAD: usize = 1;
const CUJO: usize = 2;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `create`, name, memory in bytes.
    Create { name: String, memory: usize },
    /// `destroy`, name.
    Destroy { name: String },
    /// `execute`, name, title, code.
    Execute { name: String, title: String, code: Vec<u8> },
    /// `list`.
    List,
    /// `stop`: end, unless timers or rules need a state.
    Stop,
    /// `control`, port.
    Control { port: u32 },
    /// `data`, port.
    Data { port: u32 },
    /// `match`, …
    Match { state: String, question: Question },
    /// `target`, …
    Target { state: String, function: String, generation: Generation },
}

impl Request {
    /// # Errors
    /// `Refused` with `EINVAL` for what is no request.
    pub fn parse(message: &[u8]) -> Result<Request, NfluaError> {
        const NAMES: &str =
            "this is no request; names of states have 1 to 63 bytes, those of functions at most 63";
        parse(message).ok_or_else(|| NfluaError::refused(Errno::EINVAL, NAMES))
    }

    pub fn bytes(&self) -> Vec<u8> {
        let text = |number: usize| number.to_string().into_bytes();
        let fields: Vec<Vec<u8>> = match self {
            Request::Create { name, memory } => vec![b"create".into(), name.clone().into(), text(*memory)],
            Request::Destroy { name } => vec![b"destroy".into(), name.clone().into()],
            Request::Execute { name, title, code } => {
                vec![b"execute".into(), name.clone().into(), title.clone().into(), code.clone()]
            }
            Request::List => vec![b"list".into()],
            Request::Stop => vec![b"stop".into()],
            Request::Control { port } => vec![b"control".into(), text(*port as usize)],
            Request::Data { port } => vec![b"data".into(), text(*port as usize)],
            Request::Match { state, question } => vec![
                b"match".into(),
                state.clone().into(),
                question.function.clone().into(),
                text((usize::from(question.has_payload) * PAYLOAD) | flag(question.generation)),
                text(question.mask as usize),
            ],
            Request::Target { state, function, generation } => {
                let flags = text(flag(*generation));
                vec![b"target".into(), state.clone().into(), function.clone().into(), flags]
            }
        };
        fields.join(&0)
    }
}

fn parse(message: &[u8]) -> Option<Request> {
    let (kind, rest) = field(message);
    let fields: Vec<&[u8]> = rest.map(|rest| rest.split(|byte| *byte == 0).collect()).unwrap_or_default();
    Some(match (kind, &fields[..]) {
        (b"create", [name, memory]) => Request::Create { name: named(name)?, memory: number(memory)? },
        (b"destroy", [name]) => Request::Destroy { name: text(name)? },
        // Code may have any bytes.
        (b"execute", [name, title, ..]) => {
            let code = rest?.get(name.len() + title.len() + 2..)?;
            let title = text(title)?;
            let name = text(name)?;
            (title.len() <= TITLE).then_some(Request::Execute { name, title, code: code.to_vec() })?
        }
        (b"list", []) => Request::List,
        (b"stop", []) => Request::Stop,
        (b"control", [port]) => Request::Control { port: u32::try_from(number(port)?).ok()? },
        (b"data", [port]) => Request::Data { port: u32::try_from(number(port)?).ok()? },
        (b"match", [state, function, flags, mask]) => Request::Match {
            state: named(state)?,
            question: Question {
                function: text(function).filter(|function| function.len() <= NAME)?,
                generation: generation(number(flags)?),
                has_payload: number(flags)? & PAYLOAD != 0,
                mask: u32::try_from(number(mask)?).ok()?,
            },
        },
        (b"target", [state, function, flags]) => Request::Target {
            state: named(state)?,
            function: text(function).filter(|function| function.len() <= NAME)?,
            generation: generation(number(flags)?),
        },
        _ => return None,
    })
}

fn flag(generation: Generation) -> usize {
    if generation == Generation::Cujo { CUJO } else { 0 }
}

fn generation(flags: usize) -> Generation {
    if flags & CUJO == 0 { Generation::Of2019 } else { Generation::Cujo }
}

/// The first field, and what is behind it, if there is more.
pub fn field(message: &[u8]) -> (&[u8], Option<&[u8]>) {
    match message.iter().position(|byte| *byte == 0) {
        Some(end) => (&message[..end], Some(&message[end + 1..])),
        None => (message, None),
    }
}

fn text(field: &[u8]) -> Option<String> {
    std::str::from_utf8(field).ok().map(str::to_string)
}

fn named(field: &[u8]) -> Option<String> {
    text(field).filter(|name| (1..=NAME).contains(&name.len()))
}

fn number(field: &[u8]) -> Option<usize> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// What was answered: the fields behind `ok`.
///
/// # Errors
/// `Refused`.
pub fn answer(message: &[u8]) -> Result<Vec<Vec<u8>>, NfluaError> {
    let mut fields = message.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    match fields.next().as_deref() {
        Some(b"ok") => Ok(fields.collect()),
        Some(b"error") => {
            let errno = fields.next().and_then(|field| number(&field)).unwrap_or(0);
            let reason = String::from_utf8_lossy(&fields.next().unwrap_or_default()).into_owned();
            Err(NfluaError::refused(Errno::from_raw(i32::try_from(errno).unwrap_or(0)), reason))
        }
        _ => Err(NfluaError::refused(Errno::EPROTO, "this is no answer")),
    }
}

/// The message of an answer.
pub fn answered(outcome: &Result<Vec<Vec<u8>>, NfluaError>) -> Vec<u8> {
    match outcome {
        Ok(fields) => [&[b"ok".to_vec()], fields.as_slice()].concat().join(&0),
        Err(error) => {
            let errno = match error {
                NfluaError::Refused { errno, .. } => *errno,
                _ => Errno::EIO,
            };
            let text: Vec<u8> = error.to_string().bytes().filter(|byte| *byte != 0).collect();
            [b"error".to_vec(), (errno as i32).to_string().into_bytes(), text].join(&0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_what_was_written() {
        let name = || "st".to_string();
        let of_match = |has_payload, generation| Request::Match {
            state: name(),
            question: Question { function: "f".into(), generation, has_payload, mask: 6 },
        };
        let requests = [
            Request::Create { name: name(), memory: 32768 },
            Request::Destroy { name: name() },
            Request::Execute { name: name(), title: "a.lua".into(), code: b"print'\0'".to_vec() },
            Request::List,
            Request::Stop,
            Request::Control { port: 0 },
            Request::Data { port: 7 },
            of_match(true, Generation::Cujo),
            of_match(false, Generation::Of2019),
            Request::Target { state: name(), function: "f".into(), generation: Generation::Cujo },
            Request::Target { state: name(), function: "f".into(), generation: Generation::Of2019 },
        ];
        for request in requests {
            assert_eq!(Request::parse(&request.bytes()).unwrap(), request);
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let long = [b"create\0".to_vec(), vec![b'a'; 64], b"\x001".to_vec()].concat();
        let others: [&[u8]; 8] =
            [b"", b"create", b"create\0\x001", b"create\0a\0b", b"match\0a", b"list\0x", b"data\0-1", &long];
        for message in others {
            assert!(Request::parse(message).is_err(), "{message:?}");
        }
    }

    #[test]
    fn answers_are_what_was_written() {
        let fields = vec![b"a".to_vec(), b"32".to_vec()];
        assert_eq!(answer(&answered(&Ok(fields.clone()))).unwrap(), fields);
        assert_eq!(answered(&Ok(Vec::new())), b"ok");
        let refused = answered(&Err(NfluaError::refused(Errno::ENOENT, "no such state")));
        assert_eq!(refused, b"error\x002\0no such state");
        assert!(matches!(answer(&refused), Err(NfluaError::Refused { errno: Errno::ENOENT, .. })));
        assert!(answer(b"what").is_err());
    }
}
