//! What Lunatik's probes are for, counted in the kernel: by scripts of tracepoints and functions (`docs/hooks/trace.md`), each a program that all states share.
//!
//! The calls of this process are left out: handlers make some, which would be told to handlers, and so on for ever.

mod program;

use crate::probes::program::Counter;
use moonhook_lunatik::{Counted, Counting, Counts, Uncounted};
use nix::errno::Errno;
use nix::libc;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Counts with programs of its own.
#[derive(Debug, Default)]
pub struct Programs {
    /// This process's number in the kernel, when it is known.
    own: Mutex<Option<i64>>,
}

impl Counting for Programs {
    fn count(&self, counted: &Counted) -> Result<Box<dyn Counts>, Uncounted> {
        if !cfg!(target_arch = "x86_64") {
            let reason = "the numbers of system calls are those of x86-64";
            return Err(Uncounted { errno: Errno::EOPNOTSUPP as i32, reason: reason.to_string() });
        }
        let (event, number) = event(counted)?;
        let own = self.own()?.to_string();
        let text = include_str!("counts.lua");
        let text = filled(text, &[("OWN", &own), ("NUMBER", number), ("EVENT", &event)]);
        Ok(Box::new(Counter::begin("probes", &text, "counts")?))
    }
}

impl Programs {
    fn own(&self) -> Result<i64, Uncounted> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        match *own {
            Some(own) => Ok(own),
            None => Ok(*own.insert(find_own()?)),
        }
    }
}

/// The event, as a script's string, and what a script says for the number of the count.
fn event(counted: &Counted) -> Result<(String, &'static str), Uncounted> {
    // Where a process's system calls are those of 32 bits (`TS_COMPAT`, arch/x86/include/asm/thread_info.h), they have other numbers.
    let (kind, name, number) = match counted {
        Counted::Calls => ("raw_tp", "sys_enter", "e.task.thread_info.status & 2 == 0 and e.id or -1"),
        Counted::Returns => {
            ("raw_tp", "sys_exit", "e.task.thread_info.status & 2 == 0 and e.regs.orig_ax or -1")
        }
        Counted::Function(name) => ("kprobe", name.as_str(), "0"),
        Counted::FunctionReturns(name) => ("kretprobe", name.as_str(), "0"),
    };
    let is_named = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    if !is_named || name.is_empty() {
        let reason = format!("no function of the kernel is called '{}'", name.escape_default());
        return Err(Uncounted { errno: Errno::ENOENT as i32, reason });
    }
    Ok((format!("\"{kind}/{name}\""), number))
}

/// A script with words replaced.
fn filled(text: &str, words: &[(&str, &str)]) -> String {
    let code = text.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    words.iter().fold(code, |text: String, (word, by)| text.replace(word, by))
}

/// The number that the kernel knows this process by.
fn find_own() -> Result<i64, Uncounted> {
    // Positive, and more than any kind of priority: nobody else asks for it.
    let token = (RandomState::new().hash_one("token") >> 2) as i64 | 1 << 61;
    let text = filled(include_str!("own.lua"), &[("TOKEN", &token.to_string())]);
    let finder = Counter::begin("probes_own", &text, "found")?;
    // SAFETY: integers alone; there is no such kind, and nothing comes of it but an error.
    unsafe { libc::syscall(libc::SYS_getpriority, token, 0_i64) };
    let failed = |reason: String| Uncounted { errno: Errno::EIO as i32, reason };
    match finder.one(0).map_err(failed)? {
        0 => Err(failed("the kernel did not tell of a system call of this process".to_string())),
        own => Ok(own as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_the_words_that_they_are_given() {
        let (event, number) = event(&Counted::Returns).unwrap();
        let text = filled(include_str!("counts.lua"), &[("EVENT", &event), ("NUMBER", number), ("OWN", "7")]);
        assert!(text.contains("trace.on(\"raw_tp/sys_exit\", function(e)"), "{text}");
        assert!(text.contains("e.pid == 7") && text.contains("e.regs.orig_ax or -1"), "{text}");
        assert!(!text.contains("--") && !text.contains("OWN"), "{text}");
        assert_eq!(filled(include_str!("own.lua"), &[("TOKEN", "5")]).matches("e.regs.di == 5").count(), 1);
    }

    #[test]
    fn functions_have_names() {
        let (event, number) = event(&Counted::Function("tcp_v4_connect".to_string())).unwrap();
        assert_eq!((event.as_str(), number), ("\"kprobe/tcp_v4_connect\"", "0"));
        for name in ["", "a\"b", "a b", "x\n"] {
            let error = super::event(&Counted::FunctionReturns(name.to_string())).unwrap_err();
            assert_eq!(error.errno, Errno::ENOENT as i32, "{name}");
        }
    }
}
