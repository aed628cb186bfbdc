//! What to say of a field that a library's table does not have: where there is one of that name, or what may have been meant.

use crate::error::LowerErrorKind;
use moonhook_btf::nearest;
use moonhook_hook::{CGROUP_INGRESS, Hook, NETFILTER, TC_INGRESS, XDP};
use moonhook_library::{Found, LIBRARIES};

/// Modules of constants: no function tells whose their tables are.
const CONSTANTS: [&str; 6] =
    ["linux.xdp", "linux.tc", "linux.cgroup", "linux.verdict", "linux.nf", "linux.ct"];

/// Tables that have the verdicts of a hook.
const VERDICTS: [(&str, &Hook); 4] = [
    ("linux.xdp", &XDP),
    ("linux.tc", &TC_INGRESS),
    ("linux.cgroup", &CGROUP_INGRESS),
    ("linux.nf.action", &NETFILTER),
];

/// As many names are told all.
const FEW: usize = 12;

/// Whether a module of Moonhook's own has that name, and nothing but constants.
pub fn is_of_constants(module: &str) -> bool {
    CONSTANTS.contains(&module)
}

impl LowerErrorKind {
    /// A field that is nil because the table of a library, which has these, does not have it.
    pub fn missing_member(table: &str, field: &str, known: &[&str]) -> LowerErrorKind {
        let help = match elsewhere(table, field) {
            Some(owner) => format!("`{owner}` has `{field}`"),
            None => nearby(field, known),
        };
        LowerErrorKind::MissingMember { table: table.to_string(), field: field.to_string(), help }
    }

    /// A global variable that is nil, in a script with a handler at the hook, if it is called as a verdict of some hook is.
    pub fn missing_global(name: &str, hook: &Hook) -> Option<LowerErrorKind> {
        if !VERDICTS.iter().any(|(_, hook)| hook.constants().any(|(known, _)| known == name)) {
            return None;
        }
        let module = hook.name.split('.').next().unwrap_or_default();
        let owner = elsewhere(module, name)?;
        let help = format!("`{owner}` has `{name}`");
        Some(LowerErrorKind::MissingGlobal { name: name.to_string(), help })
    }
}

/// The table that has a field of that name; one whose name is like the other's if there are several.
fn elsewhere(table: &str, field: &str) -> Option<&'static str> {
    let mut has = VERDICTS.iter().filter(|(_, hook)| hook.constants().any(|(name, _)| name == field));
    let of_hook = |name: &str| name.strip_prefix("linux.").is_some_and(|rest| rest == table);
    let verdicts = has.clone().find(|(name, _)| of_hook(name)).or(has.next()).map(|(name, _)| *name);
    verdicts.or_else(|| {
        let named = LIBRARIES.iter().filter(|library| library.found != Found::Methods);
        let mut has =
            named.filter(|library| library.function(field).is_some() || library.constants.contains(&field));
        has.find(|library| !["", "_G"].contains(&library.name)).map(|library| library.name)
    })
}

/// What may have been meant by a name among those that there are.
pub fn nearby(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (near.split_last(), known.len() > FEW) {
        (Some((last, [])), _) => format!("did you mean `{last}`?"),
        (Some((last, others)), _) => format!("did you mean {} or `{last}`?", listed(others)),
        (None, false) => format!("its fields are {}", listed(known)),
        (None, true) => format!("its fields are {}, …", listed(&known[..FEW])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_who_has_the_field_or_what_is_like_it() {
        let known = ["attach", "detach"];
        let help = |table, field, known: &[&str]| match LowerErrorKind::missing_member(table, field, known) {
            LowerErrorKind::MissingMember { help, .. } => help,
            other => other.to_string(),
        };
        assert_eq!(help("xdp", "DROP", &known), "`linux.xdp` has `DROP`");
        assert_eq!(help("linux.nf.action", "SHOT", &known), "`linux.tc` has `SHOT`");
        assert_eq!(help("cgroup", "ALLOW", &known), "`linux.cgroup` has `ALLOW`");
        assert_eq!(help("ip", "prefixes", &["parse", "prefix"]), "did you mean `prefix`?");
        assert_eq!(help("linux", "format", &known), "`string` has `format`");
        let global = |name, hook| {
            LowerErrorKind::missing_global(name, hook).map(|kind| match kind {
                LowerErrorKind::MissingGlobal { help, .. } => help,
                other => other.to_string(),
            })
        };
        assert_eq!(global("DROP", &XDP).as_deref(), Some("`linux.xdp` has `DROP`"));
        assert_eq!(global("SHOT", &TC_INGRESS).as_deref(), Some("`linux.tc` has `SHOT`"));
        assert_eq!(global("limit", &XDP), None);
        assert_eq!(help("xdp", "tach", &known), "did you mean `attach` or `detach`?");
        assert_eq!(help("xdp", "nothing", &known), "its fields are `attach`, `detach`");
        let many: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let told = help("x", "nothing", &many);
        assert!(told.starts_with("its fields are `f0`, ") && told.ends_with("`f11`, …"), "{told}");
    }
}
