//! Timers: when which function is due.

use mlua::Function;
use std::time::{Duration, Instant};

struct Timer {
    id: u64,
    /// `None`: later than can be said.
    due: Option<Instant>,
    interval: Option<Duration>,
    function: Function,
}

#[derive(Default)]
pub(crate) struct Timers(Vec<Timer>);

impl Timers {
    /// A timer that is due `delay` after `now` and, if it repeats, again and again after that time.
    pub fn add(&mut self, id: u64, now: Instant, delay: Duration, repeats: bool, function: Function) {
        let due = now.checked_add(delay);
        self.0.push(Timer { id, due, interval: repeats.then_some(delay), function });
    }

    pub fn cancel(&mut self, id: u64) {
        self.0.retain(|timer| timer.id != id);
    }

    /// The timer that is due for longest. Called until it gives nothing, it gives each timer once: one that repeats is due
    /// again later than `now`, and what it missed is left out.
    pub fn take_due(&mut self, now: Instant) -> Option<Function> {
        let due = self.0.iter().enumerate().filter(|(_, timer)| timer.due.is_some_and(|due| due <= now));
        let (at, _) = due.min_by_key(|(_, timer)| timer.due)?;
        let timer = &mut self.0[at];
        let (Some(interval), Some(due)) = (timer.interval, timer.due) else {
            return Some(self.0.remove(at).function);
        };
        timer.due =
            due.checked_add(interval).filter(|next| *next > now).or_else(|| now.checked_add(interval));
        Some(timer.function.clone())
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.0.iter().filter_map(|timer| timer.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::Lua;

    fn called(timers: &mut Timers, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| timers.take_due(now)).map(|function| function.call(()).unwrap()).collect()
    }

    #[test]
    fn each_is_called_when_it_is_due() {
        let lua = Lua::new();
        let function = |name: &'static str| lua.create_function(move |_, ()| Ok(name)).unwrap();
        let second = Duration::from_secs(1);
        let (start, mut timers) = (Instant::now(), Timers::default());
        timers.add(1, start, second, true, function("every"));
        timers.add(2, start, second / 2, false, function("once"));
        timers.add(3, start, Duration::MAX, true, function("never"));
        assert!(called(&mut timers, start).is_empty());
        assert_eq!(timers.next_due(), Some(start + second / 2));
        assert_eq!(called(&mut timers, start + second), ["once", "every"]);
        assert_eq!(timers.next_due(), Some(start + second * 2));
        // Missed turns are not made up for.
        assert_eq!(called(&mut timers, start + second * 7), ["every"]);
        assert_eq!(timers.next_due(), Some(start + second * 8));
        timers.cancel(1);
        assert_eq!(timers.next_due(), None);
    }
}
