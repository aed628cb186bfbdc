//! Scripts with handlers for several hooks, on a veth pair: packets pass all of them, and all are attached, replaced, pinned and gone
//! together.

mod common;
#[allow(dead_code)]
mod flood;

use common::Place;
use flood::{Network, Running};
use moonhook_daemon::{Executed, Reloaded, Request, Status};
use moonhook_proof::host::kernel_available;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Counts the datagrams from or to port 7001 by hook, and drops answers that begin with `x`. The control group is the one that all are in.
fn script(hooks: &[&str]) -> String {
    let mut script = "local xdp, tc, cgroup = require 'xdp', require 'tc', require 'cgroup'\n\
                      local nf, netfilter = require 'linux.nf', require 'netfilter'\n\
                      local function at(point, f)\n\
                        netfilter.register{ pf = nf.proto.INET, hooknum = nf.inet[point], priority = 5, hook = f }\n\
                      end\n\
                      local DROP = require('linux.tc').DROP\n\
                      ways = {}\n\
                      local function note(way, pkt)\n\
                        local udp = pkt.udp\n\
                        if udp and (udp.sport == 7001 or udp.dport == 7001) then ways[way] = (ways[way] or 0) + 1 end\n\
                        return udp\n\
                      end\n"
        .to_string();
    for hook in hooks {
        script += match *hook {
            "xdp" => "xdp.attach(function(pkt) note(1, pkt) end)\n",
            "ingress" => "tc.ingress(function(pkt) note(2, pkt) end)\n",
            "group in" => "cgroup.ingress('.', function(pkt) note(4, pkt) end)\n",
            "group out" => "cgroup.egress('.', function(pkt) note(5, pkt) end)\n",
            "local in" => "at('LOCAL_IN', function(pkt) note(6, pkt) end)\n",
            "rule" => "require('match').attach(function(pkt) note(8, pkt) end)\n",
            "socket" => "require('socket').filter(function(pkt) note(9, pkt) end)\n",
            "local out" => "at('LOCAL_OUT', function(pkt) note(7, pkt) end)\n",
            _ => {
                "tc.egress(function(pkt)\n\
                   local udp = note(3, pkt)\n\
                   if udp and udp.sport == 7001 and pkt:getstring(42, 1) == 'x' then return DROP end\n\
                 end)\n"
            }
        };
    }
    script
}

/// Sends datagrams to a port, where each is answered; gives how many answers come.
fn exchange_at(port: u16, network: &Network, count: u8) -> usize {
    let address = format!("192.0.2.2:{port}");
    let sender = network.socket(&network.left, "192.0.2.1:7000");
    let receiver = network.socket(&network.right, &address);
    for number in 0..count {
        sender.send_to(&[number], &address).unwrap();
        let mut received = [0; 10];
        assert_eq!((receiver.recv(&mut received).unwrap(), received[0]), (1, number));
        let answer = if number % 2 == 0 { b"x" } else { b"y" };
        receiver.send_to(answer, "192.0.2.1:7000").unwrap();
    }
    // An answer that comes last says that all others have come, or will not.
    receiver.send_to(b"end", "192.0.2.1:7000").unwrap();
    let mut answers = 0;
    loop {
        let mut received = [0; 10];
        if sender.recv(&mut received).unwrap() == 3 {
            return answers;
        }
        answers += 1;
    }
}

fn exchange(network: &Network, count: u8) -> usize {
    exchange_at(7001, network, count)
}

fn status(running: &Running) -> Status {
    running.client().ask(&Request::Status).unwrap().unwrap()
}

fn ways(running: &Running) -> Vec<String> {
    results(running, "return ways[1], ways[2], ways[3]")
}

fn results(running: &Running, code: &str) -> Vec<String> {
    let code = code.to_string();
    let executed: Executed = running.client().ask(&Request::Exec { code }).unwrap().unwrap();
    executed.results
}

/// How many programs the kernel has at the interface's hooks.
fn programs(network: &Network) -> u32 {
    moonhook_install::netns::within(Some(&network.right), || {
        let index = nix::net::if_::if_nametoindex("right0").unwrap();
        let mut xdp = 0;
        // SAFETY: the kernel writes an id to `xdp`.
        assert_eq!(unsafe { libbpf_sys::bpf_xdp_query_id(index as i32, 0, &raw mut xdp) }, 0);
        let tc = [libbpf_sys::BPF_TCX_INGRESS, libbpf_sys::BPF_TCX_EGRESS].map(|direction| {
            let mut query = libbpf_sys::bpf_prog_query_opts {
                sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as _,
                ..Default::default()
            };
            // SAFETY: `query` has no arrays in it: only counts are asked for.
            let result = unsafe { libbpf_sys::bpf_prog_query_opts(index as i32, direction, &raw mut query) };
            assert_eq!(result, 0);
            // SAFETY: the kernel has filled in the count.
            unsafe { query.__bindgen_anon_1.count }
        });
        u32::from(xdp != 0) + tc.iter().sum::<u32>()
    })
    .unwrap()
}

/// A folder for pins, which goes with what is in it, however the test ends.
struct Pins(PathBuf);

impl Drop for Pins {
    fn drop(&mut self) {
        for pin in std::fs::read_dir(self.0.join("flood")).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(pin.path());
        }
        let _ = std::fs::remove_dir(self.0.join("flood"));
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_packet_passes_all_hooks_of_a_script() {
    if !kernel_available("a_packet_passes_all_hooks_of_a_script") {
        return;
    }
    for form in ["expanded", "general"] {
        let place = Place::with(&[("a.lua", &script(&["xdp", "ingress", "egress"]))]);
        let network = Network::new();
        let running = Running::start_with(&network, &place, "a.lua", &["--form", form]);
        assert_eq!(exchange(&network, 10), 5, "{form}");
        assert_eq!(ways(&running), ["10", "10", "11"], "{form}");
        let status = status(&running);
        assert_eq!((status.hook.as_str(), status.errors), ("xdp, tc.ingress, tc.egress", Some(0)), "{form}");
        assert_eq!(programs(&network), 3);
        running.stop();
        assert_eq!(programs(&network), 0);
    }
}

/// Of an interface, of control groups, of rules, of sockets, and of netfilter, which is two programs for both families.
#[test]
fn a_script_has_all_kinds_of_hooks() {
    if !kernel_available("a_script_has_all_kinds_of_hooks") {
        return;
    }
    // Other tests are in the same control group.
    const OWN_PORT: u16 = 7011;
    let own = |hooks: &[&str]| script(hooks).replace("7001", &OWN_PORT.to_string());
    let all =
        ["xdp", "group in", "ingress", "local in", "egress", "group out", "local out", "rule", "socket"];
    let place = Place::with(&[
        ("a.lua", &own(&all)),
        ("b.lua", &own(&["group out", "xdp", "local in"])),
        ("bad.lua", &(own(&all) + "cgroup.egress('no/such/group', function() end)")),
    ]);
    let others = "return ways[4], ways[5], ways[6], ways[7], ways[9]";
    for form in ["expanded", "general"] {
        let network = Network::new();
        let running = Running::start_with(&network, &place, "a.lua", &["--form", form]);
        assert_eq!(exchange_at(OWN_PORT, &network, 10), 5, "{form}");
        assert_eq!(ways(&running), ["10", "10", "11"], "{form}");
        // The group has both ends of the wire: what is sent on the one is received on the other. Sockets see what `tc.egress` lets out.
        assert_eq!(results(&running, others), ["16", "21", "10", "11", "16"], "{form}");
        let status = status(&running);
        for hook in [
            "xdp",
            "match",
            "socket.filter",
            "cgroup.ingress .",
            "netfilter ipv6 LOCAL_OUT 5",
            "netfilter ipv4 LOCAL_IN 5",
        ] {
            assert!(status.hook.contains(hook), "{hook} in {}", status.hook);
        }
        assert_eq!((status.errors, programs(&network)), (Some(0), 3), "{form}");
        let reload = |script: &str| {
            let request = Request::Reload { scripts: Some(vec![place.path(script)]), allow_read: Vec::new() };
            running.client().ask::<Reloaded>(&request).unwrap()
        };
        assert_eq!(reload("bad.lua").unwrap_err().code, "MH0526", "{form}");
        assert_eq!(exchange_at(OWN_PORT, &network, 2), 1, "what was refused has changed nothing, {form}");
        assert_eq!(results(&running, others), ["20", "26", "12", "14", "20"], "{form}");
        reload("b.lua").unwrap();
        assert_eq!(exchange_at(OWN_PORT, &network, 2), 2, "{form}");
        assert_eq!(results(&running, others), ["20", "31", "14", "14", "20"], "{form}");
        assert_eq!((ways(&running)[0].as_str(), programs(&network)), ("14", 1), "{form}");
        running.stop();
        assert_eq!(programs(&network), 0, "{form}");
    }
}

/// Scripts that leave the hook open are run at the one that is chosen, before and after a reload.
#[test]
fn a_hook_can_be_chosen() {
    if !kernel_available("a_hook_can_be_chosen") {
        return;
    }
    let drops = |byte: char| {
        format!(
            "local verdict = require 'linux.verdict'
             attach(function(pkt)
               local udp = pkt.udp
               if udp and udp.sport == 7001 and pkt:getstring(42, 1) == '{byte}' then return verdict.DROP end
             end)"
        )
    };
    let place = Place::with(&[
        ("a.lua", &drops('x')),
        ("b.lua", &drops('z')),
        ("other.lua", "require('xdp').attach(function() end)"),
    ]);
    for (form, hook) in [("expanded", "tc.egress"), ("general", "tc.egress"), ("auto", "xdp")] {
        let network = Network::new();
        let chosen = ["--hook", hook];
        // XDP is what is taken if nobody chooses.
        let arguments =
            [&["--form", form][..], if hook == "xdp" { &chosen[..0] } else { &chosen[..] }].concat();
        let running = Running::start_with(&network, &place, "a.lua", &arguments);
        assert_eq!((status(&running).hook.as_str(), programs(&network)), (hook, 1), "{form}");
        // What leaves is seen at the way out alone.
        assert_eq!(exchange(&network, 4), if hook == "xdp" { 4 } else { 2 }, "{form}");
        let reload = |script: &str| {
            let request = Request::Reload { scripts: Some(vec![place.path(script)]), allow_read: Vec::new() };
            running.client().ask::<Reloaded>(&request).unwrap()
        };
        if hook != "xdp" {
            assert_eq!(reload("other.lua").unwrap_err().code, "MH0113", "{form}");
        }
        reload("b.lua").unwrap();
        assert_eq!((status(&running).hook.as_str(), exchange(&network, 4)), (hook, 4), "{form}");
        running.stop();
        assert_eq!(programs(&network), 0, "{form}");
    }
}

#[test]
fn a_reload_may_change_the_hooks() {
    if !kernel_available("a_reload_may_change_the_hooks") {
        return;
    }
    let place = Place::with(&[
        ("a.lua", &script(&["xdp", "ingress"])),
        ("b.lua", &script(&["ingress", "egress"])),
        ("bad.lua", "require('tc').egress(function(pkt) pkt.udp.nothing() end)"),
    ]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let reload = |script: &str| {
        let request = Request::Reload { scripts: Some(vec![place.path(script)]), allow_read: Vec::new() };
        running.client().ask::<Reloaded>(&request).unwrap()
    };
    assert_eq!(exchange(&network, 4), 4);
    assert_eq!(ways(&running), ["4", "4", "nil"]);
    let before = status(&running);
    reload("b.lua").unwrap();
    assert_eq!(exchange(&network, 4), 2);
    assert_eq!(ways(&running), ["4", "8", "5"], "the table goes on");
    let after = status(&running);
    assert_eq!(after.hook, "tc.ingress, tc.egress");
    assert!(after.packets >= before.packets + 4, "{} and then {} packets", before.packets, after.packets);
    assert_eq!(reload("bad.lua").unwrap_err().code, "MH0211");
    assert_eq!(programs(&network), 2, "what was refused has changed nothing");
    reload("a.lua").unwrap();
    assert_eq!(exchange(&network, 2), 2);
    assert_eq!((status(&running).hook.as_str(), programs(&network)), ("xdp, tc.ingress", 2));
    running.stop();
}

#[test]
fn all_hooks_of_a_script_are_pinned() {
    if !kernel_available("all_hooks_of_a_script_are_pinned") {
        return;
    }
    let place = Place::with(&[
        ("a.lua", &script(&["xdp", "ingress", "egress"])),
        ("b.lua", &script(&["ingress", "egress"])),
    ]);
    let network = Network::new();
    let bpffs = format!("/sys/fs/bpf/mh-hooks-{}", std::process::id());
    let folder = Pins(PathBuf::from(&bpffs));
    let options = ["--pin", "--bpffs", &bpffs];
    let leave = |mut running: Running| {
        let pid = running.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(running.child.wait().unwrap().success());
    };
    let running = Running::start_with(&network, &place, "a.lua", &options);
    assert_eq!(exchange(&network, 2), 1);
    leave(running);
    assert_eq!(programs(&network), 3, "they go on without the process");
    assert_eq!(exchange(&network, 2), 1);
    let running = Running::start_with(&network, &place, "a.lua", &options);
    assert_eq!(ways(&running), ["4", "4", "6"]);
    leave(running);
    let running = Running::start_with(&network, &place, "b.lua", &options);
    assert_eq!(programs(&network), 2, "the hook that is not wanted any more is left");
    running.stop();
    assert_eq!(programs(&network), 0);
    assert!(!folder.0.join("flood").exists(), "nothing is pinned any more");
}

/// Interfaces of other namespaces have the same numbers.
#[test]
fn pinned_programs_are_not_taken_for_those_of_another_namespace() {
    if !kernel_available("pinned_programs_are_not_taken_for_those_of_another_namespace") {
        return;
    }
    let (one, other) = (Network::new(), Network::new());
    let bpffs = format!("/sys/fs/bpf/mh-hooks-other-{}", std::process::id());
    let _folder = Pins(PathBuf::from(&bpffs));
    for hooks in [&["xdp"][..], &["ingress"], &["xdp", "egress"]] {
        let place = Place::with(&[("a.lua", &script(hooks))]);
        let run = |network: &Network| {
            let (folder, path) = (place.path("run"), place.path("a.lua"));
            let (folder, path) = (folder.to_str().unwrap(), path.to_str().unwrap());
            place.run(&[
                "run",
                "right0",
                "--netns",
                &network.right,
                "--name",
                "flood",
                "--socket-dir",
                folder,
                "--pin",
                "--bpffs",
                &bpffs,
                "--duration",
                "0.3",
                path,
            ])
        };
        run(&one).ends_with(0);
        run(&other).complains("MH0520");
        assert_eq!((programs(&one), programs(&other)), (hooks.len() as u32, 0), "{hooks:?}");
        let folder = place.path("run");
        let stop = ["stop", "flood", "--socket-dir", folder.to_str().unwrap(), "--bpffs", &bpffs];
        place.run(&stop).ends_with(0);
        assert_eq!(programs(&one), 0);
    }
}

/// Packets of a stream are put together to large ones, most of whose bytes lie in pages of their own.
#[test]
fn all_bytes_of_large_packets_can_be_read() {
    if !kernel_available("all_bytes_of_large_packets_can_be_read") {
        return;
    }
    let script = "longest, last, wrong = 0, 0, 0\n\
                  require('tc').ingress(function(pkt)\n\
                    local tcp = pkt.tcp\n\
                    if not tcp or tcp.dport ~= 7004 or #pkt < 2000 then return end\n\
                    if #pkt > longest then longest = #pkt end\n\
                    last = pkt:getuint8(#pkt - 1)\n\
                    if last ~= 97 or pkt:getuint8(#pkt // 2) ~= 97 then wrong = wrong + 1 end\n\
                  end)\n";
    let place = Place::with(&[("a.lua", script)]);
    for form in ["expanded", "general"] {
        let network = Network::new();
        let running = Running::start_with(&network, &place, "a.lua", &["--form", form]);
        let listener = moonhook_install::netns::within(Some(&network.right), || {
            TcpListener::bind("192.0.2.2:7004").unwrap()
        })
        .unwrap();
        let mut sender = moonhook_install::netns::within(Some(&network.left), || {
            TcpStream::connect("192.0.2.2:7004").unwrap()
        })
        .unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let writing = std::thread::spawn(move || sender.write_all(&vec![b'a'; 4 << 20]).unwrap());
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).unwrap();
        writing.join().unwrap();
        assert_eq!(all.len(), 4 << 20);
        let code = "return longest > 4000, last, wrong".to_string();
        let executed: Executed = running.client().ask(&Request::Exec { code }).unwrap().unwrap();
        assert_eq!(executed.results, ["true", "97", "0"], "{form}");
        assert_eq!(status(&running).errors, Some(0), "{form}");
        running.stop();
    }
}
