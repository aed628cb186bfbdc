//! Reading the verifier's log: what it objects to, and at which line of the script.
//!
//! The log's form is kernel/bpf/verifier.c and log.c: instructions are `12: (07) r1 += 8`, the source line before them
//! is `; text @ file:line` (since 6.10; without `@ …` before), the objection stands last, followed only by statistics.

use moonhook_diagnostic::Place;

const BEGIN: &str = "-- BEGIN PROG LOAD LOG --\n";
const END: &str = "-- END PROG LOAD LOG --";

/// The first verifier log in libbpf's messages, with the name of its program.
pub(crate) fn in_messages(messages: &str) -> Option<(&str, &str)> {
    let (before, after) = messages.split_once(BEGIN)?;
    let log = after.split_once(END).map_or(after, |(log, _)| log);
    let program = before.rsplit_once("prog '").and_then(|(_, name)| name.split_once('\''));
    Some((program.map_or("", |(name, _)| name), log))
}

/// The objection: the last line that is neither an instruction, a state, a source line nor a statistic.
pub(crate) fn message(log: &str) -> String {
    let found = log.lines().rev().map(str::trim).find(|line| says_something(line));
    found.unwrap_or("no reason given").to_string()
}

fn says_something(line: &str) -> bool {
    const STATISTICS: [&str; 5] =
        ["processed ", "verification time ", "stack depth ", "max_states_per_insn", "peak_states"];
    let state = line.split_once(": ").is_some_and(|(before, _)| before.parse::<u32>().is_ok());
    !(line.is_empty() || line.starts_with(';') || state || STATISTICS.iter().any(|s| line.starts_with(s)))
}

/// The last source line in the log. It is where the verifier stopped: it prints a line when it comes to another one.
pub(crate) fn place(log: &str) -> Option<Place> {
    log.lines().rev().find_map(|line| {
        let (text, position) = line.trim().strip_prefix("; ")?.rsplit_once(" @ ")?;
        let (file, line) = position.rsplit_once(':')?;
        let line = line.parse().ok()?;
        Some(Place { file: file.to_string(), line, text: text.to_string(), name: None })
    })
}

/// The last instruction that the verifier looked at.
pub(crate) fn instruction(log: &str) -> Option<u32> {
    log.lines().rev().find_map(|line| {
        let (number, rest) = line.trim().split_once(": ")?;
        if rest.starts_with('(') { number.parse().ok() } else { None }
    })
}

/// The depths in `stack depth 8+16+0`, in bytes.
pub(crate) fn stack(log: &str) -> Option<Vec<u32>> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("stack depth "))?;
    line.trim().split('+').map(|depth| depth.trim().parse().ok()).collect()
}

/// The number that follows the last `label`.
pub(crate) fn number_after(log: &str, label: &str) -> Option<u32> {
    let (_, after) = log.rsplit_once(label)?;
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().ok()
}
