//! `completion`: something that one thread waits for and another one tells (Lunatik's `lib/luacompletion.c`).

use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, Table};
use nix::poll::PollFlags;

use crate::arguments::{Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::share::shared;
use crate::task::Task;
use crate::wait::{Event, Waited, wait};

pub(crate) const MODULE: Module = Module { name: "completion", open, shared: Some(shared::<Completion>) };

/// How often it was told, less how often somebody has waited for that.
pub(crate) struct Completion(Event);

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    add(lua, &module, "new", |_, _| Ok(Object(Arc::new(Completion(Event::counting()?)))))?;
    Ok(module)
}

impl Completion {
    /// Waits for one time that it is told, which nobody else has then.
    fn wait(&self, time: Option<Duration>) -> Waited {
        let (task, begin) = (Task::current(), std::time::Instant::now());
        let stop = task.as_deref().map(Task::stop_event);
        loop {
            if self.0.take() {
                return Waited::Ready;
            }
            let left = time.map(|time| time.saturating_sub(begin.elapsed()));
            match wait(Some((self.0.descriptor(), PollFlags::POLLIN)), stop, left) {
                // Another thread may have been faster.
                Waited::Ready => {}
                other => return other,
            }
        }
    }
}

impl Class for Completion {
    const NAME: &'static str = "completion";
    const COUNTS: Counts = Counts::BehindObject;
    const META: &'static [&'static str] = &["__index"];

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Completion>::new(lua)?;
        methods.add("complete", |_, completion, _| {
            completion.0.set();
            Ok(())
        })?;
        methods.add("wait", |_, completion, arguments| -> Result<(Option<bool>, Option<&str>), Raise> {
            let given = !arguments.is_none_or_nil(2);
            let time = if given { u64::try_from(arguments.integer(2)?).ok() } else { None };
            Ok(match completion.wait(time.map(Duration::from_millis)) {
                Waited::Ready => (Some(true), None),
                Waited::Timeout => (None, Some("timeout")),
                Waited::Stopped => (None, Some("interrupt")),
            })
        })?;
        methods.metatable()
    }
}
