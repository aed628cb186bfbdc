//! Prints how long loading takes: `cargo run --release -p moonhook-load --example time_load -- SCRIPT…`

use std::path::PathBuf;
use std::time::Instant;

use moonhook_load::{Options, load};

fn main() {
    let scripts: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut times = Vec::new();
    for _ in 0..21 {
        let start = Instant::now();
        match load(&scripts, &Options::default()) {
            Ok(loaded) => drop(std::hint::black_box(loaded)),
            Err(error) => return println!("{}", error.diagnostic().render(false)),
        }
        times.push(start.elapsed());
    }
    times.sort();
    println!("load: median {:?}, min {:?}, max {:?} of {}", times[10], times[0], times[20], times.len());
}
