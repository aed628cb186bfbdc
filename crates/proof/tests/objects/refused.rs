//! Functions that are refused, by Moonhook or by the kernel, and the lines that are told.

use super::{Folder, own_options};
use moonhook_proof::{Pair, host};

#[test]
fn functions_are_refused_where_they_cannot_be_called() {
    if !host::kernel_available("functions that are refused") {
        return;
    }
    let folder = Folder::new();
    for name in ["meter", "refused"] {
        folder.compile(name);
    }
    let object = "local o = require 'bpf'.object";
    let cases = [
        (
            "a.eclat",
            "from programs.own import count\ndef main():\n  count(1, 2, 3, 4)\n".to_string(),
            "MH0309",
        ),
        ("a.eclat", "from programs.own import starts\ndef main():\n  starts()\n".to_string(), "MH0222"),
        (
            "a.lua",
            format!("{object} 'meter.bpf.o'\nrequire 'tc'.ingress(function(pkt) print(o.count(pkt, 1)) end)"),
            "MH0222",
        ),
        (
            "a.lua",
            format!("{object} 'refused.bpf.o'\nrequire 'xdp'.attach(function(pkt) print(o.lacks(3)) end)"),
            "MH0222",
        ),
        (
            "a.lua",
            format!("{object} 'refused.bpf.o'\nrequire 'xdp'.attach(function(pkt) print(o.turns(#pkt)) end)"),
            "MH0222",
        ),
        (
            "a.lua",
            format!("{object} 'refused.bpf.o'\nrequire 'xdp'.attach(function(pkt) print(o.beyond(pkt)) end)"),
            "MH0906",
        ),
    ];
    for (name, text, code) in cases {
        std::fs::write(folder.path(name), &text).expect("there is room");
        match Pair::with_options(&folder.path(name), &own_options()) {
            Ok(_) => panic!("{text} is taken"),
            Err(error) => assert_eq!(error.code(), Some(code), "{text}: {error}"),
        }
    }
}

/// The kernel prints a part of a long line.
#[test]
fn what_the_kernel_refuses_is_of_its_line_however_long_that_is() {
    if !host::kernel_available("functions that are refused, with long lines") {
        return;
    }
    let folder = Folder::new();
    let source = std::fs::read_to_string(folder.path("refused.bpf.c")).expect("it is there");
    let line = "\treturn data[20];";
    let number = 1 + source.lines().position(|own| own == line).expect("it has the line") as u32;
    let script = "local o = require 'bpf'.object 'refused.bpf.o'\nrequire 'xdp'.attach(function(pkt) print(o.beyond(pkt)) end)";
    std::fs::write(folder.path("a.lua"), script).expect("there is room");
    // Where the part ends, there may be a space, or the first byte of a letter.
    for length in [0, 990, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 5000] {
        for end in ["x", " x", "éé"] {
            let long = format!("{line} /* {}{end}{end} */", "y".repeat(length));
            std::fs::write(folder.path("refused.bpf.c"), source.replace(line, &long)).expect("there is room");
            folder.compile("refused");
            let error =
                Pair::with_options(&folder.path("a.lua"), &own_options()).err().expect("it is refused");
            assert_eq!(error.code(), Some("MH0906"), "{length}: {error}");
            assert!(error.to_string().contains(&format!("refused.bpf.c:{number}")), "{length}: {error}");
        }
    }
}

/// Of a header that several objects include, each knows the lines of its own code.
#[test]
fn what_the_kernel_refuses_is_of_its_line_in_a_header_of_several_objects() {
    if !host::kernel_available("functions that are refused, in a header") {
        return;
    }
    let folder = Folder::new();
    let byte = |name: &str, check: &str| {
        format!(
            "static __always_inline int {name}(struct xdp_md *ctx)\n{{\n\tunsigned char *data = (void *)(long)ctx->data;\n\n\
             \tif ({check})\n\t\treturn -1;\n\treturn data[20];\n}}\n\n"
        )
    };
    let header =
        byte("inside", "data + 21 > (unsigned char *)(long)ctx->data_end") + &byte("beyond", "!data");
    let line = header.lines().count() - 2;
    std::fs::write(folder.path("both.h"), header).expect("there is room");
    for (name, called) in [("first", "inside"), ("second", "beyond")] {
        let text = format!(
            "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n#include \"both.h\"\n\
             int {name}(struct xdp_md *ctx)\n{{\n\treturn {called}(ctx);\n}}\nchar LICENSE[] SEC(\"license\") = \"GPL\";\n"
        );
        std::fs::write(folder.path(&format!("{name}.bpf.c")), text).expect("there is room");
        folder.compile(name);
    }
    let script = "local object = require 'bpf'.object\nlocal first, second = object 'first.bpf.o', object 'second.bpf.o'\n\
                  require 'xdp'.attach(function(pkt) print(first.first(pkt), second.second(pkt)) end)";
    std::fs::write(folder.path("a.lua"), script).expect("there is room");
    let error = Pair::with_options(&folder.path("a.lua"), &own_options()).err().expect("it is refused");
    assert_eq!(error.code(), Some("MH0906"), "{error}");
    assert!(error.to_string().contains(&format!("both.h:{line}")), "{error}");
}
