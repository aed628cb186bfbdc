//! Loading: object bytes to a [`Program`] in the kernel, or the reason why not.

use crate::arena::{self, Arena, Presence};
use crate::log::Log;
use crate::privilege::{self, LOAD};
use crate::statistics::{self, ProgramStatistics};
use crate::verifier_log::VerifiedFunction;
use crate::{InstallError, Rejection, messages, patience, probe, reuse, verifier_log};
use libbpf_rs::{AsRawLibbpf, Object, ObjectBuilder, OpenObject};
use nix::errno::Errno;
use std::borrow::Cow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// How much the verifier is asked to say about programs that it accepts. About a rejected one it always says all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogDetail {
    /// The fastest load.
    #[default]
    Nothing,
    /// Stack depth, states and verification time ([`ProgramStatistics`]); hardly slower.
    Statistics,
    /// Every instruction that it looked at, and the statistics: about 300 bytes and 20 microseconds an instruction.
    All,
}

#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The object's name in messages and map names. The kernel keeps 15 bytes of names.
    pub name: String,
    pub log: LogDetail,
    /// Processor time after which the attempt is given up; `None`: as long as it takes.
    pub patience: Option<Duration>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions { name: "moonhook".to_string(), log: LogDetail::Nothing, patience: None }
    }
}

/// A loaded object: its programs and maps in the kernel. They go when this is dropped, except what a link still uses.
///
/// An arena has all its pages from the start, so that programs can write to any offset below its length.
#[derive(Debug)]
pub struct Program {
    pub(crate) presence: Presence,
    pub(crate) object: Object,
    pub(crate) arena: Option<Arc<Arena>>,
    logs: Vec<Log>,
    warnings: String,
}

/// Loads `elf` into the kernel. Of an object without programs and maps nothing is loaded, which takes no privilege.
///
/// # Errors
/// `MalformedObject`; `Privilege` or `BpfRefused`; `Rejected` with the verifier's whole log; `KernelTooOld` where a
/// kernel below the floor does any of that; `OutOfPatience`; `LoadFailed`. Nothing stays in the kernel.
pub fn load(elf: &[u8], options: &LoadOptions) -> Result<Program, InstallError> {
    load_with_maps(elf, options, &[])
}

/// As [`load`], with maps that exist already in the place of the object's maps and data sections of those names. They keep
/// what is in them, and belong to both programs. Of an arena one program at a time has the bytes: [`Program::succeed`].
///
/// # Errors
/// As [`load`]; `NoSuchItem`; `MapAccess` if sizes or types differ.
pub fn load_with_maps(
    elf: &[u8],
    options: &LoadOptions,
    maps: &[(String, BorrowedFd<'_>)],
) -> Result<Program, InstallError> {
    match attempt(elf, options, maps) {
        Err(error @ InstallError::OutOfPatience { .. }) => Err(error),
        // libbpf asks for the reasons of a rejection only if it was told nothing about logs; and buffers can be too small.
        Err(_) if options.log != LogDetail::Nothing => {
            attempt(elf, &LoadOptions { log: LogDetail::Nothing, ..options.clone() }, maps)
        }
        result => result,
    }
}

fn attempt(
    elf: &[u8],
    options: &LoadOptions,
    maps: &[(String, BorrowedFd<'_>)],
) -> Result<Program, InstallError> {
    let (opened, said) = messages::collect(|| {
        let mut builder = ObjectBuilder::default();
        builder.name(&options.name)?;
        builder.open_memory(elf)
    });
    let mut opened = opened.map_err(|error| InstallError::MalformedObject {
        message: fatal_message(&said).unwrap_or_else(|| error.to_string()),
    })?;
    if opened.progs().next().is_none() && opened.maps().next().is_none() {
        return Ok(empty(opened, said));
    }
    let logs = request_logs(&mut opened, options.log);
    let given: Vec<_> = maps.iter().map(|(name, _)| name.as_str()).collect();
    let arena = arena::reserve(&mut opened, &given)?;
    let places = given.iter().map(|name| reuse::place(&opened, name)).collect::<Result<Vec<_>, _>>()?;
    reuse::make_zeros(&mut opened, &given)?;
    for (at, (_, map)) in places.iter().zip(maps) {
        reuse::reuse(&mut opened, *at, *map)?;
    }
    let ((loaded, interrupted), said) =
        messages::collect(|| patience::bounded(options.patience, || load_object(opened)));
    let object = loaded.map_err(|errno| match (options.patience, errno) {
        // A log that is full says so in the place of why verification has ended (`bpf_vlog_finalize`, kernel/bpf/log.c).
        (Some(patience), Errno::EAGAIN | Errno::EINTR | Errno::ENOSPC) if interrupted => {
            InstallError::OutOfPatience { program: options.name.clone(), patience }
        }
        _ => failure(errno, &said, &logs),
    })?;
    let arena = arena.map(Arc::new);
    let presence = Presence::of(arena.as_ref());
    let program = Program { presence, object, arena, logs, warnings: said };
    program.arena.as_ref().map_or(Ok(()), |arena| arena.populate())?;
    for at in places {
        reuse::show(&program, at)?;
    }
    Ok(program)
}

/// The program of an object that has nothing for the kernel: libbpf would try whether it may load programs at all.
fn empty(opened: OpenObject, warnings: String) -> Program {
    // SAFETY: `take_ptr` gives up the opened object, which the `Object` owns from here on; there is nothing in it that would have to be loaded.
    let object = unsafe { Object::from_ptr(opened.take_ptr()) };
    Program { presence: Presence::of(None), object, arena: None, logs: Vec::new(), warnings }
}

/// As `OpenObject::load`, but keeps the errno.
fn load_object(opened: OpenObject) -> Result<Object, Errno> {
    let pointer = opened.take_ptr();
    // SAFETY: `take_ptr` gave up an opened object; it is closed here or owned by the `Object`, never both.
    unsafe {
        match libbpf_sys::bpf_object__load(pointer.as_ptr()) {
            0 => Ok(Object::from_ptr(pointer)),
            error => {
                libbpf_sys::bpf_object__close(pointer.as_ptr());
                Err(Errno::from_raw(-error))
            }
        }
    }
}

/// `BPF_LOG_LEVEL2` and `BPF_LOG_STATS` of include/linux/bpf_verifier.h. At level 1 the log of an accepted program is empty.
const LOG_LEVEL_ALL: u32 = 2;
const LOG_STATISTICS: u32 = 4;

/// The kernel keeps the end of a longer log (`bpf_verifier_vlog`, kernel/bpf/log.c): that of a program that is too large
/// has tens of megabytes, of which the first ones tell nothing.
pub(crate) const REJECTION_LOG: usize = 4 << 20;

fn request_logs(opened: &mut OpenObject, detail: LogDetail) -> Vec<Log> {
    let (level, size) = match detail {
        LogDetail::Nothing => (0, REJECTION_LOG),
        LogDetail::Statistics => (LOG_STATISTICS, 64 << 10),
        LogDetail::All => (LOG_STATISTICS | LOG_LEVEL_ALL, 256 << 20),
    };
    let mut logs = Vec::new();
    for mut program in opened.progs_mut() {
        let mut log = Log::new(program.name().to_string_lossy().into_owned(), size);
        program.set_log_level(level);
        let pointer = program.as_libbpf_object().as_ptr();
        // SAFETY: the buffer does not move when `log` does, and is dropped only after the object.
        unsafe { libbpf_sys::bpf_program__set_log_buf(pointer, log.start(), size as _) };
        logs.push(log);
    }
    logs
}

pub(crate) fn failure(errno: Errno, said: &str, logs: &[Log]) -> InstallError {
    let running = probe::release();
    let too_old = probe::kernel_version(&running).is_some_and(|version| version < probe::KERNEL_FLOOR);
    let message = fatal_message(said).unwrap_or_else(|| errno.desc().to_string());
    // Programs are loaded one after another, and only a rejected one has a log.
    if let Some(log) = logs.iter().rev().find(|log| !log.text().is_empty()) {
        return rejection(log.program(), log.text().into_owned(), running, too_old);
    }
    match errno {
        Errno::EPERM | Errno::EACCES | Errno::ENOSYS => {
            InstallError::permission("loading BPF programs", &LOAD, errno)
        }
        _ if too_old => too_old_error(running, message),
        _ => InstallError::LoadFailed { message, messages: said.to_string() },
    }
}

fn too_old_error(running: String, message: String) -> InstallError {
    InstallError::KernelTooOld { running, floor: probe::KERNEL_FLOOR_NAME, message }
}

fn rejection(program: &str, log: String, running: String, too_old: bool) -> InstallError {
    let message = verifier_log::message(&log);
    if too_old {
        return too_old_error(running, message);
    }
    let missing = privilege::missing(&LOAD);
    if !missing.is_empty() {
        return InstallError::Privilege { doing: "loading this program", missing };
    }
    InstallError::Rejected(Box::new(Rejection {
        program: program.to_string(),
        message,
        place: verifier_log::place(&log),
        instruction: verifier_log::instruction(&log),
        is_last_form: false,
        log,
    }))
}

/// libbpf tries, warns and does without, until something is fatal: the last message counts, apart from those that only
/// pass the failure on.
fn fatal_message(said: &str) -> Option<String> {
    let passes_on = |line: &str| line.contains("failed to load") || line.starts_with("-- BEGIN");
    let lines = said.lines().filter_map(|line| line.strip_prefix("libbpf: "));
    lines.map(str::trim).rfind(|line| !passes_on(line)).map(str::to_string)
}

impl Program {
    /// The names of the programs (entry points) in the object.
    pub fn programs(&self) -> Vec<String> {
        self.object.progs().map(|program| program.name().to_string_lossy().into_owned()).collect()
    }

    /// What libbpf had to do without, in its words: empty for a sound object. A BTF that the kernel does not take, for
    /// one, is left out with no more than a warning, and the line info with it.
    pub fn warnings(&self) -> &str {
        &self.warnings
    }

    /// One row a program, in the object's order. Stack and states are there if the load asked for statistics.
    pub fn statistics(&self) -> Vec<ProgramStatistics> {
        let program = |program: libbpf_rs::Program<'_>| {
            let name = program.name().to_string_lossy().into_owned();
            let log = self.log(&name);
            statistics::of(name, program.as_fd(), log.as_deref())
        };
        self.object.progs().map(program).collect()
    }

    /// What the verifier said of an accepted program, as [`LoadOptions::log`] asked.
    pub fn log(&self, program: &str) -> Option<Cow<'_, str>> {
        let log = self.logs.iter().find(|log| log.program() == program)?;
        Some(log.text()).filter(|text| !text.is_empty())
    }

    /// Where the verifier's work went: the program itself, then each global function in the order in which it verified them.
    /// The sum is [`ProgramStatistics::verified_instructions`]. `None` unless the load asked for [`LogDetail::All`] and had
    /// the whole log.
    pub fn verified_functions(&self, program: &str) -> Option<Vec<VerifiedFunction>> {
        verifier_log::functions(program, &self.log(program)?)
    }

    /// The descriptor of one program.
    ///
    /// # Errors
    /// `NoSuchItem`.
    pub fn program_fd(&self, name: &str) -> Result<BorrowedFd<'_>, InstallError> {
        let found = self.object.progs().find(|program| program.name() == name);
        let fd = found.map(|program| program.as_fd().as_raw_fd()).ok_or_else(|| {
            InstallError::NoSuchItem { kind: "program", name: name.to_string(), existing: self.programs() }
        })?;
        // SAFETY: the object owns the descriptor and `self` is borrowed for as long as the result lives.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_the_reason_for_whatever_it_refuses() {
        let log = include_str!("../tests/logs/unknown_helper.log").to_string();
        let error = rejection("p", log, "5.15.0-91-generic".to_string(), true);
        assert_eq!(error.to_string(), "the kernel is 5.15.0-91-generic, older than 6.12");
        assert_eq!(error.diagnostic().reason.as_deref(), Some("it says: invalid func unknown#9999"));
    }

    #[test]
    fn the_fatal_message_of_libbpf_counts() {
        let said = "libbpf: BTF loading error: -EINVAL\nlibbpf: -- BEGIN BTF LOAD LOG ---\n[1] INT\n\
                    libbpf: map 't': failed to create: -ENOMEM\nlibbpf: failed to load object 'x'\n";
        assert_eq!(fatal_message(said).as_deref(), Some("map 't': failed to create: -ENOMEM"));
        assert_eq!(fatal_message("\n"), None);
    }
}
