//! How `moonhook run` ends: at once, whatever Lua code and clients are at, and without leaving anything.

mod common;
#[allow(dead_code)]
mod flood;

use common::Place;
use flood::{Network, Running};
use moonhook_daemon::{Client, DaemonError, Executed, Failure, Name, Request, RuntimeFolder, TableOperation};
use moonhook_proof::host::{kernel_available, setting};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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

/// How a script is ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Interrupt,
    Terminate,
    /// `moonhook stop`.
    Stop,
}

const ENDS: [End; 3] = [End::Interrupt, End::Terminate, End::Stop];

/// From the signal or the request to the end of the process. Nothing is waited for, but a busy machine takes its time.
const SOON: Duration = Duration::from_secs(3);

impl End {
    fn begin(self, running: &Running) {
        let pid = Pid::from_raw(running.child.id() as i32);
        match self {
            End::Interrupt => kill(pid, Signal::SIGINT).unwrap(),
            End::Terminate => kill(pid, Signal::SIGTERM).unwrap(),
            End::Stop => assert!(command(running, &["stop"]).status().unwrap().success()),
        }
    }

    /// Asserts that the process is gone soon.
    fn is_reached(self, mut running: Running, what: &str) {
        let begun = Instant::now();
        let status = loop {
            match running.child.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() < SOON => std::thread::sleep(Duration::from_millis(5)),
                None => panic!("{what}, {self:?}: still there after {SOON:?}"),
            }
        };
        assert!(status.success(), "{what}, {self:?}: {status}");
    }

    /// Ends the script, and asserts that the process is gone soon, that it leaves no file, and that its name is free.
    fn put_to(self, running: Running, place: &Place, what: &str) {
        let (folder, name) = (running.folder.clone(), running.name.clone());
        self.begin(&running);
        self.is_reached(running, what);
        let left = match std::fs::read_dir(place.path("run")) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            files => files.unwrap().map(|file| file.unwrap().file_name()).collect(),
        };
        assert!(left.is_empty(), "{what}, {self:?}: {left:?} is left");
        drop(folder.claim(&name).expect("the name is free"));
    }
}

/// A command about the running script: its first word, and what comes behind the script's name.
fn command(running: &Running, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moonhook"));
    command.arg(words[0]).arg(running.name.as_str()).args(&words[1..]);
    command.arg("--socket-dir").arg(running.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Asks over a connection of its own, from a thread of its own.
fn asking(running: &Running, request: Request) -> std::thread::JoinHandle<Result<Value, Box<Failure>>> {
    let mut client = running.client();
    std::thread::spawn(move || client.ask(&request).expect("an answer"))
}

fn exec(code: &str) -> Request {
    Request::Exec { code: code.to_string() }
}

/// Waits until requests that were made are being seen to.
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
        let first = asking(running, exec(LOOP));
        settle();
        let second = asking(running, exec("1 + 1"));
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
        let asked = vec![asking(running, exec("1 + 1"))];
        settle();
        asked
    };
    ended_in_each_way("while_a_timer_loops", &script, meanwhile, all_are_told_of_the_end);
}

#[test]
fn while_a_function_of_the_library_is_at_work() {
    let meanwhile = |running: &Running, _: &Place| {
        let asked = vec![asking(running, exec(PATTERN)), asking(running, exec(SORT))];
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
        let endless = asking(running, reload(Some(vec![place.path("loop.lua")])));
        settle();
        let next = asking(running, reload(None));
        let code = asking(running, exec(LOOP));
        settle();
        vec![endless, next, code]
    };
    ended_in_each_way("while_a_reload_is_at_load_time", SCRIPT, meanwhile, all_are_told_of_the_end);
}

/// A generation that was replaced while its code loops.
#[test]
fn while_the_code_of_an_earlier_generation_loops() {
    let meanwhile = |running: &Running, _: &Place| {
        let asked = asking(running, exec(LOOP));
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
    let link = folder.0.join("flood/link");
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
    let endless = asking(&running, exec(LOOP));
    settle();
    let next = asking(&running, exec("1 + 1"));
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

/// Numbers from a seed (Sebastiano Vigna's splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn request(&mut self, place: &Path) -> Request {
        let table = |operation| Request::Table { table: "hits".to_string(), operation };
        let reload = |script: Option<&str>| Request::Reload {
            scripts: script.map(|script| vec![place.join(script)]),
            allow_read: Vec::new(),
        };
        let key = json!(self.below(100));
        match self.below(20) {
            0 => exec(LOOP),
            1 => exec(PATTERN),
            2 => exec("error('as if')"),
            3 => exec("event('seen', 1)"),
            4 => exec("count, #tostring(hits)"),
            5 => exec("= ="),
            6 => reload(None),
            7 => reload(Some("loop.lua")),
            8 => reload(Some("absent.lua")),
            9 => Request::Events,
            10 => Request::Status,
            11 => Request::Tables,
            12 => table(TableOperation::Get { key }),
            13 => table(TableOperation::Set { key, value: json!(7) }),
            14 => table(TableOperation::Delete { key: json!("no key") }),
            15 => table(TableOperation::Dump { dump: None }),
            16 => table(TableOperation::Count),
            17 => table(TableOperation::Clear),
            18 => table(TableOperation::Begin),
            _ => table(TableOperation::Commit),
        }
    }
}

/// One client after another, until there is no script any more. Some go without waiting for their answer.
fn pester(folder: &RuntimeFolder, name: &Name, place: &Path, mut random: Random) {
    while let Ok(mut client) = Client::connect(folder, name) {
        client.set_timeout(Some(Duration::from_secs(40))).unwrap();
        for _ in 0..random.below(4) {
            let request = random.request(place);
            if random.below(8) == 0 {
                let patience = Duration::from_millis(1 + random.below(50));
                client.set_timeout(Some(patience)).unwrap();
                let _ = client.ask::<Value>(&request);
                break;
            }
            match client.ask::<Value>(&request) {
                Ok(_) if request == Request::Events => break,
                Ok(_) => {}
                // The end came first.
                Err(DaemonError::NoAnswer { problem, .. }) => {
                    assert!(!problem.contains("takes too long"), "no answer to {request:?}");
                    break;
                }
                Err(error) => panic!("{request:?}: {error}"),
            }
        }
    }
}

/// Requests of all kinds at once, and then the end in one of the ways. `MOONHOOK_SEED` and `MOONHOOK_ROUNDS` choose others.
#[test]
fn while_many_ask_for_anything() {
    if !kernel_available("while_many_ask_for_anything") {
        return;
    }
    const CLIENTS: u64 = 8;
    let (seed, rounds) = (setting("MOONHOOK_SEED", 1), setting("MOONHOOK_ROUNDS", 6));
    let place = Place::with(&[("a.lua", SCRIPT), ("loop.lua", LOOP)]);
    let network = Network::new();
    for round in seed..seed + rounds {
        let mut random = Random(round << 32);
        let running = Running::start(&network, &place, "a.lua");
        let root: PathBuf = place.path("");
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (folder, name, root) = (running.folder.clone(), running.name.clone(), root.clone());
                scope.spawn(move || pester(&folder, &name, &root, Random((round << 32) + client + 1)));
            }
            std::thread::sleep(Duration::from_millis(random.below(800)));
            // A signal, as `stop` may find all connections taken by those who wait for an answer.
            let end = if random.below(2) == 0 { End::Interrupt } else { End::Terminate };
            end.put_to(running, &place, &format!("seed {round}"));
        });
    }
}
