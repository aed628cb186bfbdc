//! Records of DNS messages: all of a message in one row, one behind the other.

use moonhook_user::protocol::dns_records::{self, Record};
use moonhook_user::protocol::{Dotted, Frame, Value};

use crate::compare::number;
use crate::layers::Layers;
use crate::run::Shown;

/// A row: its path, tshark's field, and what we show of a record that the row is about.
pub struct Row {
    pub path: &'static str,
    field: &'static str,
    ours: fn(&Record, Frame<'_>) -> Option<String>,
    /// tshark's values are numbers.
    is_number: bool,
}

const OPT: u16 = 41;

pub const ROWS: &[Row] = &[
    row("dns.records.name", "dns.resp.name", |record, frame| {
        Some(record.name(frame).as_ref().map_or("nil".into(), text))
    }),
    of_numbers("dns.records.type", "dns.resp.type", |record, _| Some(record.kind.to_string())),
    // Of a record of EDNS tshark shows these by other names.
    of_numbers("dns.records.class", "dns.resp.class", |record, _| {
        (record.kind != OPT).then(|| record.class.to_string())
    }),
    of_numbers("dns.records.ttl", "dns.resp.ttl", |record, _| {
        (record.kind != OPT).then(|| record.ttl.to_string())
    }),
    row("dns.records.address of A", "dns.a", |record, frame| address(record, frame, 1)),
    row("dns.records.address of AAAA", "dns.aaaa", |record, frame| address(record, frame, 28)),
    row("dns.records.target of NS", "dns.ns", |record, frame| target(record, frame, 2)),
    row("dns.records.target of CNAME", "dns.cname", |record, frame| target(record, frame, 5)),
    row("dns.records.target of PTR", "dns.ptr.domain_name", |record, frame| target(record, frame, 12)),
    row("dns.records.target of MX", "dns.mx.mail_exchange", |record, frame| target(record, frame, 15)),
    row("dns.records.target of DNAME", "dns.dname", |record, frame| target(record, frame, 39)),
    of_numbers("dns.records.preference", "dns.mx.preference", |record, frame| {
        Some(record.preference(frame)?.to_string())
    }),
];

type Ours = fn(&Record, Frame<'_>) -> Option<String>;

const fn row(path: &'static str, field: &'static str, ours: Ours) -> Row {
    Row { path, field, ours, is_number: false }
}

const fn of_numbers(path: &'static str, field: &'static str, ours: Ours) -> Row {
    Row { path, field, ours, is_number: true }
}

/// The fields that tshark is asked for.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.field)
}

pub fn ours(frame: &[u8], row: &Row) -> Option<String> {
    let frame = Frame::of_link(frame);
    let mut all = Vec::new();
    for section in 1..=3 {
        let Some((mut at, count)) = dns_records::section(frame, section) else { break };
        for _ in 0..count {
            let Some((record, next)) = dns_records::record(frame, at) else { break };
            all.extend((row.ours)(&record, frame));
            at = next;
        }
    }
    (!all.is_empty()).then(|| all.join(" "))
}

pub fn theirs(shown: &Shown, layers: &Layers, row: &Row) -> Option<String> {
    if !layers.has("dns") {
        return None;
    }
    let plain = |value: &str| match row.is_number {
        true => number(value).map_or(value.to_string(), |number| number.to_string()),
        false => value.replace("<Root>", "."),
    };
    let all: Vec<String> = (0..).map_while(|index| shown.nth(row.field, index)).map(plain).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

fn text(name: &Dotted) -> String {
    String::from_utf8_lossy(name.as_bytes()).into_owned()
}

fn address(record: &Record, frame: Frame<'_>, kind: u16) -> Option<String> {
    match record.address(frame).filter(|_| record.kind == kind)? {
        Value::Text(text) => Some(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        _ => None,
    }
}

fn target(record: &Record, frame: Frame<'_>, kind: u16) -> Option<String> {
    (record.kind == kind).then(|| record.target(frame).as_ref().map_or("nil".into(), text))
}
