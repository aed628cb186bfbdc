//! What is measured of updates in packets, and of other flows meanwhile.

use super::figures::{Figure, figure, median, quantile, ten_lines};
use super::namespaces::{Flow, failed};
use super::travelling::Updated;
use crate::Arguments;
use crate::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The flow that is given other functions, and one that is not.
pub const CHANGED: u16 = 7001;
pub const OTHER: u16 = 7002;

/// How long lies between two datagrams that look whether an update has an effect: without a pause they would fill the veth's ring, and the kernel drop the update.
const PACE: Duration = Duration::from_micros(20);

/// An update that has no effect for so long has none.
const PATIENCE: Duration = Duration::from_secs(5);

/// From the moment at which the signed datagram is sent until a packet of the flow has gone through the function that it brings.
pub fn effect(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 501;
    let updated = Updated::start(&arguments.moonhook)?;
    let flow = updated.flow(CHANGED)?;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        // Datagrams of the flow begin with 7: they are dropped by the one function, and pass by the other.
        updated.send(&updated.datagram(CHANGED, &ten_lines(7, round))?)?;
        until(|| {
            pause();
            Ok(!flow.try_send()?)
        })?;
        while flow.has_arrived()? {}
        let update = updated.datagram(CHANGED, &ten_lines(8, round))?;
        let begin = Instant::now();
        updated.send(&update)?;
        until_passed(&flow)?;
        times.push(begin.elapsed());
        // Programs that are not used any more go after a while.
        std::thread::sleep(Duration::from_millis(5));
        while flow.has_arrived()? {}
    }
    Ok(vec![
        figure(
            "ten-line function by signed packet, wire to effect, median",
            quantile(&mut times, 0.5),
            1.0,
            "ms",
        ),
        figure(
            "ten-line function by signed packet, wire to effect, p99",
            quantile(&mut times, 0.99),
            f64::INFINITY,
            "ms",
        ),
    ])
}

/// Sends datagrams of a flow until one has arrived.
pub fn until_passed(flow: &Flow) -> Result<(), Error> {
    let mut next = Instant::now();
    until(|| {
        if Instant::now() < next {
            return flow.has_arrived();
        }
        next = Instant::now() + PACE;
        flow.try_send()
    })
}

/// Waits, without sleeping, for as long as patience lasts.
pub fn until(mut is_so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let begin = Instant::now();
    while !is_so()? {
        if begin.elapsed() > PATIENCE {
            return Err(failed("an update in a packet, or a datagram after it, has no effect"));
        }
        std::hint::spin_loop();
    }
    Ok(())
}

fn pause() {
    let begin = Instant::now();
    while begin.elapsed() < PACE {
        std::hint::spin_loop();
    }
}

/// The time from one end to the other of datagrams of another flow, with a hundred updates a second and without.
pub fn others(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    let updated = Updated::start(&arguments.moonhook)?;
    let flow = updated.flow(OTHER)?;
    let update = |port, text: String| updated.send(&updated.datagram(port, &text)?);
    let (quiet, busy) = quiet_and_busy(&flow, update)?;
    Ok(vec![
        figure("p99 of another flow's datagrams, no updates", quiet, f64::INFINITY, "µs"),
        figure("the same with 100 updates a second, times that", busy / quiet, 1.1, ""),
    ])
}

/// The times of that flow's datagrams without updates and with them, in turns.
pub fn quiet_and_busy(
    flow: &Flow,
    update: impl Fn(u16, String) -> Result<(), Error> + Sync,
) -> Result<(f64, f64), Error> {
    const ROUNDS: usize = 15;
    const TIME: Duration = Duration::from_secs(1);
    update(OTHER, ten_lines(8, 0))?;
    let change = |number| update(CHANGED, ten_lines(number % 256, number));
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    p99(flow, TIME)?;
    for _ in 0..ROUNDS {
        quiet.push(p99(flow, TIME)?);
        busy.push(while_updating(change, || p99(flow, TIME))?);
    }
    Ok((median(&mut quiet), median(&mut busy)))
}

/// Does something while a hundred updates a second are sent, each by its number.
pub fn while_updating<T>(
    update: impl Fn(usize) -> Result<(), Error> + Sync,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    const PAUSE: Duration = Duration::from_millis(10);
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let updating = scope.spawn(|| -> Result<(), Error> {
            let mut next = Instant::now();
            for number in 0.. {
                if end.load(Ordering::Relaxed) {
                    break;
                }
                update(number)?;
                next += PAUSE;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            Ok(())
        });
        let done = work();
        end.store(true, Ordering::Relaxed);
        updating.join().map_err(|_| failed("the thread that sends updates has failed"))??;
        done
    })
}

/// The time that 99 of 100 datagrams take at most, in microseconds.
fn p99(flow: &Flow, time: Duration) -> Result<f64, Error> {
    let (begin, mut times) = (Instant::now(), Vec::new());
    while begin.elapsed() < time {
        let sent = Instant::now();
        if !flow.try_send()? {
            until(|| flow.has_arrived())?;
        }
        times.push(sent.elapsed());
    }
    Ok(quantile(&mut times, 0.99) * 1e3)
}
