//! What a person can choose about the program: the options that several subcommands share.

use crate::packages::PackageOptions;
use crate::{control, hook, verdict};
use moonhook_engine::{BUDGET, Form, MEMORY, RunningKernel, Settings};
use moonhook_hook::{Hook, OnError};
use moonhook_load::At;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of every command that loads scripts.
#[derive(Clone, Debug, clap::Args)]
pub struct ScriptOptions {
    /// Verdict after a run-time error
    #[arg(long, value_name = "VERDICT", value_parser = verdict::parser(), default_value = "pass")]
    pub on_error: OnError,
    /// Steps that the handlers may use for one frame
    #[arg(long, value_name = "STEPS", default_value_t = BUDGET, value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
    /// Memory of each CPU for the tables and strings that handlers make, and for keys of tables that they traverse, in bytes or with a unit (KiB, MiB); 16MiB at most [default: 256KiB]
    #[arg(long, value_name = "BYTES", value_parser = packet_memory)]
    memory: Option<u32>,
    /// What handlers are compiled to: `expanded` is fastest and takes a part of the language, `general` takes nearly all of it (no records as keys of tables)
    #[arg(long, value_name = "FORM", value_enum, default_value = "auto")]
    form: FormChoice,
    /// Memory that scripts may use while they are loaded, and each of their runtimes (`--control`), in bytes or with a unit (KiB, MiB, GiB) [default: 256MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    load_memory: Option<usize>,
    /// Lua instructions that scripts may run while they are loaded [default: 2000000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    load_steps: Option<u64>,
    /// The scripts are written for Lunatik: this is where their modules are, there /lib/modules/lua
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Scripts may do what Lunatik's do outside of packets: states on threads of their own, sockets and the like. They are not in a sandbox then, and need no handlers
    #[arg(long, requires = "root")]
    control: bool,
    /// A function that a script returns waits, and is not run
    #[arg(long, hide = true, requires = "control")]
    no_main: bool,
    /// What the script is for, as Lunatik's command says it
    #[arg(long, hide = true, requires = "control", value_enum, default_value = "process")]
    context: control::Context,
    /// A folder in which scripts may read files, besides their own; can be given several times
    #[arg(long, value_name = "DIR")]
    allow_read: Vec<PathBuf>,
    #[command(flatten)]
    packages: PackageOptions,
    /// In scripts of eCLAT, VALUE stands in the place of NAME wherever that is a whole word; can be given several times
    #[arg(short = 'D', long = "define", value_names = ["NAME", "VALUE"], num_args = 2)]
    define: Vec<String>,
    /// The hook that `attach` registers handlers for, where scripts leave it open, and which is tried where they have several [default: xdp, and the hook of the first handler]
    #[arg(long, value_name = "HOOK", value_parser = hook::parser())]
    hook: Option<&'static Hook>,
}

/// Packet memory is reached by 32-bit offsets, all CPUs together.
const MAX_MEMORY: u32 = 16 << 20;

/// `--form`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormChoice {
    Auto,
    Expanded,
    General,
}

impl From<FormChoice> for Option<Form> {
    fn from(choice: FormChoice) -> Option<Form> {
        match choice {
            FormChoice::Auto => None,
            FormChoice::Expanded => Some(Form::Expanded),
            FormChoice::General => Some(Form::General),
        }
    }
}

/// Where handlers of netfilter run that are written for Lunatik.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AtChoice {
    Auto,
    Link,
    Queue,
    Tcx,
}

/// Options of the commands whose handlers may run in a process.
#[derive(Clone, Debug, clap::Args)]
pub struct AtOptions {
    /// With `--root`, where handlers of netfilter run: `link` is the kernel, `queue` this process (NFQUEUE), `tcx` the kernel, at tc of the interfaces (PRE_ROUTING and POST_ROUTING, packets can be changed), `auto` the kernel if that has all they need
    #[arg(
        long,
        value_name = "WHERE",
        value_enum,
        default_value = "auto",
        requires_if("link", "root"),
        requires_if("queue", "root"),
        requires_if("tcx", "root")
    )]
    at: AtChoice,
}

impl AtOptions {
    pub fn at(&self) -> Option<At> {
        match self.at {
            AtChoice::Auto => None,
            AtChoice::Link => Some(At::Link),
            AtChoice::Queue => Some(At::Queue),
            AtChoice::Tcx => Some(At::Tcx),
        }
    }
}

/// Where handlers of netfilter run whose programs others load.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ObjectAtChoice {
    Link,
    Tcx,
}

/// Options of commands that make objects, for which there is no process.
#[derive(Clone, Debug, clap::Args)]
pub struct ObjectAtOptions {
    /// With `--root`, what handlers of netfilter are programs for: `link` is netfilter, `tcx` tc of interfaces (PRE_ROUTING and POST_ROUTING, packets can be changed)
    #[arg(long, value_name = "WHERE", value_enum, default_value = "link", requires_if("tcx", "root"))]
    at: ObjectAtChoice,
}

impl ObjectAtOptions {
    pub fn at(&self) -> At {
        match self.at {
            ObjectAtChoice::Link => At::Link,
            ObjectAtChoice::Tcx => At::Tcx,
        }
    }
}

/// Options of the commands that make a program of the person's choice.
#[derive(Clone, Debug, clap::Args)]
pub struct ProgramOptions {
    #[command(flatten)]
    script: ScriptOptions,
    /// Make a program that also takes frames in several buffers: jumbo frames in native mode
    #[arg(long)]
    pub frags: bool,
}

impl ScriptOptions {
    /// Names, and what stands in their places.
    fn defines(&self) -> Vec<(String, String)> {
        let pairs = self.define.as_chunks::<2>().0.iter();
        pairs.map(|[name, value]| (name.clone(), value.clone())).collect()
    }

    pub fn settings(&self) -> Settings {
        let default = moonhook_load::Options::default();
        let memory_limit = self.load_memory.unwrap_or(default.memory_limit);
        let modules = |root| control::modules((&absolute(root), self.context), !self.no_main, memory_limit);
        let load = moonhook_load::Options {
            memory_limit,
            instruction_limit: self.load_steps.unwrap_or(default.instruction_limit),
            // A reload happens long after, and perhaps somewhere else.
            root: self.root.as_deref().map(absolute),
            // Objects and replayed frames know of no process.
            at: Some(At::Link),
            control: self.root.as_deref().filter(|_| self.control).map(modules),
            handlers_optional: false,
            allow_read: self.allow_read.iter().map(|folder| absolute(folder)).collect(),
            prints_to_stderr: false,
            hook: self.hook,
            library: None,
            kernel: Arc::new(RunningKernel),
            trial: None,
            defines: self.defines(),
            packages: self.packages.folders(),
            interfaces: Vec::new(),
        };
        let memory = self.memory.unwrap_or(MEMORY);
        let (on_error, budget, form) = (self.on_error.clone(), self.budget, self.form.into());
        Settings { on_error, budget, form, memory, load, ..Settings::default() }
    }
}

impl ProgramOptions {
    pub fn settings(&self) -> Settings {
        Settings { frags: self.frags, ..self.script.settings() }
    }

    /// Whether nothing is said of what scripts are for: then there may be nothing.
    pub fn leaves_hook_open(&self) -> bool {
        self.script.hook.is_none()
    }
}

/// The path from anywhere.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// A positive number of bytes: decimal digits, then perhaps a binary unit (IEC 80000-13).
fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err("not a number of bytes such as 1000000, 512KiB or 64MiB".to_string()),
    };
    let number: usize = number.parse().map_err(|_| "not a number of bytes".to_string())?;
    match number.checked_mul(1 << shift) {
        Some(0) => Err("not a positive number of bytes".to_string()),
        Some(bytes) => Ok(bytes),
        None => Err("more bytes than can be addressed".to_string()),
    }
}

/// As [`bytes`], no more than a CPU can have.
fn packet_memory(text: &str) -> Result<u32, String> {
    match u32::try_from(bytes(text)?) {
        Ok(bytes) if bytes <= MAX_MEMORY => Ok(bytes),
        _ => Err(format!("16MiB ({MAX_MEMORY} bytes) is the most that each CPU can have")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        for (text, expected) in [
            ("1", Some(1)),
            ("4096", Some(4096)),
            ("7B", Some(7)),
            ("3KiB", Some(3072)),
            ("64 MiB", Some(64 << 20)),
            ("2GiB", Some(2 << 30)),
            ("0", None),
            ("0MiB", None),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("1MB", None),
            ("1.5MiB", None),
            ("99999999999GiB", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn packet_memory_has_a_largest_size() {
        for (text, expected) in
            [("1", Some(1)), ("16MiB", Some(MAX_MEMORY)), ("16777216", Some(MAX_MEMORY)), ("0", None)]
        {
            assert_eq!(packet_memory(text).ok(), expected, "{text}");
        }
        for text in ["16777217", "17MiB", "1GiB", "4GiB", "99999999999GiB"] {
            assert!(packet_memory(text).is_err(), "{text}");
        }
        assert!(packet_memory("1GiB").unwrap_err().starts_with("16MiB"));
    }

    /// What the help says of the defaults.
    #[test]
    fn the_defaults_are_those_of_the_help() {
        let default = moonhook_load::Options::default();
        assert_eq!((default.memory_limit, default.instruction_limit), (256 << 20, 2_000_000_000));
    }
}
