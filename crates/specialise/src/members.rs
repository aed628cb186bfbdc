//! What to say of a field that a library's table does not have: where there is one of that name, or what may have been meant.

use crate::error::LowerErrorKind;
use moonhook_btf::nearest;
use moonhook_hook::{CGROUP_INGRESS, Hook, NETFILTER, TC_INGRESS, XDP};
use moonhook_library::{Found, LIBRARIES};

/// Modules of constants: no function tells whose their tables are.
const CONSTANTS: [&str; 6] =
    ["linux.xdp", "linux.tc", "linux.cgroup", "linux.verdict", "linux.nf", "linux.ct"];

/// The verdicts of a hook.
struct Verdicts {
    /// The table that has them.
    table: &'static str,
    hook: &'static Hook,
    /// Other modules for that hook.
    modules: &'static [&'static str],
}

const VERDICTS: &[Verdicts] = &[
    Verdicts { table: "linux.xdp", hook: &XDP, modules: &["xdp"] },
    Verdicts { table: "linux.tc", hook: &TC_INGRESS, modules: &["tc"] },
    Verdicts { table: "linux.cgroup", hook: &CGROUP_INGRESS, modules: &["cgroup"] },
    Verdicts { table: "linux.nf.action", hook: &NETFILTER, modules: &["linux.nf", "netfilter"] },
];

/// Modules for hooks whose verdicts have no names of their own.
const WITHOUT_VERDICTS: [&str; 3] = ["match", "socket", "trace"];

/// As many names are told all.
const FEW: usize = 12;

/// What stands before the names of fields.
pub const FIELDS: &str = "its fields are";

/// Whether a module of Moonhook's own has that name, and nothing but constants.
pub fn is_of_constants(module: &str) -> bool {
    CONSTANTS.contains(&module)
}

impl LowerErrorKind {
    /// A field that is nil because the table of a library, which has these, does not have it.
    pub fn missing_member(table: &str, field: &str, known: &[&str]) -> LowerErrorKind {
        let help = match Verdicts::of_module(table) {
            Some(own) => own.help(field).or_else(|| elsewhere(field)),
            None if WITHOUT_VERDICTS.contains(&table) => elsewhere(field),
            None => {
                Verdicts::with(field).and_then(|verdicts| verdicts.help(field)).or_else(|| elsewhere(field))
            }
        };
        let help = help.unwrap_or_else(|| nearby(field, known, FIELDS));
        LowerErrorKind::MissingMember { table: table.to_string(), field: field.to_string(), help }
    }

    /// A global variable that is nil, in a script with a handler at the hook, if it is called as a verdict of some hook is.
    pub fn missing_global(name: &str, hook: &Hook) -> Option<LowerErrorKind> {
        let some = Verdicts::with(name)?;
        let module = hook.name.split('.').next().unwrap_or_default();
        let help = Verdicts::of_module(module).unwrap_or(some).help(name)?;
        Some(LowerErrorKind::MissingGlobal { name: name.to_string(), help })
    }
}

impl Verdicts {
    /// Those of the hook that a module is for.
    fn of_module(module: &str) -> Option<&'static Verdicts> {
        VERDICTS.iter().find(|verdicts| verdicts.table == module || verdicts.modules.contains(&module))
    }

    /// The first that have one of that name.
    fn with(name: &str) -> Option<&'static Verdicts> {
        VERDICTS.iter().find(|verdicts| verdicts.has(name))
    }

    fn has(&self, name: &str) -> bool {
        self.hook.constants().any(|(known, _)| known == name)
    }

    /// Where a verdict of that name is; where only other hooks have one, at which its number means something else, what there is instead.
    fn help(&self, name: &str) -> Option<String> {
        let table = self.table;
        if self.has(name) {
            return Some(format!("`{table}` has `{name}`"));
        }
        Verdicts::with(name)?;
        let all: Vec<&str> = self.hook.constants().map(|(name, _)| name).collect();
        Some(format!("that is a verdict of other hooks; `{table}` has {}", listed(&all)))
    }
}

/// What has a function or constant of that name.
fn elsewhere(field: &str) -> Option<String> {
    let named = LIBRARIES.iter().filter(|library| library.found != Found::Methods);
    let mut has =
        named.filter(|library| library.function(field).is_some() || library.constants.contains(&field));
    let is_global = |name: &str| ["", "_G"].contains(&name);
    let owner = has.clone().find(|library| !is_global(library.name)).or(has.next())?.name;
    Some(match is_global(owner) {
        true => format!("`{field}` is a global variable"),
        false => format!("`{owner}` has `{field}`"),
    })
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What may have been meant by a name among those that there are, or `otherwise` and these.
pub fn nearby(name: &str, known: &[&str], otherwise: &str) -> String {
    let near = nearest(name, known.iter().copied());
    match (near.split_last(), known.len() > FEW) {
        (Some((last, [])), _) => format!("did you mean `{last}`?"),
        (Some((last, others)), _) => format!("did you mean {} or `{last}`?", listed(others)),
        (None, false) => format!("{otherwise} {}", listed(known)),
        (None, true) => format!("{otherwise} {}, …", listed(&known[..FEW])),
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
        assert_eq!(help("linux.nf", "DROP", &known), "`linux.nf.action` has `DROP`");
        let other = help("linux.nf.action", "SHOT", &known);
        assert!(
            other.starts_with("that is a verdict of other hooks; `linux.nf.action` has `DROP`, "),
            "{other}"
        );
        assert_eq!(help("match", "DROP", &known), "its fields are `attach`, `detach`");
        assert_eq!(help("tc", "redirect", &known), "`redirect` is a global variable");
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
