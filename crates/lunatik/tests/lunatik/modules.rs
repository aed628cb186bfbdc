//! Each module in real Lua, with the texts of its errors.

use std::time::{Duration, Instant};

use crate::place::Place;

#[test]
fn data_is_read_and_written_within_its_bounds() {
    let place = Place::new();
    let lines = place.run(
        "local d = require('data').new(8)
         d:setuint16(0, 0x1234) d:setstring(2, 'abc') d:setnumber(0, -1)
         print(#d, d:getint32(0), d:getuint32(0), d:getbyte(7))
         d:setstring(0, 'abcdefgh') print(d, d:getstring(2, 3), d:getstring(6))
         d:resize(3) print(#d, tostring(d))",
    );
    assert_eq!(lines, ["8\t-1\t4294967295\t255", "abcdefgh\tcde\tgh", "3\tabc"]);
    let new = "local d = require('data').new(4) ";
    for (code, expected) in [
        ("d:getint32(1)", "test:1: bad argument #2 to 'getint32' (out of bounds)"),
        ("d:getstring(4)", "test:1: bad argument #2 to 'getstring' (out of bounds)"),
        ("d:setbyte('x', {})", "test:1: bad argument #2 to 'setbyte' (number expected, got string)"),
        ("d:setbyte(9, {})", "test:1: bad argument #2 to 'setbyte' (out of bounds)"),
        ("d:setbyte(0, {})", "test:1: bad argument #3 to 'setbyte' (number expected, got table)"),
        ("d:setstring(0, '')", "test:1: bad argument #2 to 'setstring' (out of bounds)"),
        ("require('data').new(1, 'both')", "test:1: bad argument #2 to 'new' (invalid option 'both')"),
        ("d.getbyte(1, 2)", "test:1: bad argument #1 to 'getbyte' (data expected, got number)"),
        ("require('data').new(-1)", "not enough memory"),
    ] {
        assert_eq!(place.error(&format!("{new}{code}")), expected, "{code}");
    }
}

/// luadata's interface on the same objects: nothing of it raises errors.
#[test]
fn data_has_fields_by_layouts() {
    let place = Place::new();
    place.write("other.lua", "return function(d) d:layout{byte = {0, 8}} d.byte = d.byte + 1 end");
    let lines = place.run(
        "local data = require('data')
         local l = data.layout{be = {0, 16}, le = {0, 16, 'number', 'le'}, four = {16, 4}, nine = {20, 9}, over = {32, 1}, gone = {0, 0}}
         local d = data.new{0xaa, 0xbb, 0xcc, 0x1dd}
         assert(l.gone == nil and data.layout(l) == l and d:layout(l) == d and d:layout(7) == nil and data.layout(7) == nil)
         print(#d, d.be, d.le, d.four, d.nine, d.over, d.nobody, d:getuint8(3))
         d.nine, d.over, d.nobody, d.layout, d.getuint8, d.le = 0x15a, 1, 2, 3, 4, 'x'
         print(string.format('%x %x', d.nine, d.be), d:getuint8(0), type(d.layout), type(d.getuint8))
         d:setuint16(0, 0x1234)
         local s = d:segment(1, 2)
         print(#s, tostring(s) == tostring(d):sub(2, 3), d:segment(4), d:segment(1, 4), d:segment(-1), #d:segment(0, 0), #d:segment(), #s:segment(1))
         s:layout{byte = {offset = 0, length = 8}, text = {1, 1, 's'}} s.byte, s.text = 0x7f, 'zzz'
         print(d:getuint8(1), d:getstring(2, 1), s.text, s:layout{text = {1, 9, 's'}}.text)
         print(data.new(), data.new(0), data.new{}, data.new'', #data.new'abc', data.new'\\a':layout{x = {1, 7}}.x)
         local big = data.new(9):layout{all = {4, 64}, more = {0, 65}, part = {3, 11, 'n', 'l'}}
         big.all = -1 print(big.all, big.more, big:getuint8(0), big:getuint8(8)) big.part = 0x5a3 print(big.part)
         d:layout{byte = {0, 8}} d.byte = 7
         local r = require('lunatik').runtime('other') r:resume(d) r:stop() print(d.byte)
         d:resize(2) print(#s, s.byte)",
    );
    let expected = [
        "4\t43707\t48042\t12\t411\tnil\tnil\t221",
        "15a 0\t0\tfunction\tfunction",
        "2\ttrue\tnil\tnil\tnil\t0\t4\t1",
        "127\tz\tz\tnil",
        "nil\tnil\tnil\tnil\t3\t7",
        "-1\tnil\t15\t240",
        "1443",
        "8",
        "1\tnil",
    ];
    assert_eq!(lines, expected);
    let segment = "require('data').new(4):segment(1):resize(9)";
    assert_eq!(place.error(segment), "test:1: cannot resize external memory");
}

/// The objects of scripts for processes do what those of all others do (docs/data.md): fields at every bit, in both orders, of objects and segments.
#[test]
fn fields_are_those_of_other_scripts() {
    const SCRIPT: &str = "
        local data, state, results = require('data'), 7, {}
        local function random(n) state = (state * 1103515245 + 12345) & 0x7fffffff return (state >> 8) % n end
        local function note(value) results[#results + 1] = tostring(value) end
        local kinds, orders = {'n', 's', 'number', 'string', nil}, {'b', 'l', 'h', 'net', 'little', nil}
        for turn = 1, 3000 do
          local bytes = {}
          for i = 1, 1 + random(16) do bytes[i] = random(256) end
          local whole = data.new(bytes)
          local object = random(3) == 0 and whole:segment(random(6)) or random(4) == 0 and whole:segment(random(6), random(9) - 1) or whole
          local field = {random(90) - 3, random(4) == 0 and 64 + random(3) or random(20) - 1, kinds[1 + random(5)], orders[1 + random(6)]}
          if random(3) == 0 then field = {offset = field[1], length = field[2], type = field[3], endian = field[4]} end
          local layout = {f = field}
          object:layout(random(2) == 0 and data.layout(layout) or layout)
          note(#object) note(object.f) note(object.g)
          object.f = random(2) == 0 and random(0x7fffffff) * random(0x7fffffff) - random(2) or 'text'
          note(object.f) note(tostring(whole))
        end
        local all = table.concat(results, ' '):gsub('[^%g ]', function(c) return string.format('<%d>', c:byte()) end)";
    let place = Place::new();
    let in_processes = place.run(&format!("{SCRIPT} print(all)"));
    place.write("elsewhere.lua", &format!("{SCRIPT} error(all, 0)"));
    let elsewhere = moonhook_load::load(&[place.path("elsewhere.lua")], &moonhook_load::Options::default());
    let elsewhere = elsewhere.err().expect("it raises what it has found").to_string();
    assert!(elsewhere.len() > 100_000, "{elsewhere}");
    let (_, elsewhere) = elsewhere.split_once(": ").expect("the line stands before it");
    assert_eq!(in_processes, [elsewhere]);
}

#[test]
fn fifos_completions_and_mailboxes() {
    let place = Place::new();
    let lines = place.run(
        "local fifo = require('fifo').new(5) fifo:push('abcdefgh') print(fifo:pop(3)) print(fifo:pop(9)) print(fifo:pop(1))
         local c = require('completion').new() print(c:wait(10)) c:complete() print(c:wait(10))
         local mailbox = require('mailbox') local inbox = mailbox.inbox(64)
         local outbox = mailbox.outbox(inbox.queue, inbox.event) outbox:send('hello') print(inbox:receive(10))",
    );
    assert_eq!(lines, ["abc\t3", "defgh\t5", "\t0", "nil\ttimeout", "true\tnil", "hello\t5"]);
    for (code, expected) in [
        ("require('fifo').new(4):push('abcde')", "test:1: bad argument #2 to 'push' (not enough space)"),
        ("require('fifo').new(1)", "test:1: failed to allocate kfifo (-22)"),
        (
            "local f = require('fifo').new(4) f:close() f:pop(1)",
            "test:1: bad argument #1 to 'pop' (null pointer dereference)",
        ),
        ("require('mailbox').inbox(8):send('x')", "mailbox:11: receive-only mailbox"),
    ] {
        assert_eq!(place.error(code), expected, "{code}");
    }
}

#[test]
fn a_runtime_has_so_much_memory_and_no_more() {
    let place = Place::new();
    place.write("fills.lua", "local s = 'x' while true do s = s .. s end");
    place.write("works.lua", "return function(t) t.seen = #('x'):rep(1 << 20) end");
    let error = place.error("require('lunatik').runtime('fills')");
    assert!(error.contains("not enough memory"), "{error}");
    let works =
        "local t = require('rcu').table() require('lunatik').runtime('works'):resume(t) print(t.seen)";
    assert_eq!(place.run(works), ["1048576"]);
}

#[test]
fn tables_are_shared_with_other_states() {
    let place = Place::new();
    place.write(
        "other.lua",
        "return function(t, d) t.seen = d:getbyte(0) t.word = t.given and 1 d:setbyte(0, 9) return function() t.again = true end end",
    );
    let lines = place.run(
        "local t, d = require('rcu').table(), require('data').new(1) d:setbyte(0, 5) t.given = d
         local other = require('lunatik').runtime('other') other:resume(t, d)
         print(t.seen, t.word, d:getbyte(0), t.again) other:resume() print(t.again, t.nothing)
         local keys = {} require('rcu').map(t, function(k) keys[#keys + 1] = k end) print(table.concat(keys, ','))
         other:stop() print(pcall(other.resume, other))",
    );
    assert_eq!(lines[..3], ["5\t1\t9\tnil", "true\tnil", "again,given,seen,word"]);
    assert!(lines[3].contains("null pointer dereference"), "{lines:?}");
    for (code, expected) in [
        ("require('rcu').table().x = {}", "test:1: bad argument #2 to '__newindex' (unsupported type)"),
        (
            "local d = require('data').new(1, 'single') require('rcu').table().x = d",
            "test:1: bad argument #2 to '__newindex' (cannot share SINGLE object)",
        ),
        (
            "local d = require('data').new(1, 'single') require('lunatik').runtime('other'):resume(d)",
            "'data': cannot share SINGLE object\n",
        ),
        ("require('lunatik').runtime('other'):resume(1)", "bad argument #1 to '?' (invalid object)\n"),
        (
            "require('lunatik').runtime('other', 'never')",
            "test:1: bad argument #2 to 'runtime' (invalid option 'never')",
        ),
        (
            "require('thread').run(require('lunatik').runtime('other', 'softirq'), 'x')",
            "test:1: bad argument #1 to 'run' (IRQ runtime cannot spawn threads)",
        ),
    ] {
        assert_eq!(place.error(code), expected, "{code}");
    }
}

#[test]
fn scripts_run_by_name_and_stop() {
    let place = Place::new();
    place.write(
        "daemon.lua",
        "local linux, thread = require('linux'), require('thread') setmetatable({}, {__gc = function() print('gone') end})
         return function() print('up', thread.current():task().command) while not thread.shouldstop() do linux.schedule() end print('down') end",
    );
    let lines = place.run(
        "local runner, linux = require('lunatik.runner'), require('linux') local t = runner.spawn('daemon')
         linux.schedule(100) print(runner.list(), t:task().command, select(2, pcall(runner.run, 'daemon')))
         runner.stop('daemon') print(runner.list() == '')",
    );
    assert_eq!(lines[0], "up\tdaemon");
    assert!(
        lines[1].starts_with("daemon\tdaemon\t") && lines[1].ends_with("daemon is already running"),
        "{lines:?}"
    );
    assert_eq!(lines[2..], ["down", "gone", "true"]);
    let error = place.error("require('lunatik.runner').spawn('daemon', nil, true)");
    assert!(error.ends_with("spawn does not support percpu scripts"), "{error}");
}

#[test]
fn a_thread_that_goes_on_is_ended() {
    let place = Place::new();
    place
        .write("deaf.lua", "return function() while true do pcall(function() while true do end end) end end");
    let begin = Instant::now();
    let lines = place.run(
        "local t = require('thread').run(require('lunatik').runtime('deaf'), 'deaf') require('linux').schedule(50) t:stop() print('on')",
    );
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(lines.iter().any(|line| line.contains("went on after it was to stop")), "{lines:?}");
    assert!(lines.contains(&"on".to_string()), "{lines:?}");
}

#[test]
fn sockets_wait_until_the_thread_is_to_stop() {
    let place = Place::new();
    place.write(
        "waits.lua",
        "local inet = require('socket.inet') local s = inet.udp() s:bind('127.0.0.1', 0)
         return function() print(select(2, pcall(s.receive, s, 10))) end",
    );
    let lines = place.run(
        "local inet, unix = require('socket.inet'), require('socket.unix') local server, client = inet.tcp(), inet.tcp()
         server:bind(inet.localhost, 0) server:listen() local host, port = server:getsockname()
         print(select(2, pcall(server.accept, server, 2048)))
         client:connect(host, port) local session = server:accept()
         client:send('ping') print(session:receive(10), host) client:close() print(session:receive(10) == '')
         print(select(2, pcall(inet.tcp().connect, inet.tcp(), '127.0.0.1', 1)))
         local t = require('thread').run(require('lunatik').runtime('waits'), 'waits') require('linux').schedule(50) t:stop()",
    );
    assert_eq!(lines, ["EAGAIN", "ping\t127.0.0.1", "true", "ECONNREFUSED", "EINTR"]);
    let long = "require('socket.unix').stream(string.rep('x', 200)):bind()";
    assert!(
        place.error(long).ends_with("bad argument #2 to 'bind' (out of bounds)"),
        "{}",
        place.error(long)
    );
    assert_eq!(place.error("require('socket').new(999, 1, 0)"), "EAFNOSUPPORT");
}

#[test]
fn the_system_is_told_of() {
    let place = Place::new();
    let lines = place.run(
        "local linux, cpu, b = require('linux'), require('cpu'), require('byteorder')
         print(linux.ifindex('lo'), #linux.ifaddr(linux.ifindex('lo')), linux.errname(-2), linux.errname(99999))
         print(linux.time() > 1600000000000000000, linux.difftime(5, 3), linux.random(3, 3), linux.schedule(0))
         local n = 0 cpu.foreach_online(function(id) n = n + 1 assert(cpu.stats(id).user >= 0) end)
         print(n == cpu.num_online(), linux.numcpus() >= n, b.hton16(1), b.htole32(1))
         print(require('net').ntoa(require('net').aton('10.1.2.3')), require('util').bin2hex('a\\n'))
         print(require('signal').sigstate(15, 'allowed'), pcall(require('signal').kill, 0))",
    );
    let expected = [
        "1\t6\tENOENT\tunknown",
        "true\t2\t3\t0",
        "true\ttrue\t256\t1",
        "10.1.2.3\t610a",
        "true\tfalse\tESRCH",
    ];
    assert_eq!(lines, expected);
    for (code, expected) in [
        ("require('linux').ifindex('none0')", "test:1: bad argument #1 to 'ifindex' (device not found)"),
        ("require('linux').schedule(1, 77)", "test:1: bad argument #2 to 'schedule' (invalid task state)"),
        ("require('linux').random(2, 1)", "test:1: bad argument #1 to 'random' (interval is empty)"),
        ("require('cpu').stats(99999)", "test:1: CPU is offline"),
    ] {
        assert_eq!(place.error(code), expected, "{code}");
    }
}

#[test]
fn interfaces_that_are_there_are_told_before_anything_else() {
    let place = Place::new();
    let lines = place.run(
        "local first local n = require('notifier').netdevice(function(event, name) if name == 'lo' and not first then first = event end return 0 end)
         print(first) n:stop()",
    );
    assert_eq!(lines, ["5"]);
}
