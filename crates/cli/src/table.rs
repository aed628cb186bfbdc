//! `moonhook table`: the shared tables of a running script.

mod file;
mod listing;
mod titles;

use crate::remote::{RemoteOptions, Script, ServiceOptions};
use crate::run::reloaded_text;
use crate::{CliError, Exit};
use listing::Listing;
use moonhook_daemon::{Dumped, Name, Replaced, Request, TableInfo, TableOperation};
use moonhook_daemon::{json_text, shown, word};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Look at and change the tables that a running script's handlers use
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without TABLE the tables are listed, without an operation the table is described. Keys and values are integers, true, false, JSON
objects for records, or strings; \"7\" in quotes is a string.

  get KEY          show the value; exit code 1 if there is none
  set KEY VALUE    assign it
  delete KEY       remove the entry; exit code 1 if there is none
  dump             show all entries
  load FILE        put the entries of a file in the place of all there are: one key a line (the value is true), CSV of key and
                   value (.csv; a first line `key,FIELD,…` names the fields of records, and one that is no entry of the table
                   has titles, too), or JSON lines of [KEY, VALUE] (.json, .jsonl). Every packet sees the old content or the new one, whole; a file with an error changes nothing
  load FILE --add  assign them one after another, and leave the others alone
  clear            remove all entries

Examples:
  moonhook table filter
  moonhook table filter blocked set 192.0.2.7 true
  moonhook table filter limits get 10.0.0.0/8 --json
  moonhook table filter names load blocklist.txt         # these and no others from now on
  moonhook table filter names load more.txt --add
  moonhook table filter counts dump --csv > counts.csv
  moonhook table filter counts dump --remote http://127.0.0.1:50051

Exit codes: 0 done, 1 no such table or entry, or the table cannot take the value, 2 usage, 3 no such script or file")]
pub struct Arguments {
    /// The running script, as `moonhook list` names it
    name: Name,
    /// The table's name: the variable that holds it; `SCRIPT.NAME` where several scripts have one of that name
    table: Option<String>,
    #[arg(value_enum)]
    operation: Option<Operation>,
    /// A key, or the file to load
    #[arg(value_name = "KEY|FILE", allow_negative_numbers = true)]
    key: Option<String>,
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    value: Option<String>,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    /// JSON: one document, or for `dump` one array [KEY, VALUE] a line
    #[arg(long)]
    pub json: bool,
    /// `load` adds to the entries that there are
    #[arg(long)]
    add: bool,
    /// `dump` as CSV with a line of titles, as `load` reads it
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Operation {
    Get,
    Set,
    Delete,
    Dump,
    Load,
    Clear,
}

pub fn table(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let operation = arguments.operation();
    let mut script = arguments.service.script(&arguments.remote, &arguments.name)?;
    let mut command = Command { arguments, script: &mut script, out };
    match (&arguments.table, operation?) {
        (None, _) => command.list(),
        (Some(table), None) => command.describe(table),
        (Some(table), Some(Wanted::Dump)) => command.dump(table),
        (Some(table), Some(Wanted::Load(path))) => command.load(table, path),
        (Some(table), Some(Wanted::One(operation))) => command.one(table, operation),
    }
}

/// What is to be done, with its operands.
enum Wanted {
    One(TableOperation),
    Dump,
    Load(PathBuf),
}

impl Arguments {
    fn operation(&self) -> Result<Option<Wanted>, CliError> {
        let Some(operation) = self.operation else { return Ok(None) };
        let key = || word(self.key.as_deref().unwrap_or_default());
        Ok(Some(match (operation, &self.key, &self.value) {
            (Operation::Get, Some(_), None) => Wanted::One(TableOperation::Get { key: key()? }),
            (Operation::Delete, Some(_), None) => Wanted::One(TableOperation::Delete { key: key()? }),
            (Operation::Set, Some(_), Some(value)) => {
                Wanted::One(TableOperation::Set { key: key()?, value: word(value)? })
            }
            (Operation::Dump, None, None) => Wanted::Dump,
            (Operation::Load, Some(file), None) => Wanted::Load(file.into()),
            (Operation::Clear, None, None) => Wanted::One(TableOperation::Clear),
            _ => return Err(CliError::Operands { operation: format!("{operation:?}").to_lowercase() }),
        }))
    }
}

struct Command<'a> {
    arguments: &'a Arguments,
    script: &'a mut Script,
    out: &'a mut dyn Write,
}

impl Command<'_> {
    fn ask(&mut self, table: &str, operation: TableOperation) -> Result<Value, CliError> {
        self.script.ask(&Request::Table { table: table.to_string(), operation })
    }

    fn list(&mut self) -> Result<Exit, CliError> {
        let tables: Vec<TableInfo> = self.script.ask(&Request::Tables)?;
        if self.arguments.json {
            let text = serde_json::to_string_pretty(&tables).map_err(std::io::Error::from)?;
            writeln!(self.out, "{text}")?;
        } else {
            for TableInfo { name, key, value, capacity, .. } in &tables {
                writeln!(self.out, "{name}: {key} → {value}, {capacity} entries at most")?;
            }
        }
        Ok(Exit::Success)
    }

    fn describe(&mut self, table: &str) -> Result<Exit, CliError> {
        let count = self.ask(table, TableOperation::Count)?;
        let tables: Vec<TableInfo> = self.script.ask(&Request::Tables)?;
        let Some(info) = TableInfo::named(tables, table) else { return Ok(Exit::Refused) };
        if self.arguments.json {
            let mut line = serde_json::to_value(&info).map_err(std::io::Error::from)?;
            line["entries"] = count;
            writeln!(self.out, "{line:#}")?;
        } else {
            let TableInfo { name, key, value, capacity, .. } = info;
            writeln!(self.out, "{name}: {key} → {value}, {count} of {capacity} entries")?;
        }
        Ok(Exit::Success)
    }

    /// `get`, `set`, `delete` and `clear`.
    fn one(&mut self, table: &str, operation: TableOperation) -> Result<Exit, CliError> {
        let answer = self.ask(table, operation.clone())?;
        let (answer, found) = match operation {
            TableOperation::Get { .. } => (answer.clone(), answer != Value::Null),
            TableOperation::Delete { .. } => (json!({ "deleted": answer }), answer == json!(true)),
            TableOperation::Clear => (json!({ "removed": answer }), true),
            _ => (json!({ "set": true }), true),
        };
        if self.arguments.json {
            writeln!(self.out, "{}", json_text(&answer))?;
        } else if matches!(operation, TableOperation::Get { .. }) {
            writeln!(self.out, "{}", shown(&answer))?;
        } else if let Some(removed) = answer.get("removed") {
            writeln!(self.out, "{removed} entries removed")?;
        }
        Ok(if found { Exit::Success } else { Exit::Refused })
    }

    fn dump(&mut self, table: &str) -> Result<Exit, CliError> {
        let mut listing = Listing::new(self.arguments.json, self.arguments.csv);
        let mut dump = None;
        loop {
            let page = self.ask(table, TableOperation::Dump { dump })?;
            let page: Dumped = serde_json::from_value(page).map_err(std::io::Error::from)?;
            for (key, value) in &page.entries {
                listing.entry(self.out, key, value)?;
            }
            dump = page.dump;
            if dump.is_none() {
                return Ok(Exit::Success);
            }
        }
    }

    fn load(&mut self, table: &str, path: PathBuf) -> Result<Exit, CliError> {
        let tables: Vec<TableInfo> = self.script.ask(&Request::Tables)?;
        let info = TableInfo::named(tables, table);
        let mut entries = file::Entries::open(path, info)?;
        let progress = entries.progress();
        let mut count = 0;
        let adds = self.arguments.add;
        if !adds {
            self.ask(table, TableOperation::Begin)?;
        }
        while let Some(mut part) = entries.next_part()? {
            let (some, keys) = (std::mem::take(&mut part.entries), std::mem::take(&mut part.keys));
            let operation = match adds {
                true => TableOperation::Load { entries: some, keys },
                false => TableOperation::Add { entries: some, keys },
            };
            let answer = self.ask(table, operation);
            count += answer.map_err(|error| entries.placed(error, &part))?.as_u64().unwrap_or(0);
            progress.set_position(entries.read());
        }
        let replaced = if adds { None } else { Some(self.ask(table, TableOperation::Commit)?) };
        progress.finish_and_clear();
        self.loaded(count, replaced)
    }

    fn loaded(&mut self, count: u64, replaced: Option<Value>) -> Result<Exit, CliError> {
        let replaced: Option<Replaced> =
            replaced.map(serde_json::from_value).transpose().map_err(std::io::Error::from)?;
        let reloaded = replaced.as_ref().and_then(|replaced| replaced.reloaded.as_ref());
        if self.arguments.json {
            writeln!(self.out, "{}", json!({ "loaded": count, "reloaded": reloaded }))?;
        } else {
            writeln!(self.out, "{count} entries loaded")?;
            let text = reloaded.map(reloaded_text).unwrap_or_default();
            self.out.write_all(text.as_bytes())?;
        }
        Ok(Exit::Success)
    }
}
