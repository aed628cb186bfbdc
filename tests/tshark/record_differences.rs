//! The differences in records of DNS messages that have a reason.

use crate::compare::number;
use crate::differences::{Difference, Rule};

/// Types of records: SRV, A6, NSEC, NSEC3.
const SRV: u64 = 33;
const A6: u64 = 38;
const BITMAPS: [u64; 2] = [47, 50];

/// With one whose data is nil to us.
const BROKEN: &str = "nil";

pub static RULES: &[Rule] = &[
    Rule {
        name: "how names in records are written",
        reason: "tshark escapes bytes of names that cannot be printed, and takes names for UTF-8; `name` and `target` have the bytes",
        explains: |d| {
            let plain = |c: char| c.is_ascii_graphic() && c != '\\' || c == ' ';
            (d.path == "dns.records.name" || d.path.starts_with("dns.records.target"))
                && d.ours.as_deref().is_some_and(|ours| !ours.chars().all(plain))
        },
    },
    Rule {
        name: "types in bitmaps",
        reason: "tshark shows the types that an NSEC or NSEC3 record lists as if they were those of records",
        explains: |d| d.path == "dns.records.type" && d.has_type(&BITMAPS),
    },
    Rule {
        name: "names of services",
        reason: "tshark shows the name of an SRV record in parts, by other names",
        explains: |d| d.path == "dns.records.name" && d.has_type(&[SRV]),
    },
    Rule {
        name: "classes of records in multicast DNS",
        reason: "The highest bit of a class says that earlier records do not hold any more (RFC 6762 § 10.2), which tshark shows apart",
        explains: |d| {
            let masked = |text: &str| {
                let classes = text.split(' ').map(|class| number(class).map(|class| class & 0x7fff));
                classes.collect::<Vec<_>>()
            };
            d.path == "dns.records.class" && d.ours.as_deref().map(masked) == d.theirs.as_deref().map(masked)
        },
    },
    Rule {
        name: "names of records that are not whole",
        reason: "Where a name leads nowhere, or to itself, or goes on where it has been, `target` is nil; tshark shows what there is of it",
        explains: |d| {
            d.path.starts_with("dns.records.target")
                && d.ours.as_deref().is_some_and(|ours| ours.split(' ').any(|name| name == BROKEN))
        },
    },
    Rule {
        name: "records behind a broken one",
        reason: "tshark goes on to no other record when it finds that the data of one is not what its type says (here, an A6 record)",
        explains: |d| {
            let shown = d.theirs.as_deref().unwrap_or_default();
            d.path.starts_with("dns.records.")
                && d.has_type(&[A6])
                && d.ours.as_deref().is_some_and(|ours| ours.starts_with(shown))
        },
    },
];

impl Difference<'_> {
    /// Whether tshark shows a record of one of the types.
    fn has_type(&self, types: &[u64]) -> bool {
        let mut all = (0..).map_while(|index| self.shown.nth("dns.resp.type", index)).filter_map(number);
        all.any(|kind| types.contains(&kind))
    }
}
