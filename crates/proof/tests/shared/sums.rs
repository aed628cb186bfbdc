//! Sums of several parts, and several sums in one statement: no count is lost where both CPUs make them.

use crate::support::{entries, few, frame, loaded_as, run_together, run_twice};
use moonhook_engine::Form;
use moonhook_proof::host;

/// What is declared, what a packet does, and what the values of `t` are together for each packet. The frame has 49 bytes.
fn sums(form: Form) -> Vec<(String, String, i64)> {
    let known = |declaration: &str, body: &str, each| (declaration.to_string(), body.to_string(), each);
    let places = |count: usize, place: &dyn Fn(usize) -> String| -> String {
        let left: Vec<String> = (0..count).map(place).collect();
        let right: Vec<String> = left.iter().map(|place| format!("({place} or 0) + 1")).collect();
        format!("{} = {}", left.join(", "), right.join(", "))
    };
    let long: String = (2..40).map(|n| format!(" + (i * {n} - i * {n})")).collect();
    // In expanded code each of them doubles the paths.
    let many = if form == Form::General { 40 } else { 6 };
    let fields =
        |value: &str| ('a'..='l').map(|name| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
    vec![
        known("", "t[1] = (t[1] or 0) + #pkt + 4", 53),
        known("", "t[1] = 2 + (1 + (t[1] or 0)) - 1", 2),
        known("", "local a = (t[1] or 0) + 1 t[1] = a + 1 + 1", 3),
        known("", &format!("t[1] = (t[1] or 0) + (1{long})"), 1),
        known("", "t[1], t[9] = (t[1] or 0) + 1, (t[9] or 0) + 1", 2),
        known("", &places(many, &|place| format!("t[{}]", place + 1)), many as i64),
        known(
            "local u = {} local function count(k) u[k] = (u[k] or 0) + 1 return 1 end",
            "for k = 20, 27 do t[k] = (t[k] or 0) + count(20) end",
            8,
        ),
        known(
            "local u = {} local function deep(n) if n == 0 then return 1 end
             u[n] = (u[n] or 0) + deep(n - 1) return 1 end",
            "t[1] = (t[1] or 0) + deep(30)",
            1,
        ),
        known(
            &format!(
                "t = map {{ key = 'int', value = {{ {} }} }} t[1] = {{ {} }}",
                fields("'int'"),
                fields("0")
            ),
            &format!(
                "local r = t[1] {}",
                places(12, &|place| format!("r.{}", char::from(b'a' + place as u8)))
            ),
            12,
        ),
    ]
}

#[test]
fn sums_of_several_parts_are_additions() {
    if !host::kernel_available("shared tables") {
        return;
    }
    for form in [Form::Expanded, Form::General] {
        for (declaration, body, each) in sums(form) {
            // Expanded code has no form for a function that calls itself so deeply.
            if form == Form::Expanded && declaration.contains("deep") {
                continue;
            }
            let text = format!(
                "local xdp = require 'xdp'
                local t = {{}}
                {declaration}
                xdp.attach(function(pkt)
                  local i = pkt:getuint8(14) & 3
                  {body}
                end)"
            );
            let (program, module, name) = loaded_as(&text, Some(form));
            run_twice(&program, &name, &frame("udp:one\\stwo"), few());
            let found: i64 = entries(&program, &module, "t").iter().map(|entry| values(entry)).sum();
            assert_eq!(found, 2 * i64::from(few()) * each, "{form:?}: {declaration} {body}");
        }
    }
}

/// Variables are added to as words of tables are.
#[test]
fn sums_of_variables_are_additions() {
    if !host::kernel_available("shared variables") {
        return;
    }
    for form in [Form::Expanded, Form::General] {
        for (body, each) in [("n = n + 1 + 1", 2), ("n = n + #pkt - 1", 48), ("n = n - #pkt", -49)] {
            let text = format!(
                "local xdp = require 'xdp'
                local t, n = {{}}, 0
                xdp.attach(function(pkt)
                  if pkt.udp then {body} else t[1] = n end
                end)"
            );
            let (program, module, name) = loaded_as(&text, Some(form));
            let counted = frame("udp:one\\stwo");
            run_twice(&program, &name, &counted, few());
            let other = [0; 14];
            run_together(&program, &name, [&other, &other], 1);
            let expected = format!("1 {}", 2 * i64::from(few()) * each);
            assert_eq!(entries(&program, &module, "t"), [expected], "{form:?}: {body}");
        }
    }
}

/// The sum of the numbers in the value of an entry.
fn values(entry: &str) -> i64 {
    let (_, value) = entry.split_once(' ').unwrap();
    value.split(',').filter_map(|field| field.rsplit('=').next()?.parse::<i64>().ok()).sum()
}
