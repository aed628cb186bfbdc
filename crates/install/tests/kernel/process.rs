//! What happens with other privileges, and when the process dies: child processes are this test binary, run again.

use crate::support::{Namespace, compile, kernel};
use moonhook_hook::XDP;
use moonhook_install::{InstallError, LoadOptions, RequestedMode, load};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder that any user may read, with this binary and an object in it.
struct Stage(PathBuf);

impl Stage {
    fn new(purpose: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("mh-{}-{purpose}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::copy(std::env::current_exe().unwrap(), folder.join("test")).unwrap();
        std::fs::write(folder.join("basic.o"), compile("basic.c")).unwrap();
        Stage(folder)
    }

    /// Runs [`child`] in the namespace through `prefix`.
    fn command(&self, namespace: &Namespace, prefix: &[&str], then: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespace.name]).args(prefix).arg(self.0.join("test"));
        command.args(["process::child", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env("MH_OBJECT", self.0.join("basic.o")).env("MH_THEN", then);
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loads, runs and attaches, says so, and ends or waits to be killed.
#[test]
#[ignore = "a part of the other tests, which start it as a process"]
fn child() {
    if let Err(error) = install_and_wait() {
        println!("{}", error.diagnostic().render(false));
    }
}

fn install_and_wait() -> Result<(), InstallError> {
    if std::env::var("MH_THEN").unwrap() == "probe" {
        println!("{}", serde_json::to_string(&moonhook_install::probe()).unwrap());
        return Ok(());
    }
    let object = std::fs::read(std::env::var("MH_OBJECT").unwrap()).unwrap();
    let program = load(&object, &LoadOptions::default())?;
    assert_eq!(program.test_run("count", &[7; 60], 1)?.verdict, 2);
    assert!(program.statistics()[0].instructions > 0);
    assert_eq!(program.counters("counters", &[1, 0, 0, 0])?, Some(vec![1, 60]));
    assert_eq!(program.events("ring", |_| ())?.consume()?, 1);
    let link = program.attach("count", &XDP, "left", RequestedMode::Native, None)?;
    println!("attached in {} mode", link.mode().unwrap());
    if std::env::var("MH_THEN").unwrap() == "wait" {
        std::thread::sleep(Duration::from_secs(60));
    }
    Ok(())
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn as_nobody(capabilities: &str) -> Vec<String> {
    let add = |option: &str| format!("{option}=-all{capabilities}");
    let mut words: Vec<String> =
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(String::from).into();
    words.extend([add("--inh-caps"), add("--ambient-caps"), add("--bounding-set")]);
    words
}

#[test]
fn three_capabilities_are_enough_and_each_is_asked_for() {
    if !kernel() {
        return;
    }
    let (namespace, stage) = (Namespace::new("caps"), Stage::new("caps"));
    for (capabilities, expected) in [
        (ENOUGH, "attached in native mode"),
        (",+bpf,+net_admin", "error[MH0501]: loading this program needs CAP_PERFMON\n"),
        (",+net_admin,+perfmon", "error[MH0501]: loading BPF programs needs CAP_BPF\n"),
        (",+bpf", "error[MH0501]: loading BPF programs needs CAP_NET_ADMIN and CAP_PERFMON\n"),
        ("", "error[MH0501]: loading BPF programs needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON\n"),
    ] {
        let shown = run_as_nobody(&stage, &namespace, capabilities, "end");
        assert!(shown.contains(expected), "{capabilities}: {shown}");
        assert!(!shown.contains("libbpf"), "{capabilities}: {shown}");
        assert_eq!(namespace.xdp("left"), None);
    }
}

/// The three capabilities, as `as_nobody` takes them.
const ENOUGH: &str = ",+bpf,+net_admin,+perfmon";

fn run_as_nobody(stage: &Stage, namespace: &Namespace, capabilities: &str, then: &str) -> String {
    let prefix = as_nobody(capabilities);
    let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
    text(&stage.command(namespace, &prefix, then).output().unwrap())
}

#[test]
fn probing_needs_no_privilege_and_shows_what_is_missing() {
    if !kernel() {
        return;
    }
    let (namespace, stage) = (Namespace::new("probe"), Stage::new("probe"));
    for (capabilities, missing) in [
        (ENOUGH, &["CAP_NET_RAW", "CAP_SYS_ADMIN", "AF_XDP sockets"][..]),
        (",+bpf", &["CAP_NET_ADMIN", "CAP_PERFMON", "CAP_SYS_ADMIN", "XDP programs"]),
        ("", &["bpf()", "CAP_BPF", "CAP_NET_ADMIN", "ring buffer"]),
    ] {
        let shown = run_as_nobody(&stage, &namespace, capabilities, "probe");
        let json = shown.split_once('{').map(|(_, json)| format!("{{{}", json.lines().next().unwrap()));
        let host: serde_json::Value = serde_json::from_str(&json.unwrap()).unwrap();
        let features = host["features"].as_array().unwrap().iter();
        let failing: Vec<&str> = features
            .filter(|feature| feature["outcome"] == "fails")
            .map(|feature| feature["name"].as_str().unwrap())
            .collect();
        assert!(missing.iter().all(|name| failing.contains(name)), "{capabilities}: {failing:?}");
        // `ip netns exec` mounts a fresh /sys, without what is mounted below it.
        let below = ["bpffs", "control groups", GLUE];
        let besides = failing.iter().filter(|name| !missing.contains(name) && !below.contains(name));
        assert!(capabilities != ENOUGH || besides.count() == 0, "{failing:?}");
        // How the kernel was built says it, where it tells; its names of functions are there for all users, without their addresses.
        if let Some(built) = built_with("CONFIG_NETFILTER_NETLINK_GLUE_CT") {
            assert_eq!(!failing.contains(&GLUE), built, "{capabilities}");
        }
    }
}

/// The row about packets in queues that come with what is known of their connections.
const GLUE: &str = "connections in queues";

/// Whether an option of the kernel is set, by the configuration that it was built with; `None` where neither the kernel nor /boot has that.
fn built_with(option: &str) -> Option<bool> {
    let own = Command::new("gzip").args(["-dc", "/proc/config.gz"]).output().ok();
    let own = own.filter(|output| output.status.success()).map(|output| output.stdout);
    let release = nix::sys::utsname::uname().ok()?.release().to_string_lossy().into_owned();
    let configuration = own.or_else(|| std::fs::read(format!("/boot/config-{release}")).ok())?;
    let text = String::from_utf8_lossy(&configuration);
    Some(text.lines().any(|line| line == format!("{option}=y") || line == format!("{option}=m")))
}

#[test]
fn without_sys_admin_a_taken_hook_has_a_number_only() {
    if !kernel() {
        return;
    }
    let (namespace, stage) = (Namespace::new("taken"), Stage::new("taken"));
    let program = crate::support::load_c("drop.c");
    let _link = program.attach("drop_all", &XDP, "left", RequestedMode::Auto, Some(&namespace.name)).unwrap();
    let (_, id) = namespace.xdp("left").unwrap();
    let shown = run_as_nobody(&stage, &namespace, ENOUGH, "end");
    assert!(shown.contains("error[MH0514]: the XDP hook of 'left' is taken"), "{shown}");
    assert!(shown.contains(&format!("program {id} is attached in native mode")), "{shown}");
    assert!(shown.contains("`sudo bpftool net`"), "{shown}");
    assert_eq!(namespace.xdp("left"), Some(("native", id)));
}

#[test]
fn a_host_that_forbids_bpf_is_told_from_missing_privilege() {
    if !kernel() {
        return;
    }
    let (namespace, stage) = (Namespace::new("userns"), Stage::new("userns"));
    // In a user namespace of its own a process has every capability, but none that bpf() asks for.
    let shown = text(&stage.command(&namespace, &["unshare", "-Ur"], "end").output().unwrap());
    assert!(shown.contains("error[MH0502]: this host does not allow loading BPF programs (EPERM"), "{shown}");
}

#[test]
fn a_killed_process_leaves_nothing_attached() {
    if !kernel() {
        return;
    }
    let (namespace, stage) = (Namespace::new("killed"), Stage::new("killed"));
    let mut child = stage.command(&namespace, &[], "wait").stdout(Stdio::piped()).spawn().unwrap();
    let attached = said_attached(&mut child);
    let seen = namespace.xdp("left");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(attached && seen.is_some(), "{seen:?}");
    let deadline = Instant::now() + Duration::from_secs(5);
    while namespace.xdp("left").is_some() {
        assert!(Instant::now() < deadline, "still attached");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn said_attached(child: &mut Child) -> bool {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).any(|line| line.contains("attached in native mode"))
}
