//! What is known of looked up entries of shared tables where paths of control flow meet.

use crate::paths::Arm;
use crate::state::{Looked, Zero};
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{CopyOnWrite, find_near};
use moonhook_snapshot::TableId;

/// What is known of looked up entries where paths meet.
pub struct LookedUp {
    pub all: CopyOnWrite<Vec<Looked>>,
    /// The addresses that differ: their places in `all`, and what they are on each path.
    pub addresses: Vec<(usize, Vec<Word>)>,
}

impl LookedUp {
    /// What is known behind the join, whose last words, of so many, are the addresses that differ.
    pub fn with_addresses(mut self, merged: &[Word], width: usize) -> CopyOnWrite<Vec<Looked>> {
        let differing = &merged[width - self.addresses.len()..];
        for ((place, _), address) in self.addresses.iter().zip(differing) {
            self.all[*place].address = *address;
        }
        self.all
    }
}

/// Takes from the paths what they know of looked up entries.
pub fn looked_of(arms: &mut [Arm]) -> LookedUp {
    let lists: Vec<CopyOnWrite<Vec<Looked>>> =
        arms.iter_mut().map(|arm| std::mem::take(&mut arm.state.facts.looked)).collect();
    let Some((first, others)) = lists.split_first() else {
        return LookedUp { all: CopyOnWrite::default(), addresses: Vec::new() };
    };
    if others.iter().all(|other| other.is(first)) {
        return LookedUp { all: first.clone(), addresses: Vec::new() };
    }
    let same = |a: &Looked, b: &Looked| (a.table, &a.key) == (b.table, &b.key);
    let mut all: Vec<Looked> = first.to_vec();
    for other in others {
        let mut near = 0;
        for looked in other {
            if find_near(&all, &mut near, |known| same(known, looked)).is_none() {
                all.push(looked.clone());
            }
        }
    }
    let mut near = vec![0; lists.len()];
    let (mut kept, mut addresses) = (Vec::with_capacity(all.len()), Vec::new());
    for mut looked in all {
        let mut on = |(list, near): (&CopyOnWrite<Vec<Looked>>, &mut usize)| {
            let own = find_near(list, near, |own| same(own, &looked));
            own.map_or((Zero::Unknown, Word::Imm(0)), |own| (own.zero, own.address))
        };
        let paths: Vec<(Zero, Word)> = lists.iter().zip(&mut near).map(&mut on).collect();
        looked.zero = paths.iter().map(|(zero, _)| *zero).max().unwrap_or(Zero::Unknown);
        // Where nothing is known, nothing is to be remembered.
        if looked.zero == Zero::Unknown && looked.address == Word::Imm(0) {
            continue;
        }
        if paths.iter().any(|(_, address)| *address != paths[0].1) {
            addresses.push((kept.len(), paths.into_iter().map(|(_, address)| address).collect()));
        } else {
            looked.address = paths[0].1;
        }
        kept.push(looked);
    }
    LookedUp { all: kept.into(), addresses }
}

/// What is held without its key on one path has none on the others either.
pub fn align_held(arms: &mut [Arm]) {
    let is_held = |looked: &&Looked| looked.key == Looked::held_key(looked.address);
    let held: Vec<(TableId, Word)> = arms
        .iter()
        .flat_map(|arm| arm.state.facts.looked.iter().filter(is_held))
        .map(|looked| (looked.table, looked.address))
        .collect();
    if held.is_empty() {
        return;
    }
    for looked in arms.iter_mut().flat_map(|arm| arm.state.facts.looked.iter_mut()) {
        if held.contains(&(looked.table, looked.address)) {
            looked.key = Looked::held_key(looked.address);
        }
    }
}

/// Adds what was copied of entries on all paths to the values that meet, in the order in which `looked` has it then; gives how
/// many there are.
pub fn add_copies(
    arms: &mut [Arm],
    looked: &mut CopyOnWrite<Vec<Looked>>,
    lists: &[CopyOnWrite<Vec<Looked>>],
    own: usize,
) -> usize {
    arms.iter_mut().for_each(|arm| arm.values.resize(own, Abs::Nil));
    let is_copied = |looked: &Looked| !looked.copy.is_empty();
    let one = lists.iter().all(|list| lists.first().is_some_and(|first| list.is(first)));
    if one || !lists.iter().flat_map(|list| list.iter()).any(is_copied) {
        return 0;
    }
    for looked in looked.iter_mut() {
        let own = |list: &CopyOnWrite<Vec<Looked>>| {
            list.iter().find(|own| (own.table, &own.key) == (looked.table, &looked.key)).cloned()
        };
        let paths: Vec<Option<Looked>> = lists.iter().map(own).collect();
        // Where there is no entry nothing was copied of it, and nothing is read.
        let there = || paths.iter().flatten().filter(|path| path.address != Word::Imm(0));
        looked.copy = there().next().map(|path| path.copy.clone()).unwrap_or_default();
        looked.copy.retain(|copied| there().all(|path| path.copied(copied.disp).is_some()));
        for copied in &looked.copy {
            for (arm, path) in arms.iter_mut().zip(&paths) {
                let value = path.as_ref().and_then(|path| path.copied(copied.disp));
                arm.values.push(value.cloned().unwrap_or_else(|| nothing_like(&copied.value)));
            }
        }
    }
    arms.first().map_or(0, |arm| arm.values.len() - own)
}

/// A value of the same type.
fn nothing_like(value: &Abs) -> Abs {
    match value {
        Abs::Str(Str::Slice { space, .. }) => {
            Abs::Str(Str::Slice { space: *space, start: Word::Imm(0), length: Word::Imm(0) })
        }
        _ => Abs::int(0),
    }
}
