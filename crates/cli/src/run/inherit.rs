//! What a program takes over from the one that it replaces: the content of tables and variables.
//!
//! A table is taken over as it is, map and all, if name and shape are the same. Variables live in one data section: it is taken
//! over if the variables in it are the same; otherwise those of the same name and type are copied over when the programs are
//! exchanged. The counters of verdicts are common to all generations.

use super::installed::Installed;
use crate::CliError;
use crate::kernel::VERDICTS;
use moonhook_daemon::{Kept, TableKept};
use moonhook_ir::{Module, Variable};
use moonhook_shape::{Shape, WhenFull};
use std::os::fd::BorrowedFd;

/// The data section of variables.
const STATE: &str = ".data.state";

/// What becomes of each table and variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inheritance {
    pub tables: Vec<TableKept>,
    pub variables: Vec<TableKept>,
    /// Names of maps in the new object, and of those of the earlier program that take their places.
    maps: Vec<(String, String)>,
    /// Offsets of variables to copy: from, to.
    copies: Vec<(u32, u32)>,
}

/// Compares what a new program has with what the earlier one has.
pub fn plan(module: &Module, earlier: Option<&Installed>) -> Inheritance {
    let mut plan = Inheritance::default();
    let Some(earlier) = earlier else { return plan };
    tables(&mut plan, module, earlier);
    variables(&mut plan, &module.variables, &earlier.variables);
    let has_verdicts = |name: &str| module.maps.iter().any(|map| name == format!(".data.{}", map.name));
    if has_verdicts(VERDICTS) && earlier.kernel.has_map(VERDICTS) {
        plan.maps.push((VERDICTS.to_string(), VERDICTS.to_string()));
    }
    plan
}

fn tables(plan: &mut Inheritance, module: &Module, earlier: &Installed) {
    for table in &module.tables {
        let outcome = match earlier.tables.iter().find(|old| old.shared.name == table.name) {
            None => Kept::New,
            Some(old) if old.shared.shape == table.shape => {
                plan.maps.push((module.map(table.map).name.clone(), old.map.clone()));
                Kept::Kept
            }
            Some(old) => Kept::Reset { from: described(&old.shared.shape), to: described(&table.shape) },
        };
        plan.tables.push(TableKept { name: table.name.clone(), outcome });
    }
    let is_gone = |name: &str| module.tables.iter().all(|table| table.name != name);
    let gone = earlier.tables.iter().map(|old| &old.shared.name).filter(|name| is_gone(name));
    plan.tables.extend(gone.map(|name| TableKept { name: name.clone(), outcome: Kept::Dropped }));
}

fn variables(plan: &mut Inheritance, new: &[Variable], old: &[Variable]) {
    if !new.is_empty() && new == old && new.iter().all(|variable| variable.portable) {
        plan.maps.push((STATE.to_string(), STATE.to_string()));
    }
    let shared = plan.maps.iter().any(|(name, _)| name == STATE);
    for variable in new {
        let same_name = old.iter().filter(|old| old.name == variable.name);
        let outcome = match same_name.collect::<Vec<_>>()[..] {
            [] => Kept::New,
            [old] if old.ty == variable.ty && old.portable && variable.portable => {
                if !shared {
                    plan.copies.push((old.offset, variable.offset));
                }
                Kept::Kept
            }
            [old, ..] => Kept::Reset { from: old.ty.clone(), to: variable.ty.clone() },
        };
        plan.variables.push(TableKept { name: variable.name.clone(), outcome });
    }
    let is_gone = |name: &str| new.iter().all(|variable| variable.name != name);
    let gone = old.iter().map(|old| &old.name).filter(|name| is_gone(name));
    plan.variables.extend(gone.map(|name| TableKept { name: name.clone(), outcome: Kept::Dropped }));
}

/// The maps of the earlier program that the new one takes over.
pub fn maps<'a>(
    plan: &Inheritance,
    earlier: Option<&'a Installed>,
) -> Result<Vec<(String, BorrowedFd<'a>)>, CliError> {
    let Some(earlier) = earlier else { return Ok(Vec::new()) };
    let map = |(name, old): &(String, String)| Ok((name.clone(), earlier.kernel.program.map_fd(old)?));
    plan.maps.iter().map(map).collect()
}

/// Copies variables, just before the programs are exchanged: what the earlier program assigns in between is lost.
pub fn copy_variables(plan: &Inheritance, earlier: &Installed, new: &Installed) -> Result<(), CliError> {
    if plan.copies.is_empty() {
        return Ok(());
    }
    let (from, to) = (earlier.kernel.program.data_section(STATE)?, new.kernel.program.data_section(STATE)?);
    for (old, new) in &plan.copies {
        for word in (0..Variable::SIZE).step_by(8) {
            if let Some(value) = from.load((old + word) as usize) {
                to.store((new + word) as usize, value);
            }
        }
    }
    Ok(())
}

/// A shape in one line: `ipv4 → {pkts = "int"}, 65536 entries`.
pub fn described(shape: &Shape) -> String {
    let mut text = format!("{} → {}, {} entries", shape.key, shape.value, shape.capacity);
    if shape.when_full == WhenFull::Evict {
        text.push_str(", evicting");
    }
    if let Some(lifetime) = shape.lifetime {
        text.push_str(&format!(", for {} s", lifetime as f64 / 1e9));
    }
    if shape.per_cpu {
        text.push_str(", per CPU");
    }
    text
}
