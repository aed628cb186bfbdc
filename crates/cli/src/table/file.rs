//! Files of entries: lines of keys, CSV, JSON lines.

use super::titles;
use crate::CliError;
use indicatif::{ProgressBar, ProgressStyle};
use moonhook_daemon::TableInfo;
use moonhook_daemon::word;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// Bytes of a file's lines that go into one request, about: a request may have a mebibyte, and should not take long.
const PART: usize = 64 << 10;

/// A line has fewer bytes, as a request has: what goes on and on is no list of entries.
const LONGEST: u64 = 1 << 20;

/// The entries of a file, in parts.
pub struct Entries {
    path: PathBuf,
    source: Source,
    size: u64,
    read: u64,
    /// The line of the last entry.
    line: u64,
    /// The table that they are for, if the handlers share it.
    table: Option<TableInfo>,
}

/// Entries that go into one request.
#[derive(Debug, Default)]
pub struct Part {
    pub entries: Vec<(Value, Value)>,
    /// Keys whose value is true; where there are such, there are no other entries.
    pub keys: Vec<Value>,
    /// The line of each.
    lines: Vec<u64>,
}

/// What a file is made of.
enum Source {
    /// Lines, each an array of key and value or a key as it is.
    Lines { file: BufReader<File>, json: bool },
    /// Rows of cells (RFC 4180); with the names of a record's fields, if there was a row that has them.
    Csv { rows: csv::Reader<File>, fields: Option<Vec<String>> },
}

impl Entries {
    /// Opens a file of entries for that table.
    ///
    /// # Errors
    /// `Unreadable`.
    pub fn open(path: PathBuf, table: Option<TableInfo>) -> Result<Entries, CliError> {
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (size, file) = opened.map_err(|source| CliError::Unreadable { path: path.clone(), source })?;
        let lines = |file, json| Source::Lines { file: BufReader::new(file), json };
        let source = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => {
                let rows = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
                Source::Csv { rows, fields: None }
            }
            Some("json" | "jsonl" | "ndjson") => lines(file, true),
            _ => lines(file, false),
        };
        Ok(Entries { path, source, size, read: 0, line: 0, table })
    }

    /// A bar over the bytes of the file.
    pub fn progress(&self) -> ProgressBar {
        let style = ProgressStyle::with_template("{bar:40} {percent}% {eta}");
        ProgressBar::new(self.size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// Bytes read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The next entries; `None` at the end of the file.
    pub fn next_part(&mut self) -> Result<Option<Part>, CliError> {
        let end = self.read + PART as u64;
        let mut part = Part::default();
        while self.read < end {
            let more = match self.source {
                Source::Lines { .. } => self.next_line(&mut part)?,
                Source::Csv { .. } => self.next_row(&mut part)?,
            };
            if !more {
                return Ok(if part.lines.is_empty() { None } else { Some(part) });
            }
        }
        Ok(Some(part))
    }

    /// Takes the entry in the next line; false at the end of the file.
    fn next_line(&mut self, part: &mut Part) -> Result<bool, CliError> {
        let Source::Lines { file, json } = &mut self.source else { return Ok(false) };
        let mut line = String::new();
        let length = file.by_ref().take(LONGEST).read_line(&mut line);
        let length = length.map_err(|source| CliError::Unreadable { path: self.path.clone(), source })?;
        (self.read, self.line) = (self.read + length as u64, self.line + 1);
        if length as u64 == LONGEST {
            return Err(self.malformed(format!("the line has {LONGEST} bytes or more")));
        }
        // Some programs begin files with a byte order mark.
        let text = if self.line == 1 { line.trim_start_matches('\u{feff}') } else { &line };
        let text = text.trim_end_matches(['\n', '\r']);
        if !text.is_empty() {
            let taken = if *json {
                array(text).map(|entry| part.entries.push(entry))
            } else {
                key(text).map(|key| part.keys.push(key))
            };
            taken.map_err(|problem| self.malformed(problem))?;
            part.lines.push(self.line);
        }
        Ok(length > 0)
    }

    /// Takes the entry in the next row; false at the end of the file. There is none in a row of titles.
    fn next_row(&mut self, part: &mut Part) -> Result<bool, CliError> {
        let Source::Csv { rows, fields } = &mut self.source else { return Ok(false) };
        let is_first = self.read == 0;
        let mut row = csv::StringRecord::new();
        let more = rows.read_record(&mut row);
        self.line = row.position().map_or(self.line + 1, csv::Position::line);
        self.read = rows.position().byte();
        match more {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => {
                let problem = error.to_string();
                return Err(match error.into_kind() {
                    csv::ErrorKind::Io(source) => CliError::Unreadable { path: self.path.clone(), source },
                    _ => self.malformed(problem),
                });
            }
        }
        let cells: Vec<String> = row.iter().map(str::to_string).collect();
        if is_first && titles::are_titles(&cells, self.table.as_ref()) {
            *fields = titles::fields(&cells, self.table.as_ref());
            return Ok(true);
        }
        let entry = entry(&cells, fields.as_deref()).map_err(|problem| self.malformed(problem))?;
        part.entries.push(entry);
        part.lines.push(self.line);
        Ok(true)
    }

    fn malformed(&self, problem: String) -> CliError {
        CliError::Entry { path: self.path.clone(), line: self.line, problem }
    }

    /// A refusal of the table, with the line that it is about.
    pub fn placed(&self, error: CliError, part: &Part) -> CliError {
        let CliError::Remote(mut failure) = error else { return error };
        if let Some(line) = failure.entry.and_then(|entry| part.lines.get(entry)) {
            failure.reason = Some(format!("in line {line} of {}", self.path.display()));
        }
        CliError::Remote(failure)
    }
}

/// The value that a line or a cell stands for.
fn key(text: &str) -> Result<Value, String> {
    word(text).map_err(|error| error.to_string())
}

fn array(line: &str) -> Result<(Value, Value), String> {
    serde_json::from_str(line).map_err(|error| format!("no JSON array of a key and a value: {error}"))
}

/// The entry in a row of cells; `fields` are the names of a record's.
fn entry(cells: &[String], fields: Option<&[String]>) -> Result<(Value, Value), String> {
    let [first, cells @ ..] = cells else { return Err("another number of cells".to_string()) };
    let values = cells.iter().map(|cell| key(cell)).collect::<Result<Vec<_>, _>>()?;
    let value = match (fields, values.as_slice()) {
        (None, [value]) => value.clone(),
        (Some(fields), values) if fields.len() == values.len() => record(fields, cells, values),
        _ => return Err("another number of cells".to_string()),
    };
    Ok((key(first)?, value))
}

/// A record; an empty cell is a field that is missing.
fn record(fields: &[String], cells: &[String], values: &[Value]) -> Value {
    let present = fields.iter().zip(cells).zip(values).filter(|((_, cell), _)| !cell.is_empty());
    present.map(|((name, _), value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(name: &str, text: &str) -> Result<Vec<(Value, Value)>, CliError> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut file = Entries::open(path, None)?;
        let mut all = Vec::new();
        while let Some(part) = file.next_part()? {
            all.extend(part.entries);
            all.extend(part.keys.into_iter().map(|key| (key, Value::Bool(true))));
        }
        assert_eq!(file.read(), text.len() as u64);
        Ok(all)
    }

    #[test]
    fn files_have_three_formats() {
        let keys = read("list.txt", "a.example\r\n\n192.0.2.1\n7").unwrap();
        let all = [json!("a.example"), json!("192.0.2.1"), json!(7)];
        assert_eq!(keys, all.map(|key| (key, json!(true))));
        let csv = read("x.csv", "key,value\n7,\"x,\"\"y\"\"\"\n\"\"\"a b\"\"\",-1\n").unwrap();
        assert_eq!(csv, [(json!(7), json!("x,\"y\"")), (json!("a b"), json!(-1))]);
        let command = read("x.csv", "key,value\n\"\"\"\\u001b[2J\\u009b\"\"\",true\n").unwrap();
        assert_eq!(command, [(json!("\u{1b}[2J\u{9b}"), json!(true))]);
        let records = read("x.csv", "key,bytes,pkts\n192.0.2.1,9,1\n::1,,2\n").unwrap();
        assert_eq!(
            records,
            [(json!("192.0.2.1"), json!({"bytes": 9, "pkts": 1})), (json!("::1"), json!({"pkts": 2}))]
        );
        let plain = read("x.csv", "keys,1\nb,true").unwrap();
        assert_eq!(plain, [(json!("keys"), json!(1)), (json!("b"), json!(true))]);
        let marked = read("x.csv", "\u{feff}key,value\r\n\r\n\"a\r\nb\",1\r\n").unwrap();
        assert_eq!(marked, [(json!("a\r\nb"), json!(1))]);
        let lines = read("x.jsonl", "[\"a\", {\"n\": 1}]\n[3,4]\n").unwrap();
        assert_eq!(lines, [(json!("a"), json!({"n": 1})), (json!(3), json!(4))]);
    }

    #[test]
    fn lines_without_an_end_are_refused() {
        let error = read("x.txt", &"\0".repeat(3 << 20)).unwrap_err().to_string();
        assert!(error.contains("the line has 1048576 bytes or more"), "{error}");
    }

    #[test]
    fn long_files_come_in_parts() {
        let text: String = (0..50_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(read("x", &text).unwrap().len(), 50_000);
    }

    #[test]
    fn bad_lines_are_told_by_their_numbers() {
        for (name, text) in
            [("x.csv", "a,1\nb"), ("x.csv", "a,1\n\"b"), ("x.jsonl", "[1,2]\n[1]"), ("x", "a\n\"b")]
        {
            match read(name, text).unwrap_err() {
                CliError::Entry { line, .. } => assert_eq!(line, 2, "{name} {text:?}"),
                other => panic!("{other}"),
            }
        }
    }
}
