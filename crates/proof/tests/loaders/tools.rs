//! The loaders: each loads an object's program and pins it.

use libbpf_rs::ObjectBuilder;
use libbpf_rs::libbpf_sys as bpf;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub type Outcome = Result<(), String>;

pub struct Loader {
    pub name: &'static str,
    /// Why it cannot be tried here.
    pub missing: fn() -> Option<String>,
    /// Loads the object, and pins its program of that name.
    pub load: fn(&Path, &str, &Path) -> Outcome,
}

pub const LOADERS: &[Loader] = &[
    Loader { name: "libbpf-rs", missing: || None, load: by_libbpf_rs },
    Loader { name: "aya", missing: || None, load: by_aya },
    Loader {
        name: "bpftool",
        missing: || lacks("bpftool"),
        load: |object, _, pin| bpftool(Path::new("bpftool"), object, pin),
    },
    Loader {
        name: "bpftool of backports",
        missing: || {
            let path = newer_bpftool();
            (!path.exists()).then(|| format!("there is no {}", path.display()))
        },
        load: |object, _, pin| bpftool(&newer_bpftool(), object, pin),
    },
    Loader { name: "cilium/ebpf", missing: || cilium().as_ref().err().cloned(), load: by_cilium },
    Loader {
        name: "ip link",
        missing: || lacks("ip").or_else(|| lacks("bpftool")),
        load: |object, _, pin| {
            on_interface(
                pin,
                &["ip", "link", "set", "dev", INTERFACE, "xdpgeneric", "obj"],
                object,
                &["sec", "xdp"],
            )
        },
    },
    Loader {
        name: "xdp-loader",
        missing: || lacks("xdp-loader").or_else(|| lacks("bpftool")),
        // Its dispatcher takes programs of type EXT, which not every kernel allows.
        load: |object, _, pin| {
            let command = ["env", "LIBXDP_SKIP_DISPATCHER=1", "xdp-loader", "load", "-m", "skb", INTERFACE];
            on_interface(pin, &command, object, &[])
        },
    },
];

const INTERFACE: &str = "left0";

fn lacks(command: &str) -> Option<String> {
    let found = Command::new("sh").args(["-c", &format!("command -v {command}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    (!found).then(|| format!("there is no {command}"))
}

/// Runs a command; its last words if it fails.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.trim().lines().collect();
    Err(lines[lines.len().saturating_sub(6)..].join(" | "))
}

fn by_libbpf_rs(object: &Path, program: &str, pin: &Path) -> Outcome {
    let opened = ObjectBuilder::default().open_file(object).map_err(|error| error.to_string())?;
    let loaded = opened.load().map_err(|error| error.to_string())?;
    let found = loaded.progs_mut().find(|found| found.name() == program);
    found.ok_or("no such program")?.pin(pin).map_err(|error| error.to_string())
}

fn by_aya(object: &Path, program: &str, pin: &Path) -> Outcome {
    let mut loaded = aya::Ebpf::load_file(object).map_err(|error| format!("{error:?}"))?;
    let found = loaded.program_mut(program).ok_or("no such program")?;
    let found: &mut aya::programs::Xdp = found.try_into().map_err(|error| format!("{error:?}"))?;
    found.load().map_err(|error| format!("{error:?}"))?;
    found.pin(pin).map_err(|error| format!("{error:?}"))
}

fn bpftool(bpftool: &Path, object: &Path, pin: &Path) -> Outcome {
    run(Command::new(bpftool).args(["prog", "load"]).args([object, pin])).map(drop)
}

/// Where scripts/setup puts it.
fn newer_bpftool() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(target).join("tools/usr/sbin/bpftool")
}

/// The program of tests/loaders/cilium.
fn cilium() -> &'static Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let go = match lacks("go") {
            None => PathBuf::from("go"),
            Some(_) => PathBuf::from("/usr/local/go/bin/go"),
        };
        if run(Command::new(&go).arg("version")).is_err() {
            return Err("there is no Go tool chain".to_string());
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/loaders/cilium");
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("load-with-cilium");
        run(Command::new(go).current_dir(source).args(["build", "-o"]).arg(&built).arg(".")).map(|_| built)
    })
}

fn by_cilium(object: &Path, _: &str, pin: &Path) -> Outcome {
    let argument = format!("{}={}", object.display(), pin.display());
    run(Command::new(cilium().as_ref()?).arg(argument)).map(drop)
}

/// Attaches with a command to one end of a pair of interfaces in a namespace of its own, and pins what is there then.
fn on_interface(pin: &Path, command: &[&str], object: &Path, more: &[&str]) -> Outcome {
    let name = format!("mh-loaders-{}", std::process::id());
    run(Command::new("ip").args(["netns", "add", &name]))?;
    let within = || {
        let mut within = Command::new("ip");
        within.args(["netns", "exec", &name]);
        within
    };
    let outcome =
        run(within().args(["ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", "right0"]))
            .and_then(|_| run(within().args(command).arg(object).args(more)))
            .and_then(|_| run(within().args(["ip", "-j", "link", "show", "dev", INTERFACE])))
            .and_then(|shown| {
                let shown: serde_json::Value =
                    serde_json::from_str(&shown).map_err(|error| error.to_string())?;
                let id = shown[0]["xdp"]["prog"]["id"].as_u64().ok_or("no program is attached")?;
                run(Command::new("bpftool").args(["prog", "pin", "id", &id.to_string()]).arg(pin)).map(drop)
            });
    run(Command::new("ip").args(["netns", "del", &name]))?;
    outcome
}

/// What bpftool prints of the entries of a pinned program's map.
pub fn entries(pin: &Path, map: &str) -> Result<serde_json::Value, String> {
    let json =
        |text: String| serde_json::from_str::<serde_json::Value>(&text).map_err(|error| error.to_string());
    let program = json(run(Command::new("bpftool").args(["-j", "prog", "show", "pinned"]).arg(pin))?)?;
    for id in program["map_ids"].as_array().into_iter().flatten() {
        let id = id.to_string();
        let shown = json(run(Command::new("bpftool").args(["-j", "map", "show", "id", &id]))?)?;
        if shown["name"] == map {
            return json(run(Command::new("bpftool").args(["-j", "map", "dump", "id", &id]))?);
        }
    }
    Err(format!("there is no map {map}"))
}

/// Runs the pinned program on the frames, in this order; gives the verdicts.
pub fn run_pinned(pin: &Path, frames: &[Vec<u8>]) -> Result<Vec<i32>, String> {
    let path = CString::new(pin.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path is a C string.
    let program = unsafe { bpf::bpf_obj_get(path.as_ptr()) };
    if program < 0 {
        return Err(format!("nothing is pinned: {program}"));
    }
    // SAFETY: a new descriptor, which nothing else owns.
    let program = unsafe { OwnedFd::from_raw_fd(program) };
    frames.iter().map(|frame| run_on(&program, frame)).collect()
}

fn run_on(program: &OwnedFd, frame: &[u8]) -> Result<i32, String> {
    let mut options = bpf::bpf_test_run_opts {
        sz: size_of::<bpf::bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        repeat: 1,
        ..Default::default()
    };
    // SAFETY: the frame lives through the call, and its length is the one given.
    let result = unsafe { bpf::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    if result == 0 {
        Ok(options.retval.cast_signed())
    } else {
        Err(format!("the program cannot be run: {result}"))
    }
}
