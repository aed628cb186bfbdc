//! Rules with `-m lua` and `-j LUA`, of both kinds of iptables and for both versions of IP: what they ask, what they become, and how they are shown.

mod common;

use common::daemon::Daemon;
use common::pin::pin;
use common::{Installed, in_namespaces, skipped};
use moonhook_nflua::install::Generation;
use std::net::UdpSocket;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAMS: [&str; 4] = ["iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft"];

/// Those that are here, and whose tables the kernel has.
fn programs(test: &str) -> Vec<&'static str> {
    let works = |program: &&str| {
        let listed = Command::new(program).args(["-w", "-n", "-L"]).output();
        let works = listed.is_ok_and(|listed| listed.status.success());
        if !works {
            skipped(&format!("{test} with {program}"), "it is not installed, or has no tables here");
        }
        works
    };
    PROGRAMS.into_iter().filter(works).collect()
}

/// A daemon that has all states but `none`, programs in that folder, and queue 42.
fn daemon(installed: &Installed, pins: PathBuf) -> Daemon {
    Daemon::new(installed.socket(), move |fields| {
        let refused = |errno: &str| message!("error", errno, "there is no state 'none'");
        let answer = match fields {
            [b"match", b"none", ..] => refused("1"),
            [b"target", b"none", ..] => refused("2"),
            [b"match", b"hidden", ..] => message!("ok", "/sys/fs/bpf/nowhere"),
            [b"match", b"long", ..] => message!("ok", "/x".repeat(256)),
            [b"match" | b"target", b"silent", ..] => message!("ok"),
            [b"match" | b"target", b"strange", ..] => message!("error", "x"),
            [b"target", b"large", ..] => message!("ok", "65536"),
            [b"match", state, ..] => {
                message!("ok", pins.join(String::from_utf8_lossy(state).as_ref()).display().to_string())
            }
            [b"target", ..] => message!("ok", "42"),
            _ => message!("error", "22", ""),
        };
        vec![answer]
    })
}

fn succeeds(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn fails(output: Output, said: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(said), "{said}: {error}");
}

/// The rules of OUTPUT.
fn rules(installed: &Installed, program: &str) -> Vec<String> {
    let shown = succeeds(installed.run(program, "-w -S OUTPUT"));
    shown.lines().filter(|line| line.starts_with("-A")).map(str::to_string).collect()
}

/// Whether the kernel lets a datagram leave.
fn can_send(program: &str) -> bool {
    let address = if program.starts_with("ip6") { "[::1]:9" } else { "127.0.0.1:9" };
    let socket = UdpSocket::bind(address.replace(":9", ":0")).expect("a socket");
    socket.send_to(b"x", address).is_ok()
}

fn restore(installed: &Installed, program: &str, rules: &str) -> Output {
    use std::io::Write;
    let mut command = installed.command(&format!("{program}-restore"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("it is piped").write_all(rules.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn rules_ask_and_become_what_the_daemon_says() {
    const TEST: &str = "rules_ask_and_become_what_the_daemon_says";
    in_namespaces(TEST, |pins| {
        let Some(installed) = Installed::new(TEST, Generation::Of2019, None) else { return };
        pin(&pins.join("all"), 1);
        pin(&pins.join("nothing"), 0);
        let daemon = daemon(&installed, pins.to_owned());
        for program in programs(TEST) {
            rounds(&installed, &daemon, program);
            shows_others(&installed, pins, program);
        }
    });
}

fn rounds(installed: &Installed, daemon: &Daemon, program: &str) {
    let run = |arguments: &str| installed.run(program, &format!("-w {arguments}"));
    let rule = "OUTPUT -p udp -m lua --state all --function f --tcp-payload -j DROP";
    for operation in ["-A", "-C"] {
        succeeds(run(&format!("{operation} {rule}")));
        assert_eq!(daemon.asked(), ["match|all|f|1|0"]);
    }
    assert!(!can_send(program), "{program}");
    let others = "OUTPUT -m lua --state nothing --function g -m lua --function h --state all -j LUA --state s --function q";
    succeeds(run(&format!("-A {others}")));
    assert_eq!(daemon.asked(), ["match|nothing|g|0|0", "match|all|h|0|0", "target|s|q|0"]);
    let shown = [
        "-A OUTPUT -p udp -m lua --state all --function f --tcp-payload -j DROP",
        "-A OUTPUT -m lua --state nothing --function g -m lua --state all --function h -j NFQUEUE --queue-num 42 --queue-bypass",
    ];
    assert_eq!(rules(installed, program), shown, "{program}");
    assert!(succeeds(run("-n -L OUTPUT")).contains("lua state:all function:f tcp-payload"), "{program}");
    let saved = succeeds(installed.run(&format!("{program}-save"), ""));
    daemon.asked();
    succeeds(restore(installed, program, &saved));
    assert_eq!(daemon.asked(), ["match|all|f|1|0", "match|nothing|g|0|0", "match|all|h|0|0"]);
    assert_eq!(rules(installed, program), shown, "{program}");
    fails(run(&format!("-D {}", rule.replace("--tcp-payload", ""))), "rule");
    succeeds(run(&format!("-D {rule}")));
    succeeds(run(&format!("-D {others}")));
    assert_eq!(rules(installed, program), [""; 0], "{program}");
    assert!(can_send(program), "{program}");
    daemon.asked();
}

/// Rules that are iptables' own are shown as ever.
fn shows_others(installed: &Installed, pins: &Path, program: &str) {
    let own = [
        format!("-A OUTPUT -m bpf --object-pinned {}", pins.join("all").display()),
        "-A OUTPUT -m bpf --bytecode \"1,6 0 0 1\"".to_string(),
    ];
    let text = format!("*filter\n{}\nCOMMIT\n", own.join("\n"));
    succeeds(restore(installed, program, &text));
    assert_eq!(rules(installed, program), own, "{program}");
    assert!(succeeds(installed.run(program, "-w -n -L OUTPUT")).contains("match bpf pinned"), "{program}");
    succeeds(installed.run(program, "-w -F"));
}

/// Where the path leaves no room for what a rule was made of, the rule is there all the same.
#[test]
fn rules_with_long_paths_are_shown_as_the_kernel_has_them() {
    const TEST: &str = "rules_with_long_paths_are_shown_as_the_kernel_has_them";
    in_namespaces(TEST, |pins| {
        let Some(installed) = Installed::new(TEST, Generation::Of2019, None) else { return };
        let folder = pins.join("a".repeat(200)).join("b".repeat(230));
        std::fs::create_dir_all(&folder).expect("a folder of pins");
        pin(&folder.join("deep"), 1);
        let _daemon = daemon(&installed, folder.clone());
        let names = ["f".to_string(), "f".repeat(63)];
        for program in programs(TEST) {
            let shown = names.each_ref().map(|name| {
                let rule = format!("OUTPUT -m lua --state deep --function {name}");
                succeeds(installed.run(program, &format!("-w -A {rule}")));
                let shown = rules(&installed, program);
                succeeds(installed.run(program, &format!("-w -D {rule}")));
                shown
            });
            let path = folder.join("deep");
            let path = path.display();
            let expected =
                ["-m lua --state deep --function f".to_string(), format!("-m bpf --object-pinned {path}")];
            assert_eq!(shown, expected.map(|rule| [format!("-A OUTPUT {rule}")]), "{program}");
        }
    });
}

#[test]
fn mistakes_end_iptables_with_a_message() {
    const TEST: &str = "mistakes_end_iptables_with_a_message";
    in_namespaces(TEST, |pins| {
        let Some(installed) = Installed::new(TEST, Generation::Of2019, None) else { return };
        let long = "a".repeat(64);
        let without = "`moonhook nflua run` has to run in this network namespace";
        let programs = programs(TEST);
        for program in &programs {
            fails(installed.run(program, "-w -A OUTPUT -m lua --state s --function f"), without);
            fails(installed.run(program, "-w -A OUTPUT -j LUA --state s --function f"), without);
        }
        says_which_socket(&installed, programs.first());
        let daemon = daemon(&installed, pins.to_owned());
        for program in programs {
            for (arguments, said) in [
                ("-m lua", "'--state' is mandatory"),
                ("-m lua --state s", "'--function' is mandatory"),
                ("-m lua --state LONG", "'--state' is too long (max: 63)"),
                ("-m lua --function LONG", "'--function' is too long (max: 63)"),
                ("-m lua --state s --function f --mask 1", "--mask"),
                ("-j LUA", "\"--state\" must be specified"),
                ("-j LUA --state s", "\"--function\" must be specified"),
                ("-j LUA --state s --function LONG", "'--function' is too long (max: 63)"),
            ] {
                fails(
                    installed.run(program, &format!("-w -A OUTPUT {arguments}").replace("LONG", &long)),
                    said,
                );
            }
            assert_eq!(daemon.asked(), [""; 0], "{program}");
            for (arguments, said) in [
                (
                    "-m lua --state none --function f",
                    "lua: Operation not permitted (there is no state 'none')",
                ),
                (
                    "-j LUA --state none --function f",
                    "LUA: No chain/target/match by that name. (there is no state",
                ),
                ("-m lua --state hidden --function f", "/sys/fs/bpf/nowhere is not to be seen from here"),
                ("-m lua --state long --function f", "the program's path is too long"),
                ("-m lua --state silent --function f", "the daemon's answer is not understood"),
                ("-m lua --state strange --function f", "the daemon's answer is not understood"),
                ("-j LUA --state silent --function f", "the daemon's answer is not understood"),
                ("-j LUA --state large --function f", "the daemon's answer is not understood"),
            ] {
                fails(installed.run(program, &format!("-w -A OUTPUT {arguments}")), said);
            }
            daemon.asked();
            assert_eq!(rules(&installed, program), [""; 0], "{program}");
        }
    });
}

/// Where nothing is said, it is that of the network namespace.
fn says_which_socket(installed: &Installed, program: Option<&&'static str>) {
    let Some(program) = program else { return };
    let network = std::fs::metadata("/proc/thread-self/ns/net").expect("a namespace").ino();
    let mut command = installed.command(program);
    command.args(["-w", "-A", "OUTPUT", "-m", "lua", "--state", "s", "--function", "f"]);
    let said = format!("nothing answers at /run/moonhook/nflua/{network} (");
    fails(command.env_remove("MOONHOOK_NFLUA").output().expect("it runs"), &said);
}

#[test]
fn cujos_rules_have_one_state() {
    const TEST: &str = "cujos_rules_have_one_state";
    in_namespaces(TEST, |pins| {
        let Some(installed) = Installed::new(TEST, Generation::Cujo, None) else { return };
        pin(&pins.join("nflua"), 1);
        let daemon = daemon(&installed, pins.to_owned());
        for program in programs(TEST) {
            for (arguments, asked, shown) in [
                ("-m lua", "match|nflua||2|0", "-m lua"),
                ("-m lua --function f", "match|nflua|f|2|0", "-m lua --function f"),
                ("-m lua --tcp-payload --mask 0x10", "match|nflua||3|16", "-m lua --tcp-payload --mask 0x10"),
                ("-j LUA --function g", "target|nflua|g|2", "-j NFQUEUE --queue-num 42 --queue-bypass"),
            ] {
                succeeds(installed.run(program, &format!("-w -A OUTPUT {arguments}")));
                assert_eq!(daemon.asked(), [asked], "{program} {arguments}");
                assert_eq!(rules(&installed, program), [format!("-A OUTPUT {shown}")], "{program}");
                succeeds(installed.run(program, &format!("-w -D OUTPUT {arguments}")));
                daemon.asked();
            }
            for (arguments, said) in [
                ("-m lua --state s --function f", "--state"),
                ("-m lua --mask -1", "'--mask' is no number: -1"),
                ("-m lua --mask 1x", "'--mask' is no number: 1x"),
                ("-m lua --mask 0x100000000", "'--mask' has more than 32 bits"),
                ("-j LUA", "\"--function\" must be specified"),
            ] {
                fails(installed.run(program, &format!("-w -A OUTPUT {arguments}")), said);
            }
        }
    });
}
