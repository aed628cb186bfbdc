//! `cpu`: processors, and what they did so far (Lunatik's `lib/luacpu.c`).

use std::sync::Arc;

use mlua::{Function, Lua, Table};
use nix::errno::Errno;

use crate::arguments::{Counts, Raise, add, function};
use crate::host::{Host, Module};

pub(crate) const MODULE: Module = Module { name: "cpu", open, shared: None };

/// In the order of /proc/stat (proc_stat(5)).
const FIELDS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// Nanoseconds of a tick of /proc/stat, whose ticks are hundredths of a second for programs (`USER_HZ`).
const TICK: i64 = 10_000_000;

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    for (name, each, kind) in [
        ("num_possible", "foreach_possible", "possible"),
        ("num_present", "foreach_present", "present"),
        ("num_online", "foreach_online", "online"),
    ] {
        add(lua, &module, name, move |_, _| Ok(numbers(kind)?.len()))?;
        let list = function(lua, (each, Counts::All), move |lua, arguments| {
            arguments.function(1)?;
            Ok(lua.create_sequence_from(numbers(kind)?)?)
        })?;
        let each_in: Function = lua
            .load("local list = ... return function(...) local f = ... for _, id in ipairs(list(...)) do f(id) end end")
            .set_name("=moonhook")
            .call(list)?;
        module.raw_set(each, each_in)?;
    }
    add(lua, &module, "stats", |lua, arguments| {
        let id = arguments.integer(1)?;
        if !numbers("online")?.contains(&id) {
            return Err(Raise::At("CPU is offline".to_string()));
        }
        let stats = lua.create_table()?;
        for (field, ticks) in FIELDS.iter().zip(ticks(id)?) {
            stats.raw_set(*field, ticks.saturating_mul(TICK))?;
        }
        Ok(stats)
    })?;
    Ok(module)
}

fn failed(error: &std::io::Error) -> Raise {
    Errno::from_raw(error.raw_os_error().unwrap_or(0)).into()
}

fn ticks(id: i64) -> Result<Vec<i64>, Raise> {
    let stat = std::fs::read_to_string("/proc/stat").map_err(|error| failed(&error))?;
    let name = format!("cpu{id}");
    let line = stat.lines().map(|line| line.split_whitespace()).find_map(|mut words| {
        let is_it = words.next() == Some(&name);
        is_it.then(|| words.filter_map(|word| word.parse().ok()).collect())
    });
    line.ok_or_else(|| Raise::At("CPU is offline".to_string()))
}

/// The numbers in a list such as `0-3,8`.
fn numbers(kind: &str) -> Result<Vec<i64>, Raise> {
    let path = format!("/sys/devices/system/cpu/{kind}");
    let list = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let mut numbers = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
            numbers.extend(first..=last);
        }
    }
    Ok(numbers)
}

/// The highest number of a processor that there may be.
pub(crate) fn highest() -> Result<i64, Raise> {
    Ok(numbers("possible")?.into_iter().max().unwrap_or(0))
}
