//! Every code has a page, and every page a code.

use std::collections::BTreeSet;
use std::path::Path;

/// The codes that stand as string literals in the sources of the crates: `"MH0123"`.
fn codes_in(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            codes_in(&path, codes);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let literals = text.split('"').filter(|literal| is_code(literal));
            codes.extend(literals.map(str::to_string));
        }
    }
}

fn is_code(text: &str) -> bool {
    text.strip_prefix("MH")
        .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut codes = BTreeSet::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let sources = entry.unwrap().path().join("src");
        if sources.is_dir() {
            codes_in(&sources, &mut codes);
        }
    }
    let pages: BTreeSet<String> = moonhook_cli::PAGES.iter().map(|(code, _)| code.to_string()).collect();
    assert!(codes.len() > 50, "{codes:?}");
    assert_eq!(codes.difference(&pages).collect::<Vec<_>>(), [""; 0], "codes without a page");
    assert_eq!(pages.difference(&codes).collect::<Vec<_>>(), [""; 0], "pages without a code");
}

#[test]
fn pages_have_their_form() {
    for (code, page) in moonhook_cli::PAGES.iter().chain(moonhook_cli::TOPICS) {
        assert!(page.starts_with(&format!("# {code}: ")), "{code}: the title");
        assert!(page.lines().count() <= 25, "{code}: too long");
        assert!(page.lines().all(|line| line.chars().count() <= 132), "{code}: a line is too wide");
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "{code}: its end");
    }
}

/// What scripts for Lunatik find different, by name. The page says of each what to do, and the topic has it.
const DIFFERENCES: [&str; 27] = [
    "verdicts",
    "errors",
    "prints",
    "steps",
    "queues",
    "copies",
    "resize",
    "checksum",
    "mac",
    "vlan",
    "connmark",
    "families",
    "priorities",
    "tables",
    "bytes",
    "time",
    "contexts",
    "state",
    "numbers",
    "limits",
    "devices",
    "probes",
    "cpu",
    "channels",
    "notifiers",
    "absent",
    "calls",
];

#[test]
fn each_difference_from_lunatik_is_told() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-lunatik.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.lines().skip_while(|line| *line != "| name | what is different | what to do |").skip(2);
    let rows: Vec<Vec<String>> = table
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            line.replace("\\|", "/")
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_string())
                .collect()
        })
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(names, DIFFERENCES, "the table of the page");
    for row in &rows {
        assert!(row.len() == 3 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
    let (_, topic) = moonhook_cli::TOPICS.iter().find(|(name, _)| *name == "lunatik").expect("the topic");
    for name in DIFFERENCES {
        assert!(topic.contains(&format!("`{name}`")), "the topic has no `{name}`");
    }
}

#[test]
fn topics_are_found_by_their_names() {
    for name in ["lunatik", "Lunatik"] {
        let shown =
            std::process::Command::new(env!("CARGO_BIN_EXE_moonhook")).args(["explain", name]).output();
        let shown = shown.unwrap();
        assert!(shown.status.success() && shown.stdout.starts_with(b"# lunatik: "), "{name}");
    }
}
