//! Targets that are tables: a CPU, a group of interfaces.

use mlua::{Table, Value};
use moonhook_hook::targets::{
    CPUS, MOST_QUEUED, NO_CPU, NO_CPU_HERE, NO_GROUP, NO_GROUP_HERE, NO_QUEUE, NO_TARGET, NOWHERE, TO_MAP,
};

use super::NO_HANDLER;
use crate::packet_time;

/// What `redirect` gives for a table.
pub(super) fn verdict(target: &Table) -> Result<Value, String> {
    let hook = packet_time::hook().ok_or(NO_HANDLER)?;
    let field = |name: &str| target.raw_get::<Value>(name).map_err(|error| error.to_string());
    let [cpu, group, queue] = [field("cpu")?, field("group")?, field("queue")?];
    let is_there = |value: &Value| !value.is_nil();
    let fields = target.pairs::<Value, Value>().count();
    let known = [&cpu, &group, &queue].into_iter().filter(|value| is_there(value)).count();
    let targets = [&cpu, &group].into_iter().filter(|value| is_there(value)).count();
    if targets != 1 || is_there(&queue) && !is_there(&cpu) || known != fields {
        return Err(NO_TARGET.to_string());
    }
    let verdict = hook.redirect().ok_or(NOWHERE)?;
    hook.forward(TO_MAP).ok_or(if is_there(&cpu) { NO_CPU_HERE } else { NO_GROUP_HERE })?;
    if is_there(&cpu) {
        check_cpu(&cpu, &queue)?
    } else {
        check_group(&group)?
    }
    Ok(Value::Integer(verdict.into()))
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
