//! Files of entries: lines of keys, CSV, JSON lines.

use super::titles;
use crate::CliError;
use indicatif::{ProgressBar, ProgressStyle};
use moonhook_daemon::TableInfo;
use moonhook_daemon::word;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// Bytes of a file's lines that go into one request, about: a request may have a mebibyte, and should not take long.
const PART: usize = 64 << 10;

/// The entries of a file, in parts.
pub struct Entries {
    path: PathBuf,
    file: BufReader<File>,
    size: u64,
    read: u64,
    line: u64,
    format: Format,
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

/// What a line is.
#[derive(Debug)]
enum Format {
    /// A key, as it is.
    Keys,
    /// Cells; with the names of a record's fields, if there was a line that has them.
    Csv { fields: Option<Vec<String>> },
    /// An array of key and value.
    Json,
}

impl Entries {
    /// Opens a file of entries for that table.
    ///
    /// # Errors
    /// `Unreadable`.
    pub fn open(path: PathBuf, table: Option<TableInfo>) -> Result<Entries, CliError> {
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (size, file) = opened.map_err(|source| CliError::Unreadable { path: path.clone(), source })?;
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Format::Csv { fields: None },
            Some("json" | "jsonl" | "ndjson") => Format::Json,
            _ => Format::Keys,
        };
        Ok(Entries { path, file: BufReader::new(file), size, read: 0, line: 0, format, table })
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
        let mut line = String::new();
        while self.read < end {
            line.clear();
            let length = self.file.read_line(&mut line);
            let length = length.map_err(|source| CliError::Unreadable { path: self.path.clone(), source })?;
            if length == 0 {
                return Ok(if part.lines.is_empty() { None } else { Some(part) });
            }
            (self.read, self.line) = (self.read + length as u64, self.line + 1);
            // Some programs begin files with a byte order mark.
            let line = if self.line == 1 { line.trim_start_matches('\u{feff}') } else { &line };
            let line = line.trim_end_matches(['\n', '\r']);
            if !line.is_empty() && self.entry(line, &mut part).map_err(|problem| self.malformed(problem))? {
                part.lines.push(self.line);
            }
        }
        Ok(Some(part))
    }

    /// Takes the entry in a line; there is none in a line of titles.
    fn entry(&mut self, line: &str, part: &mut Part) -> Result<bool, String> {
        let word = |text: &str| word(text).map_err(|error| error.to_string());
        let entry = match &mut self.format {
            Format::Keys => {
                part.keys.push(word(line)?);
                return Ok(true);
            }
            Format::Json => match serde_json::from_str(line) {
                Ok((key, value)) => Ok((key, value)),
                Err(error) => Err(format!("no JSON array of a key and a value: {error}")),
            },
            Format::Csv { fields } => {
                let cells = cells(line)?;
                if self.line == 1 && titles::are_titles(&cells, self.table.as_ref()) {
                    *fields = titles::fields(&cells, self.table.as_ref());
                    return Ok(false);
                }
                let values = cells[1..].iter().map(|cell| word(cell)).collect::<Result<Vec<_>, _>>()?;
                let value = match (fields, values.as_slice()) {
                    (None, [value]) => value.clone(),
                    (Some(fields), values) if fields.len() == values.len() => {
                        record(fields, &cells[1..], values)
                    }
                    _ => return Err("another number of cells".to_string()),
                };
                Ok((word(&cells[0])?, value))
            }
        };
        part.entries.push(entry?);
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

/// A record; an empty cell is a field that is missing.
fn record(fields: &[String], cells: &[String], values: &[Value]) -> Value {
    let present = fields.iter().zip(cells).zip(values).filter(|((_, cell), _)| !cell.is_empty());
    present.map(|((name, _), value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// The cells of a line of CSV (RFC 4180, without line ends in cells).
fn cells(line: &str) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, behind) = match rest.strip_prefix('"') {
            None => match rest.find(',') {
                Some(comma) => (rest[..comma].to_string(), &rest[comma..]),
                None => (rest.to_string(), ""),
            },
            Some(quoted) => {
                let mut cell = String::new();
                let mut parts = quoted;
                loop {
                    let quote = parts.find('"').ok_or("a cell in quotes does not end")?;
                    cell.push_str(&parts[..quote]);
                    parts = &parts[quote + 1..];
                    match parts.strip_prefix('"') {
                        Some(more) => parts = more,
                        None => break,
                    }
                    cell.push('"');
                }
                (cell, parts)
            }
        };
        cells.push(cell);
        match behind.strip_prefix(',') {
            Some(more) => rest = more,
            None if behind.is_empty() => return Ok(cells),
            None => return Err("text behind a cell in quotes".to_string()),
        }
    }
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
        let records = read("x.csv", "key,bytes,pkts\n192.0.2.1,9,1\n::1,,2\n").unwrap();
        assert_eq!(
            records,
            [(json!("192.0.2.1"), json!({"bytes": 9, "pkts": 1})), (json!("::1"), json!({"pkts": 2}))]
        );
        let plain = read("x.csv", "keys,1\nb,true").unwrap();
        assert_eq!(plain, [(json!("keys"), json!(1)), (json!("b"), json!(true))]);
        let lines = read("x.jsonl", "[\"a\", {\"n\": 1}]\n[3,4]\n").unwrap();
        assert_eq!(lines, [(json!("a"), json!({"n": 1})), (json!(3), json!(4))]);
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
