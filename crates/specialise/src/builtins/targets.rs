//! `redirect{…}`: a CPU, a group of interfaces, a socket of the process. In expanded code fields are read here; in general code
//! `prelude/redirect.lua` reads them, and calls what is in [`PARTS`].

use super::call::{Call, Row, returns, row};
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::fields::Key;
use crate::paths::Arm;
use crate::shared::held::STALE;
use crate::targets::{Group, Interface};
use crate::value::{Abs, Object, Str, Word};
use moonhook_hook::targets::{
    CPUS, MOST_QUEUED, NO_CPU, NO_CPU_HERE, NO_GROUP, NO_GROUP_HERE, NO_QUEUE, NO_SOCKET, NO_SOCKET_HERE,
    NO_TARGET, NOWHERE, QUEUE, QUEUES, TO_MAP,
};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, Loc};
use moonhook_snapshot::TableId;

/// What `redirect` calls in general code.
pub const PARTS: &[Row] = &[
    row("prim.fast_redirect", unless_table),
    row("prim.redirect", super::redirect::forward),
    row("prim.to_cpu", to_cpu),
    row("prim.to_group", to_group),
    row("prim.to_socket", to_socket),
];

/// The fields of a target; one of the first three is there, the last only beside the first.
const FIELDS: [&str; 4] = ["cpu", "group", "socket", "queue"];

const UNKNOWN: &str = "the target is not known before packets arrive";

/// The call with a table, which is not shared.
pub fn to_table(context: &mut Context<'_>, call: &Call, table: &Abs) -> Result<Vec<Arm>> {
    match table {
        stale if *stale == STALE => return context.refuse_stale(None),
        Abs::Entry { .. } => {
            let what = "sending packets to where an entry of a shared table says";
            let help = "write a table with the entry's fields, `redirect{ cpu = t[k].cpu }`";
            return context.refuse(LowerErrorKind::unsupported(what, help), Some("redirect"));
        }
        Abs::Object(Object::Stored(_)) => return context.needs_memory(call.name),
        Abs::Object(Object::Table(table)) => refuse_shared(context, *table)?,
        _ => {}
    }
    let mut values = Vec::new();
    for name in FIELDS {
        for arm in context.record_field(table, &name.as_bytes().into())? {
            context.state = arm.state;
            values.extend(arm.values.into_iter().next());
        }
    }
    let others = others(context, table);
    chosen(context, vec![], [values, others].concat())
}

fn refuse_shared(context: &Context<'_>, table: TableId) -> Result<()> {
    match context.known.shared.is_shared(context.snapshot, table) {
        true => context.refuse_shared(table, "a target made of", "write another table for the target"),
        false => Ok(()),
    }
}

/// The values of all other fields.
fn others(context: &mut Context<'_>, table: &Abs) -> Vec<Abs> {
    let is_other =
        |key: &Key| !matches!(key, Key::Text(name) if FIELDS.iter().any(|field| field.as_bytes() == &**name));
    match table {
        Abs::Object(Object::Made(made)) => {
            let keys = context.state.made_keys(*made);
            keys.iter().filter(|key| is_other(key)).map(|key| context.state.made_field(*made, key)).collect()
        }
        Abs::Object(Object::Table(table)) => {
            let table = context.snapshot.table(*table);
            let entries =
                table.entries.iter().map(|(key, value)| (Abs::of_load_time(context.snapshot, key), value));
            let others = entries.filter(|(key, _)| Key::of(key).is_none_or(|key| is_other(&key)));
            let values = table.array.iter().chain(others.map(|(_, value)| value));
            values.map(|value| Abs::of_load_time(context.snapshot, value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Makes the call for each type that the values may have.
fn chosen(context: &mut Context<'_>, found: Vec<Abs>, mut rest: Vec<Abs>) -> Result<Vec<Arm>> {
    if rest.is_empty() {
        return send(context, &found);
    }
    let first = rest.remove(0);
    context.arms_of_each(&first, &mut |context, value| {
        chosen(context, [found.clone(), vec![value.clone()]].concat(), rest.clone())
    })
}

/// Sends the packet to a target; the length of a CPU's queue comes last.
type Sends = fn(&mut Context<'_>, &Abs, &Abs) -> Result<Vec<Arm>>;

/// Sends the packet to where the values of [`FIELDS`] say; others that are not nil are wrong.
fn send(context: &mut Context<'_>, values: &[Abs]) -> Result<Vec<Arm>> {
    let [cpu, group, socket, queue, others @ ..] = values else { return Ok(vec![]) };
    let is_there = |value: &Abs| *value != Abs::Nil;
    let targets = [cpu, group, socket].into_iter().filter(|value| is_there(value)).count();
    if targets != 1 || is_there(queue) && !is_there(cpu) || others.iter().any(is_there) {
        return failed(context, NO_TARGET);
    }
    let (elsewhere, send): (_, Sends) = match (is_there(cpu), is_there(group)) {
        (true, _) => (NO_CPU_HERE, send_to_cpu),
        (_, true) => (NO_GROUP_HERE, send_to_group),
        _ => (NO_SOCKET_HERE, send_to_socket),
    };
    if !reaches(context, elsewhere) {
        return Ok(vec![]);
    }
    let target = [cpu, group, socket].into_iter().find(|value| is_there(value)).unwrap_or(cpu);
    send(context, target, queue)
}

fn send_to_group(context: &mut Context<'_>, group: &Abs, _: &Abs) -> Result<Vec<Arm>> {
    match group_of(context, group)? {
        Some(group) => {
            context.send_to_group(&group)?;
            sent(context)
        }
        None => failed(context, NO_GROUP),
    }
}

fn send_to_cpu(context: &mut Context<'_>, cpu: &Abs, queue: &Abs) -> Result<Vec<Arm>> {
    let Abs::Int(cpu) = cpu else { return failed(context, NO_CPU) };
    let queue = match queue {
        Abs::Nil => Word::Imm(QUEUE.into()),
        Abs::Int(queue) => *queue,
        _ => Word::Imm(0),
    };
    checked(context, *cpu, NO_CPU, CPUS.into());
    let Word::Imm(queue) = queue else {
        return context.refuse(LowerErrorKind::unknown_queue(true), Some("redirect"));
    };
    match u32::try_from(queue).ok().filter(|queue| (1..=MOST_QUEUED).contains(queue)) {
        Some(queue) => {
            if context.state.alive() {
                context.send_to_cpu(*cpu, queue)?;
            }
            sent(context)
        }
        None => failed(context, NO_QUEUE),
    }
}

fn send_to_socket(context: &mut Context<'_>, queue: &Abs, _: &Abs) -> Result<Vec<Arm>> {
    match queue {
        Abs::Int(queue) => send_to_queue(context, *queue),
        _ => failed(context, NO_SOCKET),
    }
}

fn send_to_queue(context: &mut Context<'_>, queue: Word) -> Result<Vec<Arm>> {
    checked(context, queue, NO_SOCKET, QUEUES.into());
    if context.state.alive() {
        context.send_to_socket(queue)?;
    }
    sent(context)
}

/// The group of a list that is known; `None` where it is no list of interfaces.
fn group_of(context: &mut Context<'_>, list: &Abs) -> Result<Option<Group>> {
    let values: Vec<Abs> = match list {
        Abs::Object(Object::Made(made)) => {
            let length = context.made_length(*made)?;
            (1..=length).map(|n| context.state.made_field(*made, &Key::Integer(n))).collect()
        }
        Abs::Object(Object::Table(table)) => {
            refuse_shared(context, *table)?;
            let values = context.snapshot.table(*table).array.iter();
            values.map(|value| Abs::of_load_time(context.snapshot, value)).collect()
        }
        Abs::Entry { .. } | Abs::Object(Object::Stored(_)) => return unknown(context),
        _ => return Ok(None),
    };
    let mut interfaces = Vec::new();
    for value in &values {
        interfaces.push(match value {
            Abs::Str(Str::Const(name)) => Interface::Name(name.to_vec()),
            Abs::Int(Word::Imm(number)) => match Interface::of_number(*number) {
                Some(interface) => interface,
                None => return Ok(None),
            },
            Abs::Str(_) | Abs::Int(_) | Abs::Union(_) | Abs::Object(Object::Text(_)) => {
                return unknown(context);
            }
            _ => return Ok(None),
        });
    }
    let loc = context.code.loc;
    Ok((!interfaces.is_empty()).then_some(Group { interfaces, loc }))
}

fn unknown<T>(context: &Context<'_>) -> Result<T> {
    context.refuse(LowerErrorKind::unknown_group(true), Some("redirect"))
}

/// Whether the hook can send packets by maps; the state is dead where it cannot.
fn reaches(context: &mut Context<'_>, otherwise: &str) -> bool {
    let hook = context.target.hook;
    let can = hook.forward(TO_MAP).is_some();
    if !can {
        let message = if hook.redirect().is_some() { otherwise } else { NOWHERE };
        context.fail(Message::new(message));
    }
    can
}

/// Ends with an error where a number is negative, or not below a limit.
fn checked(context: &mut Context<'_>, number: Word, message: &str, limit: i64) {
    let wrong = context.compare(CompareOp::UGe, number, limit);
    context.fail_if(wrong, |context| context.fail(Message::new(message)));
}

fn failed(context: &mut Context<'_>, message: &str) -> Result<Vec<Arm>> {
    if context.state.alive() {
        context.fail(Message::new(message));
    }
    Ok(vec![])
}

fn sent(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let verdict = context.target.hook.redirect().unwrap_or_default();
    returns(context, vec![Abs::Int(Word::Imm(verdict.into()))])
}

/// What is no table, which is left to `redirect` itself.
fn unless_table(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    context.leave_tables_to_lua(1)?;
    super::redirect::forward(context, call)
}

/// In general code: a target that is surely not among those that are known.
fn refuse_unknown(context: &mut Context<'_>) -> Result<()> {
    let Some((kind, loc)) = context.known.targets.unknown.clone() else { return Ok(()) };
    context.code.loc = loc;
    context.refuse(kind, Some("redirect"))
}

/// `(cpu, queue)`, integers; -1 where the script has something else.
fn to_cpu(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if !reaches(context, NO_CPU_HERE) {
        return Ok(vec![]);
    }
    refuse_unknown(context)?;
    let (cpu, queue) = (call.integer(context, 1)?, call.integer(context, 2)?);
    checked(context, cpu, NO_CPU, CPUS.into());
    let before = context.sub(queue, 1);
    checked(context, before, NO_QUEUE, MOST_QUEUED.into());
    let mut arms = Vec::new();
    for known in context.known.targets.queues.clone() {
        if !context.state.alive() {
            break;
        }
        let is = context.compare(CompareOp::Eq, queue, i64::from(known));
        let (is, other) = context.split(is);
        context.state = is;
        context.send_to_cpu(cpu, known)?;
        arms.extend(sent(context)?);
        context.state = other;
    }
    failed(context, UNKNOWN)?;
    Ok(arms)
}

/// `(queue)`: an integer; -1 where the script has something else.
fn to_socket(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if !reaches(context, NO_SOCKET_HERE) {
        return Ok(vec![]);
    }
    let queue = call.integer(context, 1)?;
    send_to_queue(context, queue)
}

/// `(text)`: the text of a group; an empty one where the script has no list of interfaces.
fn to_group(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if !reaches(context, NO_GROUP_HERE) {
        return Ok(vec![]);
    }
    refuse_unknown(context)?;
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let text = Abs::Str(text);
    let none = Group { interfaces: vec![], loc: Loc::default() };
    let known = context.known.targets.groups.clone();
    let mut arms = Vec::new();
    for group in [none].into_iter().chain(known) {
        let same = crate::ops::comparison::equal(context, &text, &Abs::text(group.text()))?;
        let (same, others) = context.split_truth(&same);
        for state in same {
            context.state = state;
            if group.interfaces.is_empty() {
                failed(context, NO_GROUP)?;
                continue;
            }
            context.send_to_group(&group)?;
            arms.extend(sent(context)?);
        }
        context.enter(others)?;
        if !context.state.alive() {
            break;
        }
    }
    failed(context, UNKNOWN)?;
    Ok(arms)
}
