//! `moonhook lunatik`: the commands that Lunatik has, for scripts that go on in the background.

use crate::remote::{RemoteOptions, ask};
use crate::{CliError, Exit, list, options, stop, terminal};
use moonhook_daemon::{Client, DaemonError, Name, Reloaded, Request, RuntimeFolder, Status};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The commands of Lunatik: scripts below a folder by their names, which go on in the background
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moonhook lunatik spawn examples/echod/daemon
  moonhook lunatik run examples/dnsblock/nf_dnsblock softirq
  moonhook lunatik list
  moonhook lunatik stop examples/echod/daemon

A script is a process of its own (`moonhook run --control`), whose name has dots for slashes. What it prints is in its file of the
log's folder.

Exit codes: 0 done, 1 script refused, 2 usage, 3 privilege, kernel or file, or no such script, 4 bug in Moonhook")]
pub struct Arguments {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Debug, clap::Subcommand)]
enum Operation {
    /// Run a script; a function that it returns waits
    Run(Started),
    /// Run a script, and the function that it returns in a thread
    Spawn(Started),
    /// End a script
    Stop(Named),
    /// List the scripts that run
    List(list::Arguments),
    /// Read a script again, whose handlers go on meanwhile
    Reload(Named),
}

/// Where a script is to run there; here all contexts are in the process, and handlers where they always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Context {
    Process,
    Softirq,
    Hardirq,
    Percpu,
}

#[derive(Debug, clap::Args)]
struct Started {
    /// The script's file below the root, with or without `.lua`
    script: String,
    /// Accepted as there: handlers and states are the same in all contexts, but that packets come to those in the process by a queue for each processor with `percpu`
    #[arg(value_name = "CONTEXT", value_enum, default_value = "process")]
    context: Context,
    /// Where scripts and modules are
    #[arg(long, value_name = "DIR", default_value = "/lib/modules/lua")]
    root: PathBuf,
    /// The interface, for handlers of XDP and tc
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    #[command(flatten)]
    passed: Passed,
    /// Where what scripts print is kept, a file for each, which goes on
    #[arg(long, value_name = "DIR", default_value = "/var/log/moonhook")]
    log_folder: PathBuf,
    #[command(flatten)]
    remote: RemoteOptions,
}

/// What `moonhook run` is told as it was said here, which knows what it means.
#[derive(Debug, clap::Args)]
struct Passed {
    /// Where handlers of netfilter run, as of `moonhook run`
    #[arg(long, value_name = "PLACE")]
    at: Option<String>,
    /// Steps that a packet's handlers may use, as of `moonhook run`
    #[arg(long, value_name = "STEPS")]
    budget: Option<String>,
    /// What becomes of a packet after an error, as of `moonhook run`
    #[arg(long, value_name = "VERDICT")]
    on_error: Option<String>,
    /// Memory of scripts while they are loaded, and of each runtime, as of `moonhook run`
    #[arg(long, value_name = "BYTES")]
    load_memory: Option<String>,
    /// Queues of each place whose handlers run in the process, as of `moonhook run`; `percpu` has one for each processor
    #[arg(long, value_name = "N")]
    queues: Option<String>,
}

impl Passed {
    fn arguments(&self) -> impl Iterator<Item = String> {
        let Passed { at, budget, on_error, load_memory, queues } = self;
        let given = [
            ("at", at),
            ("budget", budget),
            ("on-error", on_error),
            ("load-memory", load_memory),
            ("queues", queues),
        ];
        given.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)))
    }
}

#[derive(Debug, clap::Args)]
struct Named {
    /// As it was given to `run` or `spawn`
    script: String,
    #[command(flatten)]
    remote: RemoteOptions,
}

/// How long a script may take until it runs.
const PATIENCE: Duration = Duration::from_secs(60);
const NAP: Duration = Duration::from_millis(20);

impl Arguments {
    pub fn json(&self) -> bool {
        matches!(&self.operation, Operation::List(arguments) if arguments.json)
    }
}

pub fn lunatik(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    match &arguments.operation {
        Operation::Run(started) => start(started, false),
        Operation::Spawn(started) => start(started, true),
        Operation::List(arguments) => list::list(arguments, out),
        Operation::Stop(named) => {
            let (folder, name) = (named.remote.folder(), name(&named.script)?);
            match Client::connect(&folder, &name) {
                Ok(client) => stop::end(client)?,
                Err(DaemonError::NotRunning { .. }) if stop::end_beginning(&folder, &name)? => {}
                Err(error) => return Err(error.into()),
            }
            Ok(Exit::Success)
        }
        Operation::Reload(named) => {
            let request = Request::Reload { scripts: None, allow_read: Vec::new() };
            let _: Reloaded = ask(&mut connect(named)?, &request)?;
            Ok(Exit::Success)
        }
    }
}

fn connect(named: &Named) -> Result<Client, CliError> {
    Ok(Client::connect(&named.remote.folder(), &name(&named.script)?)?)
}

/// What a script is called: dots for slashes, and `_` for what names do not have.
fn name(script: &str) -> Result<Name, CliError> {
    let script = script.strip_suffix(".lua").unwrap_or(script).trim_start_matches("./");
    let fit = |c: char| match c {
        '/' => '.',
        c if c.is_ascii_alphanumeric() || "._-".contains(c) => c,
        _ => '_',
    };
    Ok(script.chars().map(fit).collect::<String>().parse()?)
}

/// Runs a script in a process of its own, until that runs or has ended.
fn start(started: &Started, runs_main: bool) -> Result<Exit, CliError> {
    let (folder, name) = (started.remote.folder(), name(&started.script)?);
    let script = started.script.strip_suffix(".lua").unwrap_or(&started.script);
    let file = options::absolute(&started.root.join(format!("{script}.lua")));
    let (log, path) = open_log(&started.log_folder, &name)?;
    if !has_room(&log) {
        terminal::complain(format_args!(
            "note: there is no room for {}, and what the script prints is lost until there is",
            path.display()
        ));
    }
    let own = own_path()?;
    let mut command = Command::new(&own);
    command.arg("run").args(&started.interface).arg(file);
    command
        .arg("--root")
        .arg(options::absolute(&started.root))
        .args(["--control", "--name"])
        .arg(name.to_string());
    command.arg("--socket-dir").arg(options::absolute(folder.path()));
    if !runs_main {
        command.arg("--no-main");
    }
    match started.context {
        Context::Hardirq => drop(command.args(["--context", "hardirq"])),
        Context::Softirq => drop(command.args(["--context", "softirq"])),
        Context::Process | Context::Percpu => {}
    }
    command.args(started.passed.arguments());
    if started.context == Context::Percpu && started.passed.queues.is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.arg("--queues").arg(processors.min(256).to_string());
    }
    let begin = log.metadata().map(|metadata| metadata.len()).unwrap_or(0);
    let again = log.try_clone().map_err(|source| unwritten(&path, source))?;
    command.stdin(Stdio::null()).stdout(log).stderr(again).current_dir("/");
    // SAFETY: `setsid` takes and changes nothing of this process's memory; it may be called between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn().map_err(|source| CliError::Unreadable { path: own, source })?;
    wait(child, (&folder, &name), (&path, begin))
}

/// This command's file.
fn own_path() -> Result<PathBuf, CliError> {
    let path = PathBuf::from("/proc/self/exe");
    std::fs::read_link(&path).map_err(|source| CliError::Unreadable { path, source })
}

/// The file for what the script prints, which goes on where it ended.
fn open_log(folder: &Path, name: &Name) -> Result<(File, PathBuf), CliError> {
    let path = folder.join(format!("{name}.log"));
    let opened = std::fs::create_dir_all(folder).and_then(|()| {
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        options.open(&path)
    });
    match opened {
        Ok(file) => Ok((file, path)),
        Err(source) => Err(unwritten(&path, source)),
    }
}

/// Whether there is room for a few lines behind a file's end.
fn has_room(file: &File) -> bool {
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or(0);
    let some = libc::off_t::try_from(length).ok().map(|length| (length, 4096));
    let Some((length, more)) = some else { return true };
    let asked = nix::fcntl::fallocate(file, nix::fcntl::FallocateFlags::FALLOC_FL_KEEP_SIZE, length, more);
    // What was got that way is given back; nobody else writes into the file yet.
    let _ = file.set_len(length as u64);
    !matches!(asked, Err(nix::errno::Errno::ENOSPC | nix::errno::Errno::EDQUOT))
}

fn unwritten(path: &Path, source: std::io::Error) -> CliError {
    CliError::Unwritten { path: path.to_path_buf(), source }
}

/// Until the script answers by its name; where it ends before, what it has said is said here, and its exit code is this one's.
fn wait(
    mut child: Child,
    (folder, name): (&RuntimeFolder, &Name),
    (log, begin): (&Path, u64),
) -> Result<Exit, CliError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ended = child.try_wait().map_err(|source| unwritten(log, source))?;
        if let Some(status) = ended {
            let mut said = Vec::new();
            let read = File::open(log).and_then(|mut file| {
                file.seek(SeekFrom::Start(begin))?;
                file.read_to_end(&mut said)
            });
            read.map_err(|source| CliError::Unreadable { path: log.to_path_buf(), source })?;
            std::io::stderr().write_all(&said)?;
            if said.is_empty() && !status.success() {
                terminal::complain(format_args!(
                    "note: the script has ended ({status}), and there is nothing in {}",
                    log.display()
                ));
            }
            return Ok(match status.code() {
                Some(0) => Exit::Success,
                Some(1) => Exit::Refused,
                Some(2) => Exit::Usage,
                Some(4) => Exit::Bug,
                _ => Exit::Host,
            });
        }
        // It has the name when it runs; until then somebody else may have it, and it ends for that.
        if answers(folder, name, child.id()) {
            return Ok(Exit::Success);
        }
        if Instant::now() > deadline {
            let seconds = PATIENCE.as_secs();
            terminal::complain(format_args!(
                "note: the script does not run after {seconds} seconds; {} tells more",
                log.display()
            ));
            return Ok(Exit::Host);
        }
        std::thread::sleep(NAP);
    }
}

/// Whether the script of that name is that process.
fn answers(folder: &RuntimeFolder, name: &Name, process: u32) -> bool {
    let status = Client::connect(folder, name).map_err(CliError::from).and_then(|mut client| {
        client.set_timeout(Some(Duration::from_secs(5)))?;
        ask::<Status>(&mut client, &Request::Status)
    });
    status.is_ok_and(|status| status.pid == Some(process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_named_by_their_paths() {
        for script in ["examples/echod/daemon", "examples/echod/daemon.lua", "./examples/echod/daemon"] {
            assert_eq!(name(script).expect(script).to_string(), "examples.echod.daemon");
        }
        assert_eq!(name("a b").expect("it is fit").to_string(), "a_b");
        assert!(name("").is_err() && name("../x").is_err());
    }
}
