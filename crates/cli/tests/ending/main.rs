//! How `moonhook run` ends: at once, whatever Lua code and clients are at, and without leaving anything.

#[path = "../common/mod.rs"]
mod common;
mod end;
#[allow(dead_code)]
#[path = "../flood/mod.rs"]
mod flood;
mod many;

use common::Place;
use end::{ENDS, End, command};
use flood::{Network, Running};
use moonhook_daemon::{Executed, Failure, Request};
use moonhook_proof::host::kernel_available;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A script with a table, a variable, events, and a function that control code calls.
const SCRIPT: &str = "\
count = 0
local hits = map{key = 'int', value = 'int', capacity = 100}
require('xdp').attach(function(pkt)
  count = count + 1
  hits[pkt:getbyte(0)] = (hits[pkt:getbyte(0)] or 0) + 1
  event('seen', count)
end)
on('seen', function() heard = (heard or 0) + 1 end)
";
const LOOP: &str = "while true do end";
/// The library's matcher would take longer than the process lives.
const PATTERN: &str = "(('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(40))";
/// Nothing can stop it: the matcher's work is counted first, sorting is not.
const SORT: &str =
    "table.sort((function() local t = {} for i = 1, 4e6 do t[i] = (i * 7919) % 4e6 end return t end)())";

fn exec(code: &str) -> Request {
    Request::Exec { code: code.to_string() }
}

/// Waits until requests that were sent are being seen to.
fn settle() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Starts the script in each of the ways, has `meanwhile` bring it into some state, ends it, and has `afterwards` look at what came of that.
fn ended_in_each_way<T>(
    what: &str,
    script: &str,
    meanwhile: impl Fn(&Running, &Place) -> T,
    afterwards: impl Fn(T),
) {
    if !kernel_available(what) {
        return;
    }
    let place = Place::with(&[("a.lua", script), ("loop.lua", LOOP)]);
    let network = Network::new();
    for end in ENDS {
        let running = Running::start(&network, &place, "a.lua");
        let state = meanwhile(&running, &place);
        end.put_to(running, &place, what);
        afterwards(state);
    }
}

type Asked = Vec<std::thread::JoinHandle<Result<Value, Box<Failure>>>>;

fn all_are_told_of_the_end(asked: Asked) {
    for asked in asked {
        assert_eq!(asked.join().unwrap().unwrap_err().code, "MH0810");
    }
}

#[test]
fn while_code_from_outside_loops() {
    let meanwhile = |running: &Running, _: &Place| {
        let first = running.asking(&exec(LOOP));
        settle();
        let second = running.asking(&exec("1 + 1"));
        settle();
        vec![first, second]
    };
    ended_in_each_way("while_code_from_outside_loops", SCRIPT, meanwhile, all_are_told_of_the_end);
}

/// `timeout 2 moonhook exec …`, and then the end.
#[test]
fn while_the_code_of_a_killed_client_loops() {
    let meanwhile = |running: &Running, _: &Place| {
        let mut client = command(running, &["exec", "-e", LOOP]).spawn().unwrap();
        settle();
        client.kill().unwrap();
        client.wait().unwrap();
        settle();
    };
    ended_in_each_way("while_the_code_of_a_killed_client_loops", SCRIPT, meanwhile, |()| ());
}

#[test]
fn while_a_timer_loops() {
    let script = format!("{SCRIPT}timer.after(0.01, function() {LOOP} end)");
    let meanwhile = |running: &Running, _: &Place| {
        settle();
        let asked = vec![running.asking(&exec("1 + 1"))];
        settle();
        asked
    };
    ended_in_each_way("while_a_timer_loops", &script, meanwhile, all_are_told_of_the_end);
}

#[test]
fn while_a_function_of_the_library_is_at_work() {
    let meanwhile = |running: &Running, _: &Place| {
        let asked = vec![running.asking(&exec(PATTERN)), running.asking(&exec(SORT))];
        settle();
        asked
    };
    let what = "while_a_function_of_the_library_is_at_work";
    ended_in_each_way(what, SCRIPT, meanwhile, all_are_told_of_the_end);
}

/// Load time that does not end, another change behind it, and code that loops.
#[test]
fn while_a_reload_is_at_load_time() {
    let meanwhile = |running: &Running, place: &Place| {
        let reload = |scripts| Request::Reload { scripts, allow_read: Vec::new() };
        let endless = running.asking(&reload(Some(vec![place.path("loop.lua")])));
        settle();
        let next = running.asking(&reload(None));
        let code = running.asking(&exec(LOOP));
        settle();
        vec![endless, next, code]
    };
    ended_in_each_way("while_a_reload_is_at_load_time", SCRIPT, meanwhile, all_are_told_of_the_end);
}

/// A generation that was replaced while its code loops.
#[test]
fn while_the_code_of_an_earlier_generation_loops() {
    let meanwhile = |running: &Running, _: &Place| {
        let asked = running.asking(&exec(LOOP));
        settle();
        let reload = Request::Reload { scripts: None, allow_read: Vec::new() };
        running.client().ask::<Value>(&reload).unwrap().unwrap();
        vec![asked]
    };
    let what = "while_the_code_of_an_earlier_generation_loops";
    ended_in_each_way(what, SCRIPT, meanwhile, all_are_told_of_the_end);
}

/// Watchers that do not read, and a client that has sent half a request.
#[test]
fn while_clients_keep_silent() {
    let meanwhile = |running: &Running, _: &Place| {
        let mut watcher = running.client();
        watcher.ask::<Value>(&Request::Events).unwrap().unwrap();
        let half = std::os::unix::net::UnixStream::connect(running.folder.socket(&running.name)).unwrap();
        std::io::Write::write_all(&mut &half, b"{\"version\":1,").unwrap();
        (watcher, half)
    };
    ended_in_each_way("while_clients_keep_silent", SCRIPT, meanwhile, drop);
}

/// Output that goes to a pipe which nobody reads, prints and errors: requests are answered, and the end is no later.
#[test]
fn while_nobody_reads_what_is_shown() {
    if !kernel_available("while_nobody_reads_what_is_shown") {
        return;
    }
    let script = "count = 0 require('xdp').attach(function() count = count + 1 print(('x'):rep(200), count) error('y') end)";
    let place = Place::with(&[("a.lua", script)]);
    let network = Network::new();
    let sender = network.socket(&network.left, "192.0.2.1:7000");
    for end in ENDS {
        // The other ends of the pipes stay open and unread.
        let (_output, written) = std::io::pipe().unwrap();
        let (_errors, complained) = std::io::pipe().unwrap();
        let running = Running::start_into(&network, &place, "a.lua", written.into(), complained.into());
        for _ in 0..5000 {
            sender.send_to(b"more", "192.0.2.2:7001").unwrap();
        }
        settle();
        let answer = running.asking(&exec("count > 0")).join().unwrap().unwrap();
        let executed: Executed = serde_json::from_value(answer).unwrap();
        assert_eq!(executed.results, ["true"], "{executed:?}");
        assert_eq!(end.ends(running, "unread").code(), Some(3));
    }
}

/// A program that is pinned goes on without the process, and there are always more events than it can show.
#[test]
fn while_a_pinned_program_goes_on() {
    if !kernel_available("while_a_pinned_program_goes_on") {
        return;
    }
    let script = "require('xdp').attach(function() for number = 1, 50 do print('number', number) end end)";
    let place = Place::with(&[("a.lua", script)]);
    let network = Network::new();
    let bpffs = format!("/sys/fs/bpf/mh-ending-{}", std::process::id());
    let options = ["--pin", "--bpffs", &bpffs];
    let folder = Folder(PathBuf::from(&bpffs));
    let link = folder.0.join("flood/link-xdp@right0");
    let (sender, stop) = (network.socket(&network.left, "192.0.2.1:7000"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = sender.send_to(b"more", "192.0.2.2:7001");
            }
        });
        let stop = Stop(&stop);
        for end in [End::Interrupt, End::Terminate] {
            let running = Running::start_with(&network, &place, "a.lua", &options);
            settle();
            end.begin(&running);
            end.is_reached(running, "pinned");
            assert!(link.exists(), "{end:?}: nothing is pinned");
        }
        let running = Running::start_with(&network, &place, "a.lua", &options);
        settle();
        End::Stop.put_to(running, &place, "pinned");
        assert!(!link.exists(), "something is pinned");
        drop(stop);
    });
}

/// What is pinned there goes with this, also if the test fails.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Stops a thread of the scope, also if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A function that takes too long is stopped, who asked for it is told, and the next one is carried out.
#[test]
fn code_that_loops_is_stopped_and_the_next_is_carried_out() {
    if !kernel_available("code_that_loops_is_stopped_and_the_next_is_carried_out") {
        return;
    }
    let place = Place::with(&[("a.lua", SCRIPT)]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let begun = Instant::now();
    let endless = running.asking(&exec(LOOP));
    settle();
    let next = running.asking(&exec("1 + 1"));
    let answer = endless.join().unwrap().unwrap();
    // Twenty seconds by the clock, on a machine however busy; and what it takes to notice.
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    let executed: Executed = serde_json::from_value(answer).unwrap();
    let error = executed.error.unwrap();
    assert!(error.message.contains("it ran for more than 10 seconds"), "{}", error.message);
    let executed: Executed = serde_json::from_value(next.join().unwrap().unwrap()).unwrap();
    assert_eq!((executed.results, executed.error.is_none()), (vec!["2".to_string()], true));
    End::Interrupt.put_to(running, &place, "after a loop");
}
