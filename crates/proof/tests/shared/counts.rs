//! Counts that two CPUs make at once: none is lost.

use crate::support::{compiled, entries, few, frame, in_kernel, loaded, loaded_as, packets, run_twice};
use moonhook_engine::{EngineError, Form, Settings};
use moonhook_proof::host;

/// Two CPUs count in the same entries, which are made and deleted meanwhile: nothing is lost.
#[test]
fn no_count_is_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded(
        "local xdp = require 'xdp'
        local plain, known, fields, sources, ports = {}, {}, {}, {}, {}
        local each = map { key = 'int', value = 'int', percpu = true }
        local timed = map { key = 'int', value = 'int', ttl = 1000 }
        local by_end = map { key = { src = 'ip', port = 'int' }, value = 'int' }
        local twice, total, lists = {}, 0, {}
        local words = map { key = 'string:16', value = 'int' }
        xdp.attach(function(pkt)
          if pkt.udp then
            pkt:setint64(0, total)
            return
          end
          plain[#pkt] = (plain[#pkt] or 0) + 1
          if known[7] then known[7] = known[7] + #pkt else known[7] = (known[7] or 0) + #pkt end
          local f = fields[pkt.ip.src]
          if not f then f = { n = 0, bytes = 0 } fields[pkt.ip.src] = f end
          f.n = f.n + 1
          f.bytes = f.bytes + #pkt
          each[1] = (each[1] or 0) + 1
          timed[1] = (timed[1] or 0) + 1
          sources[pkt.ip.src] = (sources[pkt.ip.src] or 0) + 1
          ports[pkt:getuint16(36) & 0xff] = (ports[pkt:getuint16(36) & 0xff] or 0) + 1
          local k = pkt.ip.src
          if not twice[k] then twice[k] = { n = 0, bytes = 0 } end
          twice[k].n = twice[k].n + 1
          twice[k].bytes = twice[k].bytes + #pkt
          local ends = { src = k, port = pkt.tcp.dport }
          by_end[ends] = (by_end[ends] or 0) + 1
          local word = pkt:getstring(26, pkt:getuint8(14) & 15)
          words[word] = (words[word] or 0) + 1
          total = total + #pkt
          local list = lists[1]
          if not list then list = { 0, 0 } lists[1] = list end
          list[1] = list[1] + 1
          list[2] = list[2] + #pkt
        end)",
    );
    let each = packets() / 2;
    let frame = frame("tcp");
    let before = std::time::Instant::now();
    run_twice(&program, &name, &frame, each);
    let (count, bytes) = (2 * each as usize, 2 * each as usize * frame.len());
    println!("{count} packets on two CPUs in {:?}", before.elapsed());
    assert_eq!(program.test_run(&name, &self::frame("udp"), 1).unwrap().data[..8], bytes.to_le_bytes());
    assert_eq!(entries(&program, &module, "twice"), [format!("192.0.2.7 bytes={bytes},n={count}")]);
    assert_eq!(entries(&program, &module, "lists"), [format!("1 1={count},2={bytes}")]);
    let words = entries(&program, &module, "words");
    assert!(words.len() == 1 && words[0].ends_with(&format!(" {count}")), "{words:?}");
    assert_eq!(entries(&program, &module, "by_end"), [format!("port=443,src=192.0.2.7 {count}")]);
    assert_eq!(entries(&program, &module, "plain"), [format!("{} {count}", frame.len())]);
    assert_eq!(entries(&program, &module, "known"), [format!("7 {bytes}")]);
    assert_eq!(entries(&program, &module, "fields"), [format!("192.0.2.7 bytes={bytes},n={count}")]);
    assert_eq!(entries(&program, &module, "each"), [format!("1 {count}")]);
    assert_eq!(entries(&program, &module, "sources"), [format!("192.0.2.7 {count}")]);
    assert_eq!(entries(&program, &module, "ports"), [format!("{} {count}", frame[36])]);
    assert_eq!(entries(&program, &module, "timed"), [format!("1 {count}")]);
}

/// The same in general code, where reading and assigning are instructions of their own.
#[test]
fn no_count_is_lost_in_general_code() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let (program, module, name) = loaded_as(
        "local xdp = require 'xdp'
        local words = map { key = 'string:16', value = 'int' }
        local plain = map { key = 'int', value = 'int' }
        local each = map { key = 'int', value = 'int', percpu = true }
        plain[8] = 0
        local fields = map { key = 'ip', value = { n = 'int', bytes = 'int' } }
        fields['192.0.2.1'] = { n = 0 }
        local timed = map { key = 'ip', value = 'int', ttl = 1000 }
        local nested = map { key = 'int', value = 'int' }
        local function count(t, k, n) t[k] = (t[k] or 0) + n return n end
        local total, left = 0, 0
        packets = 0
        local function counter()
          local n
          return function(by) n = by + (n or 0) return n end
        end
        local here, there = counter(), counter()
        local state, rows = { n = 0 }, { { hits = 0 }, { hits = 0 } }
        here(1) there(2)
        xdp.attach(function(pkt)
          if pkt.tcp then
            local numbers = { total, left, packets, here(0), there(0), state.n, rows[1].hits + rows[2].hits, rows[2].new }
            for i, n in ipairs(numbers) do pkt:setint64(i * 8 - 8, n) end
            return
          end
          total = total + #pkt
          left = left - 1
          packets = 1 + packets
          here(1)
          there(2)
          state.n = state.n + 3
          local row = rows[#pkt % 2 + 1]
          row.hits = row.hits + #pkt
          rows[2].new = (rows[2].new or 0) + 1
          for w in pkt:getstring(42):gmatch('%a+') do words[w] = (words[w] or 0) + 1 end
          if plain[7] then plain[7] = #pkt + plain[7] else plain[7] = (plain[7] or 0) + #pkt end
          plain[8] = plain[8] - 2
          each[1] = (each[1] or 0) + 1
          timed[pkt.ip.src] = (timed[pkt.ip.src] or 0) + 1
          nested[1] = (nested[1] or 0) + count(words, 'counted', 3)
          count(nested, 2, 5)
          local f = fields['192.0.2.1']
          f.n = f.n + 1
          f.bytes = (f.bytes or 0) + #pkt
          fields['192.0.2.1'].n = fields['192.0.2.1'].n + 1
        end)",
        Some(Form::General),
    );
    let each = packets() / 2;
    let frame = frame("udp:one\\stwo\\sone");
    run_twice(&program, &name, &frame, each);
    let (count, bytes) = (2 * each as usize, 2 * each as usize * frame.len());
    let expected = [format!("counted {}", 3 * count), format!("one {}", 2 * count), format!("two {count}")];
    assert_eq!(entries(&program, &module, "words"), expected);
    assert_eq!(entries(&program, &module, "each"), [format!("1 {count}")]);
    assert_eq!(entries(&program, &module, "timed"), [format!("192.0.2.7 {count}")]);
    assert_eq!(
        entries(&program, &module, "nested"),
        [format!("1 {}", 3 * count), format!("2 {}", 5 * count)]
    );
    let expected = format!("192.0.2.1 bytes={bytes},n={}", 2 * count);
    assert_eq!(entries(&program, &module, "fields"), [expected]);
    assert_eq!(entries(&program, &module, "plain"), [format!("7 {bytes}"), format!("8 -{}", 2 * count)]);
    let data = program.test_run(&name, &self::frame("tcp"), 1).unwrap().data;
    let numbers: Vec<i64> = data.as_chunks().0[..8].iter().map(|word| i64::from_le_bytes(*word)).collect();
    let count = count as i64;
    let of_tables = [3 * count, bytes as i64, count];
    assert_eq!(
        numbers,
        [[bytes as i64, -count, count, count + 1, 2 * count + 2].as_slice(), &of_tables].concat()
    );
}

/// What one packet adds to `t`, all in all, and how. The frame has 49 bytes.
const SUMS: [(&str, &str, i64); 41] = [
    ("", "t[k] = t[k] or { s = { n = 0 } } t[k].s.n = t[k].s.n + 1", 1),
    ("", "if not t[k] then t[k] = { s = { n = 0 } } end t[k].s.n = t[k].s.n + 1", 1),
    ("", "local r = t[k] if not r then r = { s = { n = 0 } } t[k] = r end r.s.n = r.s.n + 1", 1),
    ("", "t[k] = t[k] or { n = 0 } local r = t[k] r.n = r.n + 1", 1),
    ("", "t[k] = t[k] or { n = 0 } t[k].m = (t[k].m or 0) + 1", 1),
    ("", "t[k] = t[k] or { n = 0, b = 0 } local r = t[k] r.n, r.b = r.n + 1, r.b + #pkt", 50),
    ("", "t[k] = t[k] or 0 t[k] = t[k] - #pkt", -49),
    ("", "if t[k] == nil then t[k] = 0 end t[k] = 1 + t[k]", 1),
    ("", "t[1], t[2] = (t[1] or 0) + 1, (t[2] or 0) + 2", 3),
    ("t['10.0.0.1'] = 0", "t[k] = (t['10.0.0.1'] or 0) + #pkt + (t[k] or 0)", 49),
    ("t = map { key = 'ip', value = 'int', evict = 'lru' }", "t[k] = (t[k] or 0) + 1", 1),
    ("t = map { key = 'ip', value = 'int', ttl = 1000 }", "t[k] = (t[k] or 0) + 1", 1),
    (
        "t = map { key = 'ip', value = { s = { n = 'int' } }, ttl = 1000, evict = 'lru' }",
        "if not t[k] then t[k] = { s = { n = 0 } } end t[k].s.n = t[k].s.n + 1",
        1,
    ),
    (
        "t = map { key = 'ipv4', value = { n = 'int' }, lpm = true } t['192.0.2.0/24'] = { n = 0 }",
        "t[k].n = t[k].n + 1",
        1,
    ),
    (
        "t = map { key = 'int', value = { n = 'int' }, capacity = 2 } t[1] = { n = 0 } t[2] = { n = 0 }",
        "for _, r in pairs(t) do r.n = r.n + 1 end",
        2,
    ),
    ("", "for w in ('one two one'):gmatch('%a+') do t[w] = t[w] or { n = 0 } t[w].n = t[w].n + 1 end", 3),
    ("", "local function key() return k end t[key()] = (t[key()] or 0) + 1", 1),
    // Keys that both CPUs see for the first time at once.
    (
        "t = map { key = 'int', value = { n = 'int' }, capacity = 100000 }",
        "t[new] = t[new] or { n = 0 } t[new].n = t[new].n + 1",
        1,
    ),
    (
        "t = map { key = 'int', value = { n = 'int' }, capacity = 100000, ttl = 1000 }",
        "t[new] = t[new] or { n = 0 } t[new].n = t[new].n + 1",
        1,
    ),
    (
        "t = map { key = 'int', value = { n = 'int', a = 'int', b = 'int' }, capacity = 100000 }",
        "if not t[new] then t[new] = { n = 0 } end local r = t[new] r.a = (r.a or 0) + 1 r.b = (r.b or 0) + 1",
        2,
    ),
    (
        "t = map { key = 'int', value = 'int', capacity = 100000 }",
        "if t[new] == nil then t[new] = 0 end t[new] = t[new] + 1",
        1,
    ),
    ("t = map { key = 'int', value = 'int', capacity = 100000 }", "t[new] = (t[new] or 0) + 1", 1),
    (
        "t = map { key = 'int', value = 'int', capacity = 100000 }",
        "if t[new] then t[new] = t[new] + 1 else t[new] = (t[new] or 0) + 1 end",
        1,
    ),
    (
        "t = map { key = 'int', value = 'int', capacity = 100000, ttl = 1000 }",
        "if not t[new] then t[new] = #pkt + (t[new] or 0) else t[new] = #pkt + t[new] end",
        49,
    ),
    (
        "t = map { key = 'int', value = { n = 'int', bytes = 'int' }, capacity = 100000 }",
        "local r = t[new] if not r then r = { n = 0, bytes = 0 } t[new] = r end r.n, r.bytes = r.n + 1, r.bytes + #pkt",
        50,
    ),
    (
        "-- expanded\n t = map { key = 'int', value = { 'int', 'int' }, capacity = 100000 }",
        "local l = t[new] if not l then l = { 0, 0 } t[new] = l end l[1] = l[1] + 1 l[2] = l[2] + #pkt",
        50,
    ),
    // What one branch assigns is nothing to the other one.
    (
        "t = map { key = 'int', value = { n = 'int', first = 'int' }, capacity = 100000 }",
        "if t[new] then t[new].n = t[new].n + 1 else t[new] = t[new] or { n = 0 } t[new].n = t[new].n + 1 end",
        1,
    ),
    ("t['192.0.2.7'] = 0", "local v = t[k] if pkt.tcp then t[k] = 5 else t[k] = v + 1 end", 1),
    (
        "t['192.0.2.7'] = 0",
        "local v = t[k] or 0 if v < 0 then t[k] = 0 elseif pkt.tcp then t[k] = nil else t[k] = v + 1 end",
        1,
    ),
    (
        "t = map { key = 'ip', value = { n = 'int' } } t['192.0.2.7'] = { n = 0 }",
        "local r = t[k] local v = r.n if pkt.tcp then r.n = 7 elseif #pkt > 400 then t[k] = { n = 2 } else r.n = v + 1 end",
        1,
    ),
    // Strings of a length that is known at packet time only, which may be too long for a key.
    (
        "t = map { key = 'string:8', value = 'int', capacity = 100000 }",
        "local s = tostring(new) t[s] = (t[s] or 0) + 1",
        1,
    ),
    (
        "t = map { key = 'string:8', value = 'int', capacity = 100000 }",
        "local s = tostring(new) if t[s] then t[s] = t[s] + 1 else t[s] = 1 end",
        1,
    ),
    (
        "t = map { key = 'string:8', value = { n = 'int' }, capacity = 100000 }",
        "local s = tostring(new) t[s] = t[s] or { n = 0 } t[s].n = t[s].n + 1",
        1,
    ),
    (
        "t = map { key = 'string:8', value = { n = 'int' }, capacity = 100000 }",
        "local s = tostring(new) local r = t[s] if r then r.n = r.n + 1 else t[s] = { n = 1 } end",
        1,
    ),
    // Lists have no form in general code.
    ("-- expanded", "t[k] = t[k] or { l = { 0, 0 } } t[k].l[2] = t[k].l[2] + 1", 1),
    ("-- expanded", "t[k] = t[k] or { 0, 0, 0, 0, 0, 0 } t[k][i] = t[k][i] + 1", 1),
    (
        "-- expanded\n t = map { key = 'ip', value = { l = { 'int', 'int', 'int', 'int', 'int', 'int' } }, ttl = 100 }",
        "t[k] = t[k] or { l = { 0 } } local l = t[k].l l[i] = (l[i] or 0) + 1",
        1,
    ),
    // What general code does not know for sums: these are no assignments of what was read plus something in one expression.
    (
        "-- expanded",
        "t[k] = t[k] or { n = 0 } local n = t[k].n if i == 5 then n = n + 1 else n = n + 2 end t[k].n = n",
        1,
    ),
    ("-- expanded", "local r = t[k] or { n = 0 } r.n = r.n + 1 t[k] = r", 1),
    (
        "-- expanded\n t = map { key = 'int', value = { n = 'int', bytes = 'int' }, capacity = 100000 }",
        "local r = t[new] or { n = 0 } r.n = r.n + 1 r.bytes = (r.bytes or 0) + #pkt t[new] = r",
        50,
    ),
    (
        "-- expanded\n t = map { key = 'int', value = { n = 'int', begun = 'int' }, capacity = 100000 }",
        "local r = t[new] or { n = 5, begun = -5 } r.n = r.n + 1 t[new] = r",
        1,
    ),
];

/// All ways of writing `place = place + x` are atomic, in entries of any schema.
#[test]
fn no_sum_is_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    for form in [Form::Expanded, Form::General] {
        for (declaration, body, each) in SUMS {
            if form == Form::General && declaration.starts_with("-- expanded") {
                continue;
            }
            let found = counted(form, declaration, body).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found, 2 * i64::from(few()) * each, "{form:?}: {declaration} {body}");
        }
    }
}

/// The sum of all numbers in `t` after [`few`] packets on each of two CPUs.
pub fn counted(form: Form, declaration: &str, body: &str) -> Result<i64, EngineError> {
    let text = format!(
        "local xdp = require 'xdp'
        local t, turns = {{}}, {{}}
        {declaration}
        xdp.attach(function(pkt)
          turns[1] = (turns[1] or 0) + 1
          local k, i, new = pkt.ip.src, (pkt:getuint8(14) & 3) + 4, turns[1] >> 2
          {body}
        end)"
    );
    let (program, module, name) =
        in_kernel(compiled(&text, &Settings { form: Some(form), ..Settings::default() })?);
    run_twice(&program, &name, &frame("udp:one\\stwo"), few());
    Ok(entries(&program, &module, "t").iter().map(|entry| numbers(entry)).sum())
}

/// The sum of all numbers in the value of an entry.
pub fn numbers(entry: &str) -> i64 {
    let (_, value) = entry.split_once(' ').unwrap();
    let number = |field: &str| field.rsplit('=').next()?.parse::<i64>().ok();
    value.split(',').filter_map(number).sum()
}
