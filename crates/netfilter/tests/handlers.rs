//! Handlers in states of processes, asked about packets of the loopback interface in a network namespace of each test's own. Without root, or where the
//! kernel has no queues, each test says so and passes.

use std::io::Write;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mlua::{Function, Lua};
use moonhook_lunatik::{Counted, Counting, Counts, Host, Uncounted};
use moonhook_netfilter::Desk;
use nix::sched::{CloneFlags, unshare};

/// Who counts nothing for probes.
#[derive(Debug)]
struct Nobody;

impl Counting for Nobody {
    fn count(&self, _: &Counted) -> Result<Box<dyn Counts>, Uncounted> {
        Err(Uncounted { errno: 95, reason: "nothing is counted here".to_string() })
    }
}

struct Place {
    folder: tempfile::TempDir,
    host: Arc<Host>,
    lua: Lua,
    desk: Arc<Desk>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Place {
    fn new() -> Option<Place> {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            skip(&format!("network namespaces cannot be made: {error}"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let output = || -> moonhook_lunatik::Output {
            let lines = Arc::clone(&lines);
            Box::new(move |line| lines.lock().unwrap().push(String::from_utf8_lossy(line).into_owned()))
        };
        let root = folder.path().to_path_buf();
        let (constants, nobody) = (moonhook_load::constants, Arc::new(Nobody));
        let desk = Arc::<Desk>::default();
        let extensions = vec![moonhook_netfilter::module(&desk)];
        let host = moonhook_lunatik::host(root, constants, output(), output(), extensions, nobody, 64 << 20);
        // SAFETY: the scripts of these tests call nothing of the debug library, which such states have.
        let lua = unsafe { Lua::unsafe_new() };
        host.open(&lua, &lua.globals()).unwrap();
        let place = Place { folder, host, lua, desk, lines };
        let up = "local lo = require('lunatik').runtime('up', 'process'):stop()";
        place.write("up", "require('netlink').rt.link():set{ifindex = 1, up = true}");
        assert_eq!(place.run(up), [""; 0]);
        if place.begin("require('netfilter').register{pf = 2, hooknum = 4, priority = 9, hook = print}") {
            place.run("rt:stop()");
            return Some(place);
        }
        skip(&place.lines().join(" "));
        None
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(format!("{name}.lua")), text).unwrap();
    }

    fn run(&self, code: &str) -> Vec<String> {
        let main: Function = self.lua.load(code).set_name("=test").into_function().unwrap();
        self.host.run_main(&self.lua, "test", &main);
        self.lines()
    }

    /// Runs a script in a runtime of its own, the global variable `rt`; says whether it runs.
    fn begin(&self, script: &str) -> bool {
        self.write("script", script);
        let lines = self.run("rt = nil rt = require('lunatik').runtime('script', 'softirq') print('runs')");
        let runs = lines == ["runs"];
        self.lines.lock().unwrap().extend(lines.into_iter().filter(|line| line != "runs"));
        runs
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

/// Notes that a test cannot run here (ARCHITECTURE.md, `MOONHOOK_SKIPPED`).
fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_string();
    if let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "netfilter {name}: {reason}")).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.host.stop();
    }
}

/// What is longer than anything takes here that comes to an end.
const LONG: Duration = Duration::from_secs(30);

/// What comes of a datagram through the loopback interface; nothing, if another one that is sent behind it comes first.
fn passes(text: &[u8], address: &str) -> Vec<u8> {
    let (from, to) = (UdpSocket::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap());
    to.set_read_timeout(Some(LONG)).unwrap();
    for text in [text, b"behind"] {
        // What is dropped on its way out the sender is told.
        let _ = from.send_to(text, to.local_addr().unwrap());
    }
    let mut room = [0; 100];
    let length = to.recv(&mut room).unwrap();
    if room[..length] == *b"behind" { Vec::new() } else { room[..length].to_vec() }
}

/// Sends one datagram through the loopback interface, which comes.
fn one_comes(address: &str) {
    let (from, to) = (UdpSocket::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap());
    to.set_read_timeout(Some(LONG)).unwrap();
    from.send_to(b"x", to.local_addr().unwrap()).unwrap();
    assert_eq!(to.recv(&mut [0; 10]).unwrap(), 1);
}

fn come(text: &[u8]) -> Vec<u8> {
    passes(text, "127.0.0.1")
}

#[test]
fn verdicts_and_changes_count() {
    let Some(place) = Place::new() else { return };
    assert!(place.begin(
        "local nf, rcu = require('linux.nf'), require('rcu')
         local refused
         local function hook(skb)
           local packet = skb:data()
           local text = packet:getstring(28)
           if text:find('drop nil') then return end
           if text:find('drop') then return nf.action.DROP end
           if text == 'change' then packet:setstring(28, 'CHANGE') skb:checksum() end
           if text == 'index' then packet:setstring(28, tostring(skb:ifindex())) skb:checksum() end
           if text == 'table' then return refused[tostring(skb:ifindex())] and nf.action.DROP or nf.action.ACCEPT end
           if text == 'error' then error('what') end
           if text == 'broken' then packet:setstring(28, 'BROKEN') skb:checksum() error('late') end
           if text == 'stolen' then return nf.action.STOLEN end
           return nf.action.ACCEPT
         end
         require('netfilter').register{hook = hook, pf = nf.proto.INET, hooknum = nf.inet.PRE_ROUTING, priority = nf.ip.pri.RAW}
         return function(shared) refused = shared end",
    ));
    place.run("refused = require('rcu').table() rt:resume(refused)");
    for (text, expected) in [
        ("pass", "pass"),
        ("drop", ""),
        ("drop nil", ""),
        ("change", "CHANGE"),
        ("index", "1ndex"),
        ("table", "table"),
        ("error", "error"),
        ("stolen", "stolen"),
        // What was written before an error stays, as it does in handlers of load time and in Lunatik.
        ("broken", "BROKEN"),
    ] {
        let came = come(text.as_bytes());
        assert_eq!(String::from_utf8_lossy(&came), expected, "{text}");
    }
    let lines = place.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].ends_with("script.lua:11: what"), "{lines:?}");
    assert_eq!(lines[1], "handler returned 2, expected a verdict");
    assert!(lines[2].ends_with("script.lua:12: late"), "{lines:?}");
    // Both families have the handler, and tables are shared.
    assert_eq!(passes(b"drop", "::1"), b"");
    place.run("refused['1'] = true");
    assert_eq!(come(b"table"), b"");
    // Then nothing is left of it.
    place.run("rt:stop()");
    assert_eq!(come(b"drop"), b"drop");
}

/// Who asks for a mark that this kernel does not tell is warned once, at the line.
#[test]
fn a_lack_of_connection_marks_is_told() {
    let Some(place) = Place::new() else { return };
    assert!(place.begin(
        "local function mark(skb)
           return skb:connmark()
         end
         require('netfilter').register{pf = 2, hooknum = 1, priority = 5, hook = function(skb)
           if skb:data():getstring(28) == 'ask' then pcall(mark, skb) skb:connmark(7) end
           return 1
         end}",
    ));
    assert_eq!(come(b"pass"), b"pass");
    assert_eq!(place.lines(), [""; 0]);
    for _ in 0..3 {
        assert_eq!(come(b"ask"), b"ask");
    }
    let lines = place.lines();
    if moonhook_install::queues_have_connections() != Some(false) {
        return assert_eq!(lines, [""; 0]);
    }
    assert_eq!(lines.len(), 1, "{lines:?}");
    let problem = "script.lua:2: this kernel has no marks of connections for handlers in the process; use a kernel with";
    assert!(lines[0].starts_with("warning[MH1104]: ") && lines[0].contains(problem), "{lines:?}");
}

#[test]
fn packets_do_not_wait_for_ever() {
    let Some(place) = Place::new() else { return };
    assert!(place.begin(
        "require('netfilter').register{pf = 2, hooknum = 1, priority = 5, hook = function(skb)
           local packet = skb:data()
           local text = packet:getstring(28)
           if text == 'loop' then
             print('loops')
             while true do end
           end
           if text == 'next' then packet:setstring(28, 'NEXT') skb:checksum() end
           return 1
         end}",
    ));
    let begin = Instant::now();
    assert_eq!(come(b"loop"), b"loop");
    assert!(begin.elapsed() > Duration::from_millis(1500), "{:?}", begin.elapsed());
    assert_eq!(place.lines(), ["loops", "a handler was at a packet for 2 s, which passes"]);
    // The state is at nothing else any more: its handler says what becomes of packets.
    assert_eq!(come(b"next"), b"NEXT");
    // A stop does not wait for it.
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.send_to(b"loop", from.local_addr().unwrap()).unwrap();
    let begin = Instant::now();
    while place.lines().is_empty() {
        assert!(begin.elapsed() < LONG, "the handler does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    let begin = Instant::now();
    place.run("rt:stop()");
    assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
    assert_eq!(come(b"loop"), b"loop");
}

#[test]
fn copies_are_sent_by_handlers_only() {
    let Some(place) = Place::new() else { return };
    assert!(place.begin(
        "local kept
         require('netfilter').register{pf = 2, hooknum = 1, priority = 5, hook = function(skb)
           kept = kept or skb:copy()
           return 1
         end}
         return function() print(#kept, pcall(kept.forward, kept)) end",
    ));
    assert_eq!(come(b"kept"), b"kept");
    let problem = "calling 'forward' on bad self (no handler is at work)";
    assert_eq!(place.run("rt:resume()"), [format!("32\tfalse\t{problem}")]);
}

/// Lunatik takes a handler out of its table when a packet comes, asks those of one priority last first, and one that was registered twice twice.
#[test]
fn a_table_is_read_for_each_packet_and_may_be_registered_twice() {
    let Some(place) = Place::new() else { return };
    assert!(place.begin(
        "local nf, register = require('linux.nf'), require('netfilter').register
         local function says(what) return function() print(what) return nf.action.ACCEPT end end
         local twice = {hook = says('twice'), pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 5, mark = '0x0'}
         local late = setmetatable({hooknum = nf.inet.LOCAL_IN, priority = 5.0}, {__index = {pf = nf.proto.IPV4}})
         register(twice) register(late) register(twice)
         local all = {first = function() late.hook = says('late') end,
           second = function() twice.hook = function() print('another') return nf.action.DROP end end,
           third = function() twice.hook = nil twice.priority = 'no matter' end}
         local names = {'first', 'second', 'third'}
         local function go() all[table.remove(names, 1)]() return go end
         return go",
    ));
    let asked = |expected: [&str; 3]| {
        one_comes("127.0.0.1");
        assert_eq!(place.lines(), expected);
    };
    asked(["twice", "operation not defined", "twice"]);
    place.run("rt:resume()");
    asked(["twice", "late", "twice"]);
    place.run("rt:resume()");
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    to.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"x", to.local_addr().unwrap()).unwrap();
    assert!(to.recv(&mut [0; 10]).is_err());
    assert_eq!(place.lines(), ["another"]);
    place.run("rt:resume()");
    asked(["operation not defined", "late", "operation not defined"]);
    let decided = place.desk.decided();
    let places: Vec<_> = decided.places.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["netfilter ipv4 LOCAL_IN 5"; 3]);
    assert_eq!((decided.verdicts.get(&0), decided.errors), (Some(&1), 3));
    place.run("rt:stop()");
    assert_eq!(place.desk.decided().places, []);
}

/// The same handler is asked, whichever queue a packet comes by.
#[test]
fn packets_come_by_as_many_queues_as_wanted() {
    let Some(place) = Place::new() else { return };
    place.desk.take_packets(None, 3);
    assert!(place.begin(
        "local count = 0
         require('netfilter').register{pf = 1, hooknum = 1, priority = 5, hook = function(skb)
           if skb:data():getuint8(9) == 17 then count = count + 1 end
           return 1
         end}
         return function() print(count) end",
    ));
    let queues = || std::fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").unwrap();
    assert_eq!(queues().lines().count(), 6);
    for number in 1..=20 {
        one_comes(&format!("127.0.0.{number}"));
    }
    assert_eq!(place.run("rt:resume()"), ["20"]);
    // It has taken some out of each: the kernel numbers a queue's packets.
    let used = |line: &str| line.split_whitespace().nth(7).is_some_and(|number| number != "0");
    let all = queues();
    assert_eq!(all.lines().filter(|line| used(line)).count(), 3, "{all}");
    place.run("rt:stop()");
    assert_eq!(queues(), "");
}

#[test]
fn what_does_not_serve_is_refused() {
    let Some(place) = Place::new() else { return };
    let hook = "hook = function() end";
    for (fields, expected) in [
        ("5".to_string(), "bad argument #1 to 'register' (table expected, got number)"),
        ("{}".to_string(), "bad field 'pf' (number expected, got nil)"),
        (format!("{{{hook}}}"), "bad field 'pf' (number expected, got nil)"),
        (format!("{{{hook}, pf = '2'}}"), "bad field 'pf' (number expected, got string)"),
        (format!("{{{hook}, pf = 2}}"), "bad field 'hooknum' (number expected, got nil)"),
        (format!("{{{hook}, pf = 2, hooknum = 0}}"), "bad field 'priority' (number expected, got nil)"),
        (format!("{{{hook}, pf = 7, hooknum = 0, priority = 0}}"), "failed to register netfilter hook"),
        (format!("{{{hook}, pf = 2, hooknum = 5, priority = 0}}"), "failed to register netfilter hook"),
        (format!("{{{hook}, pf = 2, hooknum = -1, priority = 0}}"), "failed to register netfilter hook"),
        (format!("{{{hook}, pf = 2, hooknum = 0, priority = 1 << 31}}"), "failed to register netfilter hook"),
    ] {
        assert!(!place.begin(&format!("require('netfilter').register({fields})")), "{fields}");
        let lines = place.lines();
        assert!(lines.last().unwrap().ends_with(&format!("script.lua:1: {expected}")), "{fields}: {lines:?}");
    }
    place.write(
        "script",
        &format!("require('netfilter').register{{{hook}, pf = 2, hooknum = 0, priority = 0}}"),
    );
    let lines = place.run("require('lunatik').runtime('script')");
    assert!(lines[0].ends_with("script.lua:1: runtime context mismatch"), "{lines:?}");
}
