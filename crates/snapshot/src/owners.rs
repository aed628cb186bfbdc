//! Which script an object of a snapshot belongs to, and so what it is called, where several scripts make one program.
//!
//! Scripts have globals and modules of their own: what the handlers of one can reach, those of another cannot, but for what is in
//! Moonhook's own library.

use std::ops::Range;
use std::path::Path;

use crate::{CellId, Snapshot, TableId, Value};

/// The scripts, and what is whose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// What the scripts are called; none where there is one script: what is in it needs no other name.
    scripts: Vec<String>,
    /// The scripts by number, as far as they have the object; the first one of several.
    tables: Vec<Option<usize>>,
    cells: Vec<Option<usize>>,
}

impl Owners {
    /// The owners of all objects; each script comes with the numbers of its handlers.
    pub fn of(snapshot: &Snapshot, scripts: &[(&Path, Range<usize>)]) -> Owners {
        if scripts.len() < 2 {
            return Owners::default();
        }
        let paths: Vec<&Path> = scripts.iter().map(|(path, _)| *path).collect();
        let handlers: Vec<_> = scripts.iter().map(|(_, handlers)| handlers.clone()).collect();
        Owners { scripts: labels(&paths), ..reached(snapshot, &handlers) }
    }

    /// What the script is called that has the table, if there are several.
    pub fn of_table(&self, id: TableId) -> Option<&str> {
        self.label(&self.tables, id.index())
    }

    /// What the script is called that has the variable, if there are several.
    pub fn of_cell(&self, id: CellId) -> Option<&str> {
        self.label(&self.cells, id.index())
    }

    fn label(&self, owners: &[Option<usize>], index: usize) -> Option<&str> {
        let owner = owners.get(index).copied().flatten()?;
        self.scripts.get(owner).map(String::as_str)
    }
}

/// A name that is one script's among several: `script.name`.
pub fn qualified(script: Option<&str>, name: &str) -> String {
    script.map_or(name.to_string(), |script| format!("{script}.{name}"))
}

/// Scripts by their files' names, with a number where that is another one's too.
fn labels(scripts: &[&Path]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for script in scripts {
        let stem = script.file_stem().unwrap_or_default().to_string_lossy();
        let numbered =
            (1..).map(|number| if number == 1 { stem.to_string() } else { format!("{stem}-{number}") });
        let free = { numbered }.find(|label| !labels.contains(label));
        labels.extend(free);
    }
    labels
}

/// What is whose; `scripts` has the numbers of each script's handlers.
fn reached(snapshot: &Snapshot, scripts: &[Range<usize>]) -> Owners {
    let mut owners = Owners {
        scripts: Vec::new(),
        tables: vec![None; snapshot.tables.len()],
        cells: vec![None; snapshot.cells.len()],
    };
    let mut closures = vec![None; snapshot.closures.len()];
    for (script, handlers) in scripts.iter().enumerate() {
        let handlers = snapshot.handlers.get(handlers.clone()).unwrap_or_default();
        let mut waiting: Vec<Value> =
            handlers.iter().map(|handler| Value::Closure(handler.closure)).collect();
        while let Some(value) = waiting.pop() {
            match value {
                Value::Closure(id) if closures[id.index()].is_none() => {
                    closures[id.index()] = Some(script);
                    for cell in &snapshot.closure(id).upvalues {
                        if owners.cells[cell.index()].is_none() {
                            owners.cells[cell.index()] = Some(script);
                            waiting.push(snapshot.cell(*cell).value.clone());
                        }
                    }
                }
                Value::Table(id) if owners.tables[id.index()].is_none() => {
                    owners.tables[id.index()] = Some(script);
                    let table = snapshot.table(id);
                    waiting.extend(table.metatable.map(Value::Table));
                    let entries = table.entries.iter().flat_map(|(key, value)| [key, value]);
                    waiting
                        .extend(table.array.iter().chain(entries).filter(|value| is_object(value)).cloned());
                }
                _ => {}
            }
        }
    }
    owners
}

fn is_object(value: &Value) -> bool {
    matches!(value, Value::Table(_) | Value::Closure(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_called_by_their_files() {
        let names = |paths: &[&str]| labels(&paths.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(names(&["/x/a.lua", "b.lua"]), ["a", "b"]);
        assert_eq!(names(&["x/a.lua", "y/a.lua", "a-2.lua", "z/a.lua"]), ["a", "a-2", "a-2-2", "a-3"]);
    }

    #[test]
    fn names_are_qualified_where_there_are_several_scripts() {
        assert_eq!((qualified(Some("a"), "hits"), qualified(None, "hits")), ("a.hits".into(), "hits".into()));
    }
}
