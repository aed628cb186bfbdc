//! Where a program's instructions are, and where the verifier's work went: by Lua function and by routine.

use crate::CliError;
use moonhook_emit::FunctionReport;
use moonhook_engine::{Compiled, EngineError, entries};
use moonhook_install::{LoadOptions, LogDetail, VerifiedFunction};
use moonhook_snapshot::{Prototype, Snapshot};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// How many rows a person is shown.
const SHOWN: usize = 10;

/// The section of what programs call.
const SUBPROGRAMS: &str = ".text";

/// How much processor time the verifier may take to log every instruction, some 50,000 of them, where nobody asked for that.
const PATIENCE: Duration = Duration::from_millis(500);

/// What code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// A Lua function of the script.
    Function,
    /// What connects the Lua functions of one eBPF function, and library functions written in Lua.
    Unit,
    /// What is around the handlers.
    Program,
    /// A subprogram that the compiler adds.
    Routine,
}

/// A Lua function, or code that belongs to none.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub kind: PartKind,
    /// What the definition calls it; that of the eBPF function for a routine.
    pub name: String,
    /// File and line of a Lua function's definition. What is expanded in another function counts where it was written.
    pub place: Option<String>,
    /// The eBPF function that the code is a part of.
    pub part_of: String,
    /// Slots of 8 bytes.
    pub instructions: usize,
    /// Instructions that the verifier has been through; `None` if it was not asked, or took too long to say.
    pub verified: Option<u32>,
}

/// Loads the object once more, with every instruction logged; `None` where that takes long, unless `all` asks for it.
///
/// # Errors
/// `NoProgram`.
pub fn verified(compiled: &Compiled, all: bool) -> Result<Option<Vec<VerifiedFunction>>, EngineError> {
    let patience = (!all).then_some(PATIENCE);
    let entries = entries(&compiled.object)?;
    let options = LoadOptions { name: entries[0].name.clone(), log: LogDetail::All, patience };
    let Ok(loaded) = moonhook_install::load(&compiled.object.elf, &options) else { return Ok(None) };
    // What several programs call was verified with each.
    let mut verified: Vec<VerifiedFunction> = Vec::new();
    for entry in &entries {
        let Some(of_program) = loaded.verified_functions(&entry.name) else { return Ok(None) };
        for function in of_program {
            match verified.iter_mut().find(|known| known.name == function.name) {
                Some(known) => known.add(&function),
                None => verified.push(function),
            }
        }
    }
    Ok(Some(verified))
}

/// The rows of all functions: those with the most work for the verifier first, or, without it, the largest.
pub fn costs(
    snapshot: &Snapshot,
    functions: &[FunctionReport],
    verified: Option<&[VerifiedFunction]>,
) -> Vec<Cost> {
    let sources = Sources::new(snapshot);
    let of = |function: &FunctionReport| {
        let work = verified.map(|all| all.iter().find(|one| one.name == function.name));
        parts(snapshot, &sources, function, work)
    };
    let mut all: Vec<Cost> = functions.iter().flat_map(of).collect();
    all.sort_by(|a, b| {
        let key = |cost: &Cost| (cost.verified, cost.instructions);
        key(b).cmp(&key(a)).then_with(|| (&a.place, &a.name).cmp(&(&b.place, &b.name)))
    });
    all
}

/// The rows of one eBPF function: one for each Lua function that its instructions come from, one for all others.
fn parts(
    snapshot: &Snapshot,
    sources: &Sources<'_>,
    function: &FunctionReport,
    work: Option<Option<&VerifiedFunction>>,
) -> Vec<Cost> {
    let mut rows: BTreeMap<Option<usize>, (usize, u32)> = BTreeMap::new();
    for instruction in &function.listing {
        let row = rows.entry(sources.innermost(instruction.source, instruction.line)).or_default();
        row.0 += 1;
        row.1 += work.flatten().and_then(|work| work.visits.get(instruction.index)).copied().unwrap_or(0);
    }
    // What functions that are not global cost is known for their callers only.
    if let Some(Some(work)) = work {
        let own: u32 = work.visits.iter().sum();
        rows.entry(None).or_default().1 += work.verified - own;
    }
    let rest = match function.name.starts_with(moonhook_engine::UNIT) {
        true => PartKind::Unit,
        false if function.section == SUBPROGRAMS => PartKind::Routine,
        false => PartKind::Program,
    };
    let cost = |(prototype, (instructions, verified)): (Option<usize>, (usize, u32))| {
        let prototype = prototype.map(|index| &snapshot.prototypes[index]);
        Cost {
            kind: if prototype.is_some() { PartKind::Function } else { rest },
            name: prototype.map_or_else(|| function.name.clone(), |prototype| name(sources, prototype)),
            place: prototype.map(|prototype| place(snapshot, prototype)),
            part_of: function.name.clone(),
            instructions,
            verified: work.map(|_| verified),
        }
    };
    rows.into_iter().map(cost).collect()
}

/// The sources by line.
struct Sources<'a> {
    texts: Vec<Vec<&'a str>>,
    /// The innermost function around each line.
    innermost: Vec<Vec<Option<usize>>>,
}

impl<'a> Sources<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let mut lines = vec![Vec::new(); snapshot.sources.len()];
        let length = |prototype: &Prototype| prototype.last_line_defined - prototype.line_defined;
        let mut longest_first: Vec<(usize, &Prototype)> = snapshot.prototypes.iter().enumerate().collect();
        longest_first.sort_by_key(|(index, prototype)| Reverse((length(prototype), *index)));
        for (index, prototype) in longest_first {
            let Some(lines) = prototype.source.and_then(|source| lines.get_mut(source.index())) else {
                continue;
            };
            let own = prototype.line_defined as usize..=prototype.last_line_defined as usize;
            if lines.len() <= *own.end() {
                lines.resize(own.end() + 1, None);
            }
            lines[own].fill(Some(index));
        }
        let texts = snapshot.sources.iter().map(|source| source.text().lines().collect()).collect();
        Sources { texts, innermost: lines }
    }

    fn innermost(&self, source: u16, line: u32) -> Option<usize> {
        let lines = self.innermost.get(usize::from(source)).filter(|_| line > 0)?;
        lines.get(line as usize).copied().flatten()
    }
}

fn place(snapshot: &Snapshot, prototype: &Prototype) -> String {
    let source = prototype.source.map_or("?", |source| &snapshot.source(source).name);
    format!("{source}:{}", prototype.line_defined)
}

/// The name that the line of a definition gives: `function NAME(` or `NAME = function`.
fn name(sources: &Sources<'_>, prototype: &Prototype) -> String {
    let lines = prototype.source.and_then(|source| sources.texts.get(source.index()));
    let number = (prototype.line_defined as usize).checked_sub(1);
    let line = number.and_then(|number| lines?.get(number).copied()).unwrap_or("");
    name_in(line).unwrap_or("function").to_string()
}

fn name_in(line: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    let (before, after) = line.split_once("function")?;
    let after = after.trim_start();
    let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
    if end > 0 {
        return Some(&after[..end]);
    }
    let before = before.trim_end().strip_suffix('=')?.trim_end();
    let start = before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
    Some(&before[start..]).filter(|name| !name.is_empty())
}

/// The first rows, as a table.
///
/// `judged` is whether the verifier has seen the program: where it did not say how much each part costs, it can be asked.
pub fn show(costs: &[Cost], judged: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let verified = costs.first().is_some_and(|cost| cost.verified.is_some());
    let order = match (verified, judged) {
        (true, _) => "verified instructions",
        (false, true) => "instructions (`--costs` also says what each costs the verifier)",
        (false, false) => "instructions",
    };
    writeln!(out, "  parts                  {}; the most costly, by {order}:", costs.len())?;
    writeln!(out, "    {:>8}  {:>12}  part", if verified { "verified" } else { "" }, "instructions")?;
    let row = |out: &mut dyn Write, verified: Option<u32>, instructions: usize, what: &str| {
        let verified = verified.map_or(String::new(), |count| count.to_string());
        writeln!(out, "    {verified:>8}  {instructions:>12}  {what}")
    };
    for cost in costs.iter().take(SHOWN) {
        row(out, cost.verified, cost.instructions, &what(cost))?;
    }
    let sum = |rest: &[Cost]| {
        let instructions = rest.iter().map(|cost| cost.instructions).sum();
        (rest.iter().map(|cost| cost.verified).sum::<Option<u32>>().filter(|_| verified), instructions)
    };
    if let Some(rest) = costs.get(SHOWN..).filter(|rest| !rest.is_empty()) {
        let (verified, instructions) = sum(rest);
        row(out, verified, instructions, &format!("{} others", rest.len()))?;
    }
    let (verified, instructions) = sum(costs);
    Ok(row(out, verified, instructions, "all")?)
}

fn what(cost: &Cost) -> String {
    let Cost { kind, name, place, part_of, .. } = cost;
    match kind {
        PartKind::Function => format!("{name}, {} (in {part_of})", place.as_deref().unwrap_or("?")),
        PartKind::Unit => format!("{name}: dispatch and library functions"),
        PartKind::Program => format!("{name}: around the handlers"),
        PartKind::Routine => format!("{name}: routine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_emit::ListedInstruction;
    use moonhook_snapshot::{Source, SourceId};

    #[test]
    fn names_of_definitions() {
        for (line, expected) in [
            ("local function f(x)", Some("f")),
            ("  function Rule:matches(pkt)", Some("Rule:matches")),
            ("rules.deny = function(...) return 1 end", Some("rules.deny")),
            ("xdp.attach(function(pkt)", None),
            ("return function() end", None),
            ("", None),
        ] {
            assert_eq!(name_in(line), expected, "{line}");
        }
    }

    #[test]
    fn instructions_count_for_the_function_around_their_line() {
        let prototype = |line_defined, last_line_defined| Prototype {
            source: Some(SourceId(0)),
            line_defined,
            last_line_defined,
            ..Default::default()
        };
        let text = "function f()\n\n  local function g()\n  end\nend\n".to_string();
        let snapshot = Snapshot {
            sources: vec![Source::new("x.lua", text)],
            prototypes: vec![prototype(1, 5), prototype(3, 4)],
            ..Default::default()
        };
        let lines = [0, 1, 3, 4];
        let listed = |(index, line): (usize, &u32)| ListedInstruction {
            index,
            text: String::new(),
            source: 0,
            line: *line,
            word: [0; 8],
        };
        let function = FunctionReport {
            name: "unit_0".to_string(),
            section: ".text".to_string(),
            hook: None,
            instructions: 4,
            stack: 0,
            listing: lines.iter().enumerate().map(listed).collect(),
        };
        let work = VerifiedFunction { name: "unit_0".to_string(), verified: 19, visits: vec![1, 2, 5, 7] };
        let rows = costs(&snapshot, &[function], Some(&[work]));
        let seen: Vec<_> = rows.iter().map(|row| (what(row), row.instructions, row.verified)).collect();
        assert_eq!(
            seen,
            [
                ("g, x.lua:3 (in unit_0)".to_string(), 2, Some(12)),
                ("unit_0: dispatch and library functions".to_string(), 1, Some(5)),
                ("f, x.lua:1 (in unit_0)".to_string(), 1, Some(2)),
            ]
        );
        let mut text = Vec::new();
        show(&rows, true, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().ends_with("      19             4  all\n"));
    }
}
