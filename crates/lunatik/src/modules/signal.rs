//! `signal`: signals of the thread that a script is in, and to other processes (Lunatik's `lib/luasignal.c`).

use std::sync::Arc;

use mlua::{Lua, Table};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;

use crate::arguments::{Arguments, Raise, add};
use crate::host::{Host, Module};

pub(crate) const MODULE: Module = Module { name: "signal", open, shared: None };

fn signal(arguments: &Arguments, number: usize) -> Result<Signal, Raise> {
    let value = arguments.integer(number)?;
    let signal = i32::try_from(value).ok().and_then(|value| Signal::try_from(value).ok());
    signal.ok_or_else(|| Errno::EINVAL.into())
}

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    add(lua, &module, "sigmask", |_, arguments| {
        let mut set = SigSet::empty();
        set.add(signal(arguments, 1)?);
        let how = match arguments.integer_or(2, 0)? {
            0 => SigmaskHow::SIG_BLOCK,
            1 => SigmaskHow::SIG_UNBLOCK,
            2 => SigmaskHow::SIG_SETMASK,
            _ => return Err(Errno::EINVAL.into()),
        };
        set.thread_swap_mask(how)?;
        Ok(())
    })?;
    add(lua, &module, "sigpending", |_, _| Ok(pending()? != 0))?;
    add(lua, &module, "sigstate", |_, arguments| {
        let signal = signal(arguments, 1)?;
        let blocked = SigSet::thread_get_mask()?.contains(signal);
        Ok(match arguments.option(2, 0, &["blocked", "pending", "allowed"])? {
            0 => blocked,
            1 => pending()? >> (signal as i32 - 1) & 1 == 1,
            _ => !blocked,
        })
    })?;
    add(lua, &module, "kill", |_, arguments| {
        let number = arguments.integer(1)?;
        // Groups and everybody have numbers that are no process's.
        let number = i32::try_from(number).ok().filter(|number| *number > 0).ok_or(Errno::ESRCH)?;
        match arguments.integer_or(2, Signal::SIGKILL as i64)? {
            0 => kill(Pid::from_raw(number), None)?,
            _ if arguments.is_none_or_nil(2) => kill(Pid::from_raw(number), Signal::SIGKILL)?,
            _ => kill(Pid::from_raw(number), signal(arguments, 2)?)?,
        }
        Ok(true)
    })?;
    Ok(module)
}

/// Signals that wait for this thread, a bit each (proc_pid_status(5), `SigPnd`).
fn pending() -> Result<u64, Raise> {
    let status = std::fs::read_to_string("/proc/thread-self/status").map_err(|_| Errno::ENOENT)?;
    let line = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    Ok(line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0))
}
