//! Programs are replaced while numbered packets flow: each packet goes through one program, once.

mod common;
#[allow(dead_code)]
mod flood;

use common::Place;
use flood::{Flood, Network, Running, flood};
use moonhook_daemon::{Dumped, Executed, Reloaded, Request, Status, TableOperation, Timing};
use moonhook_proof::host::{kernel_available, setting};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Counts datagrams, adds one to byte 8 of their payload and sets byte 9. A datagram to port 7002 gets the count instead.
fn script(mark: u8) -> String {
    format!(
        "local count = 0\n\
         require('xdp').attach(function(pkt)\n\
           local udp = pkt.udp\n\
           if not udp then return end\n\
           if udp.dport == 7001 then\n\
             count = count + 1\n\
             pkt:setbyte(50, pkt:getbyte(50) + 1)\n\
             pkt:setbyte(51, {mark})\n\
           elseif udp.dport == 7002 then\n\
             pkt:setint64(42, count)\n\
           end\n\
         end)\n"
    )
}

#[test]
fn no_packet_is_lost_or_handled_twice_while_programs_are_replaced() {
    let test = "no_packet_is_lost_or_handled_twice_while_programs_are_replaced";
    if !kernel_available(test) {
        return;
    }
    let place = Place::with(&[("a.lua", &script(b'a')), ("b.lua", &script(b'b'))]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let sender = network.socket(&network.left, "192.0.2.1:7000");
    let receiver = network.socket(&network.right, "192.0.2.2:7001");
    let stop = AtomicBool::new(false);
    let reloads = setting("MOONHOOK_RELOADS", 100);
    let (timings, flood) = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood(&sender, &receiver, &stop));
        let timings = reload(&running, [place.path("b.lua"), place.path("a.lua")], reloads, &stop);
        stop.store(true, Ordering::Relaxed);
        (timings, flooding.join().unwrap())
    });
    report(&timings, &flood);
    // Once a program is replaced its mark is not seen again.
    assert!((1..=timings.len()).contains(&flood.changes.len()), "{} changes", flood.changes.len());
    let counted = network.socket(&network.right, "192.0.2.2:7002");
    sender.send_to(&[0; 10], "192.0.2.2:7002").unwrap();
    let mut count = [0; 10];
    counted.recv(&mut count).unwrap();
    assert_eq!(
        u64::from_le_bytes(count[..8].try_into().unwrap()),
        flood.sent,
        "the count that the scripts kept"
    );
    let status: Status = running.client().ask(&Request::Status).unwrap().unwrap();
    assert_eq!((status.reloads, status.errors), (reloads, Some(0)));
    assert!(status.packets > flood.sent, "{status:?}");
    running.stop();
}

#[test]
fn a_dump_that_nobody_began_cannot_go_on() {
    if !kernel_available("a_dump_that_nobody_began_cannot_go_on") {
        return;
    }
    let script = "local seen = {} require('xdp').attach(function(pkt) seen[#pkt] = true end)";
    let place = Place::with(&[("a.lua", script)]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let dump = |dump| {
        let operation = TableOperation::Dump { dump };
        running.client().ask::<Dumped>(&Request::Table { table: "seen".into(), operation }).unwrap()
    };
    assert_eq!(dump(Some(7)).unwrap_err().code, "MH0016");
    assert_eq!(dump(None).unwrap().dump, None);
    running.stop();
}

#[test]
fn a_list_that_nobody_began_is_refused() {
    if !kernel_available("a_list_that_nobody_began_is_refused") {
        return;
    }
    let script = "names = map{key = 'int', value = 'boolean', capacity = 3} names[9] = true\n\
                  require('xdp').attach(function(pkt) return names[#pkt] and 1 or 2 end)";
    let place = Place::with(&[("a.lua", script)]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let mut client = running.client();
    let mut ask = |operation| {
        client.ask::<serde_json::Value>(&Request::Table { table: "names".into(), operation }).unwrap()
    };
    let add = |keys: &[i64]| {
        let keys = keys.iter().map(|key| (*key).into()).collect();
        TableOperation::Add { entries: Vec::new(), keys }
    };
    assert_eq!(ask(add(&[1])).unwrap_err().code, "MH0017");
    assert_eq!(ask(TableOperation::Commit).unwrap_err().code, "MH0017");
    ask(TableOperation::Begin).unwrap();
    assert_eq!(ask(add(&[1, 2])).unwrap(), 2);
    let full = ask(add(&[3, 4])).unwrap_err();
    assert_eq!((full.code.as_str(), full.entry), ("MH0702", Some(1)));
    assert_eq!(ask(TableOperation::Commit).unwrap_err().code, "MH0017");
    assert_eq!(ask(TableOperation::Get { key: 9.into() }).unwrap(), true);
    ask(TableOperation::Begin).unwrap();
    assert_eq!(ask(add(&[5])).unwrap(), 1);
    assert_eq!(ask(TableOperation::Commit).unwrap()["entries"], 1);
    assert_eq!(ask(TableOperation::Get { key: 9.into() }).unwrap(), serde_json::Value::Null);
    assert_eq!(ask(TableOperation::Get { key: 5.into() }).unwrap(), true);
    running.stop();
}

/// A list on its way outlives a reload, unless its table has another schema then.
#[test]
fn lists_go_on_behind_a_reload() {
    if !kernel_available("lists_go_on_behind_a_reload") {
        return;
    }
    let script = |capacity: u32| {
        format!(
            "names = map{{key = 'int', value = 'boolean', capacity = {capacity}}}
            fixed = {{ [9] = true }}
            require('xdp').attach(function(pkt)
              names[#pkt] = fixed[#pkt] or false
            end)"
        )
    };
    let place = Place::with(&[("same.lua", &script(30)), ("other.lua", &script(40))]);
    let network = Network::new();
    let running = Running::start(&network, &place, "same.lua");
    let [mut names, mut fixed] = [running.client(), running.client()];
    let mut ask = |table: &str, operation| {
        let client = if table == "names" { &mut names } else { &mut fixed };
        client.ask::<serde_json::Value>(&Request::Table { table: table.into(), operation }).unwrap()
    };
    let add = |key: i64| TableOperation::Add { entries: Vec::new(), keys: vec![key.into()] };
    let reload = |script: &str| {
        let scripts = Some(vec![place.path(script)]);
        running
            .client()
            .ask::<Reloaded>(&Request::Reload { scripts, allow_read: Vec::new() })
            .unwrap()
            .unwrap()
    };
    for table in ["names", "fixed"] {
        ask(table, TableOperation::Begin).unwrap();
        assert_eq!(ask(table, add(1)).unwrap(), 1);
    }
    reload("same.lua");
    for table in ["names", "fixed"] {
        assert_eq!(ask(table, add(2)).unwrap(), 1);
        assert_eq!(ask(table, TableOperation::Commit).unwrap()["entries"], 2);
    }
    assert_eq!(ask("names", TableOperation::Get { key: 1.into() }).unwrap(), true);
    ask("names", TableOperation::Begin).unwrap();
    reload("other.lua");
    assert_eq!(ask("names", add(3)).unwrap_err().code, "MH0017");
    running.stop();
}

#[test]
fn requests_are_answered_while_a_program_is_made() {
    if !kernel_available("requests_are_answered_while_a_program_is_made") {
        return;
    }
    let lines = |count: u32| {
        let line = |number| format!("if pkt:getbyte({number}) == 7 then count = count + {number} end\n");
        let lines: String = (0..count).map(line).collect();
        format!("local count = 0 require('xdp').attach(function(pkt)\n{lines}end)")
    };
    let endless = "while true do end";
    let place = Place::with(&[("short.lua", &lines(1)), ("long.lua", &lines(500)), ("endless.lua", endless)]);
    let network = Network::new();
    let mut running = Running::start(&network, &place, "short.lua");
    let reload = Request::Reload { scripts: Some(vec![place.path("long.lua")]), allow_read: Vec::new() };
    let (answered, timing) = std::thread::scope(|scope| {
        let reloading = scope.spawn(|| running.client().ask::<Reloaded>(&reload).unwrap().unwrap());
        let (mut client, mut answered) = (running.client(), 0);
        while client.ask::<Status>(&Request::Status).unwrap().unwrap().reloads == 0 {
            answered += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        (answered, reloading.join().unwrap().timing)
    });
    println!(
        "{answered} requests in {} µs: compile {}, verify {}",
        timing.total, timing.compile, timing.verify
    );
    assert!(answered >= 5, "{answered} requests were answered in {timing:?}");
    // Nor does the end wait for it, however long it takes.
    let reload = Request::Reload { scripts: Some(vec![place.path("endless.lua")]), allow_read: Vec::new() };
    let reloading = running.asking(&reload);
    std::thread::sleep(Duration::from_millis(200));
    running.client().ask::<()>(&Request::Stop).unwrap().unwrap();
    assert_eq!(reloading.join().unwrap().unwrap_err().code, "MH0810");
    assert!(running.child.wait().unwrap().success());
}

/// Reloads with one script after the other, each of which keeps the count.
fn reload(
    running: &Running,
    scripts: [PathBuf; 2],
    reloads: u64,
    stop: &AtomicBool,
) -> Vec<(Instant, Timing)> {
    let mut client = running.client();
    let mut timings = Vec::new();
    for (_, script) in (0..reloads).zip(scripts.iter().cycle()) {
        let request = Request::Reload { scripts: Some(vec![script.clone()]), allow_read: Vec::new() };
        let asked = Instant::now();
        let answer = client.ask::<Reloaded>(&request).unwrap();
        if answer.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let reloaded = answer.unwrap();
        assert!(matches!(reloaded.variables[0].outcome, moonhook_daemon::Kept::Kept), "{reloaded:?}");
        timings.push((asked, reloaded.timing));
    }
    timings
}

/// Says how long the parts took; visible with `--nocapture`.
fn report(timings: &[(Instant, Timing)], flood: &Flood) {
    println!("{} reloads, {} datagrams, {:?} by script", timings.len(), flood.sent, flood.marked);
    let part = |what: &str, part: &dyn Fn(usize) -> u64| {
        let mut all: Vec<u64> = (0..timings.len()).map(part).collect();
        all.sort_unstable();
        let at = |share: usize| all[(all.len() - 1) * share / 100];
        println!("{what}: min {} median {} 99% {} max {} µs", all[0], at(50), at(99), at(100));
    };
    part("compile", &|index| timings[index].1.compile);
    part("verify", &|index| timings[index].1.verify);
    part("update", &|index| timings[index].1.update);
    part("total", &|index| timings[index].1.total);
    if flood.changes.len() < timings.len() {
        return println!("the flood has missed some replacements");
    }
    // The kernel returns from the update only when it has waited for the other processors (`synchronize_rcu`).
    part("from the update's beginning to the first datagram that the new program has marked", &|index| {
        let (asked, timing) = &timings[index];
        let begun = *asked + Duration::from_micros(timing.total - timing.update);
        flood.changes[index].saturating_duration_since(begun).as_micros() as u64
    });
}

/// A running script keeps the folders that it may read for its reloads; a reload can name more.
#[test]
fn folders_to_read_stay_for_later_reloads() {
    if !kernel_available("folders_to_read_stay_for_later_reloads") {
        return;
    }
    let list = Place::with(&[("list.txt", "one\n")]);
    let script = format!(
        "local list, why = io.open({:?})
         found = list ~= nil
         reason = why
         require('xdp').attach(function() end)",
        list.path("list.txt")
    );
    let place = Place::with(&[("a.lua", &script)]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let found = || {
        let executed: Executed =
            running.client().ask(&Request::Exec { code: "found, reason".into() }).unwrap().unwrap();
        executed.results.join(" ")
    };
    let reload = |allow_read| {
        running.client().ask::<Reloaded>(&Request::Reload { scripts: None, allow_read }).unwrap()
    };
    assert!(found().starts_with("false") && found().contains("--allow-read DIR"), "{}", found());
    assert_eq!(reload(vec![list.path("absent")]).unwrap_err().code, "MH0101");
    reload(Vec::new()).unwrap();
    assert!(found().starts_with("false"), "{}", found());
    reload(vec![list.path("")]).unwrap();
    assert_eq!(found(), "true nil");
    reload(Vec::new()).unwrap();
    assert_eq!(found(), "true nil");
    running.stop();
}

/// Puts a limit on the address space of a running script: what it has, and so much.
fn limit_memory(running: &Running, more: Option<u64>) {
    let pid = running.child.id();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
    let limit = more.map_or("unlimited".to_string(), |more| (size * 1024 + more).to_string());
    // The hard limit stays, so that it can be raised again.
    let pid = pid.to_string();
    let done = Command::new("prlimit").args(["--pid", &pid, &format!("--as={limit}:unlimited")]).status();
    assert!(done.unwrap().success());
}

/// No thread can be had where there is no room for its stack, as where there are no more processes.
#[test]
fn a_reload_for_which_there_is_no_thread_is_refused_and_the_script_goes_on() {
    if !kernel_available("a_reload_for_which_there_is_no_thread_is_refused_and_the_script_goes_on") {
        return;
    }
    let place = Place::with(&[("a.lua", &script(b'a')), ("b.lua", &script(b'b'))]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let reload = Request::Reload { scripts: Some(vec![place.path("b.lua")]), allow_read: Vec::new() };
    // Connected before: the client has a thread of its own, too.
    let mut client = running.client();
    client.ask::<Status>(&Request::Status).unwrap().unwrap();
    limit_memory(&running, Some(7 << 20));
    let refused = client.ask::<Reloaded>(&reload).unwrap().unwrap_err();
    assert_eq!((refused.code.as_str(), refused.exit), ("MH0021", 3), "{refused:?}");
    assert_eq!(client.ask::<Status>(&Request::Status).unwrap().unwrap().reloads, 0);
    limit_memory(&running, None);
    client.ask::<Reloaded>(&reload).unwrap().unwrap();
    running.stop();
}

/// Whoever waits for control code that is at work when the script ends is told, and the end waits for nobody.
#[test]
fn the_end_does_not_wait_for_code_from_outside() {
    if !kernel_available("the_end_does_not_wait_for_code_from_outside") {
        return;
    }
    let place = Place::with(&[("a.lua", &script(b'a'))]);
    let network = Network::new();
    let mut running = Running::start(&network, &place, "a.lua");
    let endless = running.asking(&Request::Exec { code: "while true do end".to_string() });
    let asked = [endless, running.waiting_behind()];
    running.client().ask::<()>(&Request::Stop).unwrap().unwrap();
    for asked in asked {
        assert_eq!(asked.join().unwrap().unwrap_err().code, "MH0810");
    }
    assert!(running.child.wait().unwrap().success());
}
