//! Reading the verifier's log: what it objects to, and at which line of the script.
//!
//! The log's form is kernel/bpf/verifier.c and log.c: instructions are `12: (07) r1 += 8`, the source line before them
//! is `; text @ file:line` (since 6.10; without `@ …` before), the objection stands last, followed only by statistics.

use moonhook_diagnostic::Place;

/// The objection: the last line, or the last two, that are neither instruction, state, source line nor statistic.
pub(crate) fn message(log: &str) -> String {
    let end = log.lines().rev().map(str::trim).skip_while(|line| !is_objection(line));
    let mut lines: Vec<&str> = end.take_while(|line| is_objection(line)).take(2).collect();
    lines.reverse();
    if lines.is_empty() { "no reason given".to_string() } else { lines.join("; ") }
}

/// How lines begin that are about the verifier's state or work, not about what is wrong.
const OTHER: [&str; 12] = [
    ";",
    "processed ",
    "verification time ",
    "stack depth ",
    "cur state: ",
    "old state: ",
    "mark_precise: ",
    "from ",
    "Func#",
    "func#",
    "caller:",
    "arg#",
];

fn is_objection(line: &str) -> bool {
    let instruction = line.split_once(": ").is_some_and(|(before, _)| before.parse::<u32>().is_ok());
    let frame = line.starts_with("frame") && line.contains(": R");
    !(line.is_empty() || instruction || frame || OTHER.iter().any(|other| line.starts_with(other)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The logs in `tests/logs` are those of Linux 6.18 about `tests/c/rejected` (`examples/verifier_log.rs`).
    macro_rules! log {
        ($name:literal) => {
            (include_str!(concat!("../tests/logs/", $name, ".log")), concat!($name, ".c"))
        };
    }

    #[test]
    fn real_logs_give_objection_line_and_instruction() {
        for ((log, file), objection, line, at) in [
            (log!("packet_bounds"), "R2 offset is outside of the packet", Some(9), Some(5)),
            (log!("before_packet"), "invalid access to packet, off=-8 size=8", Some(7), Some(1)),
            (log!("global_function"), "R1 offset is outside of the packet", Some(7), Some(3)),
            (log!("endless_loop"), "infinite loop detected at insn 3", Some(7), Some(6)),
            (log!("too_complex"), "BPF program is too large. Processed 1000001 insn", Some(8), Some(3)),
            (log!("uninitialised"), "R3 !read_ok", None, Some(0)),
            (log!("map_value_null"), "R0 invalid mem access 'map_value_or_null'", Some(15), None),
            (log!("map_value_bounds"), "R2 max value is outside of the allowed", Some(9), Some(6)),
            (log!("unknown_helper"), "invalid func unknown#9999", Some(7), Some(0)),
            (log!("wrong_helper"), "cannot use helper bpf_skb_pull_data#39", Some(7), Some(1)),
            (log!("stack_limit"), "combined stack size of 2 calls is 640. Too large", None, None),
        ] {
            let found = message(log);
            assert!(found.contains(objection), "{file}: {found}");
            let place = place(log);
            assert_eq!(place.as_ref().map(|place| place.line), line, "{file}: {place:?}");
            assert!(place.is_none_or(|place| place.file == file && !place.text.is_empty()), "{file}");
            assert!(at.is_none() || instruction(log) == at, "{file}: {:?}", instruction(log));
        }
    }

    #[test]
    fn statistics_of_nested_functions() {
        let log = "verification time 228 usec\nstack depth 8+16\nprocessed 56 insns (limit 1000000) \
                   max_states_per_insn 0 total_states 3 peak_states 2 mark_read 0\n";
        assert_eq!(stack(log), Some(vec![8, 16]));
        assert_eq!(number_after(log, "verification time "), Some(228));
        assert_eq!((number_after(log, " total_states "), number_after(log, " absent ")), (Some(3), None));
        assert_eq!((message(log).as_str(), place(log), instruction(log)), ("no reason given", None, None));
        assert_eq!(stack(""), None);
    }
}
