//! Handlers whose packets are queued for a process: what they need, what they make of packets, and what methods of an `skb` raise.

use super::{datagram, root};
use mlua::{Function, Lua, MultiValue};
use moonhook_load::{At, LoadError, Loaded, Options, QueuedPlace};
use moonhook_user::{Asked, Refusal, Said, Skbs, Waiting};
use std::path::{Path, PathBuf};

/// The handlers of a script that run in a process.
pub struct Queue {
    skbs: Skbs,
    handlers: Vec<Function>,
    /// Holds the state.
    _lua: Lua,
}

pub fn load(root: &Path, script: &Path, at: Option<At>) -> Result<Loaded, LoadError> {
    let options = Options { root: Some(root.to_path_buf()), at, ..Options::default() };
    moonhook_load::load(&[script.to_path_buf()], &options)
}

impl Queue {
    pub fn new(loaded: Loaded) -> Queue {
        let handlers = loaded.queued.iter().map(|queued| queued.function.clone()).collect();
        Queue { skbs: Skbs::new(&loaded.lua).unwrap(), handlers, _lua: loaded.lua }
    }

    /// What the first handler makes of a packet.
    pub fn ask(&self, packet: &Waiting) -> Asked<mlua::Error> {
        let call = |handler: &Function, arguments: MultiValue| handler.call(arguments);
        self.skbs.ask(self.handlers.iter().take(1), packet, call).unwrap()
    }
}

/// A script in a folder of its own.
pub struct Script {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Script {
    pub fn new(text: &str) -> Script {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua");
        std::fs::write(&path, text).unwrap();
        Script { _folder: folder, path }
    }

    /// Line 1 has what handlers use, and their lines begin with 2.
    pub fn of_handler(body: &str) -> Script {
        Script::new(&format!(
            "local netfilter, nf = require 'netfilter', require 'linux.nf'; local action, stolen, kept = nf.action, 2; \
             local function edit(d, v) d:setbyte(0, v) end local function copied(s) return s:copy() end \
             local function through(d) edit(d, 3) end local function tabled(d, v) d:setbyte(0, v) end \
             local list = {{tabled}} local function either(s) if #s > 9 then return s end return s:copy() end\n\
             local function hook(skb)\n{body}\nend\n\
             netfilter.register{{hook = hook, pf = nf.proto.IPV4, hooknum = nf.inet.FORWARD, priority = 5}}"
        ))
    }
}

/// What the only place needs, if it needs something, with its line.
fn need(body: &str) -> Option<String> {
    let script = Script::of_handler(body);
    let loaded = load(&root(), &script.path, None).unwrap_or_else(|error| panic!("{body}: {error}"));
    let places = QueuedPlace::of(&loaded.queued);
    assert_eq!(places.len() + loaded.snapshot.handlers.len(), 1, "{body}");
    let why = places.first()?.why();
    Some(why.strip_prefix(&format!("because {}:", script.path.display())).unwrap_or(&why).to_string())
}

#[test]
fn what_only_reads_runs_in_the_kernel() {
    for body in [
        "return skb:data():getuint8(0) == 0x45 and action.ACCEPT or action.DROP",
        "return action.ACCEPT, nil",
        "local function pair() return 1, 2 end local a, b = pair() return a",
        "local t = {copy = 1} return t.copy",
        "return #skb",
        "return tonumber('1')",
        "local function one() return 1 end return one()",
        // Copies are edited and sent from there.
        "local c = skb:copy() c:data():setuint8(0, 1) c:resize(20) c:checksum() c:forward() return 0",
        "local c = skb:copy() local frame, packet = c:data('mac'), c:data('net')\n\
         if packet:getuint8(0) == 69 then for i = 0, 5 do frame:setuint8(i, packet:getuint8(i)) end end return 0",
        "skb:forward() skb:copy():copy():forward() return skb:data():checksum() == 0 and 1 or 0",
        "local d = skb:copy():data() while #d > 99 do d:setbyte(0, 1) end return 1",
        "local d = skb:data('net') local other = skb:copy():data('mac') return d:getbyte(0)",
        // `edit` writes to whatever it gets, `copied` gives a copy; `through` hands on.
        "edit(skb:copy():data(), 1) return 1",
        "local c = skb:copy() local function size() return #skb + #c end c:resize(size()) return 1",
        "local c = copied(skb) edit(c:data('mac'), 2) through(c:data()) c:forward() return 1",
    ] {
        assert_eq!(need(body), None, "{body}");
    }
}

#[test]
fn what_does_more_is_queued_and_the_line_says_why() {
    for (body, expected) in [
        ("\nskb:data():setuint8(8, 1) return 1", "4 writes to the packet"),
        (
            "local d = skb:data()\nlocal function set(d, v) d:setbyte(0, v) end set(d, 1)",
            "4 writes to the packet",
        ),
        ("return 1, 7", "3 sets the packet's mark"),
        ("local c = skb:copy()\nskb:resize(9) return 0", "4 changes the packet's length"),
        ("skb:checksum() skb:copy():forward() return 0", "3 computes checksums"),
        ("return skb:copy():connmark()", "3 uses the connection's mark"),
        ("local c = skb:copy() skb:data():setuint8(0, 1) return 0", "3 writes to the packet"),
        // What is a copy on one way only, or may be something else, or is kept somewhere.
        ("local c = #skb > 9 and skb:copy() or skb\nc:resize(9) return 1", "4 changes the packet's length"),
        (
            "local c = skb if #skb > 9 then c = skb:copy() end\nc:data():setbyte(0, 1) return 1",
            "4 writes to the packet",
        ),
        (
            "local c = skb:copy() for i = 1, 2 do\nc:resize(9) c = skb end return 1",
            "4 changes the packet's length",
        ),
        (
            "local c = skb:copy() local function f() c = kept end f()\nc:resize(9) return 1",
            "4 changes the packet's length",
        ),
        ("local t = {c = skb:copy()}\nt.c:data():setbyte(0, 1) return 1", "4 writes to the packet"),
        ("kept = skb:copy():data() kept:setbyte(0, 1) return 1", "3 writes to the packet"),
        ("local set = skb:copy():data().setuint8 return 1", "3 writes to the packet"),
        // Functions that others get, too, or that are not sure to be that function.
        ("edit(skb:copy():data(), 1) edit(skb:data(), 1) return 1", "1 writes to the packet"),
        ("edit(skb:copy():data(), 1) pcall(edit, skb:data(), 1) return 1", "1 writes to the packet"),
        ("edit(skb:copy():data(), 1) local e = edit e(skb:data(), 1) return 1", "1 writes to the packet"),
        ("edit(skb:copy():data(), 1) edit = print return 1", "1 writes to the packet"),
        ("tabled(skb:copy():data(), 1) return #list", "1 writes to the packet"),
        ("local c = either(skb) c:resize(9) return 1", "3 changes the packet's length"),
        ("skb:connmark() return 1", "3 uses the connection's mark"),
        ("return skb:data('mac'):getbyte(0)", "3 reads the link's header"),
        ("return action.QUEUE", "3 hands packets to another queue"),
        ("return 3", "3 hands packets to another queue"),
        // Methods as values, and results of functions that are called last.
        ("local copy = skb.copy return 1", "3 copies the packet"),
        ("return pcall(skb.data, skb, 'mac') and 1", "3 reads the link's header"),
        ("local d = skb:data() local set = d.setuint8\nset(d, 8, 9) return 1", "3 writes to the packet"),
        ("local function v() return 1, 7 end\nreturn v()", "3 sets the packet's mark"),
        ("local function v() return action.QUEUE end return v()", "3 hands packets to another queue"),
        ("local function v() return 3 end return v()", "3 hands packets to another queue"),
    ] {
        assert_eq!(need(body).as_deref(), Some(expected), "{body}");
    }
}

/// A kernel that takes no program.
#[derive(Debug)]
struct Refusing;

impl moonhook_load::Trial for Refusing {
    fn refusal(&self, snapshot: &moonhook_snapshot::Snapshot) -> Option<String> {
        assert!(!snapshot.handlers.is_empty());
        Some("it is too large".into())
    }
}

/// Handlers that forward copies run in the kernel, and each place is told of; where the kernel does not take them they are queued. Those that only read are not tried.
#[test]
fn what_the_kernel_does_not_take_is_queued() {
    let register = "netfilter.register{hook = function(skb) return 1 end, pf = nf.proto.IPV6, hooknum = nf.inet.FORWARD}\n";
    let script = Script::of_handler("local c = skb:copy()\nc:forward() c:forward() return 0");
    let text = std::fs::read_to_string(&script.path).unwrap();
    std::fs::write(
        &script.path,
        text.replacen("local function hook", &format!("{register}local function hook"), 1),
    )
    .unwrap();
    let load = |trial: Option<std::sync::Arc<dyn moonhook_load::Trial>>, at| {
        let options = Options { root: Some(root()), at, trial, ..Options::default() };
        let loaded = moonhook_load::load(std::slice::from_ref(&script.path), &options).unwrap();
        let whys: Vec<String> = QueuedPlace::of(&loaded.queued)
            .iter()
            .map(QueuedPlace::why)
            .chain(loaded.forwarding.iter().map(moonhook_load::ForwardingPlace::text))
            .collect();
        let file = script.path.display().to_string();
        (loaded.snapshot.handlers.len(), whys.join("; ").replace(&file, "x.lua"))
    };
    let refusing = || Some(std::sync::Arc::new(Refusing) as std::sync::Arc<_>);
    let sent =
        "netfilter ipv4 FORWARD 5 runs in the kernel, and the process sends the copies that x.lua:5 forwards";
    assert_eq!(load(None, None), (2, sent.to_string()));
    assert_eq!(load(refusing(), Some(At::Link)), (2, sent.to_string()));
    let why = "because x.lua:4 copies the packet, and no program does it here: it is too large";
    assert_eq!(load(refusing(), None), (1, why.to_string()));
    assert_eq!(load(refusing(), Some(At::Queue)), (0, "as asked for; as asked for".to_string()));
}

/// What is not the packet's is not taken for it: tables of load time have methods of the same names. What they are is known.
#[test]
fn variables_of_load_time_are_known() {
    for (variable, body, queued) in [
        ("{copy = function() return 1 end}", "return own:copy()", 0),
        ("{copy = function() return 1, 2 end}", "return own:copy()", 2),
        ("function() return 1, 2 end", "return own()", 2),
        ("function() return 1, 2 end", "local a, b = own() return a", 0),
        ("'mac'", "return skb:data(own) and 1", 2),
        ("'net'", "return skb:data(own) and 1", 0),
    ] {
        let script = Script::new(&format!(
            "local netfilter = require 'netfilter'\nlocal own = {variable}\n\
             netfilter.register{{hook = function(skb) {body} end, pf = 1, hooknum = 0}}"
        ));
        let loaded = load(&root(), &script.path, None).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(loaded.queued.len(), queued, "{variable}: {body}");
    }
}

/// A module's functions count if the handler names them.
#[test]
fn functions_of_tables_count_by_the_names_that_are_spelled() {
    let script = |used: &str| {
        Script::new(&format!(
            "local netfilter = require 'netfilter'\n\
             local lib = {{read = function(d) return d:getbyte(0) end, write = function(d) d:setbyte(0, 1) return 1 end}}\n\
             netfilter.register{{hook = function(skb) return lib.{used}(skb:data()) end, pf = 1, hooknum = 0}}"
        ))
    };
    let queued = |used: &str| load(&root(), &script(used).path, None).unwrap().queued.len();
    assert_eq!((queued("read"), queued("write")), (0, 2), "a handler for each family");
}

#[test]
fn verdicts_of_the_kernel_alone_are_refused() {
    for (body, verdict) in [
        ("\nreturn action.STOLEN", "STOLEN"),
        ("\nreturn stolen", "STOLEN"),
        ("\nif #skb > 9 then return action.REPEAT end", "REPEAT"),
        ("\nreturn 5", "STOP"),
        ("\nlocal function v() return 5 end return v()", "STOP"),
    ] {
        let error = load(&root(), &Script::of_handler(body).path, None).err().expect(body);
        let diagnostic = error.diagnostic();
        assert_eq!((error.code(), diagnostic.place.map(|place| place.line)), ("MH0120", Some(4)), "{body}");
        assert_eq!(error.to_string(), format!("a handler of netfilter cannot give the verdict {verdict}"));
        assert!(diagnostic.help.is_some_and(|help| help.contains("DROP")));
    }
}

/// What a handler with that body, of line 3, makes of a packet that has come by interface 4, or what it raises.
fn asked(body: &str) -> (Result<Said, String>, Asked<mlua::Error>) {
    let script = Script::of_handler(body);
    let queue = Queue::new(load(&root(), &script.path, Some(At::Queue)).unwrap());
    let packet = Waiting {
        bytes: datagram(7, b"abc"),
        header: Some([&[2; 6][..], &[4; 6], &[8, 0]].concat()),
        mark: 6,
        interface: Some(4),
        connection_mark: Some(9),
    };
    let asked = queue.ask(&packet);
    let said = match &asked.said {
        Ok(said) => Ok(*said),
        Err(Refusal::NoVerdict(number)) => Err(number.to_string()),
        Err(Refusal::Failed(error)) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            let own = line.split_once("x.lua:").map_or(line, |(_, message)| message);
            Err(own.to_string())
        }
    };
    (said, asked)
}

#[test]
fn methods_do_what_lunatiks_do() {
    for (body, expected) in [
        ("return skb:ifindex() == 4 and #skb == 31", (0, None)),
        ("assert(skb:ifindex() == 4 and #skb == 31 and skb:vlan() == nil) return '1'", (1, None)),
        ("assert(skb:data('mac'):getuint8(6) == 4 and #skb:data('mac') == 45) return 1.0, 3", (1, Some(3))),
        // The packet has one object: the second call shows other bytes in it.
        (
            "local m = skb:data('mac') local n = skb:data() assert(m == n and #m == 31) return 7, -1",
            (1, Some(u32::MAX)),
        ),
        (
            "local c = skb:copy() local m, n = c:data('mac'), c:data() assert(m ~= n and #m == 45) return -1",
            (1, None),
        ),
        ("assert(skb:connmark() == 9 and skb:connmark(0x1ffffffff) == 0xffffffff) return 1", (1, None)),
        ("assert(skb:data().mark == 6 and skb:copy():data().mark == 6) return 1", (1, None)),
        ("return 3", (3, None)),
    ] {
        assert_eq!(asked(body).0, Ok(Said { verdict: expected.0, mark: expected.1 }), "{body}");
    }
}

#[test]
fn methods_raise_what_lunatiks_raise() {
    for (body, message) in [
        ("skb:data('other')", "3: bad argument #1 to 'data' (invalid option 'other')"),
        ("skb:data({})", "3: bad argument #1 to 'data' (string expected, got table)"),
        ("skb:resize(100000)", "3: bad argument #1 to 'resize' (insufficient tailroom)"),
        ("skb:resize('x')", "3: bad argument #1 to 'resize' (number expected, got string)"),
        ("skb:resize()", "3: bad argument #1 to 'resize' (number expected, got no value)"),
        ("skb:connmark(1.5)", "3: bad argument #1 to 'connmark' (number has no integer representation)"),
        ("skb.data(7)", "3: calling 'data' on bad self (skb expected, got number)"),
        ("skb:data():getbyte(31)", "3: bad argument #1 to 'getbyte' (out of bounds)"),
        ("return skb.nope.x", "3: attempt to index a nil value (field 'nope')"),
    ] {
        let expected = Err(message.to_string());
        assert_eq!(asked(body).0, expected, "{body}");
    }
}

#[test]
fn changes_are_what_was_written() {
    let (_, asked) = self::asked("skb:data():setuint8(28, 65) skb:checksum() skb:connmark(5) return 1");
    let bytes = asked.changes.bytes.expect("it has changed");
    assert_eq!((&bytes[28..], asked.changes.connection_mark), (&b"Abc"[..], Some(5)));
    let sum = |range: std::ops::Range<usize>| -> u32 {
        let words = bytes[range]
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16)
    };
    assert_eq!(sum(0..20), 0xffff, "that of the IP header");
    let (said, asked) = self::asked(
        "local c = skb:copy() c:resize(29) c:data():setuint8(28, 66) c:forward() skb:resize(30) return 0",
    );
    assert_eq!(said, Ok(Said { verdict: 0, mark: None }));
    let [(4, frame)] = asked.changes.sent.as_slice() else { panic!("{:?}", asked.changes.sent) };
    assert_eq!((frame.len(), frame[42]), (14 + 29, 66));
    assert_eq!(asked.changes.bytes.map(|bytes| bytes.len()), Some(30));
    assert_eq!(self::asked("return 1").1.changes, moonhook_user::Changes::default());
}

/// A packet that is kept beyond its handler can no longer be used, and what shows its bytes neither.
#[test]
fn packets_end_with_their_handlers() {
    let script = Script::of_handler(
        "if kept then\nlocal a, b = pcall(kept.data, kept)\nlocal c, d = pcall(shown.getbyte, shown, 0)\n\
         error(tostring(b) .. '; ' .. tostring(d), 0) end kept, shown = skb, skb:data() return 1",
    );
    let queue = Queue::new(load(&root(), &script.path, Some(At::Queue)).unwrap());
    let packet = Waiting { bytes: datagram(7, b"abc"), ..Waiting::default() };
    assert!(queue.ask(&packet).said.is_ok());
    let Err(Refusal::Failed(error)) = queue.ask(&packet).said else { panic!("it raises") };
    let text = error.to_string();
    assert!(text.contains("calling 'data' on bad self (skb is not set)"), "{text}");
    assert!(text.contains("its handler has returned"), "{text}");
}

/// Here the atomic clock counts as the clock of UTC does, unless somebody has told the kernel by how much they differ.
#[test]
fn time_goes_by_utc() {
    let script = Script::of_handler("return require('linux').time() // 1000000000");
    let text = std::fs::read_to_string(&script.path).unwrap();
    let text = text.replace("local function hook", "local linux = require 'linux' local function hook");
    std::fs::write(&script.path, text.replace("require('linux')", "linux") + "\nprint(linux.time())")
        .unwrap();
    let kernel = std::sync::Arc::new(moonhook_engine::RunningKernel);
    let options = Options { root: Some(root()), at: Some(At::Queue), kernel, ..Options::default() };
    let loaded = moonhook_load::load(std::slice::from_ref(&script.path), &options).unwrap();
    let seconds: i64 = loaded.queued[0].function.call(0).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!((seconds - now).abs() <= 1, "{seconds} in the place of {now}");
}
