//! Event records made into what a person reads.
//!
//! Reads the records that [`moonhook_ir::Event`] describes and the module's table of events; gives the line that was
//! printed, or the error's message with position and traceback, in the words of real Lua.

use crate::conversion::{Argument, convert};
use crate::reader::{GONE, Reader, RecordError, problem};
use crate::{Failure, Message, Notice, Text};
use moonhook_hook::Hook;
use moonhook_ir::{Event, EventKind, Module, Piece};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Makes messages of records.
#[derive(Clone, Debug)]
pub struct Decoder {
    events: Vec<Event>,
    /// The names of the source files as they stand in messages.
    sources: Vec<String>,
    hooks: Vec<&'static Hook>,
    /// Those of functions of flows, by the number of their first event.
    functions: Arc<RwLock<BTreeMap<u32, Arc<Decoder>>>>,
}

/// From one function of flows to the next, in numbers of events: the numbers of a program's own are below that.
pub const EVENTS_OF_FUNCTION: u32 = 1 << 14;

impl Decoder {
    pub fn new(module: &Module) -> Decoder {
        let sources =
            module.sources.iter().map(|source| moonhook_snapshot::short_name(&source.name)).collect();
        let hooks = module.sections().filter_map(Hook::of_section).collect();
        Decoder { events: module.events.clone(), sources, hooks, functions: Arc::default() }
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Where the module's programs run, in their order.
    pub fn hooks(&self) -> &[&'static Hook] {
        &self.hooks
    }

    /// From now on, events from `first` on are those of a function of flows, of which `function` makes messages. Clones learn it, too.
    pub fn add_function(&self, first: u32, function: Decoder) {
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        functions.insert(first, Arc::new(function));
    }

    /// Records of that function are none any more.
    pub fn forget_function(&self, first: u32) {
        self.functions.write().unwrap_or_else(PoisonError::into_inner).remove(&first);
    }

    /// What `record` says.
    ///
    /// # Errors
    /// `RecordError` for bytes that are not laid out as the event wants it.
    pub fn decode(&self, record: &[u8]) -> Result<Message, RecordError> {
        let id = Reader(record).u32()?;
        match id.checked_sub(EVENTS_OF_FUNCTION) {
            None => self.decode_as(id, record),
            Some(_) => self.function(id)?.decode_as(id % EVENTS_OF_FUNCTION, record),
        }
    }

    /// The function of flows that an event is of.
    fn function(&self, id: u32) -> Result<Arc<Decoder>, RecordError> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.get(&(id - id % EVENTS_OF_FUNCTION)).cloned().ok_or(GONE)
    }

    fn decode_as(&self, id: u32, record: &[u8]) -> Result<Message, RecordError> {
        let mut reader = Reader(record);
        let (_, length) = (reader.u32()?, reader.u32()?);
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

    /// The event that `record` is of, if there is such a one of the program's own.
    pub(crate) fn event_of(&self, record: &[u8]) -> Option<&Event> {
        self.events.get(Reader(record).u32().ok()? as usize)
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

    /// A line of a source, as messages have it.
    pub fn place(&self, source: u16, line: u32) -> String {
        format!("{}:{line}", self.source(source))
    }

    fn source(&self, index: u16) -> &str {
        self.sources.get(usize::from(index)).map_or("?", String::as_str)
    }
}

/// Appends an argument by a conversion of printf; an ellipsis says where it was cut.
pub(crate) fn append_argument(specification: &str, argument: &Argument<'_>, text: &mut Text) {
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

#[cfg(test)]
pub(crate) mod tests {
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
    fn records_of_a_function_that_is_gone_are_told_from_wrong_ones() {
        let text = || decoder(EventKind::Print, 3, vec![Piece::Text(b"hello".to_vec())]);
        let (script, first) = (text(), 3 * EVENTS_OF_FUNCTION);
        let mut of_function = record(&[], b"");
        of_function[..4].copy_from_slice(&first.to_ne_bytes());
        script.add_function(first, text());
        assert_eq!(script.decode(&of_function), Ok(Message::Print(Text::whole(b"hello".to_vec()))));
        script.forget_function(first);
        assert!(script.decode(&of_function).is_err_and(|error| error.is_of_gone()));
        assert!(script.decode(&[0]).is_err_and(|error| !error.is_of_gone()));
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
