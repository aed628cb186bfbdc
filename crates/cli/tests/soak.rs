//! A script that runs for long, with everything that can be done to it at once: `make soak`.
//!
//! Ignored unless asked for. `scripts/soak` gives it namespaces of its own and looks for the kernel's warnings.

mod common;
#[allow(dead_code)]
mod flood;
mod held;

use common::Place;
use flood::{Flood, Network, Running, WINDOW, flood};
use held::{GROWTH, Held, StopOthers, programs, settled};
use moonhook_daemon::{Executed, Kept, Reloaded, Request, Status, TableOperation};
use moonhook_proof::host::{kernel_available, setting};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Entries of the list that is loaded again and again.
const LISTED: u64 = 3000;
/// Bytes of a frame with a numbered datagram.
const FRAME: u64 = 14 + 20 + 8 + 10;

/// Counts datagrams in a variable, a table and records, marks them, and says so now and then.
fn script(mark: u8) -> String {
    let common = "
local count, bytes, ticks, heard = 0, 0, 0, 0
local numbers, flows = {}, {}
local listed = map { key = 'string:32', value = 'boolean' }
local notes = map { key = 'string:32', value = { n = 'int', text = 'string:16' }, capacity = 4096 }
for number = 1, 100 do listed['host' .. number .. '.example'] = true end
require('xdp').attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  if udp.dport == 7002 then
    pkt:setint64(42, count)
    return
  end
  if udp.dport ~= 7001 then return end
  count = count + 1
  bytes = bytes + #pkt
  local low = pkt:getbyte(49)
  numbers[low] = (numbers[low] or 0) + 1
  local src = pkt.ip.src
  if not flows[src] then flows[src] = { pkts = 0, bytes = 0 } end
  flows[src].pkts = flows[src].pkts + 1
  flows[src].bytes = flows[src].bytes + #pkt
  if listed[pkt:getstring(42, 8)] or notes[pkt:getstring(42, 8)] then return 1 end
  if low == 0 and pkt:getbyte(48) % 16 == 0 then event('tick', count) end
  pkt:setbyte(50, pkt:getbyte(50) + 1)
  pkt:setbyte(51, MARK)
end)
on('tick', function(number) heard = heard + 1 end)
timer.every(0.05, function() ticks = ticks + 1; notes['timer'] = { n = ticks, text = 'turns' } end)
";
    common.replace("MARK", &mark.to_string())
}

/// What is done to the script while it runs, and how often it was.
#[derive(Default)]
struct Done {
    reloads: AtomicU64,
    calls: AtomicU64,
    lists: AtomicU64,
    accesses: AtomicU64,
    events: AtomicU64,
    lost_events: AtomicU64,
}

struct Soak<'a> {
    running: &'a Running,
    place: &'a Place,
    stop: &'a AtomicBool,
    done: Done,
}

impl Soak<'_> {
    /// Does `work` again and again, with numbers from 0 on, until it is time to stop; also where it fails all others stop.
    fn again(&self, pause: Duration, mut work: impl FnMut(u64)) {
        let _guard = StopOthers(self.stop);
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            work(number);
            std::thread::sleep(pause);
        }
    }

    fn reload(&self) {
        let mut client = self.running.client();
        let scripts = ["soak_b.lua", "soak_a.lua"].map(|name| self.place.path(name));
        self.again(Duration::from_millis(300), |number| {
            let scripts = Some(vec![scripts[number as usize % 2].clone()]);
            let answer = client
                .ask::<Reloaded>(&Request::Reload { scripts, allow_read: Vec::new() })
                .unwrap()
                .unwrap();
            let all = answer.tables.iter().chain(&answer.variables);
            let reset: Vec<_> = all.filter(|table| table.outcome != Kept::Kept).collect();
            assert!(reset.is_empty(), "{reset:?}");
            self.done.reloads.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Lua code that writes a record and reads it, and goes through a table that handlers write.
    fn exec(&self) {
        let mut client = self.running.client();
        self.again(Duration::from_millis(40), |number| {
            let code = format!(
                "notes['exec'] = {{ n = {number}, text = 'x' }}\n\
                 local sum = 0 for _, n in pairs(numbers) do sum = sum + n end\n\
                 print(notes['exec'].n, sum > 0 or {number} < 10)"
            );
            let answer = client.ask::<Executed>(&Request::Exec { code }).unwrap().unwrap();
            assert_eq!((answer.printed, answer.error), (vec![format!("{number}\ttrue")], None));
            self.done.calls.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// The command's own list, and the same in requests.
    fn load_lists(&self) {
        let mut client = self.running.client();
        let text: String = (0..LISTED).map(|number| format!("name{number}.example\n")).collect();
        std::fs::write(self.place.path("list.txt"), text).unwrap();
        let (folder, list) = (self.place.path("run"), self.place.path("list.txt"));
        self.again(Duration::from_millis(200), |_| {
            let arguments = ["table", "flood", "listed", "load"].map(PathBuf::from);
            let mut command = Command::new(env!("CARGO_BIN_EXE_moonhook"));
            let output =
                command.args(arguments).arg(&list).arg("--socket-dir").arg(&folder).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let count: u64 = table(&mut client, "listed", TableOperation::Count);
            assert!(count >= LISTED, "{count} entries");
            for number in (0..LISTED).step_by(10) {
                let key = json!(format!("name{number}.example"));
                assert!(table::<bool>(&mut client, "listed", TableOperation::Delete { key }));
            }
            self.done.lists.fetch_add(1, Ordering::Relaxed);
        });
    }

    fn set_and_get(&self) {
        let mut client = self.running.client();
        self.again(Duration::from_millis(5), |number| {
            let (key, value) = (json!(format!("key{}", number % 100)), json!({"n": number, "text": "set"}));
            let set = TableOperation::Set { key: key.clone(), value: value.clone() };
            table::<Value>(&mut client, "notes", set);
            assert_eq!(table::<Value>(&mut client, "notes", TableOperation::Get { key }), value);
            self.done.accesses.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Watches events on connections that come and go.
    fn watch(&self) {
        self.again(Duration::ZERO, |_| {
            let mut client = self.running.client();
            client.ask::<Value>(&Request::Events).unwrap().unwrap();
            client.set_timeout(Some(Duration::from_secs(20))).unwrap();
            let until = Instant::now() + Duration::from_secs(3);
            while Instant::now() < until && !self.stop.load(Ordering::Relaxed) {
                let event = client.event().unwrap().unwrap();
                match event["type"].as_str() {
                    Some("lost") => {
                        self.done.lost_events.fetch_add(event["count"].as_u64().unwrap(), Ordering::Relaxed)
                    }
                    Some("event" | "reloaded" | "replaced") => {
                        self.done.events.fetch_add(1, Ordering::Relaxed)
                    }
                    _ => panic!("{event}"),
                };
            }
        });
    }
}

fn table<T: serde::de::DeserializeOwned>(
    client: &mut moonhook_daemon::Client,
    table: &str,
    operation: TableOperation,
) -> T {
    client.ask(&Request::Table { table: table.into(), operation }).unwrap().unwrap()
}

#[test]
#[ignore = "takes as long as one wants it to; scripts/soak"]
fn nothing_is_lost_and_nothing_is_kept() {
    if !kernel_available("soak") {
        return;
    }
    let seconds = setting("MOONHOOK_SOAK_SECONDS", 10);
    let place = Place::with(&[("soak_a.lua", &script(b'a')), ("soak_b.lua", &script(b'b'))]);
    let network = Network::new();
    assert_eq!(programs(), 0, "another soak runs");
    let running = Running::start(&network, &place, "soak_a.lua");
    let mut sent = 0;
    // What is taken once and kept, such as the allocator's memory, is there after a first part.
    let (_, first) = part(&running, &place, &network, Duration::from_secs((seconds / 5).max(3)), &mut sent);
    let (done, last) = part(&running, &place, &network, Duration::from_secs(seconds), &mut sent);
    check_counts(&running, &network, sent);
    println!("datagrams {sent}, all received once and counted once");
    let number = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "reloads {}, exec calls {}, lists loaded {}, set and get {}, events {} (lost {})",
        number(&done.reloads),
        number(&done.calls),
        number(&done.lists),
        number(&done.accesses),
        number(&done.events),
        number(&done.lost_events),
    );
    println!("at first  {first:?}\nat last   {last:?}");
    assert!(last.resident <= first.resident + GROWTH, "memory grows");
    assert_eq!((&last.files, last.threads), (&first.files, first.threads), "something stays");
    assert_eq!(programs(), 1, "programs that were replaced are still there");
    let status: Status = running.client().ask(&Request::Status).unwrap().unwrap();
    assert_eq!(status.errors, Some(0), "{status:?}");
    assert!(status.packets >= sent, "{status:?}");
    running.stop();
    assert_eq!(programs(), 0, "a program has outlived its process");
}

/// Does everything at once for some time; what was done, and what the process holds afterwards.
fn part(running: &Running, place: &Place, network: &Network, time: Duration, sent: &mut u64) -> (Done, Held) {
    let stop = AtomicBool::new(false);
    let soak = Soak { running, place, stop: &stop, done: Done::default() };
    let sender = network.socket(&network.left, "192.0.2.1:7000");
    let receiver = network.socket(&network.right, "192.0.2.2:7001");
    let flood: Flood = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let _guard = StopOthers(&stop);
            flood(&sender, &receiver, &stop)
        });
        let soak = &soak;
        for work in [Soak::reload, Soak::exec, Soak::load_lists, Soak::set_and_get] {
            scope.spawn(move || work(soak));
        }
        let watching = scope.spawn(|| soak.watch());
        let end = Instant::now() + time;
        while Instant::now() < end && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        while !watching.is_finished() {
            // Whoever waits for an event sees that it is time to stop.
            running
                .client()
                .ask::<Reloaded>(&Request::Reload { scripts: None, allow_read: Vec::new() })
                .unwrap()
                .unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
        flooding.join().unwrap()
    });
    *sent += flood.sent;
    assert!(flood.sent >= WINDOW, "no datagrams");
    (soak.done, settled(running))
}

/// The script's counts are exactly what was sent.
fn check_counts(running: &Running, network: &Network, sent: u64) {
    let mut client = running.client();
    let code = "local sum = 0 for _, n in pairs(numbers) do sum = sum + n end\n\
                print(sum, flows['192.0.2.1'].pkts, flows['192.0.2.1'].bytes)";
    let answer = client.ask::<Executed>(&Request::Exec { code: code.into() }).unwrap().unwrap();
    assert_eq!(answer.printed, [format!("{sent}\t{sent}\t{}", sent * FRAME)]);
    let sender = network.socket(&network.left, "192.0.2.1:7000");
    let counted = network.socket(&network.right, "192.0.2.2:7002");
    sender.send_to(&[0; 10], "192.0.2.2:7002").unwrap();
    let mut count = [0; 10];
    counted.recv(&mut count).unwrap();
    assert_eq!(u64::from_le_bytes(count[..8].try_into().unwrap()), sent, "the variable");
}
