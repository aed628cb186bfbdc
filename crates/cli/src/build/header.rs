//! The header of a library: what C calls.

use moonhook_hook::{Hook, Place, Point};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::{exported, library_name};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The header's path: the object's, without `.bpf.o` or `.o`.
pub fn path(object: &Path) -> PathBuf {
    let name = object.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".o").unwrap_or(&name);
    object.with_file_name(format!("{}.h", stem.strip_suffix(".bpf").unwrap_or(stem)))
}

/// The text of the header of a library in that object.
pub fn text(snapshot: &Snapshot, object: &Path) -> String {
    let library = library_name(snapshot);
    let guard = format!("MOONHOOK_{}_H", library.to_uppercase());
    let linked = object.file_name().unwrap_or_default().to_string_lossy();
    let points = snapshot.points();
    let mut contexts: Vec<&str> = points.iter().map(|point| point.hook.context.structure).collect();
    contexts.sort_unstable();
    contexts.dedup();
    let mut out = format!(
        "/* Functions of {} for programs in C, written by `moonhook build --library`.\n *\n\
         \x20*   clang -O2 -g -target bpf -c program.bpf.c -o program.bpf.o\n\
         \x20*   bpftool gen object linked.bpf.o program.bpf.o {linked}\n *\n\
         \x20* The licence is the one that the program declares. It has to go with the GPL. */\n\
         #ifndef {guard}\n#define {guard}\n\n",
        comment(&snapshot.script)
    );
    for context in contexts {
        let _ = writeln!(out, "struct {context};");
    }
    if points.iter().any(exported::is_function) {
        out.push_str(FAILED);
    }
    for (number, point) in points.iter().enumerate() {
        out.push_str(&match &point.place {
            Place::Function(name) => function(snapshot, (number, name), point.hook),
            Place::Called => called(snapshot, object),
            _ => handlers(snapshot, number, point),
        });
    }
    out.push_str("\n#endif\n");
    out
}

/// What functions give after errors.
const FAILED: &str = "
/* What a function gives after an error, which is counted and sent to the ring buffer. */
#ifndef MOONHOOK_FAILED
#define MOONHOOK_FAILED (-9223372036854775807LL - 1)
#endif
";

fn function(snapshot: &Snapshot, (number, name): (usize, &str), hook: &Hook) -> String {
    let Some((_, handler)) = snapshot.handlers_of(number).next() else { return String::new() };
    let prototype = snapshot.prototype(snapshot.closure(handler.closure).prototype);
    let names = prototype.locals.iter().map(|local| local.name.as_str());
    let names: Vec<&str> = names.take(usize::from(prototype.parameters)).collect();
    let place = prototype
        .source
        .map(|source| format!("{}:{}: ", comment(&snapshot.source(source).name), prototype.line_defined));
    let numbers: String = (names.iter().skip(1))
        .map(|name| format!(", long long {}", if is_plain(name) { name } else { "" }).trim_end().to_string())
        .collect();
    format!(
        "\n/* {}{name}({}) */\nextern long long {name}(struct {} *ctx{numbers});\n",
        place.unwrap_or_default(),
        names.join(", "),
        hook.context.structure
    )
}

/// Names of parameters may mean something else in C.
fn is_plain(name: &str) -> bool {
    name != "ctx" && !moonhook_load::is_reserved_in_c(name)
}

fn handlers(snapshot: &Snapshot, number: usize, point: &Point) -> String {
    let name = moonhook_specialise::program_name(snapshot, number);
    let structure = point.hook.context.structure;
    format!(
        "\n/* The handlers at {point}: a verdict, or less than 0 after an error. */\n\
         extern int {name}(struct {structure} *ctx);\n"
    )
}

/// The function by which Lunatik's programs call handlers.
fn called(snapshot: &Snapshot, object: &Path) -> String {
    let (key, most) = (exported::keyed::key(snapshot), exported::memory::MOST);
    format!(
        "\n/* The same handlers with memory of C's as their second argument, of {most} bytes at most, by the key \"{}\". Less than 0\n\
         \x20* also if the key is another one, or if there is more memory. Lunatik's programs declare the function as one of the kernel's,\n\
         \x20* which it is not here: they compile unmodified with this header before them (`clang -include {}`). */\n\
         {TYPES}#include <bpf/bpf_helpers.h>\n#undef __ksym\n#define __ksym\n\
         extern int bpf_luaxdp_run(char *key, unsigned long key__sz, struct xdp_md *xdp_ctx, void *arg, unsigned long arg__sz);\n",
        comment(key),
        comment(&path(object).file_name().unwrap_or_default().to_string_lossy())
    )
}

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
