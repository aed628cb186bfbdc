//! Handlers in states of processes, asked about packets of the loopback interface in a network namespace of each test's own. Without root, or where the
//! kernel has no queues, each test says so and passes.

use std::io::Write;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mlua::{Function, Lua};
use moonhook_lunatik::{Counted, Counting, Counts, Extension, Host, Uncounted};
use nix::sched::{CloneFlags, unshare};

static EXTENSIONS: [Extension; 1] = [moonhook_netfilter::MODULE];

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
        let host = moonhook_lunatik::host(root, constants, output(), output(), &EXTENSIONS, nobody);
        let lua = Lua::new();
        host.open(&lua, &lua.globals()).unwrap();
        let place = Place { folder, host, lua, lines };
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

/// Whether a datagram comes through the loopback interface, and how long that takes.
fn passes(text: &[u8], address: &str) -> Option<(Vec<u8>, Duration)> {
    let (from, to) = (UdpSocket::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap());
    to.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    let (begin, mut room) = (Instant::now(), [0; 100]);
    from.send_to(text, to.local_addr().unwrap()).ok()?;
    // What is dropped does not take long.
    if text.starts_with(b"drop") {
        to.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    }
    let length = to.recv(&mut room).ok()?;
    Some((room[..length].to_vec(), begin.elapsed()))
}

fn come(text: &[u8]) -> Vec<u8> {
    passes(text, "127.0.0.1").map(|(bytes, _)| bytes).unwrap_or_default()
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
    assert_eq!(passes(b"drop", "::1"), None);
    place.run("refused['1'] = true");
    let (from, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    to.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    from.send_to(b"table", to.local_addr().unwrap()).unwrap();
    assert!(to.recv(&mut [0; 9]).is_err());
    // Then nothing is left of it.
    place.run("rt:stop()");
    assert_eq!(come(b"drop"), b"drop");
}

#[test]
fn packets_do_not_wait_for_ever() {
    let Some(place) = Place::new() else { return };
    assert!(place.begin(
        "require('netfilter').register{pf = 2, hooknum = 1, priority = 5, hook = function(skb)
           while skb:data():getstring(28) == 'loop' do end
           return 1
         end}",
    ));
    let (_, took) = passes(b"loop", "127.0.0.1").unwrap();
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(4), "{took:?}");
    let (_, took) = passes(b"next", "127.0.0.1").unwrap();
    assert!(took < Duration::from_millis(1500), "{took:?}");
    // A stop does not wait for it.
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.send_to(b"loop", from.local_addr().unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    place.run("rt:stop()");
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert_eq!(come(b"loop"), b"loop");
}

#[test]
fn what_does_not_serve_is_refused() {
    let Some(place) = Place::new() else { return };
    let hook = "hook = function() end";
    for (fields, expected) in [
        ("5".to_string(), "bad argument #1 to 'register' (table expected, got number)"),
        ("{}".to_string(), "bad field 'hook' (function expected, got nil)"),
        (format!("{{{hook}}}"), "bad field 'pf' (number expected, got nil)"),
        (format!("{{{hook}, pf = 2}}"), "bad field 'hooknum' (number expected, got nil)"),
        (format!("{{{hook}, pf = 2, hooknum = 0}}"), "bad field 'priority' (number expected, got nil)"),
        (
            format!("{{{hook}, pf = 2, hooknum = 0, priority = 0, mark = 'x'}}"),
            "bad field 'mark' (number expected, got string)",
        ),
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
