//! Targets that are tables: a CPU, a group of interfaces, a socket.

use mlua::{Table, Value};
use moonhook_hook::targets::{
    CPUS, MOST_QUEUED, NO_CPU, NO_CPU_HERE, NO_GROUP, NO_GROUP_HERE, NO_QUEUE, NO_RECEIVER, NO_SOCKET,
    NO_SOCKET_HERE, NO_TARGET, NOWHERE, OTHER_QUEUE, QUEUES, TO_MAP,
};

use super::NO_HANDLER;
use crate::packet_time;
use crate::receivers::Receivers;

/// What `redirect` gives for a table.
pub(super) fn verdict(target: &Table, receivers: &Receivers) -> Result<Value, String> {
    let hook = packet_time::hook().ok_or(NO_HANDLER)?;
    let field = |name: &str| target.raw_get::<Value>(name).map_err(|error| error.to_string());
    let [cpu, group, socket, queue] = [field("cpu")?, field("group")?, field("socket")?, field("queue")?];
    let is_there = |value: &Value| !value.is_nil();
    let fields = target.pairs::<Value, Value>().count();
    let known = [&cpu, &group, &socket, &queue].into_iter().filter(|value| is_there(value)).count();
    let targets = [&cpu, &group, &socket].into_iter().filter(|value| is_there(value)).count();
    if targets != 1 || is_there(&queue) && !is_there(&cpu) || known != fields {
        return Err(NO_TARGET.to_string());
    }
    let verdict = hook.redirect().ok_or(NOWHERE)?;
    let (elsewhere, checked) = match (is_there(&cpu), is_there(&group)) {
        (true, _) => (NO_CPU_HERE, check_cpu(&cpu, &queue)),
        (_, true) => (NO_GROUP_HERE, check_group(&group)),
        _ => (NO_SOCKET_HERE, check_socket(&socket, receivers)),
    };
    hook.forward(TO_MAP).ok_or(elsewhere)?;
    checked?;
    Ok(Value::Integer(verdict.into()))
}

/// All frames are of queue 0 here, as they are in test runs of the kernel.
fn check_socket(socket: &Value, receivers: &Receivers) -> Result<(), String> {
    let queue = socket.as_integer().and_then(|queue| u32::try_from(queue).ok());
    let queue = queue.filter(|queue| *queue < QUEUES).ok_or(NO_SOCKET)?;
    if !receivers.has(queue) {
        return Err(format!("{NO_RECEIVER}{queue}"));
    }
    if queue == 0 { Ok(()) } else { Err(format!("{OTHER_QUEUE}{queue}")) }
}

fn check_cpu(cpu: &Value, queue: &Value) -> Result<(), String> {
    let is_within = |value: &Value, least: i64, most: i64| {
        value.as_integer().is_some_and(|number| (least..=most).contains(&number))
    };
    if !is_within(cpu, 0, i64::from(CPUS) - 1) {
        return Err(NO_CPU.to_string());
    }
    if !queue.is_nil() && !is_within(queue, 1, MOST_QUEUED.into()) {
        return Err(NO_QUEUE.to_string());
    }
    Ok(())
}

fn check_group(group: &Value) -> Result<(), String> {
    let is_interface = |value: &Value| match value {
        Value::String(_) => true,
        Value::Integer(number) => i32::try_from(*number).is_ok_and(|number| number > 0),
        _ => false,
    };
    let is_list = group.as_table().is_some_and(|list| {
        let length = list.raw_len();
        let mut interfaces = (1..=length).map(|place| list.raw_get::<Value>(place));
        length > 0 && interfaces.all(|value| value.is_ok_and(|value| is_interface(&value)))
    });
    if is_list { Ok(()) } else { Err(NO_GROUP.to_string()) }
}
