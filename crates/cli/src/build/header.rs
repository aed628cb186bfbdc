//! The header of a library: what C calls.

use moonhook_hook::{Hook, Place, Point};
use moonhook_snapshot::{BY_KEY, Snapshot};
use moonhook_specialise::exported;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The header's path: the object's, without `.bpf.o` or `.o`.
pub fn path(object: &Path) -> PathBuf {
    let name = object.file_name().unwrap_or_default().as_bytes();
    let stem = name.strip_suffix(b".o").unwrap_or(name);
    let stem = stem.strip_suffix(b".bpf").unwrap_or(stem);
    object.with_file_name(OsStr::from_bytes(&[stem, b".h"].concat()))
}

/// What the first line of a header says of who wrote it.
const WRITER: &str = "written by `moonhook build --library`";

/// Whether the text is that of a header of a library.
pub fn is_ours(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("/* ") && line.contains(WRITER))
}

/// The text of the header of a library in that object.
pub fn text(snapshot: &Snapshot, object: &Path) -> String {
    let linked = comment(&object.file_name().unwrap_or_default().to_string_lossy());
    let points = snapshot.points();
    let mut contexts: Vec<&str> = points.iter().map(|point| point.hook.context.structure).collect();
    contexts.sort_unstable();
    contexts.dedup();
    let mut out = format!(
        "/* Functions of {} for programs in C, {WRITER}.\n *\n\
         \x20*   clang -O2 -g -target bpf -c program.bpf.c -o program.bpf.o\n\
         \x20*   bpftool gen object linked.bpf.o program.bpf.o {linked}\n *\n\
         \x20* The licence is the one that the program declares. It has to go with the GPL. */\n\
         #pragma once\n\n",
        comment(&snapshot.script)
    );
    for context in contexts {
        let _ = writeln!(out, "struct {context};");
    }
    if points.iter().any(exported::is_function) {
        out.push_str(FAILED);
    }
    out.push_str(OWN_MEANING);
    for (number, point) in points.iter().enumerate() {
        out.push_str(&match &point.place {
            Place::Function(name) => function(snapshot, (number, name), point.hook),
            Place::Called => called(snapshot, object),
            _ => handlers(snapshot, number, point),
        });
    }
    out.push_str(&list(snapshot));
    out.push_str("\n#ifdef __clang__\n#pragma clang diagnostic pop\n#endif\n");
    out
}

/// A macro that gives all functions to another one, for programs that find them by their names.
fn list(snapshot: &Snapshot) -> String {
    let Some(library) = &snapshot.library else { return String::new() };
    let functions: String = (snapshot.points().iter().enumerate())
        .filter_map(|(number, point)| match &point.place {
            Place::Function(name) => {
                let (_, handler) = snapshot.handlers_of(number).next()?;
                let prototype = snapshot.prototype(snapshot.closure(handler.written).prototype);
                Some(format!(" FUNCTION({name}, {})", prototype.parameters.saturating_sub(1)))
            }
            _ => None,
        })
        .collect();
    if functions.is_empty() {
        return functions;
    }
    format!(
        "\n/* All functions: their names, and how many integers they take. */\n#define {library}__functions(FUNCTION){functions}\n"
    )
}

/// Names such as `log` have another type in C's library, which programs in eBPF do not have.
const OWN_MEANING: &str = "
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored \"-Wincompatible-library-redeclaration\"
#endif
";

/// What functions give after errors.
const FAILED: &str = "
/* What a function gives after an error, which is counted and sent to the ring buffer. */
#ifndef MOONHOOK_FAILED
#define MOONHOOK_FAILED (-9223372036854775807LL - 1)
#endif
";

fn function(snapshot: &Snapshot, (number, name): (usize, &str), hook: &Hook) -> String {
    let Some((_, handler)) = snapshot.handlers_of(number).next() else { return String::new() };
    let prototype = snapshot.prototype(snapshot.closure(handler.written).prototype);
    let names = prototype.locals.iter().map(|local| local.name.as_str());
    let names: Vec<&str> = names.take(usize::from(prototype.parameters)).collect();
    let place = prototype
        .source
        .map(|source| format!("{}:{}: ", comment(&snapshot.source(source).name), prototype.line_defined));
    let numbers = names.get(1..).unwrap_or_default();
    let declared: String = (numbers.iter().enumerate())
        .map(|(index, name)| match is_plain(name) && !numbers[..index].contains(name) {
            true => format!(", long long {name}"),
            false => ", long long".to_string(),
        })
        .collect();
    format!(
        "\n/* {}{name}({}) */\nextern long long {name}(struct {} *ctx{declared});\n",
        place.unwrap_or_default(),
        names.join(", "),
        hook.context.structure
    )
}

/// Names of parameters may mean something else in C. Macros of other headers, of which nothing is known here, have capitals or a `_` in front.
fn is_plain(name: &str) -> bool {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_usual = name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_lower);
    is_usual && name != "ctx" && !moonhook_load::is_reserved_in_c(name)
}

fn handlers(snapshot: &Snapshot, number: usize, point: &Point) -> String {
    let name = snapshot.program_name(number);
    let structure = point.hook.context.structure;
    let failed = exported::no_verdict(point.hook);
    format!(
        "\n/* The handlers at {point}: a verdict, or {failed} after an error. */\n\
         extern int {name}(struct {structure} *ctx);\n"
    )
}

/// The function by which Lunatik's programs call handlers.
fn called(snapshot: &Snapshot, object: &Path) -> String {
    let (key, most) = (exported::keyed::key(snapshot), exported::memory::MOST);
    format!(
        "\n/* The same handlers with memory of C's as their second argument, of {most} bytes at most, by the key \"{}\". Less than 0\n\
         \x20* also if the key is another one, or if there is more memory. Of several libraries the first one that is linked has it.\n\
         \x20* Lunatik's programs declare the function as one of the kernel's, which it is not here. They compile unmodified with\n\
         \x20* `clang -D {WITHOUT_KSYM} -include {}`, where no function is one of the kernel's. */\n\
         #ifdef {WITHOUT_KSYM}\n{TYPES}#include <bpf/bpf_helpers.h>\n#undef __ksym\n#define __ksym\n#endif\n\
         extern int {BY_KEY}(char *key, unsigned long key__sz, struct xdp_md *xdp_ctx, void *arg, unsigned long arg__sz);\n",
        comment(key),
        comment(&path(object).file_name().unwrap_or_default().to_string_lossy())
    )
}

/// Taken for programs of Lunatik's, which call the function as the kernel's.
const WITHOUT_KSYM: &str = "MOONHOOK_WITHOUT_KSYM";

/// What the helpers' header wants to know before it. Programs may include the kernel's own types behind this, which are the same.
const TYPES: &str = "\
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
";

/// A text that does not end the comment that it is in.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_lies_beside_the_object() {
        for (object, header) in [("a/b.bpf.o", "a/b.h"), ("b.o", "b.h"), ("x", "x.h"), ("c.bpf", "c.h")] {
            assert_eq!(path(Path::new(object)), Path::new(header), "{object}");
        }
        assert_eq!(comment("a*/b\n"), "a* /b ");
    }
}
