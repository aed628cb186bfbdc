//! What holds of all rows.

use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_those_of_the_library_and_are_not_used_twice() {
    let mut names = BTreeSet::new();
    for library in LIBRARIES {
        let prefix = match library.name {
            "_G" | "" => String::new(),
            name => format!("{name}."),
        };
        for function in library.functions {
            assert_eq!(function.name, format!("{prefix}{}", function.key()));
            assert!(names.insert(function.name), "{} is there twice", function.name);
            assert_eq!(library_of(function.name).unwrap().name, library.name, "{}", function.name);
        }
    }
    let iterators = standard::ITERATORS.iter().map(|function| function.name);
    iterators.for_each(|name| assert!(names.insert(name), "{name} is there twice"));
}

#[test]
fn functions_that_are_expanded_are_in_general_code_too() {
    let one_form = functions().find(|function| function.expanded && function.general == General::Nothing);
    assert!(one_form.is_none(), "{one_form:?}");
}

#[test]
fn functions_with_the_same_last_part_are_told_apart() {
    let kind = |name| find(name).and_then(Function::kind);
    assert_eq!((kind("table.pack"), kind("string.pack")), (Some(Kind::Given), Some(Kind::Text)));
    assert_eq!((kind("table.unpack"), kind("string.unpack")), (Some(Kind::Given), Some(Kind::Mixed)));
    assert_eq!((kind("byteorder.be16toh"), kind("print")), (Some(Kind::Integer), None));
    let of_method = |name| method(name).map(|function| function.name);
    assert_eq!(
        (of_method("unpack"), of_method("getbyte"), of_method("concat")),
        (Some("string.unpack"), Some("data.getbyte"), None)
    );
    let makes_text = |key| any_with_key(key, Function::makes_text);
    assert_eq!((makes_text(b"unpack"), makes_text(b"len"), makes_text(b"codes")), (true, false, false));
}

#[test]
fn kinds_are_those_of_all_results() {
    let kind = |name| find(name).and_then(Function::kind);
    for name in ["string.find", "string.gsub", "string.gmatch"] {
        assert_eq!(kind(name), Some(Kind::Mixed), "{name}");
    }
    for name in ["pcall", "pairs", "ipairs", "next", "rawget", "setmetatable", "error"] {
        assert_eq!(kind(name), Some(Kind::Given), "{name}");
    }
    let through = functions().filter(|function| function.iterator().is_some_and(Function::gives_elements));
    assert_eq!(through.map(|function| function.name).collect::<Vec<_>>(), ["ipairs", "pairs"]);
}
