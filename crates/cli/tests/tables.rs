//! `moonhook table`, as an operator who did not write the script uses it.

mod common;
#[allow(dead_code)]
mod flood;

use common::Place;
use flood::{Network, Running};
use moonhook_proof::host::kernel_available;

/// Who writes a key or a value of another type is told what the table takes: to get nothing would say that there is no such entry.
#[test]
fn keys_and_values_that_no_entry_can_have_are_answered_with_what_the_table_takes() {
    if !kernel_available("keys_and_values_that_no_entry_can_have_are_answered_with_what_the_table_takes") {
        return;
    }
    let script = "
local hits = map{key = 'int', value = 'boolean'}
local names = map{key = 'string:4', value = 'int'}
require('xdp').attach(function(pkt) hits[1] = names['x'] ~= nil end)";
    let place = Place::with(&[("a.lua", script)]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let table = |words: &[&str]| place.run(&[&["table", "flood", "--socket-dir", "run"], words].concat());
    for (words, problem, takes) in [
        (&["hits", "get", "abc"][..], "bad key for table 'hits'", "keys of this table are `int`"),
        (&["hits", "delete", "abc"], "bad key for table 'hits'", "keys of this table are `int`"),
        (&["hits", "set", "1.2.3.4", "true"], "bad key for table 'hits'", "keys of this table are `int`"),
        (&["hits", "set", "7", "8"], "bad value for table 'hits'", "values of this table are `boolean`"),
        (&["names", "get", "longer"], "the string has 6 bytes", "keys of this table are `string:4`"),
    ] {
        let run = table(words).ends_with(1).complains("MH0701");
        assert!(
            run.stderr().contains(problem) && run.stderr().contains(takes),
            "{words:?}: {}",
            run.stderr()
        );
        assert_eq!(run.stdout(), "", "{words:?}");
    }
    let absent = table(&["hits", "get", "7"]).ends_with(1);
    assert_eq!((absent.stdout().as_str(), absent.stderr().as_str()), ("nil\n", ""));
    table(&["hits", "set", "7", "true"]).ends_with(0);
    assert_eq!(table(&["hits", "get", "7"]).ends_with(0).stdout(), "true\n");
    running.stop();
}
