//! Numbers: what random programs compute is what they compute in the kernel.

use crate::common::Random;
use crate::generator::{FRAME, Generator, PRELUDE};
use crate::support::{CPUS, Pair, Refusal};

const OBJECTS: usize = 26;
const PROGRAMS: usize = 16;
const FRAMES: usize = 12;

/// Frames of all kinds of numbers.
fn frames(random: &mut Random) -> Vec<Vec<u8>> {
    let mut frames = vec![vec![0; FRAME], vec![0xff; FRAME], vec![0x80; FRAME], vec![1; FRAME]];
    while frames.len() < FRAMES {
        let mut frame = random.bytes(FRAME);
        if frames.len() % 2 == 0 {
            // Small numbers, and zeros that divide.
            frame.iter_mut().for_each(|byte| *byte = if *byte < 128 { 0 } else { *byte & 7 });
        }
        frames.push(frame);
    }
    frames
}

#[test]
fn random_programs_compute_the_same() {
    let mut random = Random(0x5eed_0001);
    let (mut run, mut refused) = (0, 0);
    for number in 0..OBJECTS {
        let cpu = CPUS[number % 2];
        let mut generator = Generator { random: &mut random, has_signed_division: number % 2 == 1 };
        let programs: Vec<String> = (0..PROGRAMS).map(|n| generator.program(&format!("p{n}"))).collect();
        let whole = format!("{PRELUDE}{}", programs.concat());
        // One that the verifier does not walk to its end keeps the others from being loaded.
        let mut pairs = match Pair::try_new(&whole, cpu) {
            Ok(pair) => vec![((0..PROGRAMS).collect::<Vec<_>>(), pair)],
            Err(Refusal::Skipped) => return,
            Err(Refusal::Verifier(_)) => {
                let one = |n: usize| Pair::try_new(&format!("{PRELUDE}{}", programs[n]), cpu).ok();
                (0..PROGRAMS).filter_map(|n| Some((vec![n], one(n)?))).collect()
            }
        };
        let frames = frames(&mut random);
        let before = run;
        for (numbers, pair) in &mut pairs {
            for n in numbers {
                frames.iter().for_each(|frame| drop(pair.run(&format!("p{n}"), frame)));
                run += 1;
            }
        }
        refused += PROGRAMS - (run - before);
    }
    eprintln!("{run} programs × {FRAMES} frames; {refused} that the verifier refused");
    assert!(run >= 300 && refused * 10 <= run, "{run} run, {refused} refused");
}
