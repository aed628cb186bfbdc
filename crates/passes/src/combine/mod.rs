//! Combines functions of programs that have more of them than the kernel takes: several global functions become one, which
//! takes the number of the function that is meant behind the parameters.
//!
//! Programs that the kernel takes are not changed, and others no more than needed. The verifier's work stays what it was: a
//! global function is verified once, for all arguments, and the parts of a combined one do not meet. Functions are combined only
//! if the longest chain of calls from each has the same length. So none of them calls another, no chain of calls
//! gets longer, and recursion cannot arise. The frame is as large as the largest of the parts' frames; [`frame`] estimates them,
//! and chains whose frames grow beyond what is known to be harmless are not made.

pub(crate) mod calls;
mod dispatch;
pub(crate) mod frame;

use calls::Calls;
use moonhook_ir::*;
use std::collections::{BTreeMap, HashSet};

/// Where combining ends: some functions below the limit.
const ENOUGH: usize = MAX_FUNCTIONS - 8;

/// What may be combined.
struct Rules {
    /// Functions in one, at most: with 16 of them a call compares its number four times.
    parts: usize,
    /// Functions with more instructions stay alone: what a script's own code became is looked at by function.
    large: usize,
    /// The frames of a chain of calls may grow to this many bytes by estimate, or to those of the largest chain there is. The
    /// kernel gives 512; estimates are sometimes too low.
    harmless: u32,
}

/// Where the first rules leave too many functions, the next ones apply to those that are still alone.
const RULES: [Rules; 3] = [
    Rules { parts: 16, large: 500, harmless: 320 },
    Rules { parts: 64, large: 5000, harmless: 384 },
    Rules { parts: MAX_FUNCTIONS, large: usize::MAX, harmless: 448 },
];

/// How many functions a library may have, and where combining ends there: one program has them besides its own.
const OF_LIBRARY: usize = MAX_FUNCTIONS - 32;

/// Bytes of stack by which chains of calls in a library may grow less: the program that calls it has a frame, too.
const LEFT_BY_LIBRARY: u32 = 96;

/// Combines functions of programs with more than [`MAX_FUNCTIONS`] of them; gives whether there were any. A module whose
/// functions call each other in circles, or functions that it does not have, is left as it is.
pub fn run(module: &mut Module) -> bool {
    match module.is_library() {
        true => run_above(module, OF_LIBRARY, OF_LIBRARY),
        false => run_above(module, MAX_FUNCTIONS, ENOUGH),
    }
}

/// The same for programs with more than `limit` functions, until they have `enough`.
pub fn run_above(module: &mut Module, limit: usize, enough: usize) -> bool {
    let Some(mut calls) = Calls::new(module) else { return false };
    let programs = programs(module);
    if programs.iter().all(|entries| calls.reached(entries).len() <= limit) {
        return false;
    }
    calls.estimate_frames(module);
    let mut groups = Vec::new();
    for entries in programs {
        if calls.reached(&entries).len() > limit {
            groups.extend(choose(module, &mut calls, &entries, enough));
        }
    }
    if groups.is_empty() {
        return false;
    }
    replace(module, &groups);
    true
}

/// By program, the functions with which it begins. What a library has is in one program, which calls any of its functions.
fn programs(module: &Module) -> Vec<Vec<usize>> {
    let of = |is_one: fn(&Function) -> bool| -> Vec<usize> {
        (0..module.functions.len()).filter(|index| is_one(&module.functions[*index])).collect()
    };
    let exported = of(|function| function.prototype.is_some());
    if !exported.is_empty() {
        return vec![exported];
    }
    let programs = of(|function| matches!(function.kind, FunctionKind::Program { .. }));
    programs.into_iter().map(|program| vec![program]).collect()
}

/// What functions of one group have in common: the longest chain of calls below, the programs whose context they take, how many
/// parameters they have.
type Class = (usize, Option<String>, usize);

/// Chooses groups of functions of a program with these entries and notes in `calls` that each is one function, until there are few enough or
/// nothing can be combined. Functions without a frame come first, which make no chain larger; then those that are called in few
/// places, for these are called seldom, too.
fn choose(module: &Module, calls: &mut Calls, entries: &[usize], enough: usize) -> Vec<Vec<usize>> {
    let mut groups = Vec::new();
    for rules in &RULES {
        if calls.reached(entries).len() > enough {
            groups.extend(choose_by(rules, module, calls, entries, enough));
        }
    }
    groups
}

fn choose_by(
    rules: &Rules,
    module: &Module,
    calls: &mut Calls,
    entries: &[usize],
    enough: usize,
) -> Vec<Vec<usize>> {
    let harmless = if module.is_library() { rules.harmless - LEFT_BY_LIBRARY } else { rules.harmless };
    let most = calls.deepest().max(harmless);
    let reached = calls.reached(entries);
    let mut classes: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
    for index in &reached {
        let class = class(&module.functions[*index], calls.height(*index), rules.large);
        if let Some(class) = class.filter(|_| !calls.is_combined(*index) && !calls.is_referenced(*index)) {
            classes.entry(class).or_default().push(*index);
        }
    }
    classes
        .values_mut()
        .for_each(|members| members.sort_by_key(|index| (calls.frame(*index), calls.sites(*index), *index)));
    let mut groups = Vec::new();
    let mut count = reached.len();
    while count > enough {
        // The largest class; of several, the first.
        let largest = classes.values_mut().rev().max_by_key(|members| members.len());
        let Some(members) = largest.filter(|members| members.len() > 1) else { break };
        let group = first_group(members, calls, most, rules.parts.min(count - enough + 1));
        members.retain(|member| !group.contains(member));
        count -= group.len() - 1;
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

/// `None` for functions that are not to be combined.
fn class(function: &Function, height: usize, large: usize) -> Option<Class> {
    let FunctionKind::Subprogram { global: true, context } = &function.kind else { return None };
    if function.prototype.is_some() {
        // C calls it by its name.
        return None;
    }
    // One of the five parameters there can be is for the number.
    (calls::size(function) <= large && function.params.len() < 5).then_some((
        height,
        context.clone(),
        function.params.len(),
    ))
}

/// The first of `members` and those that can be combined with it, at most `wanted`.
fn first_group(members: &[usize], calls: &mut Calls, most: u32, wanted: usize) -> Vec<usize> {
    let mut group = vec![members[0]];
    for member in &members[1..] {
        if group.len() == wanted {
            break;
        }
        let alone = calls.combine(group[0], *member);
        if calls.deepest() <= most {
            group.push(*member);
        } else {
            calls.separate(alone);
        }
    }
    group
}

/// Puts one function in the place of each group's first and lets all calls go there.
fn replace(module: &mut Module, groups: &[Vec<usize>]) {
    let mut selected = vec![None; module.functions.len()];
    let mut removed: HashSet<usize> = HashSet::new();
    let mut names: HashSet<String> = module.functions.iter().map(|function| function.name.clone()).collect();
    names.extend(module.maps.iter().map(|map| map.name.clone()));
    for group in groups {
        let name = free_name(&mut names);
        let parts: Vec<&Function> = group.iter().map(|index| &module.functions[*index]).collect();
        let combined = dispatch::combine(name, &parts);
        module.functions[group[0]] = combined;
        for (number, index) in group.iter().enumerate() {
            selected[*index] = Some((group[0], number as i64));
        }
        removed.extend(&group[1..]);
    }
    let mut next = 0..;
    let ids: Vec<Option<u32>> = (0..module.functions.len())
        .map(|index| (!removed.contains(&index)).then(|| next.next()).flatten())
        .collect();
    let mut index = 0..;
    module.functions.retain(|_| index.next().is_some_and(|index| !removed.contains(&index)));
    let target = |function: FunctionId| match selected[function.0 as usize] {
        Some((first, number)) => (FunctionId(ids[first].unwrap_or_default()), Some(number)),
        None => (FunctionId(ids[function.0 as usize].unwrap_or_default()), None),
    };
    module.functions.iter_mut().for_each(|function| dispatch::redirect(function, target));
}

/// A name that neither a function nor a map has.
fn free_name(taken: &mut HashSet<String>) -> String {
    let mut name = String::new();
    for number in 0.. {
        name = format!("combined_{number}");
        if taken.insert(name.clone()) {
            break;
        }
    }
    name
}
