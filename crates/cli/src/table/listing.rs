//! Entries of a table, written out: for people, as JSON lines, as CSV.

use crate::CliError;
use moonhook_daemon::{json_text, shown};
use serde_json::{Value, json};
use std::io::Write;

/// How entries are written.
pub enum Listing {
    /// Key, tab, value.
    Text,
    Json,
    /// After a line of titles: `key`, and `value` or the names of a record's fields, as the first entry has them.
    Csv {
        titles: Option<Vec<String>>,
    },
}

impl Listing {
    pub fn new(json: bool, csv: bool) -> Listing {
        match (json, csv) {
            (true, _) => Listing::Json,
            (_, true) => Listing::Csv { titles: None },
            _ => Listing::Text,
        }
    }

    pub fn entry(&mut self, out: &mut dyn Write, key: &Value, value: &Value) -> Result<(), CliError> {
        match self {
            Listing::Text => writeln!(out, "{}\t{}", shown(key), shown(value))?,
            Listing::Json => writeln!(out, "{}", json_text(&json!([key, value])))?,
            Listing::Csv { titles } => {
                let titles = match titles {
                    Some(titles) => titles,
                    None => titles.insert(first_line(out, value)?),
                };
                let cells = match value {
                    Value::Object(fields) => {
                        let cell = |title: &String| fields.get(title).map_or(String::new(), shown);
                        titles.iter().map(cell).collect()
                    }
                    other => vec![shown(other)],
                };
                write_row(out, std::iter::once(shown(key)).chain(cells))?;
            }
        }
        Ok(())
    }
}

/// The titles behind `key`: all fields that the table's records can have are not known, those of the first are.
fn first_line(out: &mut dyn Write, value: &Value) -> Result<Vec<String>, CliError> {
    let titles: Vec<String> = match value {
        Value::Object(fields) => fields.keys().cloned().collect(),
        _ => vec!["value".to_string()],
    };
    write_row(out, std::iter::once("key").chain(titles.iter().map(String::as_str)))?;
    Ok(titles)
}

/// A row of CSV (RFC 4180, with the line ends of Unix).
fn write_row(out: &mut dyn Write, cells: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<(), CliError> {
    let mut row = csv::Writer::from_writer(Vec::new());
    let written = row.write_record(cells).map_err(std::io::Error::from);
    let bytes = written.and_then(|()| row.into_inner().map_err(|error| error.into_error()))?;
    Ok(out.write_all(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(mut listing: Listing, entries: &[(Value, Value)]) -> String {
        let mut out = Vec::new();
        entries.iter().for_each(|(key, value)| listing.entry(&mut out, key, value).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn entries_have_three_forms() {
        let plain = [(json!("a b"), json!(1)), (json!(7), json!("x,\"y\""))];
        assert_eq!(written(Listing::new(false, false), &plain), "\"a b\"\t1\n7\tx,\"y\"\n");
        assert_eq!(written(Listing::new(true, false), &plain), "[\"a b\",1]\n[7,\"x,\\\"y\\\"\"]\n");
        let csv = "key,value\n\"\"\"a b\"\"\",1\n7,\"x,\"\"y\"\"\"\n";
        assert_eq!(written(Listing::new(false, true), &plain), csv);
        let command = [(json!("\u{1b}[2J\u{9b}"), json!(true))];
        assert_eq!(written(Listing::new(false, false), &command), "\"\\u001b[2J\\u009b\"\ttrue\n");
        let csv = "key,value\n\"\"\"\\u001b[2J\\u009b\"\"\",true\n";
        assert_eq!(written(Listing::new(false, true), &command), csv);
        let records =
            [(json!("192.0.2.1"), json!({"bytes": 9, "pkts": 1})), (json!("::1"), json!({"pkts": 2}))];
        assert_eq!(written(Listing::new(false, true), &records), "key,bytes,pkts\n192.0.2.1,9,1\n::1,,2\n");
    }
}
