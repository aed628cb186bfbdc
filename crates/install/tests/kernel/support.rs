//! What the kernel tests share: gating, compiling C, namespaces.

use moonhook_install::{LoadOptions, LogDetail, Program, load};
use std::path::PathBuf;
use std::process::Command;

/// Whether kernel tests can run here. If not, says why, or fails under MOONHOOK_REQUIRE_KERNEL=1.
pub fn kernel() -> bool {
    let reason = match compiled("drop.c").map(|object| load(&object, &LoadOptions::default())) {
        Some(Ok(_)) => return true,
        Some(Err(error)) => error.to_string(),
        None => "neither clang-19 nor clang is installed".to_string(),
    };
    assert!(
        std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none_or(|v| v != "1"),
        "no kernel tests: {reason}"
    );
    println!("skipped: {reason}");
    false
}

/// The object that clang makes of a file in `tests/c`.
pub fn compile(source: &str) -> Vec<u8> {
    compiled(source).expect("`kernel` found clang")
}

fn compiled(source: &str) -> Option<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let mut arguments = vec!["-O2", "-g", "-target", "bpf", &headers, "-Wall", "-c"];
    arguments.extend(["-o", "-", source]);
    ["clang-19", "clang"].into_iter().find_map(|clang| {
        let output = Command::new(clang).args(&arguments).current_dir(&folder).output().ok()?;
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        Some(output.stdout)
    })
}

pub fn load_c(source: &str) -> Program {
    let options = LoadOptions { name: "test".into(), log: LogDetail::Statistics, ..LoadOptions::default() };
    load(&compile(source), &options).unwrap()
}

/// A network namespace with a veth pair `left`–`right`, both up, which goes with this value.
pub struct Namespace {
    pub name: String,
}

impl Namespace {
    pub fn new(purpose: &str) -> Self {
        let namespace = Namespace { name: format!("mh-{}-{purpose}", std::process::id()) };
        ip(&["netns", "add", &namespace.name]);
        namespace.ip("link add left type veth peer name right");
        namespace.ip("link set left up");
        namespace.ip("link set right up");
        namespace
    }

    /// `ip -n NAME …`, which must succeed.
    pub fn ip(&self, arguments: &str) -> String {
        let mut all = vec!["-n", &self.name];
        all.extend(arguments.split(' '));
        ip(&all)
    }

    /// How iproute2 sees the XDP hook of an interface: `native`, `generic` or nothing, and the program's id.
    pub fn xdp(&self, interface: &str) -> Option<(&'static str, u64)> {
        let shown: serde_json::Value =
            serde_json::from_str(&self.ip(&format!("-j link show {interface}"))).unwrap();
        let xdp = &shown[0]["xdp"];
        let id = xdp["prog"]["id"].as_u64()?;
        Some((if xdp["mode"] == 2 { "generic" } else { "native" }, id))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
