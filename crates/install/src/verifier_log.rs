//! Reading the verifier's log: what it objects to, and at which line of the script.
//!
//! The log's form is kernel/bpf/verifier.c and log.c: instructions are `12: (07) r1 += 8`, the source line before them
//! is `; text @ file:line` (since 6.10; without `@ …` before), the objection stands last, followed only by statistics.

use moonhook_diagnostic::Place;

/// The objection: the last line, or the last two, that are neither instruction, state, source line nor statistic.
pub(crate) fn message(log: &str) -> String {
    if let Some(limit) = limit(log) {
        return limit.to_string();
    }
    let end = log.lines().rev().map(str::trim).skip_while(|line| !is_objection(line));
    let mut lines: Vec<&str> = end.take_while(|line| is_objection(line)).take(2).collect();
    lines.reverse();
    if lines.is_empty() { "no reason given".to_string() } else { lines.join("; ") }
}

/// What the verifier says when it gives up for the work there is (`do_check` and `push_stack`, kernel/bpf/verifier.c), which can stand behind an
/// instruction on the same line.
const LIMITS: [&str; 2] = ["BPF program is too large. ", "The sequence of "];

/// Lines from the end in which that is looked for.
const LAST: usize = 8;

fn limit(log: &str) -> Option<&str> {
    let mut lines = log.lines().rev().take(LAST);
    lines.find_map(|line| LIMITS.iter().find_map(|limit| line.find(limit).map(|at| line[at..].trim_end())))
}

/// How lines begin that are about the verifier's state or work, not about what is wrong.
const OTHER: [&str; 13] = [
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
    "callee:",
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

/// What the verifier did in a function that it verified on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedFunction {
    pub name: String,
    /// Instructions that the verifier has been through, over all paths, those of functions that are not global included.
    pub verified: u32,
    /// How often it came to each of the function's own instructions (slots of 8 bytes), as far as it came.
    pub visits: Vec<u32>,
}

impl VerifiedFunction {
    /// Adds the work on the same function for another program.
    pub fn add(&mut self, other: &VerifiedFunction) {
        self.verified += other.verified;
        self.visits.resize(self.visits.len().max(other.visits.len()), 0);
        self.visits.iter_mut().zip(&other.visits).for_each(|(own, other)| *own += other);
    }
}

/// The work of each function, that of the program first; `None` where the log does not have every instruction.
pub(crate) fn functions(program: &str, log: &str) -> Option<Vec<VerifiedFunction>> {
    let mut starts: Vec<usize> = Vec::new();
    let new = |name: &str| VerifiedFunction { name: name.to_string(), verified: 0, visits: Vec::new() };
    let (mut all, mut range) = (vec![new(program)], 0..usize::MAX);
    for line in log.lines() {
        if let Some(at) = step(line) {
            let function = all.last_mut()?;
            function.verified += 1;
            if range.contains(&at) {
                let index = at - range.start;
                function.visits.resize(function.visits.len().max(index + 1), 0);
                function.visits[index] += 1;
            }
        } else if let Some((_, start)) = line.strip_prefix("func#").and_then(|rest| rest.split_once(" @")) {
            starts.push(start.parse().ok()?);
            range.end = starts.get(1).copied().unwrap_or(usize::MAX);
        } else if let Some((name, rest)) =
            line.strip_prefix("Validating ").and_then(|rest| rest.split_once("() func#"))
        {
            let number: usize = rest.trim_end_matches('.').parse().ok()?;
            range = *starts.get(number)?..starts.get(number + 1).copied().unwrap_or(usize::MAX);
            all.push(new(name));
        }
    }
    let verified = all.iter().map(|function| function.verified).sum();
    (number_after(log, "\nprocessed ") == Some(verified)).then_some(all)
}

/// The place of what the verifier counts as an instruction: one that it looked at, or one where it met a state that it knows.
fn step(line: &str) -> Option<usize> {
    let (place, rest) = line.split_once(": ")?;
    match place.strip_prefix("from ") {
        None if rest == "safe" || rest.starts_with('(') => place.parse().ok(),
        Some(jump) if rest == "safe" => {
            let (_, to) = jump.split_once(" to ")?;
            to.split(' ').next()?.parse().ok()
        }
        _ => None,
    }
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
    fn limits_stand_behind_instructions() {
        let log = "caller:\n frame4: R0=1\ncallee:\n frame5: R1=1\n5800: (71) r1 = *(u8 *)(r1 +0) ; R1=scalar()\n\
                   5801: (55) if r1 != 0x2e goto pc+1 BPF program is too large. Processed 1000001 insn\n\
                   processed 1000001 insns (limit 1000000) max_states_per_insn 67\n";
        assert_eq!(message(log), "BPF program is too large. Processed 1000001 insn");
        let log = "12: (55) if r1 != 0x2e goto pc+1 The sequence of 8193 jumps is too complex.\n";
        assert_eq!(message(log), "The sequence of 8193 jumps is too complex.");
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

    #[test]
    fn steps_are_counted_by_global_function() {
        let log = "func#0 @0\nfunc#1 @4\nLive regs before insn:\n      0: .1........ (bf) r6 = r1\n0: R1=ctx() R10=fp0\n\
                   ; a @ x.lua:1\n0: (bf) r6 = r1               ; R1=ctx()\n1: (85) call f#1\n\
                   Func#1 ('f') is global and assumed valid.\n\nfrom 1 to 2: R0=1\n2: R0=1\n2: (95) exit\n\n\
                   from 1 to 2 (speculative execution): safe\nValidating f() func#1...\n4: R1=scalar()\n4: (95) exit\n\
                   mark_precise: frame0: regs=r0 stack= before 4: (95) exit\n4: safe\n";
        let end = |count| format!("{log}verification time 1 usec\nprocessed {count} insns (limit 1000000)\n");
        let function =
            |name: &str, verified, visits| VerifiedFunction { name: name.to_string(), verified, visits };
        let expected = vec![function("x", 4, vec![1, 1, 2]), function("f", 2, vec![2])];
        assert_eq!(functions("x", &end(6)), Some(expected));
        assert_eq!(functions("x", &end(7)), None);
    }
}
