//! Whether a random program is fit for comparing tiers: it loads, ends soon, and what it shows depends on nothing that the Lua
//! manual leaves open. Needs real Lua only.
//!
//! The program runs as it is, and again in another state (other addresses, other hash seed) in which `pairs` and `next` walk
//! tables backwards. Any difference between the two is a fault of the generator.

use crate::generator::FLOATS_SIGN;
use crate::outcome::Seen;
use crate::pair::UserRun;
use crate::trial::{Failure, Ran, Verdict};
use std::path::Path;

/// Virtual-machine instructions that a frame may cost: far less than where the kernel tier stops.
const WORK: u64 = 60_000;

/// What the second run may cost, whose traversals are slow.
const WORK_BACKWARDS: u64 = 4_000_000;

/// Bytes that the garbage of a frame may have; packet memory is 256 KiB.
const MEMORY: usize = 160 << 10;

/// Lines that a frame may print, and their bytes.
const LINES: usize = 250;
const BYTES: usize = 24 << 10;

/// Put in front of a script's first line: traversals in the opposite order.
const BACKWARDS: &str = "do local pairs_, next_, select_, type_, meta_ = pairs, next, select, type, getmetatable \
    local function keys_of(t) local all, n = {}, 0 for k in next_, t do n = n + 1 all[n] = k end return all, n end \
    function next(...) local t, key = ... if type_(t) ~= 'table' then return next_(...) end \
    local all, n = keys_of(t) if key == nil then local k = all[n] if k == nil then return nil end return k, t[k] end \
    for i = n, 1, -1 do if all[i] == key then local k = all[i - 1] if k == nil then return nil end return k, t[k] end end \
    return next_(...) end \
    function pairs(...) local t = ... if type_(t) ~= 'table' or meta_(t) then return pairs_(...) end \
    local all, i = keys_of(t) i = i + 1 return function() while i > 1 do i = i - 1 local k = all[i] \
    if t[k] ~= nil then return k, t[k] end end end, t, nil, nil end end ";

/// Runs a program over the frames in real Lua; `Agreed` with what it showed if it is fit.
pub fn check(text: &str, frames: &[Vec<u8>], folder: &Path) -> Verdict {
    match examined(text, frames, folder) {
        Ok(seen) => Verdict::Agreed(Ran { seen, ..Ran::default() }),
        Err((kind, message)) => Verdict::Failed(Failure { kind, message }),
    }
}

/// What is wrong with a program: in few words, and in full.
pub type Fault = (String, String);

/// Runs a script over the frames in real Lua, forwards and backwards; gives what it showed.
///
/// # Errors
/// Why it is not fit for comparing tiers.
pub fn examined(text: &str, frames: &[Vec<u8>], folder: &Path) -> Result<Vec<Seen>, Fault> {
    let mut forwards = started(text, folder, WORK)?;
    let mut backwards = started(&format!("{BACKWARDS}{text}"), folder, WORK_BACKWARDS)?;
    let mut all = Vec::new();
    for frame in frames {
        let (seen, garbage) = forwards.run(frame);
        fit(&seen, garbage, text.contains(FLOATS_SIGN))?;
        let (other, _) = backwards.run(frame);
        if comparable(&other) != comparable(&seen) {
            return fault("differs from itself", format!("{seen}\nbackwards: {other}"));
        }
        all.push(seen);
    }
    Ok(all)
}

/// What a frame showed, without what messages about bad arguments say of the caller: in the second run `next` and `pairs` are called
/// by functions of the script, which stand between them and their callers.
fn comparable(seen: &Seen) -> Seen {
    let mut seen = seen.clone();
    for text in seen.output.iter_mut().chain(&mut seen.error) {
        let shown = text.lossy();
        if shown.contains(BAD_ARGUMENT) {
            text.bytes = shown.split('\t').map(anonymous).collect::<Vec<_>>().join("\t").into_bytes();
        }
    }
    seen
}

const BAD_ARGUMENT: &str = "bad argument #";

/// A message without its position and without the function's name.
fn anonymous(message: &str) -> String {
    let Some((_, rest)) = message.split_once(BAD_ARGUMENT) else { return message.to_string() };
    let number = rest.split(' ').next().unwrap_or_default();
    let problem = rest.split_once("' (").map_or(rest, |(_, problem)| problem);
    format!("{BAD_ARGUMENT}{number} ({problem}")
}

fn fault<T>(kind: &str, message: String) -> Result<T, Fault> {
    Err((kind.to_string(), message))
}

fn started(text: &str, folder: &Path, budget: u64) -> Result<UserRun, Fault> {
    let path = folder.join("random.lua");
    std::fs::write(&path, text).map_err(|error| ("no file".to_string(), error.to_string()))?;
    // The message tells faults apart, but not by the names and lines in it.
    let kind = |text: &str| text.lines().next().unwrap_or_default().replace(|c: char| c.is_ascii_digit(), "");
    UserRun::new(&path, budget).map_err(|error| {
        let text = error.to_string().replace(&*folder.to_string_lossy(), "");
        (format!("does not load: {}", kind(&text)), text)
    })
}

/// Whether what a frame showed can be compared; `floats`: the program may show floats.
fn fit(seen: &Seen, garbage: usize, floats: bool) -> Result<(), Fault> {
    if seen.ran_out_of_budget() {
        return fault("too much work", seen.to_string());
    }
    if garbage > MEMORY {
        return fault("too much memory", format!("{garbage} bytes"));
    }
    let bytes: usize = seen.output.iter().map(|line| line.bytes.len()).sum();
    if seen.output.len() > LINES || bytes > BYTES {
        return fault("prints too much", format!("{} lines, {bytes} bytes", seen.output.len()));
    }
    for line in seen.output.iter().chain(&seen.error) {
        let text = line.lossy();
        if ["table: 0x", "function: 0x", "function: builtin", "data: 0x"]
            .iter()
            .any(|kind| text.contains(kind))
        {
            return fault("shows an address", text);
        }
        if !floats && text.split('\t').any(is_float) {
            return fault("shows a float", text);
        }
    }
    Ok(())
}

/// Whether a printed value is a float's.
fn is_float(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let fraction =
        digits.split_once('.').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    let fraction = fraction && digits.starts_with(|c: char| c.is_ascii_digit());
    let numeral = fraction || digits.contains("e+") || digits.contains("e-");
    matches!(text, "inf" | "-inf" | "-nan") || numeral && digits.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("local xdp = require \"xdp\"\nxdp.attach(function(pkt)\n{text}\nend)\n");
        examined(&text, &[vec![7; 60], vec![9; 60]], folder.path()).err().map(|(kind, _)| kind)
    }

    #[test]
    fn unfit_programs_are_found() {
        let table = [
            ("print(#pkt, 'fine', ({ 3, 4 })[1])", None),
            ("print({})", Some("shows an address")),
            ("print(1 / 2)", Some("shows a float")),
            ("print(2^63)", Some("shows a float")),
            ("while true do end", Some("too much work")),
            ("for i = 1, 300 do print(i) end", Some("prints too much")),
            ("local s = ('x'):rep(200000)", Some("too much memory")),
            ("for k in pairs { a = 1, b = 2 } do print(k) end", Some("differs from itself")),
            ("print(next { a = 1, b = 2 })", Some("differs from itself")),
            ("local n = 0 for k, v in next, { a = 1, b = 2 } do n = n + v end print(n)", None),
            ("local x <const> = 1 x = 2", Some("does not load")),
            ("print(pcall(next, {}, 1))", None),
            ("print(pcall(next)) for k in next, 5 do end", None),
        ];
        for (text, expected) in table {
            let kind = kind(text);
            assert!(expected.is_none() == kind.is_none(), "{text}: {kind:?}");
            assert!(kind.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{text}");
        }
    }
}
