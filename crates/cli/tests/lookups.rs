//! What a lookup costs in a short list and in a long one, in the same run. `--nocapture` shows the figures.

mod common;

use common::Place;
use moonhook_control::SharedTable;
use moonhook_engine::Settings;
use moonhook_install::{LoadOptions, Program};
use moonhook_proof::host::{kernel_available, setting};
use moonhook_schema::Datum;

/// Names of 20 bytes, so many in a frame.
const LENGTH: usize = 20;
const NAMES: usize = 170;
const FIRST: usize = 14;
/// Rounds, in each of which every list is measured once.
const ROUNDS: usize = 9;
/// Names that many packets have.
const POPULAR: u64 = 1000;
/// Frames of a round with names from the whole list.
const FRAMES: usize = 600;

struct List {
    what: String,
    names: u64,
    program: Program,
    entry: String,
}

fn name(number: u64) -> String {
    format!("{:012x}.example", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16)
}

impl List {
    fn new(names: u64, capacity: u64) -> List {
        let script = format!(
            "names = map{{key = 'string:64', value = 'boolean', capacity = {capacity}}}\n\
             require('xdp').attach(function(pkt)\n\
               local found = 0\n\
               for at = {FIRST}, #pkt - {LENGTH}, {LENGTH} do\n\
                 if names[pkt:getstring(at, {LENGTH})] then found = found + 1 end\n\
               end\n\
               pkt:setint32(0, found)\n\
             end)"
        );
        let place = Place::with(&[("lookups.lua", &script)]);
        let settings = Settings::default();
        let loaded = moonhook_load::load(&[place.path("lookups.lua")], &settings.load).unwrap();
        let compiled = moonhook_engine::compile(&loaded.snapshot, &settings).unwrap();
        let program = moonhook_install::load(&compiled.object.elf, &LoadOptions::default()).unwrap();
        let table = SharedTable::open(&program, &compiled.module, &compiled.module.tables[0]).unwrap();
        let entry = |number| (Datum::Text(name(number).into_bytes()), Datum::Boolean(true));
        assert_eq!(table.load((0..names).map(entry)).unwrap() as u64, names);
        let entry = program.programs().remove(0);
        List { what: format!("{names} names, room for {capacity}"), names, program, entry }
    }

    /// Nanoseconds of one lookup, for a frame of these names, of which so many are in the list.
    fn cost(&self, names: impl Fn() -> String, repeat: u32, listed: usize) -> f64 {
        let mut frame = vec![0; FIRST];
        (0..NAMES).for_each(|_| frame.extend(names().into_bytes()));
        let run = self.program.test_run(&self.entry, &frame, repeat).unwrap();
        assert_eq!(u32::from_le_bytes(run.data[..4].try_into().unwrap()), listed as u32);
        f64::from(run.duration_ns) / NAMES as f64
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[test]
fn lookups_in_long_lists() {
    if !kernel_available("lookups_in_long_lists") {
        return;
    }
    let many = setting("MOONHOOK_NAMES", 100_000);
    let lists = [List::new(1000, 1000), List::new(many, many), List::new(many, 4 * many)];
    let state = std::cell::Cell::new(0x2545_f491_4f6c_dd1d_u64);
    let random = |below: u64| {
        let mut word = state.get();
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        state.set(word);
        (word >> 11) % below
    };
    let mut costs = vec![vec![Vec::new(); 5]; lists.len()];
    for _ in 0..ROUNDS {
        for (list, costs) in lists.iter().zip(&mut costs) {
            costs[0].push(list.cost(|| name(7), 2000, NAMES));
            costs[1].push(list.cost(|| name(u64::MAX / 3), 2000, 0));
            let popular = |_| list.cost(|| name(random(POPULAR)), 1, NAMES);
            costs[2].push(median((0..FRAMES).map(popular).collect()));
            let listed = |_| list.cost(|| name(random(list.names)), 1, NAMES);
            costs[3].push(median((0..FRAMES).map(listed).collect()));
            let unlisted = |_| list.cost(|| name(list.names + random(list.names)), 1, 0);
            costs[4].push(median((0..FRAMES).map(unlisted).collect()));
        }
    }
    let medians: Vec<Vec<f64>> =
        costs.into_iter().map(|list| list.into_iter().map(median).collect()).collect();
    println!("ns a lookup: one listed name, one unlisted, any of {POPULAR} listed, any listed, any unlisted");
    for (list, costs) in lists.iter().zip(&medians) {
        let shown: Vec<_> = costs
            .iter()
            .zip(&medians[0])
            .map(|(cost, short)| format!("{cost:.0} ({:.2} x)", cost / short))
            .collect();
        println!("{}: {}", list.what, shown.join(", "));
    }
    // The packets' names are in the processor's caches; where they are not, memory decides.
    for list in &medians[1..] {
        assert!(list[0] <= 1.5 * medians[0][0] && list[1] <= 1.5 * medians[0][1], "{medians:?}");
    }
}
