//! Comparing what two tiers did with the same frame: verdict, bytes, prints, and the error's message.
//!
//! Tracebacks are not compared: the compiler expands calls in place and words them in its own way.

use super::tier::{Decision, Outcome};
use crate::verdict;
use moonhook_records::Text;
use serde::Serialize;

/// One respect in which the kernel tier and the user tier differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub what: &'static str,
    pub kernel: String,
    pub user: String,
}

/// How `user` differs from `kernel`.
pub fn compare(kernel: &Outcome, user: &Outcome) -> Vec<Difference> {
    let (Outcome::Decided(kernel), Outcome::Decided(user)) = (kernel, user) else { return Vec::new() };
    let differences =
        [verdicts(kernel, user), bytes(kernel, user), prints(kernel, user), errors(kernel, user)];
    differences.into_iter().flatten().collect()
}

fn verdicts(kernel: &Decision, user: &Decision) -> Option<Difference> {
    let name = |decision: &Decision| verdict::name(decision.hook, decision.verdict).into_owned();
    (kernel.verdict != user.verdict).then(|| Difference {
        what: "verdict",
        kernel: name(kernel),
        user: name(user),
    })
}

/// The first byte that differs, or the lengths.
fn bytes(kernel: &Decision, user: &Decision) -> Option<Difference> {
    if kernel.data == user.data {
        return None;
    }
    let mut pairs = kernel.data.iter().zip(&user.data).enumerate();
    let (kernel, user) = match pairs.find(|(_, (kernel, user))| kernel != user) {
        Some((at, (kernel, user))) => (format!("{kernel:#04x} at {at}"), format!("{user:#04x} at {at}")),
        None => (format!("{} bytes", kernel.data.len()), format!("{} bytes", user.data.len())),
    };
    Some(Difference { what: "bytes", kernel, user })
}

fn prints(kernel: &Decision, user: &Decision) -> Option<Difference> {
    let pairs = kernel.prints.len().max(user.prints.len());
    let mut pairs = (0..pairs).map(|index| (kernel.prints.get(index), user.prints.get(index)));
    let (kernel, user) = pairs.find(|(kernel, user)| !agree(*kernel, *user))?;
    Some(Difference { what: "print", kernel: shown(kernel), user: shown(user) })
}

fn errors(kernel: &Decision, user: &Decision) -> Option<Difference> {
    let message = |decision: &Decision| decision.error.as_ref().map(|error| error.message.clone());
    let (kernel, user) = (message(kernel), message(user));
    (!agree(kernel.as_ref(), user.as_ref())).then(|| Difference {
        what: "error",
        kernel: shown(kernel.as_ref()),
        user: shown(user.as_ref()),
    })
}

fn agree(kernel: Option<&Text>, user: Option<&Text>) -> bool {
    match (kernel, user) {
        (Some(kernel), Some(user)) => kernel.agrees_with(&user.bytes),
        (None, None) => true,
        _ => false,
    }
}

fn shown(text: Option<&Text>) -> String {
    text.map_or_else(|| "nothing".to_string(), |text| text.bytes.escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_hook::XDP;
    use moonhook_records::Failure;

    fn decision() -> Decision {
        let error = Failure { message: Text::whole(b"x.lua:1: bad".to_vec()), traceback: vec!["a".into()] };
        let prints = vec![Text::whole(b"one".to_vec()), Text::whole(b"two".to_vec())];
        Decision { hook: &XDP, verdict: 2, data: vec![1, 2, 3], prints, error: Some(error) }
    }

    fn differences(change: impl Fn(&mut Decision)) -> Vec<(&'static str, String, String)> {
        let mut user = decision();
        change(&mut user);
        let found = compare(&Outcome::Decided(decision()), &Outcome::Decided(user));
        found.into_iter().map(|d| (d.what, d.kernel, d.user)).collect()
    }

    #[test]
    fn every_respect_is_compared() {
        let row = |what, kernel: &str, user: &str| vec![(what, kernel.to_string(), user.to_string())];
        assert_eq!(differences(|_| ()), []);
        assert_eq!(differences(|user| user.verdict = 1), row("verdict", "PASS", "DROP"));
        assert_eq!(differences(|user| user.data[1] = 9), row("bytes", "0x02 at 1", "0x09 at 1"));
        assert_eq!(differences(|user| user.data.push(4)), row("bytes", "3 bytes", "4 bytes"));
        assert_eq!(differences(|user| drop(user.prints.pop())), row("print", "two", "nothing"));
        assert_eq!(differences(|user| user.prints[0].bytes[0] = 7), row("print", "one", "\\x07ne"));
        assert_eq!(differences(|user| user.error = None), row("error", "x.lua:1: bad", "nothing"));
    }

    #[test]
    fn tracebacks_are_not_compared() {
        assert_eq!(differences(|user| user.error.as_mut().unwrap().traceback.clear()), []);
    }
}
