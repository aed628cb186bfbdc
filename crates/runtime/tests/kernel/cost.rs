//! What the routines cost the verifier.
//!
//! Global subprograms are verified one by one, whoever calls them. How many instructions the verifier walks must grow with a
//! routine's size only: a loop that it walks again and again would show here.

use crate::machine::{Builder, Texts, available};
use moonhook_install::{LoadOptions, load};
use moonhook_runtime::routine_names;

/// The verifier walks at most so many times the routine's instructions.
const FACTOR: usize = 12;

/// Instructions of the routine, and of those how many were verified; or why it was refused.
fn cost(routine: &str) -> Result<(usize, usize), String> {
    let object = Builder::new(Texts::Somewhere, true).finish(&[routine]);
    let program = load(&object.elf, &LoadOptions::default()).map_err(|error| error.to_string())?;
    let verified = program.statistics()[0].verified_instructions as usize;
    // Everything but the routine is walked once.
    let others: usize = object.functions.iter().map(|function| function.instructions).sum();
    let size = object.functions[1].instructions;
    Ok((size, verified.saturating_sub(others - size)))
}

#[test]
fn the_verifier_walks_each_routine_a_few_times_at_most() {
    if !available() {
        return;
    }
    println!("{:40} {:>12} {:>12} {:>8}", "routine", "instructions", "verified", "factor");
    let mut bad = Vec::new();
    let (mut sizes, mut sum) = (0, 0);
    for routine in routine_names() {
        match cost(routine) {
            Err(error) => bad.push(format!("{routine}: {error}")),
            Ok((size, verified)) => {
                println!("{routine:40} {size:12} {verified:12} {:8.1}", verified as f64 / size as f64);
                sizes += size;
                sum += verified;
                if verified > FACTOR * size {
                    bad.push(format!("{routine}: {verified} instructions verified of {size}"));
                }
            }
        }
    }
    println!("{:40} {sizes:12} {sum:12}", "");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
