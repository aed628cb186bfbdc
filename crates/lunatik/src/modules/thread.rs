//! `thread`: functions of scripts on threads of the system (Lunatik's `lib/luathread.c`).

use std::sync::Arc;

use mlua::{Lua, Table};
use nix::unistd::{getpid, gettid};

use crate::arguments::{Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::runtime::Runtime;
use crate::share::shared;
use crate::state::Local;
use crate::task::Task;

pub(crate) const MODULE: Module = Module { name: "thread", open, shared: Some(shared::<Thread>) };

/// A thread, which a script has begun or is in.
pub(crate) struct Thread {
    /// What it does; `None` of a thread that no script has begun.
    task: Option<Arc<Task>>,
    /// The state that it is in, which stays as long as the thread; `None` where a script has asked which thread it is in.
    runtime: Option<Arc<Runtime>>,
    number: i32,
    host: Arc<Host>,
}

impl Thread {
    /// Asks it to stop and waits for its end.
    pub fn stop(&self) {
        match (&self.task, &self.runtime) {
            (Some(task), Some(_)) if task.wait(std::time::Duration::ZERO) => {
                self.host.warn(&format!("thread '{}' has already stopped", task.name));
            }
            (Some(task), Some(_)) => {
                if !task.stop() {
                    self.host
                        .warn(&format!("thread '{}' went on after it was to stop, and was ended", task.name));
                }
            }
            _ => self.host.warn("thread wasn't created by us"),
        }
    }

    /// Its number for the kernel; `None` if it is over.
    fn number(&self) -> Option<i32> {
        match &self.task {
            Some(task) if self.runtime.is_some() => {
                (!task.wait(std::time::Duration::ZERO)).then(|| task.number())
            }
            _ => Some(self.number),
        }
    }
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let of_run = Arc::clone(host);
    add(lua, &module, "run", move |lua, arguments| {
        if !Local::of(lua).is_ready() {
            return Err(arguments.error(1, "not allowed during module load"));
        }
        let runtime = arguments.object::<Object<Runtime>>(1, "lunatik")?;
        if runtime.context().is_interrupt() {
            return Err(arguments.error(1, "IRQ runtime cannot spawn threads"));
        }
        let failed = |_| Raise::At("failed to create a new thread".to_string());
        let task = Task::new(&arguments.text(2)?).map_err(failed)?;
        runtime.spawn(&task, arguments)?;
        let (task, runtime) = (Some(task), Some(Arc::clone(&runtime)));
        Ok(Object(Arc::new(Thread { task, runtime, number: 0, host: Arc::clone(&of_run) })))
    })?;
    add(lua, &module, "shouldstop", |_, _| Ok(Task::current().is_some_and(|task| task.is_to_stop())))?;
    let of_current = Arc::clone(host);
    add(lua, &module, "current", move |_, _| {
        let (task, number) = (Task::current(), gettid().as_raw());
        Ok(Object(Arc::new(Thread { task, runtime: None, number, host: Arc::clone(&of_current) })))
    })?;
    Ok(module)
}

/// The processor that a thread was on last, and its name (proc_pid_stat(5)); `None` if there is no such thread.
fn seen(number: i32) -> Option<(i64, String)> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{number}/stat")).ok()?;
    let (front, fields) = stat.rsplit_once(')')?;
    let name = front.split_once('(')?.1.to_string();
    // `processor` is the field 39; the first one behind the name is 3.
    let processor = fields.split_whitespace().nth(36)?.parse().ok()?;
    Some((processor, name))
}

impl Class for Thread {
    const NAME: &'static str = "thread";
    const COUNTS: Counts = Counts::All;
    const META: &'static [&'static str] = &["__index"];

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Thread>::new(lua)?;
        methods.add("stop", |_, thread, _| {
            thread.stop();
            Ok(())
        })?;
        methods.add("task", |lua, thread, arguments| {
            let over = || arguments.error(1, "null pointer dereference");
            let number = thread.number().ok_or_else(over)?;
            let (processor, name) = seen(number).ok_or_else(over)?;
            let task = lua.create_table()?;
            task.raw_set("cpu", processor)?;
            task.raw_set("command", name)?;
            task.raw_set("pid", number)?;
            task.raw_set("tgid", getpid().as_raw())?;
            Ok(task)
        })?;
        methods.metatable()
    }
}
