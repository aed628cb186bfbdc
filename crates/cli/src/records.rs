//! Event records, as programs put them into the ring buffer, made into what a person reads.
//!
//! Reads the records that [`moonhook_ir::Event`] describes and the module's table of events; gives the line that was
//! printed, or the error's message with position and traceback, in the words of real Lua.

mod notice;

pub use notice::Notice;

use crate::conversion::{Argument, convert};
use moonhook_control::Report;
use moonhook_ir::{ArgumentKind, Event, EventKind, Module, Piece};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A line that a handler printed.
    Print(Text),
    Error(Failure),
    Event(Notice),
}

impl From<Report> for Message {
    /// What control code prints and its errors look like those of handlers.
    fn from(report: Report) -> Message {
        match report {
            Report::Print(line) => Message::Print(Text::whole(line)),
            Report::Error(error) => {
                let message = Text::whole(error.message.into_bytes());
                Message::Error(Failure { message, traceback: error.traceback })
            }
        }
    }
}

/// A run-time error of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// With the `file:line: ` that Lua puts in front.
    pub message: Text,
    /// The active calls, innermost first.
    pub traceback: Vec<String>,
}

/// Text that may have lost parts that did not fit into the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// An ellipsis stands where something was cut out.
    pub bytes: Vec<u8>,
    /// Where the first ellipsis is.
    pub cut: Option<usize>,
}

impl Text {
    pub fn whole(bytes: Vec<u8>) -> Text {
        Text { bytes, cut: None }
    }

    /// Whether this can be `full`, as far as it is there.
    pub fn agrees_with(&self, full: &[u8]) -> bool {
        match self.cut {
            None => self.bytes == full,
            Some(cut) => full.starts_with(&self.bytes[..cut]),
        }
    }

    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A record that its event's description does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event record cannot be read: {problem}")]
pub struct RecordError {
    problem: &'static str,
}

/// Makes messages of records.
#[derive(Clone, Debug)]
pub struct Decoder {
    events: Vec<Event>,
    /// The names of the source files as they stand in messages.
    sources: Vec<String>,
}

impl Decoder {
    pub fn new(module: &Module) -> Decoder {
        let sources =
            module.sources.iter().map(|source| moonhook_snapshot::short_name(&source.name)).collect();
        Decoder { events: module.events.clone(), sources }
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What `record` says.
    ///
    /// # Errors
    /// `RecordError` for bytes that are not laid out as the event wants it.
    pub fn decode(&self, record: &[u8]) -> Result<Message, RecordError> {
        let mut reader = Reader(record);
        let (id, length) = (reader.u32()?, reader.u32()?);
        let event = self.events.get(id as usize).ok_or(problem("unknown event"))?;
        // The kernel rounds records up to 8 bytes.
        let payload = reader.0.get(..length as usize).ok_or(problem("shorter than it says"))?;
        let mut reader = Reader(payload);
        let mut text = self.position(event);
        for piece in &event.format {
            append(piece, &mut reader, &mut text)?;
        }
        Ok(match event.kind {
            EventKind::Print => Message::Print(text),
            EventKind::Event => Message::Event(Notice::read(&mut reader)?),
            EventKind::Error => Message::Error(Failure { message: text, traceback: self.traceback(event) }),
            EventKind::Raised => {
                let traceback = self.recorded_traceback(&mut reader)?;
                Message::Error(Failure { message: text, traceback })
            }
        })
    }

    /// The event's text with `…` for what only a record knows: the name of an error's site.
    pub fn site(&self, event: &Event) -> String {
        let mut site = self.position(event);
        for piece in &event.format {
            match piece {
                Piece::Text(bytes) => site.bytes.extend(bytes),
                Piece::Argument(_) => site.bytes.extend("…".bytes()),
            }
        }
        site.lossy()
    }

    fn position(&self, event: &Event) -> Text {
        let positioned = event.kind == EventKind::Error && event.line != 0;
        let position = if positioned {
            format!("{}:{}: ", self.source(event.source), event.line)
        } else {
            String::new()
        };
        Text::whole(position.into_bytes())
    }

    fn traceback(&self, event: &Event) -> Vec<String> {
        let call = |(source, line, name): &(u16, u32, String)| self.call(*source, i64::from(*line), name);
        event.traceback.iter().map(call).collect()
    }

    /// The traceback of [`EventKind::Raised`]; the last line says how many calls the record has no room for. Functions of our own
    /// modules have no lines, and are left out.
    fn recorded_traceback(&self, reader: &mut Reader<'_>) -> Result<Vec<String>, RecordError> {
        let count = reader.integer()?;
        let (mut calls, mut read) = (Vec::new(), 0);
        while !reader.0.is_empty() {
            let source = u16::try_from(reader.integer()?).map_err(|_| problem("no such source"))?;
            let line = reader.integer()?;
            let name = reader.argument()?.text();
            if line > 0 {
                calls.push(self.call(source, line, &String::from_utf8_lossy(&name)));
            }
            read += 1;
        }
        let missing = count - read;
        if missing > 0 {
            calls.push(format!("...\t(skipping {missing} levels)"));
        }
        Ok(calls)
    }

    fn call(&self, source: u16, line: i64, name: &str) -> String {
        format!("{}:{line}: in {name}", self.source(source))
    }

    fn source(&self, index: u16) -> &str {
        self.sources.get(usize::from(index)).map_or("?", String::as_str)
    }
}

/// Appends an argument by a conversion of printf; an ellipsis says where it was cut.
fn append_argument(specification: &str, argument: &Argument<'_>, text: &mut Text) {
    convert(specification, argument, &mut text.bytes);
    if matches!(argument, Argument::CutString(_)) {
        text.cut.get_or_insert(text.bytes.len());
        text.bytes.extend("…".bytes());
    }
}

fn append(piece: &Piece, reader: &mut Reader<'_>, text: &mut Text) -> Result<(), RecordError> {
    match piece {
        Piece::Text(bytes) => text.bytes.extend(bytes),
        Piece::Argument(spec) => {
            append_argument(spec, &reader.argument()?, text);
        }
    }
    Ok(())
}

fn problem(problem: &'static str) -> RecordError {
    RecordError { problem }
}

/// The rest of a record. Numbers are in the machine's byte order.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], RecordError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(problem("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, RecordError> {
        let bytes = self.take(4)?.try_into().map_err(|_| problem("it ends early"))?;
        Ok(u32::from_ne_bytes(bytes))
    }

    fn u64(&mut self) -> Result<u64, RecordError> {
        let bytes = self.take(8)?.try_into().map_err(|_| problem("it ends early"))?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn string(&mut self) -> Result<&'a [u8], RecordError> {
        let length = usize::try_from(self.u64()?).map_err(|_| problem("a string is too long"))?;
        let bytes = self.take(length)?;
        self.take((8 - length % 8) % 8)?;
        Ok(bytes)
    }

    /// An argument that is an integer.
    fn integer(&mut self) -> Result<i64, RecordError> {
        match self.argument()? {
            Argument::Integer(integer) => Ok(integer),
            _ => Err(problem("no integer where one should be")),
        }
    }

    /// Whether a record comes next; if so, how many fields it has.
    fn fields(&mut self) -> Result<Option<u64>, RecordError> {
        let mut ahead = Reader(self.0);
        if ahead.u64()? != ArgumentKind::Record as u64 {
            return Ok(None);
        }
        let count = ahead.u64()?;
        self.0 = ahead.0;
        Ok(Some(count))
    }

    fn argument(&mut self) -> Result<Argument<'a>, RecordError> {
        const NIL: u64 = ArgumentKind::Nil as u64;
        const BOOLEAN: u64 = ArgumentKind::Boolean as u64;
        const INTEGER: u64 = ArgumentKind::Integer as u64;
        const STRING: u64 = ArgumentKind::String as u64;
        const IPV4: u64 = ArgumentKind::Ipv4 as u64;
        const IPV6: u64 = ArgumentKind::Ipv6 as u64;
        const MAC: u64 = ArgumentKind::Mac as u64;
        const CUT_STRING: u64 = ArgumentKind::CutString as u64;
        Ok(match self.u64()? {
            NIL => Argument::Nil,
            BOOLEAN => Argument::Boolean(self.u64()? != 0),
            INTEGER => Argument::Integer(self.u64()? as i64),
            STRING => Argument::String(self.string()?),
            CUT_STRING => Argument::CutString(self.string()?),
            IPV4 => Argument::Ipv4(Ipv4Addr::from_bits(self.u64()? as u32)),
            IPV6 => {
                let (high, low) = (self.u64()?, self.u64()?);
                Argument::Ipv6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)))
            }
            MAC => {
                let [_, _, address @ ..] = self.u64()?.to_be_bytes();
                Argument::Mac(address)
            }
            _ => return Err(problem("unknown kind of argument")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::SourceFile;

    pub fn decoder(kind: EventKind, line: u32, format: Vec<Piece>) -> Decoder {
        let traceback = vec![(0, 7, "upvalue 'inner'".to_string())];
        let event = Event { kind, source: 0, line, format, traceback };
        let source = SourceFile { name: "x.lua".into(), text: String::new() };
        Decoder::new(&Module { sources: vec![source], events: vec![event], ..Module::default() })
    }

    pub fn record(words: &[u64], bytes: &[u8]) -> Vec<u8> {
        let mut payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        payload.extend(bytes);
        let mut record = 0u32.to_ne_bytes().to_vec();
        record.extend((payload.len() as u32).to_ne_bytes());
        record.extend(payload);
        record
    }

    fn argument(spec: &str) -> Piece {
        Piece::Argument(spec.into())
    }

    #[test]
    fn a_line_is_put_together_from_pieces() {
        let pieces =
            vec![Piece::Text(b"n=".to_vec()), argument("%03d"), Piece::Text(b" ".to_vec()), argument("%s")];
        let decoder = decoder(EventKind::Print, 3, pieces);
        let record = record(&[2, 7, 3, 5], b"hello\0\0\0");
        let Ok(Message::Print(text)) = decoder.decode(&record) else { panic!("no print") };
        assert_eq!(text, Text::whole(b"n=007 hello".to_vec()));
    }

    #[test]
    fn errors_have_position_and_traceback() {
        let positioned = decoder(EventKind::Error, 7, vec![Piece::Text(b"bad".to_vec())]);
        let Ok(Message::Error(failure)) = positioned.decode(&record(&[], b"")) else { panic!("no error") };
        assert_eq!(failure.message.lossy(), "x.lua:7: bad");
        assert_eq!(failure.traceback, ["x.lua:7: in upvalue 'inner'"]);
        let bare = decoder(EventKind::Error, 0, vec![Piece::Text(b"step budget exhausted".to_vec())]);
        let Ok(Message::Error(failure)) = bare.decode(&record(&[], b"")) else { panic!("no error") };
        assert_eq!(failure.message.lossy(), "step budget exhausted");
    }

    #[test]
    fn tracebacks_can_stand_in_records() {
        let decoder = decoder(EventKind::Raised, 0, vec![argument("%s")]);
        let words = |calls: u64| [3, 3, u64::from_ne_bytes(*b"bad\0\0\0\0\0"), 2, calls, 2, 0, 2, 7, 3, 7];
        let decode = |calls| match decoder.decode(&record(&words(calls), b"local f\0")) {
            Ok(Message::Error(failure)) => (failure.message.lossy(), failure.traceback),
            other => panic!("{other:?}"),
        };
        assert_eq!(decode(1), ("bad".to_string(), vec!["x.lua:7: in local f".to_string()]));
        assert_eq!(decode(12).1[1], "...\t(skipping 11 levels)");
        assert!(decoder.decode(&record(&words(1)[..5], b"local f\0")).is_err());
    }

    #[test]
    fn a_cut_string_agrees_with_what_it_was_cut_from() {
        let decoder = decoder(EventKind::Print, 1, vec![argument("%s"), Piece::Text(b"!".to_vec())]);
        let Ok(Message::Print(text)) = decoder.decode(&record(&[7, 3], b"abc\0\0\0\0\0")) else {
            panic!("no print")
        };
        assert_eq!(text.lossy(), "abc…!");
        assert!(text.agrees_with(b"abcdef!") && !text.agrees_with(b"abx"));
        assert!(
            Text::whole(b"abc".to_vec()).agrees_with(b"abc")
                && !Text::whole(b"abc".to_vec()).agrees_with(b"abcd")
        );
    }

    #[test]
    fn addresses_are_decoded_from_host_order() {
        let decoder = decoder(EventKind::Print, 1, vec![argument("%s"), argument(" %s"), argument("%s")]);
        let words = [4, 0xc000_0207, 5, 0x2001_0db8_0000_0000, 1, 6, 0x5254_0012_3456];
        let Ok(Message::Print(text)) = decoder.decode(&record(&words, b"")) else { panic!("no print") };
        assert_eq!(text.lossy(), "192.0.2.72001:db8::152:54:00:12:34:56");
    }

    #[test]
    fn malformed_records_are_errors() {
        let decoder = decoder(EventKind::Print, 1, vec![argument("%s")]);
        let mut unknown = record(&[0], b"");
        unknown[0] = 9;
        let too_long = record(&[3, u64::MAX], b"");
        let whole = record(&[3, 5], b"hello\0\0\0");
        for bytes in [vec![], vec![0; 8], unknown, too_long, record(&[99], b"")] {
            assert!(decoder.decode(&bytes).is_err(), "{bytes:?}");
        }
        for length in 0..whole.len() {
            assert!(decoder.decode(&whole[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn long_file_names_lose_their_beginning() {
        let name = format!("{}/x.lua", "f".repeat(80));
        let short = moonhook_snapshot::short_name(&name);
        assert_eq!(short.len(), 59);
        assert!(short.starts_with("...f") && short.ends_with("/x.lua"));
        assert_eq!(moonhook_snapshot::short_name("x.lua"), "x.lua");
    }
}
