//! How soon what a command asks a running script for takes effect: another function for a flow, another script.

use super::figures::{Figure, figure, quantile, ten_lines};
use super::namespaces::{Flow, failed};
use super::travelling::{Travelling, Updated};
use super::wire::{CHANGED, until};
use crate::Arguments;
use crate::error::Error;
use moonhook_daemon::{Client, FlowChanged, FlowOperation, Reloaded, Request};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::time::{Duration, Instant};

/// Programs that are not used any more go meanwhile.
const PAUSE: Duration = Duration::from_millis(5);

/// How long lies between two datagrams that look for an effect, and the timer's slack of about as much.
const PACE: Duration = Duration::from_micros(20);

/// From the request for another function, as `moonhook flow` sends it, until a packet has gone through that.
pub fn effect(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 501;
    let updated = Updated::start(&arguments.moonhook)?;
    let flow = updated.flow(CHANGED)?;
    let mut client = updated.client()?;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        // Datagrams of the flow begin with 7: they are dropped by the one function, and pass by the other.
        let set = |byte: usize| {
            let source = ten_lines(byte, round);
            let operation = FlowOperation::Set { key: CHANGED.to_string(), source, name: None };
            Request::Flow { table: None, operation }
        };
        until_effect::<FlowChanged>((&mut client, &flow), &set(7), false)?;
        let (time, _) = until_effect::<FlowChanged>((&mut client, &flow), &set(8), true)?;
        times.push(time);
        std::thread::sleep(PAUSE);
    }
    let what = "ten-line function by command, request to effect, median";
    Ok(vec![figure(what, quantile(&mut times, 0.5), f64::INFINITY, "ms")])
}

/// From the request for another script of forty lines, as `moonhook reload` sends it, until a packet has gone through that.
pub fn reload(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 51;
    let script = forty_lines(&arguments.bench)?;
    let dropping = script.replace("or action.PASS\nend)", "or action.DROP\nend)");
    if dropping == script {
        return Err(failed("the script of forty lines does not end as it should"));
    }
    let travelling = Travelling::start(&arguments.moonhook, &script)?;
    let flow = travelling.flow(CHANGED)?;
    let mut client = travelling.client()?;
    let (passing, dropping) =
        (travelling.write("passing.lua", &script)?, travelling.write("dropping.lua", &dropping)?);
    let (mut times, mut stages) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        for (script, passes) in [(&dropping, false), (&passing, true)] {
            let request = Request::Reload { scripts: Some(vec![script.clone()]), allow_read: Vec::new() };
            let (time, answer) = until_effect::<Reloaded>((&mut client, &flow), &request, passes)?;
            times.push(time);
            stages[0].push(Duration::from_micros(answer.timing.compile));
            stages[1].push(Duration::from_micros(answer.timing.verify));
            std::thread::sleep(PAUSE);
        }
    }
    let [compile, verify] = &mut stages;
    Ok(vec![
        figure("reload of forty lines until effective, median", quantile(&mut times, 0.5), 6.0, "ms"),
        figure("of that compiling", quantile(compile, 0.5), f64::INFINITY, "ms"),
        figure("of that the kernel's verifier", quantile(verify, 0.5), f64::INFINITY, "ms"),
    ])
}

fn forty_lines(bench: &Path) -> Result<String, Error> {
    let path = bench.join("scripts/forty_lines.lua");
    std::fs::read_to_string(&path).map_err(Error::system(format!("read {}", path.display())))
}

/// Asks for a change by which datagrams of the flow pass, or do not; gives how long it was until they did so, and the answer, which may come later.
fn until_effect<T: DeserializeOwned + Send>(
    (client, flow): (&mut Client, &Flow),
    request: &Request,
    passes: bool,
) -> Result<(Duration, T), Error> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| client.ask::<T>(request));
        // Whoever sends without a pause takes a processor from those who make the change.
        let changed = until(|| {
            std::thread::sleep(PACE);
            Ok(flow.try_send()? == passes)
        });
        let changed = changed.map(|()| begin.elapsed());
        let answer = asking.join().map_err(|_| failed("the thread that asks has failed"))?;
        let answer = answer.map_err(|error| failed(&error.to_string()))?;
        while flow.has_arrived()? {}
        match answer {
            Ok(answer) => Ok((changed?, answer)),
            Err(refusal) => Err(failed(&refusal.message)),
        }
    })
}
