//! Where errors of general code happened.
//!
//! Its programs count all errors in one word: what they are is in their records only. Reads the errors as they are decoded, and says
//! of that count how much of it belongs to which line, with the text as far as it was the same each time. What nobody has
//! decoded, because the ring was full or another process counted, stays without line.

use crate::{Counters, Decoder, Failure, Site};
use moonhook_ir::EventKind;
use std::collections::BTreeMap;

/// The errors of a program by the lines that raised them.
#[derive(Debug, Default)]
pub struct Raised {
    lines: BTreeMap<(String, u64), Line>,
}

/// The errors that one line has raised.
#[derive(Debug)]
struct Line {
    /// What all messages begin and end with; they are the same where there is no end.
    begin: Vec<u8>,
    end: Option<Vec<u8>>,
    count: u64,
}

impl Raised {
    /// Takes an error that `record` told, if such errors have no counters of their own.
    pub fn note(&mut self, decoder: &Decoder, record: &[u8], failure: &Failure) {
        if decoder.event_of(record).is_none_or(|event| event.kind != EventKind::Raised) {
            return;
        }
        let message = &failure.message;
        let (begin, end) = match message.cut {
            Some(cut) => (message.bytes[..cut].to_vec(), Some(Vec::new())),
            None => (message.bytes.clone(), None),
        };
        let noted = Line { begin, end, count: 1 };
        match self.lines.entry(place(failure)) {
            std::collections::btree_map::Entry::Occupied(mut line) => line.get_mut().add(noted),
            std::collections::btree_map::Entry::Vacant(line) => {
                line.insert(noted);
            }
        }
    }

    /// Puts lines in the place of what the program has counted without. The counts are to be no older than the errors.
    pub fn name(&self, decoder: &Decoder, counters: &mut Counters) {
        let Some(event) = decoder.events().iter().find(|event| event.kind == EventKind::Raised) else {
            return;
        };
        let unnamed = decoder.site(event);
        let Some(at) = counters.sites.iter().position(|site| site.error == unnamed) else { return };
        let named: Vec<Site> =
            self.lines.values().map(|line| Site { error: line.text(), count: line.count }).collect();
        let counted: u64 = named.iter().map(|site| site.count).sum();
        let rest = counters.sites[at].count.saturating_sub(counted);
        let rest = (rest > 0).then_some(Site { error: unnamed, count: rest });
        counters.sites.splice(at..=at, named.into_iter().chain(rest));
    }
}

/// File and line of the innermost function of the script: errors are not told apart further, so that a script has no more of them
/// than lines.
fn place(failure: &Failure) -> (String, u64) {
    let call = failure.traceback.first().and_then(|call| call.split(": in ").next()).unwrap_or_default();
    let (file, line) = call.rsplit_once(':').unwrap_or_default();
    (file.to_string(), line.parse().unwrap_or_default())
}

impl Line {
    fn add(&mut self, other: Line) {
        self.count += other.count;
        if self.end.is_none() && other.end.is_none() && self.begin == other.begin {
            return;
        }
        let begin = self.begin.iter().zip(&other.begin).take_while(|(a, b)| a == b).count();
        let lines = [&*self, &other];
        // What the beginning has of a whole message is not its end, too.
        let ends = lines.map(|line| line.end.as_deref().unwrap_or(&line.begin[begin..]));
        let end = ends[0].iter().rev().zip(ends[1].iter().rev()).take_while(|(a, b)| a == b).count();
        let end = ends[0][ends[0].len() - end..].to_vec();
        self.end = Some(end);
        self.begin.truncate(begin);
    }

    /// The message, with `…` for what was not always the same.
    fn text(&self) -> String {
        let begin = String::from_utf8_lossy(&self.begin);
        match &self.end {
            None => begin.into_owned(),
            Some(end) => format!("{begin}…{}", String::from_utf8_lossy(end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;
    use crate::decoder::tests::{decoder, record};
    use moonhook_ir::Piece;

    fn failure(message: &str, call: Option<&str>) -> Failure {
        Failure {
            message: Text::whole(message.as_bytes().to_vec()),
            traceback: call.into_iter().map(str::to_string).collect(),
        }
    }

    fn raised() -> Decoder {
        decoder(EventKind::Raised, 0, vec![Piece::Argument("%s".into())])
    }

    #[test]
    fn what_was_counted_without_a_line_gets_one() {
        let (decoder, mut raised) = (raised(), Raised::default());
        for (message, call) in [
            ("x.lua:10: no 7", Some("x.lua:10: in handler")),
            ("x.lua:9: bad 'a' (long)", Some("x.lua:9: in local 'f'")),
            ("x.lua:9: bad 'bcd' (long)", Some("x.lua:9: in local 'f'")),
            ("x.lua:9: bad 'a' (long)", Some("x.lua:9: in local 'f'")),
            ("x.lua:10: no 7", Some("x.lua:10: in handler")),
            ("step budget exhausted", None),
        ] {
            raised.note(&decoder, &record(&[], b""), &failure(message, call));
        }
        let mut counters = Counters::new(&[], &[0, 8], &decoder);
        raised.name(&decoder, &mut counters);
        let site = |error: &str, count| Site { error: error.into(), count };
        let sites = [
            site("step budget exhausted", 1),
            site("x.lua:9: bad '…' (long)", 3),
            site("x.lua:10: no 7", 2),
            site("…", 2),
        ];
        assert_eq!((counters.sites.as_slice(), counters.errors), (&sites[..], 8));
    }

    #[test]
    fn errors_with_counters_of_their_own_are_left_alone() {
        let decoder = decoder(EventKind::Error, 7, vec![Piece::Text(b"bad".to_vec())]);
        let mut raised = Raised::default();
        raised.note(&decoder, &record(&[], b""), &failure("x.lua:7: bad", Some("x.lua:7: in handler")));
        assert!(raised.lines.is_empty());
        let (mut named, counters) = ([0; 2].map(|_| Counters::new(&[], &[0, 1], &decoder))).into();
        raised.name(&decoder, &mut named);
        assert_eq!(named, counters);
    }

    #[test]
    fn what_messages_have_in_common_is_kept() {
        for (messages, text) in [
            (&["abab", "ab"][..], "ab…"),
            (&["ab", "abab"], "ab…"),
            (&["a1z", "a22z", "a3z"], "a…z"),
            (&["a1z", "a22z", "a1z!"], "a…"),
            (&["aa", "a1a", "a"], "a…"),
            (&["x", "y"], "…"),
            (&["x", "x"], "x"),
        ] {
            let (decoder, mut raised) = (raised(), Raised::default());
            for message in messages {
                raised.note(&decoder, &record(&[], b""), &failure(message, None));
            }
            assert_eq!(raised.lines.values().map(Line::text).collect::<Vec<_>>(), [text], "{messages:?}");
        }
    }
}
