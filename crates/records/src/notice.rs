//! Events of handlers, out of their records.

use crate::Text;
use crate::conversion::Argument;
use crate::decoder::append_argument;
use crate::reader::{Reader, RecordError, problem};
use moonhook_schema::{Datum, MAX_NESTED};

/// An event of a handler: a name and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub name: Vec<u8>,
    pub values: Vec<Datum>,
    /// `event`, name and values with tabs between them.
    pub line: Text,
}

impl Notice {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Notice, RecordError> {
        let name = reader.argument()?;
        let mut line = Text::whole(b"event\t".to_vec());
        append_argument("%s", &name, &mut line);
        let mut values = Vec::new();
        while !reader.0.is_empty() {
            line.bytes.push(b'\t');
            values.push(value(reader, &mut line, 0)?);
        }
        Ok(Notice { name: name.text(), values, line })
    }
}

/// The next value, which `depth` records are around; it is appended to the line too.
fn value(reader: &mut Reader<'_>, line: &mut Text, depth: usize) -> Result<Datum, RecordError> {
    if let Some(count) = reader.fields()? {
        return match depth < MAX_NESTED {
            true => record(reader, count, line, depth + 1),
            false => Err(problem("records are nested too deeply")),
        };
    }
    let argument = reader.argument()?;
    append_argument("%s", &argument, line);
    Ok(match argument {
        Argument::Nil => Datum::Nil,
        Argument::Boolean(value) => Datum::Boolean(value),
        Argument::Integer(value) => Datum::Integer(value),
        Argument::Float(bits) => Datum::Float(bits),
        text => Datum::Text(text.text()),
    })
}

/// So many fields, fewer if what was sent ends.
fn record(reader: &mut Reader<'_>, count: u64, line: &mut Text, depth: usize) -> Result<Datum, RecordError> {
    line.bytes.push(b'{');
    let mut fields = Vec::new();
    for _ in 0..count {
        let name = if reader.0.is_empty() { None } else { Some(name(reader)?) };
        let Some(name) = name.filter(|_| !reader.0.is_empty()) else {
            append_cut(line);
            break;
        };
        let mut text = name.clone();
        text.bytes.extend(b" = ");
        let mut shown = Text::default();
        let datum = value(reader, &mut shown, depth)?;
        if datum != Datum::Nil {
            append(&mut text, shown);
            if !fields.is_empty() {
                line.bytes.extend(b", ");
            }
            append(line, text);
            fields.push((name.lossy(), datum));
        }
    }
    line.bytes.push(b'}');
    Ok(Datum::Record(fields))
}

/// The name of a field; names that are no text are shown with replacement characters.
fn name(reader: &mut Reader<'_>) -> Result<Text, RecordError> {
    let argument = reader.argument()?;
    let (Argument::String(bytes) | Argument::CutString(bytes)) = &argument else {
        return Err(problem("a field without name"));
    };
    let mut name = Text::whole(String::from_utf8_lossy(bytes).into_owned().into_bytes());
    if let Argument::CutString(_) = argument {
        append_cut(&mut name);
    }
    Ok(name)
}

fn append_cut(text: &mut Text) {
    text.cut.get_or_insert(text.bytes.len());
    text.bytes.extend("…".bytes());
}

fn append(line: &mut Text, more: Text) {
    if let (None, Some(cut)) = (line.cut, more.cut) {
        line.cut = Some(line.bytes.len() + cut);
    }
    line.bytes.extend(more.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;
    use crate::decoder::tests::{decoder, record};
    use moonhook_ir::EventKind;

    /// The event in a record of these words.
    fn sent(words: &[u64]) -> Result<Notice, RecordError> {
        match decoder(EventKind::Event, 1, vec![]).decode(&record(words, b""))? {
            Message::Event(notice) => Ok(notice),
            other => panic!("{other:?}"),
        }
    }

    /// A string of up to 8 bytes.
    fn string(text: &str) -> [u64; 3] {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        [3, text.len() as u64, u64::from_ne_bytes(bytes)]
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn events_have_a_name_and_values() {
        let decoder = decoder(EventKind::Event, 1, vec![]);
        let name = u64::from_ne_bytes(*b"name\0\0\0\0");
        let record = record(&[3, 4, name, 2, 7, 1, 1, 0, 4, 0xc000_0207, 7, 2], b"ab\0\0\0\0\0\0");
        let Ok(Message::Event(notice)) = decoder.decode(&record) else { panic!("no event") };
        let values = [Datum::Integer(7), Datum::Boolean(true), Datum::Nil, text("192.0.2.7"), text("ab")];
        assert_eq!((notice.name.as_slice(), notice.values.as_slice()), (&b"name"[..], &values[..]));
        assert_eq!(notice.line.lossy(), "event\tname\t7\ttrue\tnil\t192.0.2.7\tab…");
    }

    /// `{length = 60, tcp = {port = 1}}` and a field that is nil.
    fn nested() -> Vec<u64> {
        let parts: [&[u64]; 9] = [
            &string("seen"),
            &[8, 3],
            &string("length"),
            &[2, 60],
            &string("none"),
            &[0],
            &string("tcp"),
            &[8, 1],
            &string("port"),
        ];
        [parts.concat(), vec![2, 1, 8, 0, 1, 1]].concat()
    }

    #[test]
    fn values_can_be_records() {
        let notice = sent(&nested()).unwrap();
        let port = Datum::Record(vec![("port".into(), Datum::Integer(1))]);
        let fields = vec![("length".to_string(), Datum::Integer(60)), ("tcp".to_string(), port)];
        let values = [Datum::Record(fields), Datum::Record(vec![]), Datum::Boolean(true)];
        assert_eq!(notice.values, values);
        let line = Text::whole(b"event\tseen\t{length = 60, tcp = {port = 1}}\t{}\ttrue".to_vec());
        assert_eq!(notice.line, line);
        let lines: Vec<String> =
            notice.values.iter().map(|value| String::from_utf8_lossy(&value.line()).into_owned()).collect();
        assert_eq!(lines, ["{length = 60, tcp = {port = 1}}", "{}", "true"]);
    }

    #[test]
    fn records_may_end_between_names_and_values() {
        let whole = sent(&nested()).unwrap().line;
        for (words, line) in [
            (3, "event\tseen"),
            (5, "event\tseen\t{…}"),
            (8, "event\tseen\t{…}"),
            (10, "event\tseen\t{length = 60…}"),
            (14, "event\tseen\t{length = 60…}"),
            (19, "event\tseen\t{length = 60, tcp = {…}}"),
            (22, "event\tseen\t{length = 60, tcp = {…}}"),
            (24, "event\tseen\t{length = 60, tcp = {port = 1}}"),
        ] {
            let notice = sent(&nested()[..words]).unwrap();
            assert_eq!(notice.line.lossy(), line, "{words}");
            assert!(words == 3 || words == 24 || notice.line.agrees_with(&whole.bytes), "{words}");
        }
        let cut = [string("seen").as_slice(), &[8, 2, 7, 2, 0x6161], &[2, 1]].concat();
        let notice = sent(&cut).unwrap();
        assert_eq!(notice.line.lossy(), "event\tseen\t{aa… = 1…}");
        assert!(notice.line.agrees_with(b"event\tseen\t{aab = 1, ac = 1}"));
    }

    #[test]
    fn malformed_records_are_errors() {
        for words in [4, 6, 7, 9, 11, 23] {
            assert!(sent(&nested()[..words]).is_err(), "{words}");
        }
        let unnamed = [string("seen").as_slice(), &[8, 1, 2, 1, 2, 1]].concat();
        assert!(sent(&unnamed).is_err());
        let inner = [&[8, 1][..], &string("a")].concat();
        let deep = |levels: usize| [string("seen").to_vec(), inner.repeat(levels), vec![2, 1]].concat();
        assert!(sent(&deep(MAX_NESTED)).is_ok());
        assert!(sent(&deep(MAX_NESTED + 1)).is_err());
    }
}
