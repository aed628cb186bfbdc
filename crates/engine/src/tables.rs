//! The tables that handlers share with user space: filling their maps, and reading them.
//!
//! An object made by `moonhook build` describes these maps, with names and sizes; whoever loads it fills them.

use crate::EngineError;
use moonhook_control::{ControlError, SharedTable};
use moonhook_install::{InstallError, Program};
use moonhook_ir::Module;
use moonhook_schema::Datum;

/// Puts what load time left in the tables into their maps, but for those that were filled before (`kept`, by the map's name).
///
/// # Errors
/// `Control` for what does not fit, `Install` for what the kernel refuses.
pub fn fill(program: &Program, module: &Module, kept: &dyn Fn(&str) -> bool) -> Result<(), EngineError> {
    for table in module.tables.iter().filter(|table| !kept(&module.map(table.map).name)) {
        let contents = table.contents.iter().map(|(key, value)| (key, value));
        SharedTable::open(program, module, table)?.load(contents)?;
    }
    Ok(())
}

/// Puts what the script gives to maps of C objects into these, also where they were filled before: what configures programs in C is what the script
/// says now.
///
/// # Errors
/// `Install` for what does not fit, and for what the kernel refuses.
pub fn fill_objects(program: &Program, module: &Module) -> Result<(), EngineError> {
    for filling in &module.fillings {
        let name = &module.map(filling.map).name;
        for [key, value] in &filling.entries {
            program.map_update(name, key, value).map_err(|error| about(error, key))?;
        }
    }
    Ok(())
}

/// Says of which entry the kernel wants nothing.
fn about(error: InstallError, key: &[u8]) -> InstallError {
    match error {
        InstallError::MapAccess { map, problem } => {
            let bytes: Vec<String> = key.iter().map(|byte| format!("{byte:02x}")).collect();
            InstallError::MapAccess {
                map,
                problem: format!("{problem}, for the entry with the key {}", bytes.join(" ")),
            }
        }
        error => error,
    }
}

/// The entries that are alive, in any order. Of a table with values for each CPU the sums of all CPUs, where they are integers,
/// else what the first CPU has.
///
/// # Errors
/// `Install` for what the kernel refuses.
pub fn entries(
    program: &Program,
    module: &Module,
    table: &moonhook_ir::SharedTable,
) -> Result<Vec<(Datum, Datum)>, EngineError> {
    let entries: Result<_, ControlError> = SharedTable::open(program, module, table)?.entries().collect();
    Ok(entries?)
}
