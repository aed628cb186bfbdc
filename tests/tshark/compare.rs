//! Compares one file: each frame, each field.

use std::path::Path;

use moonhook_capture::Frame;
use moonhook_user::protocol::{self, Protocol, Value, View};

use crate::differences::{self, Difference};
use crate::fields::{INNER, ROWS, Row, Unit};
use crate::inner;
use crate::layers::Layers;
use crate::records;
use crate::run::{self, Shown};
use crate::summary::Summary;

/// `name` is how the file is called in the summary.
pub fn file(path: &Path, name: &str) -> Summary {
    let mut summary = Summary::default();
    let Ok(capture) = moonhook_capture::open(path) else {
        summary.add_file(false);
        return summary;
    };
    let shown = run::frames(path);
    summary.add_file(true);
    for frame in capture.filter_map(Result::ok) {
        match shown.get(&frame.number) {
            Some(shown) => compare(&frame, shown, name, &mut summary),
            None => summary.add_missing(name, frame.number),
        }
    }
    summary
}

fn compare(frame: &Frame, shown: &Shown, file: &str, summary: &mut Summary) {
    let layers = Layers::new(shown);
    summary.add_frame();
    for row in ROWS.iter().filter(|row| !layers.is_made || !row.path.starts_with("eth.")) {
        let (ours, theirs) = (ours(&frame.data, row), theirs(shown, &layers, row));
        add(summary, file, Difference { frame, shown, layers: &layers, path: row.path, ours, theirs });
    }
    for row in records::ROWS {
        let (ours, theirs) = (records::ours(&frame.data, row), records::theirs(shown, &layers, row));
        add(summary, file, Difference { frame, shown, layers: &layers, path: row.path, ours, theirs });
    }
    for row in INNER {
        let (ours, theirs) = (inner::ours(&frame.data, row), inner::theirs(shown, &layers, row));
        add(summary, file, Difference { frame, shown, layers: &layers, path: row.path, ours, theirs });
    }
}

fn add(summary: &mut Summary, file: &str, difference: Difference) {
    if difference.ours.is_some() || difference.theirs.is_some() {
        summary.add_field();
    }
    if difference.ours == difference.theirs {
        return;
    }
    match differences::rule(&difference) {
        Some(rule) => summary.add_explained(rule, file, difference.frame.number, difference.path),
        None => summary.add_unexplained(file, &difference),
    }
}

/// What we show, as text.
fn ours(frame: &[u8], row: &Row) -> Option<String> {
    let (header, field) = row.path.split_once('.').unwrap_or((row.path, ""));
    let (_, protocol) = Protocol::named(header.as_bytes())?;
    let value = match protocol.view {
        // Only TCP has its payload's length among tshark's fields.
        View::Plain(_) if !present(frame, "tcp") => None,
        View::Plain(read) => read(protocol::Frame::of_link(frame)),
        View::Header { .. } => (protocol.field(field.as_bytes())?.read)(protocol::Frame::of_link(frame)),
    };
    text(frame, value?, row)
}

/// A value as text.
pub fn text(frame: &[u8], value: Value, row: &Row) -> Option<String> {
    Some(match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        Value::Bytes { start, end } if row.unit == Unit::Payload => (end - start).to_string(),
        Value::Bytes { start, end } if row.unit == Unit::Hex => {
            frame.get(start..end)?.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        Value::Bytes { start, end } => String::from_utf8_lossy(frame.get(start..end)?).into_owned(),
        Value::Name { start, end } => {
            String::from_utf8_lossy(protocol::Dotted::new(frame.get(start..end)?).as_bytes()).into_owned()
        }
    })
}

/// Whether a header of ours is there.
pub fn present(frame: &[u8], header: &str) -> bool {
    let view = Protocol::named(header.as_bytes()).map(|(_, protocol)| &protocol.view);
    matches!(view, Some(View::Header { present, .. }) if present(protocol::Frame::of_link(frame)))
}

/// What tshark shows of the outermost layers, in our units.
fn theirs(shown: &Shown, layers: &Layers, row: &Row) -> Option<String> {
    let header = row.path.split('.').next()?;
    if !layers.has(header) {
        return None;
    }
    let field = if layers.is_v6() { row.field_v6 } else { row.field };
    let value = match row.unit {
        Unit::Protocol if layers.is_v6() => layers.protocol(shown),
        Unit::HeaderLength if layers.is_v6() => return Some(layers.header_length(shown)?.to_string()),
        Unit::Second if layers.tags < 2 => None,
        Unit::Second => shown.nth(field, 1),
        _ => shown.first(field),
    };
    match (value, row.unit) {
        // Without a fragment header an IPv6 packet is one that is whole.
        (None, Unit::Boolean) if layers.is_whole_v6() && row.path == "ip.more_fragments" => {
            Some("false".into())
        }
        (None, Unit::Blocks) if layers.is_whole_v6() && row.path == "ip.fragment_offset" => Some("0".into()),
        (None, _) => None,
        (Some(text), Unit::Text) => Some(text.to_owned()),
        (Some(text), Unit::Hex) => Some(text.replace(':', "")),
        (Some(text), Unit::Boolean) => Some((text == "1" || text == "True").to_string()),
        (Some(text), Unit::Length) if layers.is_v6() => Some((number(text)? + 40).to_string()),
        (Some(text), Unit::Blocks) => Some((number(text)? * 8).to_string()),
        (Some(text), _) => Some(number(text)?.to_string()),
    }
}

/// Decimal, or hexadecimal after `0x`.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
