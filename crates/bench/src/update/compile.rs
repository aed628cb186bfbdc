//! How long the stages take from a script's text: in a process that has compiled before, as one that runs a script has.

use super::figures::{Figure, figure};
use crate::Arguments;
use crate::error::Error;
use moonhook_engine::{Form, Settings, Timings, timed};
use moonhook_install::LogDetail;
use moonhook_load::load;
use std::path::Path;
use std::time::{Duration, Instant};

/// Scripts compiled to what they get by themselves, without the kernel; and what of that each stage took.
pub fn scripts(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 101;
    let scripts = [
        ("compile of forty lines", arguments.bench.join("scripts/forty_lines.lua"), 3.0),
        ("compile of the DNS filter", arguments.examples.join("dns_filter.lua"), 5.0),
    ];
    let mut figures = Vec::new();
    for (what, path, target) in scripts {
        let mut rounds = (0..ROUNDS).map(|_| compiled(&path)).collect::<Result<Vec<_>, _>>()?;
        rounds.sort_unstable_by_key(|round| round.total);
        let Timings { load, lower, passes, emit, total, .. } = rounds[ROUNDS / 2];
        let ms = |microseconds: u64| microseconds as f64 / 1e3;
        figures.push(figure(what, ms(total), target, "ms"));
        for (stage, time) in [("load", load), ("lower", lower), ("passes", passes), ("emit", emit)] {
            figures.push(figure(&format!("of that {stage}"), ms(time), f64::INFINITY, "ms"));
        }
    }
    Ok(figures)
}

/// What the stages took.
fn compiled(path: &Path) -> Result<Timings, Error> {
    let settings = Settings::default();
    let mut load_time = 0;
    let loaded = timed(&mut load_time, || load(&[path.to_owned()], &settings.load)).map_err(failed)?;
    let compiled = moonhook_engine::compile(&loaded.snapshot, &settings).map_err(failed)?;
    Ok(compiled.timings.after_load(load_time))
}

/// General code of each example, source to kernel: the shortest and the longest, and what of that is the kernel's.
pub fn general(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 5;
    let mut examples = Vec::new();
    let folder = std::fs::read_dir(&arguments.examples).map_err(Error::system("read the examples"))?;
    for entry in folder {
        let path = entry.map_err(Error::system("read the examples"))?.path();
        if path.extension().is_some_and(|extension| extension == "lua") {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                times.push(in_kernel(&path)?);
            }
            times.sort_unstable();
            let (all, kernel) = times[ROUNDS / 2];
            examples.push((all, kernel, path.file_stem().unwrap_or_default().display().to_string()));
        }
    }
    examples.sort_unstable();
    let none = || failed("there are no examples");
    let (least, _, first) = examples.first().ok_or_else(none)?;
    let (most, kernel, last) = examples.last().ok_or_else(none)?;
    let compile = examples.iter().map(|(all, kernel, _)| *all - *kernel).max().unwrap_or_default();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let told = |what: String, time| figure(&what, ms(time), f64::INFINITY, "ms");
    Ok(vec![
        told(format!("general code, source to kernel, shortest ({first})"), *least),
        figure(&format!("general code, source to kernel, longest ({last})"), ms(*most), 30.0, "ms"),
        told("of that in the kernel".to_string(), *kernel),
        told("general code, longest before the kernel".to_string(), compile),
    ])
}

/// From a script's text to general code in the kernel; and what of that was the kernel's.
fn in_kernel(path: &Path) -> Result<(Duration, Duration), Error> {
    let settings = Settings { form: Some(Form::General), ..Settings::default() };
    let begin = Instant::now();
    let loaded = load(&[path.to_owned()], &settings.load).map_err(failed)?;
    let installed = moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| Vec::new());
    let (compiled, program) = installed.map_err(failed)?;
    let all = begin.elapsed();
    drop(program);
    Ok((all, Duration::from_micros(compiled.timings.kernel_load.unwrap_or(0))))
}

fn failed(problem: impl std::fmt::Display) -> Error {
    Error::Peer { contestant: "moonhook".to_string(), message: problem.to_string() }
}
