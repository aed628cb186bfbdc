//! Finalizers of scripts (`__gc`): those that are left when a state ends are called while it can still do everything, and for a limited time.

use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, MultiValue, Value};

use crate::host::Host;
use crate::state::{self, text};
use crate::task::Task;

/// The names under which a state has what counts and calls finalizers.
const COUNT: &str = "moonhook.lunatik.finalizers.count";
const FINISH: &str = "moonhook.lunatik.finalizers.finish";

/// Prepares a state, once; gives a function of a table and a metatable with a finalizer that sets it and gives the table. Errors of finalizers
/// go to the host's warnings.
pub(crate) fn install(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Function> {
    let (weak, own) = (lua.weak(), Arc::clone(host));
    let alive = lua.create_function(move |_, ()| Ok(weak.try_upgrade().is_some()))?;
    let tell = lua.create_function(move |_, problem: Value| {
        // A state's limits end with a value of their own, of which whoever has set them tells.
        if !matches!(problem, Value::LightUserData(_)) {
            own.warn(&format!("__gc: {}", text(&problem)));
        }
        Ok(())
    })?;
    let chunk = lua.load(include_str!("lua/finalizers.lua")).set_name("=moonhook");
    let (mark, count, finish): (Function, Function, Function) = chunk.call((alive, tell))?;
    lua.set_named_registry_value(COUNT, count)?;
    lua.set_named_registry_value(FINISH, finish)?;
    Ok(mark)
}

/// How many tables of a state wait for their finalizers.
fn count(lua: &Lua) -> usize {
    let count = lua.named_registry_value::<Function>(COUNT);
    count.and_then(|count| count.call(())).unwrap_or(0)
}

/// Calls the finalizers that are left, one after another; what goes on for longer than `time` is ended. Says whether it was not. To be called
/// when nothing else runs in the state any more.
pub(crate) fn finish(lua: &Lua, host: &Host, time: Duration) -> bool {
    if count(lua) == 0 {
        return true;
    }
    let Ok(task) = Task::new("__gc") else { return true };
    let watched = Arc::clone(&task);
    // Waits of finalizers end by that, too, which a hook does not see.
    let watch = move || {
        if !watched.wait(time) {
            watched.kill();
        }
    };
    if let Err(error) = std::thread::Builder::new().name("finalizers".to_string()).spawn(watch) {
        host.warn(&format!("__gc: not called ({error})"));
        return true;
    }
    let outcome = task.run(|| {
        state::watch(lua)?;
        // In a thread of its own, which has the hook.
        let finish = lua.create_thread(lua.named_registry_value::<Function>(FINISH)?)?;
        finish.resume::<MultiValue>(())
    });
    if let Err(error) = outcome.as_ref().map(drop).map_err(ToString::to_string)
        && !task.is_killed()
    {
        host.warn(&format!("__gc: {error}"));
    }
    !task.is_killed()
}
