//! A service in a network namespace of its own, with a pair of interfaces, for as long as a test takes.

#![allow(dead_code)]

use moonhook_daemon::RuntimeFolder;
use moonhook_engine::{Folders, RunningKernel, Settings};
use moonhook_packages::Sources;
use moonhook_serve::proto::eclat::eclat_client::EclatClient;
use moonhook_serve::proto::v1::moonhook_client::MoonhookClient;
use moonhook_serve::{Bound, Config, Log, ServeError};
use nix::sched::{CloneFlags, unshare};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tonic::transport::Channel;

/// One end of the pair; the other is `other0`.
pub const DEVICE: &str = "mhserve0";

/// Does a test on a thread in a new network namespace. Skipped without root, unless `MOONHOOK_REQUIRE_KERNEL=1` demands it.
pub fn in_namespace(test: &str, work: impl FnOnce() + Send + 'static) {
    let name = test.to_string();
    let thread = std::thread::spawn(move || {
        if let Err(problem) = unshare(CloneFlags::CLONE_NEWNET) {
            return skipped(&name, &format!("there can be no network namespace ({problem})"));
        }
        // The kernel would send packets of its own, which scripts count as well.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        for line in [
            "link set lo up".to_string(),
            format!("link add {DEVICE} type veth peer name other0"),
            format!("link set {DEVICE} up"),
            "link set other0 up".to_string(),
        ] {
            let status = Command::new("ip").args(line.split(' ')).status();
            if !status.is_ok_and(|status| status.success()) {
                return skipped(&name, "`ip` cannot make interfaces");
            }
        }
        work();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Says that a test cannot run here, also to the file that collects such tests.
pub fn skipped(test: &str, reason: &str) {
    let required = std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_some_and(|value| value == "1");
    assert!(!required, "{test}: {reason}");
    println!("skipped: {test}: {reason}");
    let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| writeln!(file, "{test}: {reason}")).expect("the file can be written");
}

/// A service that runs.
pub struct Served {
    pub url: String,
    pub folder: tempfile::TempDir,
    pub log: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    pub runtime: Runtime,
}

/// What a service is started with: its folder has `scripts`, `packages` and `state`.
pub fn config(folder: &Path) -> Config {
    let sources = Sources { folders: vec![folder.join("packages")], aliases: Vec::new() };
    let mut settings = Settings::default();
    settings.load.kernel = Arc::new(RunningKernel);
    settings.load.packages = Arc::new(Folders::new(sources.clone()));
    Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        tls: None,
        token: None,
        scripts: Some(folder.join("scripts")).filter(|folder| folder.is_dir()),
        state: folder.join("state"),
        pin: false,
        bpffs: None,
        maps: folder.join("maps"),
        maps_are_chosen: false,
        folder: RuntimeFolder::new(folder.join("run")),
        folder_is_chosen: true,
        settings,
        sources,
        index: None,
        fetched: folder.join("fetched"),
        enter_netns: false,
        keep_privileges: true,
        log: Log::default(),
    }
}

impl Served {
    pub fn start() -> Served {
        Served::with(tempfile::tempdir().expect("a folder"), |_| ())
    }

    /// Starts it in a folder that is there, with another configuration.
    pub fn with(folder: tempfile::TempDir, change: impl FnOnce(&mut Config)) -> Served {
        let log = Arc::new(Mutex::new(Vec::<String>::new()));
        let lines = Arc::clone(&log);
        let mut config = config(folder.path());
        config.log = Log::new(move |line| lines.lock().unwrap().push(line.to_string()));
        change(&mut config);
        let bound = Bound::new(&config).unwrap_or_else(|error| panic!("{error}"));
        let stop = Arc::<AtomicBool>::default();
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || bound.serve(config, &flag));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let (runtime, url) = (runtime.expect("threads"), String::new());
        let mut served = Served { url, folder, log, stop, thread: Some(thread), runtime };
        let address = served.logged("listening at ");
        served.url = format!("http://{address}");
        served
    }

    /// Waits for a line of the log, and gives what is behind that text in it.
    pub fn logged(&self, text: &str) -> String {
        let deadline = Instant::now() + patience();
        loop {
            let log = self.log.lock().unwrap();
            if let Some(rest) = log.iter().find_map(|line| Some(line.split_once(text)?.1.to_string())) {
                return rest;
            }
            assert!(Instant::now() < deadline, "no '{text}' in {log:?}");
            drop(log);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn channel(&self) -> Channel {
        let endpoint = Channel::from_shared(self.url.clone()).expect("a URL");
        self.runtime.block_on(endpoint.connect()).expect("the service listens")
    }

    pub fn moonhook(&self) -> MoonhookClient<Channel> {
        MoonhookClient::new(self.channel())
    }

    pub fn eclat(&self) -> EclatClient<Channel> {
        EclatClient::new(self.channel())
    }

    /// Waits for the end, which has to come by itself, or is wanted now.
    pub fn end(mut self, by_itself: bool) -> tempfile::TempDir {
        self.stop.store(!by_itself, Ordering::Relaxed);
        let started = Instant::now();
        let ended = self.thread.take().expect("it runs").join().expect("no panic");
        ended.unwrap_or_else(|error| panic!("{error}"));
        // Connections without calls would last for five minutes, and calls without answers for twenty seconds and longer.
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
        self.runtime.shutdown_background();
        self.folder
    }
}

/// Whether a program is at the device.
pub fn is_attached() -> bool {
    is_attached_to(DEVICE)
}

/// Whether one is at that device.
pub fn is_attached_to(device: &str) -> bool {
    let shown = Command::new("ip").args(["-d", "link", "show", device]).output().expect("ip runs");
    String::from_utf8_lossy(&shown.stdout).contains("prog/xdp")
}

/// Sends so many frames from the other end: of 60 bytes, with this type.
pub fn send(count: usize, ethertype: u16) {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    use std::os::fd::AsRawFd;
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None).expect("a socket");
    let index = nix::net::if_::if_nametoindex("other0").expect("an interface");
    let mut frame = [0u8; 60];
    frame[..6].fill(0xff);
    frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
    let mut address = [0u8; 20];
    address[..2].copy_from_slice(&(nix::libc::AF_PACKET as u16).to_ne_bytes());
    address[4..8].copy_from_slice(&index.to_ne_bytes());
    address[11] = 6;
    for _ in 0..count {
        // SAFETY: both are arrays that live here, of the lengths that are given; a `sockaddr_ll` has 20 bytes (packet(7)).
        let sent = unsafe {
            let to = address.as_ptr().cast();
            nix::libc::sendto(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0, to, 20)
        };
        assert_eq!(sent, 60);
    }
}

/// How long what has to happen is waited for: `MOONHOOK_PATIENCE` in seconds, or twenty.
pub fn patience() -> Duration {
    let chosen = std::env::var("MOONHOOK_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(chosen.unwrap_or(20))
}

/// Waits until something has the value that is expected: packets take a moment.
pub fn wait_for<T: PartialEq + std::fmt::Debug>(expected: &T, get: impl Fn() -> T) {
    let deadline = Instant::now() + patience();
    loop {
        let got = get();
        if got == *expected {
            return;
        }
        assert!(Instant::now() < deadline, "{got:?} is not {expected:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Frames of a type that no program has kept from the network stack.
pub struct Passed(std::os::fd::OwnedFd);

impl Passed {
    pub fn of(ethertype: u16) -> Passed {
        use std::os::fd::FromRawFd;
        // SAFETY: takes no pointers; what it gives is a new descriptor, or -1, which is checked.
        let socket = unsafe {
            let protocol = i32::from(ethertype.to_be());
            let number = nix::libc::socket(nix::libc::AF_PACKET, nix::libc::SOCK_RAW, protocol);
            assert!(number >= 0);
            std::os::fd::OwnedFd::from_raw_fd(number)
        };
        Passed(socket)
    }

    /// Those that have come by now.
    pub fn count(&self) -> usize {
        use nix::sys::socket::{MsgFlags, recv};
        use std::os::fd::AsRawFd;
        let next = || recv(self.0.as_raw_fd(), &mut [0; 100], MsgFlags::MSG_DONTWAIT);
        std::iter::from_fn(|| next().ok()).count()
    }
}

/// A loader: starts the chain that its map names.
pub const LOADER: &str = r#"
#include "hike_vm.h"
bpf_map(chains, ARRAY, __u32, __u32, 1);
__section("xdp") int start(struct xdp_md *ctx)
{
	__u32 key = 0, *chain = bpf_map_lookup_elem(&chains, &key);
	if (!chain)
		return XDP_ABORTED;
	hike_chain_boostrap(ctx, *chain);
	return XDP_PASS;
}
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

/// Whether there is a compiler of C; says so if there is none.
pub fn has_clang(test: &str) -> bool {
    let found = ["clang", "clang-19"].iter().any(|name| Command::new(name).arg("--version").output().is_ok());
    if !found {
        skipped(test, "there is no clang");
    }
    found
}
