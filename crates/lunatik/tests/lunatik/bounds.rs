//! What scripts that make more and more of something get to: an error of their own, and not the end of the machine.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::place::Place;

/// Those that make a thousand threads come one after another, so that threads can be counted.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn states_are_a_thousand_at_the_utmost() {
    let _alone = alone();
    let place = Place::new();
    // Each state has descriptors, too; the usual limit on these is little more than a thousand.
    let (soft, hard) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).unwrap();
    if soft < 4000
        && nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, hard.min(8000), hard)
            .is_err()
    {
        return crate::place::skip("a thousand states need more descriptors");
    }
    place.write("it.lua", "");
    let lines = place.run(
        "local lunatik = require('lunatik')
         kept = {}
         local made, problem = true
         while made do made, problem = pcall(lunatik.runtime, 'it') kept[#kept + 1] = made and problem or nil end
         print(#kept, problem)
         kept = nil
         for i = 1, 2500 do lunatik.runtime('it') end",
    );
    assert_eq!(lines, ["1000\tfailed to allocate Lua state (there are too many states)"]);
    assert!(threads() < 1200, "{}", threads());
    let begin = Instant::now();
    place.host.stop();
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

/// States that make states that make states: each waits for the one that it makes.
#[test]
fn states_in_states_are_no_more() {
    let _alone = alone();
    let place = Place::new();
    place.write("deep.lua", "local made, problem = pcall(require('lunatik').runtime, 'deep') if not made then print(problem) end kept = made and problem");
    assert_eq!(place.run("it = require('lunatik').runtime('deep')").len(), 1);
    let begin = Instant::now();
    place.host.stop();
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

/// One state may have 64 MiB here, all together 256 MiB.
#[test]
fn states_have_so_much_memory_together() {
    let place = Place::new();
    place.write("fills.lua", "local kept = {} for i = 1, 50 do kept[i] = ('x'):rep(1 << 20) end return function() return #kept end");
    let lines = place.run(
        "local lunatik, states, made, problem = require('lunatik'), {}, true
         while made and #states < 20 do made, problem = pcall(lunatik.runtime, 'fills') states[#states + 1] = made and problem or nil end
         print(#states, problem)
         states[1]:stop()
         print((pcall(lunatik.runtime, 'fills')))
         for i = 2, #states do states[i]:stop() end
         collectgarbage()
         for i = 1, 12 do lunatik.runtime('fills'):stop() end",
    );
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("5\t") && lines[0].ends_with("not enough memory"), "{lines:?}");
    assert_eq!(lines[1], "true");
}

#[test]
fn buffers_count_as_memory_until_they_are_garbage() {
    let place = Place::new();
    let lines = place.run(
        "local data, fifo, kept, made, problem = require('data'), require('fifo'), {}, true
         for i = 1, 100 do data.new(64 << 20) fifo.new(32 << 20) end
         while made do made, problem = pcall(data.new, 64 << 20) kept[#kept + 1] = made and problem or nil end
         print(#kept, problem)
         print(pcall(fifo.new, 32 << 20))
         print(pcall(kept[1].resize, kept[1], 65 << 20))
         kept[1]:resize(1 << 20)
         print((pcall(fifo.new, 32 << 20)))",
    );
    let no_room =
        ["4\tnot enough memory", "false\tfailed to allocate kfifo (-12)", "false\tnot enough memory", "true"];
    assert_eq!(lines, no_room);
}
