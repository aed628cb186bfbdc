//! What becomes of a packet whose handlers fail.

use crate::Hook;
use std::borrow::Cow;

/// The verdict after a run-time error, by its name, because its number depends on the hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnError(Option<Cow<'static, str>>);

impl OnError {
    /// The hook's own verdict for packets that no handler decides on.
    pub const PASS: OnError = OnError(None);

    /// The verdict of that name, in any case.
    pub const fn named(name: &'static str) -> OnError {
        OnError(Some(Cow::Borrowed(name)))
    }

    /// The name, unless it is [`OnError::PASS`].
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Whether the hook has that verdict, or nothing to decide.
    pub fn is_of(&self, hook: &Hook) -> bool {
        self.name().is_none_or(|name| hook.is_trace() || hook.plain_verdict(name).is_some())
    }

    /// The verdict's number at a hook; that of [`OnError::PASS`] if the hook has none of that name.
    pub fn verdict(&self, hook: &Hook) -> i32 {
        self.name().and_then(|name| hook.plain_verdict(name)).unwrap_or(hook.default)
    }
}

impl From<String> for OnError {
    fn from(name: String) -> OnError {
        OnError(Some(Cow::Owned(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::XDP;

    #[test]
    fn verdicts_are_those_of_the_hook() {
        let named = |name| OnError::named(name).verdict(&XDP);
        assert_eq!((OnError::PASS.verdict(&XDP), named("drop"), named("Aborted")), (2, 1, 0));
        assert!(OnError::named("drop").is_of(&XDP) && !OnError::named("redirect").is_of(&XDP));
        assert_eq!(OnError::from("tx".to_string()).verdict(&XDP), 3);
    }
}
