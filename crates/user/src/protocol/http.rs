//! HTTP/1: the first line of a message that starts in this segment, and its fields (RFC 9112).

use std::ops::Range;

use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{payload, tcp};

const LONGEST_METHOD: usize = 32;

pub const PROTOCOL: Protocol = Protocol {
    name: "http",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "method", read: |frame| Value::bytes(request(frame)?.0) },
            Field { name: "path", read: |frame| Value::bytes(request(frame)?.1) },
            Field { name: "version", read: |frame| Value::bytes(version(frame)?) },
            Field { name: "status", read: |frame| Value::integer(status(frame)?) },
            Field { name: "host", read: |frame| Value::bytes(value(frame, b"host")?) },
            Field { name: "user_agent", read: |frame| Value::bytes(value(frame, b"user-agent")?) },
        ],
        assignments: &[],
    },
};

/// A message: where its payload is in the frame, and the parts of its first line as places in the payload.
struct Message<'a> {
    payload: &'a [u8],
    start: usize,
    first: First,
    /// Where the line behind the first one starts.
    fields: usize,
}

enum First {
    Request { method: Range<usize>, target: Range<usize>, version: Range<usize> },
    Response { status: u16 },
}

fn find(frame: Frame<'_>) -> Option<Message<'_>> {
    tcp::find(frame)?;
    let range = payload::find(frame)?;
    let payload = frame.bytes.get(range.clone())?;
    let feed = payload.iter().position(|byte| *byte == b'\n')?;
    let line = &payload[..feed];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let first = response(line).or_else(|| self::first_of_request(line))?;
    Some(Message { payload, start: range.start, first, fields: feed + 1 })
}

/// `HTTP/1.1`.
fn is_version(text: &[u8]) -> bool {
    text.len() == 8 && text.starts_with(b"HTTP/1.") && text[7].is_ascii_digit()
}

fn response(line: &[u8]) -> Option<First> {
    let digits = line.get(9..12).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let status = digits.iter().fold(0, |number, digit| 10 * number + u16::from(digit - b'0'));
    (is_version(&line[..8]) && line[8] == b' ').then_some(First::Response { status })
}

fn first_of_request(line: &[u8]) -> Option<First> {
    let method = line.iter().position(|byte| *byte == b' ')?;
    let is_method = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'-';
    let target = line.len().checked_sub(9).filter(|end| *end > method + 1)?;
    let is_request = (1..=LONGEST_METHOD).contains(&method)
        && line[..method].iter().all(is_method)
        && line[target] == b' '
        && is_version(&line[target + 1..]);
    is_request.then(|| First::Request {
        method: 0..method,
        target: method + 1..target,
        version: target + 6..target + 9,
    })
}

fn request(frame: Frame<'_>) -> Option<(Range<usize>, Range<usize>)> {
    let Message { start, first, .. } = find(frame)?;
    match first {
        First::Request { method, target, .. } => Some((moved(method, start), moved(target, start))),
        First::Response { .. } => None,
    }
}

fn version(frame: Frame<'_>) -> Option<Range<usize>> {
    let Message { start, first, .. } = find(frame)?;
    Some(match first {
        First::Request { version, .. } => moved(version, start),
        First::Response { .. } => moved(5..8, start),
    })
}

fn status(frame: Frame<'_>) -> Option<u16> {
    match find(frame)?.first {
        First::Request { .. } => None,
        First::Response { status } => Some(status),
    }
}

fn moved(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// The value of the first field of that name, without regard to case, in a whole line before an empty one.
pub fn value(frame: Frame<'_>, name: &[u8]) -> Option<Range<usize>> {
    let message = find(frame)?;
    let mut at = message.fields;
    loop {
        let rest = message.payload.get(at..)?;
        if matches!(rest.first()?, b'\r' | b'\n') {
            return None;
        }
        let line = &rest[..rest.iter().position(|byte| *byte == b'\n')?];
        let length = line.len();
        let is_it = line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if is_it && line.get(name.len()) == Some(&b':') {
            let behind = at + name.len() + 1;
            let value = &line[name.len() + 1..];
            return Some(moved(trimmed(value), message.start + behind));
        }
        at += length + 1;
    }
}

/// Where a value is in what is behind the colon: without blanks before and behind it, and a carriage return.
fn trimmed(text: &[u8]) -> Range<usize> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(0, |last| last + 1);
    start.min(end.max(start))..end.max(start)
}
