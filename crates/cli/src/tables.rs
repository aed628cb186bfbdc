//! The tables that handlers share with user space: filling their maps, and reading them.
//!
//! An object made by `moonhook build` describes these maps, with names and sizes; whoever loads it fills them.

use crate::CliError;
use moonhook_install::{InstallError, Program};
use moonhook_ir::{Module, SharedTable};
use moonhook_shape::{Datum, Shape, ShapeError, Type, decode_key, decode_value, encode_key, encode_value};

/// Puts what load time left in the tables into their maps, but for those that were filled before (`kept`, by the map's name).
///
/// # Errors
/// `Install` for what the kernel refuses.
pub fn fill(program: &Program, module: &Module, kept: &dyn Fn(&str) -> bool) -> Result<(), CliError> {
    for table in module.tables.iter().filter(|table| !kept(map_name(module, table))) {
        let deadline = table.shape.lifetime.map_or(0, |lifetime| monotonic_time().saturating_add(lifetime));
        for (key, value) in &table.contents {
            let unfit = |error: ShapeError| misfit(table, &error);
            let key = encode_key(&table.shape, key).map_err(unfit)?;
            let value = encode_value(&table.shape, value, deadline).map_err(unfit)?;
            program.map_update(map_name(module, table), &key, &value)?;
        }
    }
    Ok(())
}

/// The entries that are alive, in any order. Of a table with values for each CPU the sums of all CPUs, where they are integers,
/// else what the first CPU has.
///
/// # Errors
/// `Install` for what the kernel refuses.
pub fn entries(
    program: &Program,
    module: &Module,
    table: &SharedTable,
) -> Result<Vec<(Datum, Datum)>, CliError> {
    let name = map_name(module, table);
    let now = monotonic_time();
    let mut entries = Vec::new();
    for key in program.map_keys(name)? {
        // What went meanwhile is not there.
        let Some(bytes) = program.map_lookup(name, &key)? else { continue };
        let (deadline, value) = total(&table.shape, &bytes);
        if table.shape.lifetime.is_none() || deadline > now {
            entries.push((decode_key(&table.shape, &key), value));
        }
    }
    Ok(entries)
}

/// The latest deadline and the value of an entry, of which there is one for each CPU in a per-CPU map.
fn total(shape: &Shape, bytes: &[u8]) -> (u64, Datum) {
    let all =
        bytes.chunks_exact(shape.value_size().next_multiple_of(8)).map(|value| decode_value(shape, value));
    all.reduce(|(deadline, sum), (other, value)| (deadline.max(other), add(sum, value, &shape.value)))
        .unwrap_or((0, Datum::Nil))
}

fn add(a: Datum, b: Datum, ty: &Type) -> Datum {
    match (a, b, ty) {
        (Datum::Integer(a), Datum::Integer(b), _) => Datum::Integer(a.wrapping_add(b)),
        (Datum::Record(a), Datum::Record(b), Type::Record(fields)) => {
            let take = |all: &[(String, Datum)], name: &str| {
                all.iter().find(|(known, _)| known == name).map_or(Datum::Nil, |(_, datum)| datum.clone())
            };
            let sums = fields.iter().map(|field| {
                (field.name.clone(), add(take(&a, &field.name), take(&b, &field.name), &field.ty))
            });
            Datum::Record(sums.filter(|(_, datum)| *datum != Datum::Nil).collect())
        }
        (Datum::Nil, b, _) => b,
        (a, _, _) => a,
    }
}

/// The time of `CLOCK_MONOTONIC` in nanoseconds, to which deadlines refer.
fn monotonic_time() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn map_name<'m>(module: &'m Module, table: &SharedTable) -> &'m str {
    &module.map(table.map).name
}

fn misfit(table: &SharedTable, error: &ShapeError) -> CliError {
    InstallError::MapAccess { map: table.name.clone(), problem: error.to_string() }.into()
}
