//! Functions say the same of a packet where a match asks them, in the kernel and in both forms of code, and where a target does, in the state's own Lua: random functions, UDP
//! over the loopback interface of a network namespace of the test's own.

use moonhook_engine::{Form, Settings};
use moonhook_nflua::protocol::Request;
use moonhook_nflua::{Client, Generation, Log, Options, Question, run};
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Functions for each form.
const FUNCTIONS: usize = 10;
const WAIT: Duration = Duration::from_secs(20);
/// Where answers of matches and targets go, and what packets are for.
const PORTS: [u32; 2] = [71, 72];
const TARGET: &str = "127.0.0.1:9";

#[test]
fn matches_say_what_targets_say() {
    for form in [None, Some(Form::General)] {
        let is_allowed = std::thread::scope(|scope| {
            let test = move || {
                if unshare(CloneFlags::CLONE_NEWNET).is_err() {
                    return false;
                }
                agree(form);
                true
            };
            scope.spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        if !is_allowed {
            return skip("network namespaces cannot be made");
        }
    }
}

fn skip(reason: &str) {
    assert!(std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none(), "{reason}");
    if let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "nflua agree: {reason}")).unwrap();
    }
}

fn agree(form: Option<Form>) {
    command("ip", &["link", "set", "lo", "up"]);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let pins = PathBuf::from(format!("/sys/fs/bpf/moonhook/nflua-test-{}", std::process::id()));
    let options = Options {
        socket: socket.clone(),
        folder: folder.path().to_path_buf(),
        pins,
        settings: Settings { form, ..Settings::default() },
        log: Log::Standard,
        ahead: 0,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let stopping = &stop;
        let serving = scope.spawn(move || run(options, |_| ready.send(()).unwrap(), stopping));
        is_ready.recv_timeout(WAIT).unwrap();
        // The server ends with whatever comes of this.
        let outcome = std::panic::catch_unwind(|| compare(&socket));
        stop.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn compare(socket: &Path) {
    let mut control = Client::control(socket).unwrap();
    let mut listeners = PORTS.map(|port| Client::data(socket, port).unwrap());
    let sender = sender();
    let mut random = Random(0x6d6f_6f6e);
    for generation in [Generation::Of2019, Generation::Cujo] {
        control.ask(&Request::Create { name: "st".into(), memory: 8 << 20 }).unwrap();
        add_rules(&mut control, generation);
        for _ in 0..FUNCTIONS {
            let code = random.function(generation);
            let (name, title) = ("st".to_string(), "f".to_string());
            let execute = Request::Execute { name, title, code: code.clone().into_bytes() };
            control.ask(&execute).unwrap_or_else(|error| panic!("{error}, of\n{code}"));
            for _ in 0..2 {
                sender.send_to(&random.payload(), TARGET).unwrap();
                let [of_match, of_target] = [0, 1].map(|which: usize| {
                    let said = listeners[which].receive(Some(WAIT)).unwrap();
                    let (_, bytes) = said.unwrap_or_else(|| panic!("nothing of {which}:\n{code}"));
                    String::from_utf8_lossy(&bytes).into_owned()
                });
                assert_eq!(of_match, of_target, "match and target, of\n{code}");
            }
        }
        command("iptables", &["-F", "INPUT"]);
        control.ask(&Request::Destroy { name: "st".into() }).unwrap();
    }
}

/// A socket whose datagrams have no checksum: matches would see it before it is complete.
fn sender() -> UdpSocket {
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let one = 1i32;
    // SAFETY: the option's value is read before the call returns, and is as long as is said.
    let set = unsafe {
        libc::setsockopt(
            sender.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NO_CHECK,
            (&raw const one).cast(),
            size_of_val(&one) as libc::socklen_t,
        )
    };
    assert_eq!(set, 0);
    sender
}

/// A match, which finds nothing, and a target behind it, at the end of the loopback interface where packets have a link's header.
fn add_rules(control: &mut Client, generation: Generation) {
    let question = Question { function: "m".into(), generation, has_payload: false, mask: 0 };
    let [path, queue] = [
        Request::Match { state: "st".into(), question },
        Request::Target { state: "st".into(), function: "t".into(), generation },
    ]
    .map(|request| {
        let fields = control.ask(&request).unwrap();
        String::from_utf8(fields[0].clone()).unwrap()
    });
    let rule = ["-A", "INPUT", "-p", "udp", "--dport", "9"];
    command("iptables", &[&rule[..], &["-m", "bpf", "--object-pinned", &path, "-j", "DROP"]].concat());
    command("iptables", &[&rule[..], &["-j", "NFQUEUE", "--queue-num", &queue]].concat());
}

fn command(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Bytes with letters and zeros, so that formats with lengths and ends find some.
    fn payload(&mut self) -> Vec<u8> {
        let length = self.below(40);
        (0..length).map(|_| b"\0\x01\x03ab\xffGET "[self.below(10)]).collect()
    }

    /// A state's functions: what `f` says of a packet goes to both ports.
    fn function(&mut self, generation: Generation) -> String {
        let body: String = match generation {
            Generation::Of2019 => (0..1 + self.below(4)).map(|_| self.statement()).collect(),
            Generation::Cujo => (0..1 + self.below(5)).map(|_| self.statement_of_objects()).collect(),
        };
        let given = if generation == Generation::Of2019 { "pkt" } else { "frame, pkt" };
        let say = match self.below(2) {
            0 => format!(
                "  if #pkt < 68 then return 'short' end\n  return table.concat(f({{}}, {given}), ' ')\n"
            ),
            _ => format!(
                "  local ok, said = pcall(f, {{}}, {given})\n  return tostring(ok) .. ' ' .. (ok and table.concat(said, ' ') or said)\n"
            ),
        };
        let [of_match, of_target] = PORTS;
        format!(
            "local function f(said, {given})\n{body}  return said\nend\nlocal function say({given})\n{say}end\n\
             function m({given}) netlink.send({of_match}, nil, say({given})) return false end\n\
             function t({given}) netlink.send({of_target}, nil, say({given})) return 'accept' end\n"
        )
    }

    fn position(&mut self) -> String {
        match self.below(4) {
            0 => String::new(),
            1 => format!(", {}", 1 + self.below(30)),
            2 => format!(", -{}", 1 + self.below(30)),
            _ => ", #pkt - 3".to_string(),
        }
    }

    fn statement(&mut self) -> String {
        let at = self.position();
        let add = |value: String| format!("  said[#said + 1] = {value}\n");
        let numbers = [0; 4].map(|_| self.below(40));
        let [i, j, o, n] = numbers;
        match self.below(9) {
            0 => add("#pkt".into()),
            1 => {
                let format = self.one(&[">I2", "<i4", "B", ">I2 B", "i8", ">i3", "=I4"]);
                add(format!("tostring((pkt:unpack('{format}'{at})))"))
            }
            2 => add(format!("(pkt:unpack('{}'{at}))", self.one(&["c1", "c3", "s1", "z", ">s2"]))),
            3 => add("pkt:connid()".into()),
            4 => {
                let copied = format!("local mem = memory.create(8) pkt:copybytes(mem, {i}, {j}, {})", o % 12);
                format!("  do {copied}\n{}  end\n", add("memory.tostring(mem)".into()))
            }
            5 => {
                let filled = format!("mem:fill('xyz', {}, -1, {})", i % 12, o % 6);
                let made = "local mem = memory.create((pkt:unpack('c12', 9)))";
                format!("  do {made} {filled}\n{}  end\n", add("mem:tostring() .. #mem".into()))
            }
            6 => {
                let text = self.one(&["GET", "a", "\\0", "\\xff", "zz"]);
                let made = "local mem = memory.create((pkt:unpack('c' .. #pkt)))";
                let found = add(format!("tostring(memory.find(mem, '{text}'))"));
                format!("  do {made}\n{found}{}  end\n", add(format!("tostring((mem:get({n})))")))
            }
            7 => add(self
                .one(&["#pkt:frame()", "memory.unpack(pkt:frame(), '>I2', 13)", "pkt:frame():tostring()"])
                .into()),
            _ => format!("  for i = 1, {} do said[#said + 1] = (pkt:unpack('B', i)) end\n", 1 + i % 9),
        }
    }

    /// What functions of CUJO's generation do.
    fn statement_of_objects(&mut self) -> String {
        let add = |value: String| format!("  said[#said + 1] = {value}\n");
        let object = self.one(&["pkt", "pkt", "pkt", "frame"]);
        let [i, j, bits, n] = [400, 40, 70, 40].map(|limit| self.below(limit));
        match self.below(11) {
            0 => add(format!("#{object}")),
            1 => {
                let endian = self.one(&["big", "little", "host", "net"]);
                let layout = format!("{{ a = {{ {i}, {bits}, 'number', '{endian}' }} }}");
                add(format!("tostring({object}:layout({layout}).a)"))
            }
            2 => add(format!("tostring({object}:layout{{ a = {{ {n}, {j}, 'string' }} }}.a)")),
            3 => {
                let part = if self.below(2) == 0 { format!("{n}") } else { format!("{n}, {j}") };
                let read = add("(s and #s .. tostring(s:layout{ a = { 3, 12 } }.a) or 'none')".into());
                format!("  do local s = {object}:segment({part})\n{read}  end\n")
            }
            4 => add(format!("tostring({object}):sub({n}, {j})")),
            5 => {
                let pattern = self.one(&["GET", "a+", "()%s", "b(.)", "[%z\\1]+(%w*)", "^E.(.-)a"]);
                let function = self.one(&["string.find", "string.match"]);
                add(format!("tostring(({function}(tostring({object}), '{pattern}')))"))
            }
            6 => {
                let function = self.one(&["match", "find", "byte", "sub", "len", "gmatch", "unpack"]);
                add(format!("tostring((pcall(string.{function}, {object}, 1)))"))
            }
            7 => add("nf.connid()".into()),
            8 => add("tostring(nf.getpacket()) .. tostring(nf.getpacket() == nf.getpacket())".into()),
            9 => {
                let bit = self.below(36);
                let set =
                    format!("nf.reset_match_mask() nf.set_match_bit(7, true) nf.set_match_bit({bit}, true)");
                format!("  {set}\n{}", add("nf.get_match_mask()".into()))
            }
            _ => {
                let call = self.one(&[
                    "nf.reply, 't', 'x'",
                    "nf.reply, 'x', 'x'",
                    "nf.reply, {}",
                    "nf.set_match_bit, 'x'",
                    "nf.set_match_bit, 1",
                    "nf.hotdrop, 1",
                    "nf.netlink, 'x', 99, 1",
                    "nf.netlink, 'x'",
                    "nf.getpacket().send, 1",
                    "timer.create, 'x'",
                ]);
                add(format!("tostring(select(2, pcall({call})))"))
            }
        }
    }
}
