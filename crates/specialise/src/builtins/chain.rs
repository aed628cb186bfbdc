//! What functions of `eclat.chain` and handlers of `eclat.attach` call: chains of eCLAT, with C's numbers, and the C programs that start them.

use super::call::{Call, Row, for_each_number, row};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Object, Word};
use crate::{chains, linked};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_library::own::eclat::{CALL, LOAD};
use moonhook_snapshot::{LoadedLoader, Startable};

pub const ROWS: &[Row] = &[row(CALL.name, chain), row(LOAD.name, loader)];

/// Arguments before those of the chain: its number and the packet.
const BEFORE: usize = 2;

/// What a packet gets about which a chain has not decided (`XDP_ABORTED`).
const UNDECIDED: i64 = 0;

fn chain(context: &mut Context, call: &Call) -> Result<Vec<Arm>> {
    let snapshot = context.snapshot;
    by_number(context, call, snapshot.chains.len(), |context, index| {
        let parameters = snapshot.chains[index].script.chains[snapshot.chains[index].number].parameters;
        let mut arguments = Vec::new();
        for argument in 1..=parameters {
            arguments.push(call.integer(context, BEFORE + argument)?);
        }
        run(context, index, &arguments)
    })
}

fn loader(context: &mut Context, call: &Call) -> Result<Vec<Arm>> {
    let snapshot = context.snapshot;
    by_number(context, call, snapshot.loaders.len(), |context, index| {
        let LoadedLoader { program, chains, .. } = &snapshot.loaders[index];
        match (program, chains.as_slice()) {
            (Some(program), chains) => start(context, *program, chains),
            (None, [(_, chain), ..]) => begin(context, *chain),
            (None, []) => Ok(Word::Imm(UNDECIDED)),
        }
    })
}

/// Calls the C program, and the chain that it starts, if it starts one of them; gives the packet's verdict.
fn start(
    context: &mut Context<'_>,
    program: moonhook_snapshot::LoadedProgram,
    chains: &[(u64, Startable)],
) -> Result<Word> {
    let linked::Started { chain: started, verdict } = linked::call_loader(context, program)?;
    let mut paths = verdict;
    context.enter(started.states)?;
    for (number, chain) in chains {
        if !context.alive() {
            break;
        }
        let is_it = context.compare(CompareOp::Eq, started.number, *number as i64);
        let (it, other) = context.split(is_it);
        context.state = it;
        if context.alive() {
            let given = begin(context, *chain)?;
            paths.push(context.take_path(vec![given]));
        }
        context.state = other;
    }
    if context.alive() {
        paths.push(context.take_path(vec![Word::Imm(UNDECIDED)]));
    }
    context.meet_word(paths)
}

/// Starts a chain, which decides by what its programs return; what the handler is given if it does not.
fn begin(context: &mut Context<'_>, chain: Startable) -> Result<Word> {
    match chain {
        Startable::Chain(index) => {
            run(context, index, &[])?;
            Ok(Word::Imm(UNDECIDED))
        }
        Startable::Lua(answer) => Ok(Word::Imm(answer)),
    }
}

/// What a chain gives.
fn run(context: &mut Context<'_>, index: usize, arguments: &[Word]) -> Result<Word> {
    let snapshot = context.snapshot;
    let loaded = &snapshot.chains[index];
    let outside = context.code.loc;
    let given = chains::lower(context, &loaded.script, loaded.number, arguments)?;
    context.code.loc = outside;
    Ok(given)
}

/// What `body` gives for the number that is the first argument, of so many; the second one is the packet.
fn by_number<'c>(
    context: &mut Context<'c>,
    call: &Call,
    count: usize,
    mut body: impl FnMut(&mut Context<'c>, usize) -> Result<Word>,
) -> Result<Vec<Arm>> {
    if !call.is_in_memory(context, 2) && !matches!(call.arg(2), Abs::Object(Object::Packet)) {
        call.wrong_type(context, 2, "packet");
        return Ok(vec![]);
    }
    for_each_number(context, call, count, |context, index| {
        let given = body(context, index)?;
        Ok(vec![Arm { state: context.take_state(), values: vec![Abs::Int(given)] }])
    })
}
