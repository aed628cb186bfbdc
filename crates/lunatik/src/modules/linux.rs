//! `linux`: time, waiting, interfaces and the like (Lunatik's `lib/lualinux.c`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{LightUserData, Lua, Table};
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};

use crate::arguments::{Arguments, Raise, add, error_name};
use crate::host::{Host, Module};
use crate::modules::cpu;
use crate::task::Task;
use crate::wait::wait;

pub(crate) const MODULE: Module = Module { name: "linux", open, shared: None };

/// `TASK_INTERRUPTIBLE`, `TASK_UNINTERRUPTIBLE`, `TASK_KILLABLE` and `TASK_IDLE` (include/linux/sched.h).
const STATES: [i64; 4] = [0x1, 0x2, 0x102, 0x402];

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    add(lua, &module, "schedule", |_, arguments| schedule(arguments))?;
    add(lua, &module, "time", |_, _| {
        let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
        Ok(now.tv_sec().saturating_mul(1_000_000_000).saturating_add(now.tv_nsec()))
    })?;
    add(lua, &module, "difftime", |_, arguments| {
        Ok(arguments.integer(1)?.wrapping_sub(arguments.integer(2)?))
    })?;
    add(lua, &module, "random", |_, arguments| random(arguments))?;
    add(lua, &module, "errname", |_, arguments| {
        let number = arguments.integer(1)? as i32;
        Ok(error_name(Errno::from_raw(number.saturating_abs())))
    })?;
    add(lua, &module, "numcpus", |_, _| Ok(cpu::highest()? + 1))?;
    add(lua, &module, "ifindex", |_, arguments| {
        let name = arguments.text(1)?;
        let index = nix::net::if_::if_nametoindex(name.as_str());
        index.map_err(|_| arguments.error(1, "device not found"))
    })?;
    add(lua, &module, "ifaddr", |lua, arguments| {
        let missing = || arguments.error(1, "device not found");
        let index = u32::try_from(arguments.integer(1)?).map_err(|_| missing())?;
        Ok(lua.create_string(hardware_address(index).ok_or_else(missing)?)?)
    })?;
    add(lua, &module, "tracing", |_, arguments| tracing(arguments))?;
    add(lua, &module, "lookup", |_, arguments| {
        // A null pointer where there is no such symbol, or none may be seen.
        let address = symbol(&arguments.text(1)?).unwrap_or(0);
        Ok(LightUserData(address as *mut std::ffi::c_void))
    })?;
    Ok(module)
}

/// Waits until the thread is to stop, or for so many milliseconds; gives how many are left.
fn schedule(arguments: &Arguments) -> Result<u64, Raise> {
    let given = !arguments.is_none_or_nil(1);
    let time = if given { Some(arguments.integer(1)?.max(0) as u64) } else { None };
    if !STATES.contains(&arguments.integer_or(2, STATES[0])?) {
        return Err(arguments.error(2, "invalid task state"));
    }
    let (task, begin) = (Task::current(), Instant::now());
    wait(None, task.as_deref().map(Task::stop_event), time.map(Duration::from_millis));
    let passed = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(time.map_or(0, |time| time.saturating_sub(passed)))
}

fn random(arguments: &Arguments) -> Result<i64, Raise> {
    let mut bytes = [0; 8];
    // SAFETY: the buffer is as long as is said.
    let got = unsafe { nix::libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    Errno::result(got)?;
    let value = i64::from_ne_bytes(bytes);
    let (low, up) = match arguments.count() {
        0 => return Ok(value),
        1 => (1, arguments.integer(1)?),
        2 => (arguments.integer(1)?, arguments.integer(2)?),
        _ => return Err(Raise::At("wrong number of arguments".to_string())),
    };
    if low > up {
        return Err(arguments.error(1, "interval is empty"));
    }
    match up.checked_sub(low) {
        // All of them.
        Some(i64::MAX) => Ok(low + (value & i64::MAX)),
        Some(span) => Ok(low + (value & i64::MAX) % (span + 1)),
        None => Err(arguments.error(1, "interval too large")),
    }
}

/// The address of the interface with that number, as many bytes as its kind has.
fn hardware_address(index: u32) -> Option<Vec<u8>> {
    let name = nix::net::if_::if_indextoname(index).ok()?;
    let folder = std::path::Path::new("/sys/class/net").join(name.to_str().ok()?);
    match std::fs::read_to_string(folder.join("address")) {
        Ok(text) => text.trim().split(':').filter(|byte| !byte.is_empty()).map(of_hexadecimal).collect(),
        // Of another network namespace than the file system's.
        Err(_) => from_names(name.to_str().ok()?),
    }
}

fn of_hexadecimal(byte: &str) -> Option<u8> {
    u8::from_str_radix(byte, 16).ok()
}

fn from_names(name: &str) -> Option<Vec<u8>> {
    let all = nix::ifaddrs::getifaddrs().ok()?;
    let mut links = all.filter(|one| one.interface_name == name).filter_map(|one| one.address);
    links.find_map(|address| Some(address.as_link_addr()?.addr()?.to_vec()))
}

/// Files of tracing, where it is mounted.
const TRACING: [&str; 2] = ["/sys/kernel/tracing/tracing_on", "/sys/kernel/debug/tracing/tracing_on"];

fn tracing(arguments: &Arguments) -> Result<bool, Raise> {
    let path = TRACING.into_iter().find(|path| std::path::Path::new(path).exists());
    // Without tracing in the kernel it is off, and cannot be switched on (include/linux/kernel.h).
    let Some(path) = path else { return Ok(false) };
    let failed = |error: std::io::Error| Raise::from(Errno::from_raw(error.raw_os_error().unwrap_or(0)));
    if arguments.count() > 0 {
        std::fs::write(path, if arguments.boolean(1) { "1" } else { "0" }).map_err(failed)?;
    }
    Ok(std::fs::read_to_string(path).map_err(failed)?.trim() == "1")
}

fn symbol(name: &str) -> Option<usize> {
    let symbols = std::fs::read_to_string("/proc/kallsyms").ok()?;
    let line = symbols.lines().find(|line| line.split(' ').nth(2).is_some_and(|found| found == name))?;
    usize::from_str_radix(line.split(' ').next()?, 16).ok()
}
