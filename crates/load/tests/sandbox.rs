//! What scripts can and cannot do at load time.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Folder, load_text};
use moonhook_load::{Options, capture_print, captured_print, load};

const ATTACH: &str = "\nrequire('xdp').attach(function() end)\n";

/// Each is an expression that has to be true in a script.
const HOLDS: &[&str] = &[
    // Not there at all.
    "debug == nil",
    "os.execute == nil and os.getenv == nil and os.remove == nil and os.exit == nil and os.rename == nil",
    "io.popen == nil and io.output == nil and io.write == nil and io.tmpfile == nil and io.stdout == nil",
    "package.loadlib == nil and package.cpath == nil and package.searchers == nil",
    "package.loaded.debug == nil and package.loaded.io == io and package.loaded._G == _G",
    "not pcall(require, 'debug')",
    "not pcall(require, 'ffi')",
    // Reachable by detours in plain Lua.
    "getmetatable('') == false",
    "not pcall(setmetatable, {}, {__gc = print})",
    "getmetatable(assert(io.open('list.txt'))) == false",
    "io.open('list.txt').write == nil and io.open('list.txt').setvbuf == nil",
    "rawequal(coroutine.wrap(function() return _G end)(), _G)",
    "load('return _G')() == _G",
    "load('return _ENV', 'x', 't', {a = 1})().a == 1",
    "select(2, pcall(load, 'return x', 'x', 't', nil)) ~= nil",
    // The collector is the state's own; its function is Lua, its messages are those of `lbaselib.c`.
    "select(2, pcall(collectgarbage, 'x')) == \"bad argument #1 to 'collectgarbage' (invalid option 'x')\"",
    "select(2, pcall(collectgarbage, {})) == \"bad argument #1 to 'collectgarbage' (string expected, got table)\"",
    "select(2, pcall(collectgarbage, 'param')) == \"bad argument #2 to 'collectgarbage' (string expected, got no value)\"",
    "select(2, pcall(collectgarbage, 'step', 0.5)):find('number has no integer representation', 1, true)",
    "math.type(collectgarbage('count')) == 'float' and collectgarbage('count') > 1",
    "(function() local t = setmetatable({{}}, {__mode = 'v'}) collectgarbage() return t[1] end)() == nil",
    "collectgarbage('stop') == 0 and not collectgarbage('isrunning') and collectgarbage('restart') == 0",
    "collectgarbage('isrunning') and collectgarbage('incremental') == 'incremental'",
    "collectgarbage('generational') == 'incremental' and collectgarbage('incremental') == 'generational'",
    "collectgarbage('param', 'pause', 150) == 250 and collectgarbage('param', 'pause', 250) == 150",
    "select('#', warn('@on')) == 0 and select('#', warn('@off')) == 0",
    "select(2, pcall(warn, 'a', nil)) == \"bad argument #2 to 'warn' (string expected, got nil)\"",
    // Bytecode.
    "load(string.dump(function() end)) == nil",
    "load(string.dump(function() end), 'x', 'b') == nil",
    "load(string.dump(function() end), 'x', 'bt') == nil",
    "loadfile('code.luac') == nil",
    "not pcall(dofile, 'code.luac')",
    "not pcall(require, 'code')",
    // Files are read only, and only regular ones.
    "select(3, io.open('new.txt', 'w')) == 13 and io.open('new.txt') == nil",
    "io.open('list.txt', 'a') == nil and io.open('list.txt', 'r+') == nil",
    "not pcall(io.open, 'list.txt', 'x')",
    "io.open('.') == nil",
    "select(2, io.open('sub')) == 'sub: not a regular file' and select(2, io.open('.')) == '.: not a regular file'",
    "select(2, io.open('/dev/zero')):find('--allow-read', 1, true)",
    "not pcall(io.lines, '/dev/zero')",
    // Modules come from the script's folder only.
    "not pcall(require, '..outside')",
    "not pcall(require, '/etc/hostname')",
    "not pcall(require, 'sub/inner')",
    // Reading works as in Lua.
    "io.open('list.txt'):read('a') == 'one\\ntwo\\n'",
    "io.open('list.txt', 'rb'):read('l') == 'one'",
    "io.open('list.txt'):read('L') == 'one\\n'",
    "io.open('list.txt'):read(2) == 'on'",
    "io.open('numbers.txt'):read('n') == 42",
    "(function() local f = io.open('list.txt'); f:seek('set', 4); return f:read() end)() == 'two'",
    "(function() local f = io.open('list.txt'); f:close(); return io.type(f) end)() == 'closed file'",
    "(function() local s = ''; for l in io.open('list.txt'):lines() do s = s .. l end; return s end)() == 'onetwo'",
    "(function() local s = ''; for l in io.lines('list.txt', 'L') do s = s .. l end; return s end)() == 'one\\ntwo\\n'",
    "select(2, io.open('absent.txt')) == 'absent.txt: No such file or directory'",
    "select(3, io.open('absent.txt')) == 2",
    // Modules.
    "require('sub.inner') == 'inner' and require('sub') == 'init'",
    "select(2, require('fresh')):match('fresh.lua$') and require('nothing') == true",
    "dofile('sub/inner.lua') == 'inner' and loadfile('sub/inner.lua')() == 'inner'",
    "require('linux.xdp').DROP == 1 and require('linux.xdp').REDIRECT == 4",
    "require('xdp') == package.loaded.xdp",
    // Byte order, on a little-endian machine.
    "require('byteorder').hton16(0x1234) == 0x3412 and require('byteorder').ntoh16(0x51234) == 0x3412",
    "require('byteorder').hton32(0x12345678) == 0x78563412 and require('byteorder').le32toh(-1) == 0xffffffff",
    "require('byteorder').be64toh(1) == 1 << 56 and require('byteorder').htole64(-1) == -1",
    "require('ip').parse('2001:DB8:0::1') == '2001:db8::1' and require('ip').parse('::ffff:c000:207') == '::ffff:192.0.2.7'",
    "require('ip').parse('1.2.3') == nil and select('#', require('ip').parse('')) == 1 and require('ip').parse(7) == nil",
    "require('ip').prefix('192.0.2.7', 24) == '192.0.2.0' and require('ip').prefix('1.2.3.4', 0) == '0.0.0.0'",
    "require('ip').prefix('2001:db8:a:b::7', '0x30') == '2001:db8:a::' and require('ip').prefix('::1', 128) == '::1'",
    "require('mac').parse('52-54-00-12-34-AB') == '52:54:00:12:34:ab' and require('mac').parse('abcdef') == '61:62:63:64:65:66'",
    "require('mac').parse('52:54-00:12:34:56') == nil and require('mac').parse('+2:54:00:12:34:56') == nil",
    "require('byteorder').htobe16('0x10') == 0x1000 and require('byteorder').htobe16(16.0) == 0x1000",
    // Replaced functions behave like the originals.
    "(function() local n = 0; for k, v in pairs{1, 2, a = 3} do n = n + v end; return n end)() == 6",
    "(function() local t = {a = 1, b = 2, c = 3}; for k in pairs(t) do t[k] = nil end; return next(t) end)() == nil",
    "(function() local s = ''; for k in pairs{b = 1, a = 1, 'x', [0] = 1} do s = s .. k end; return s end)() == '10ab'",
    "(function() local t, n = {a = 1, b = 1}, 0
       for _ in pairs(t) do for _ in pairs(t) do n = n + 1 end end; return n end)() == 4",
    "next({a = 1}, 'a') == nil and next({a = 1, b = 2}, 'a') == 'b' and not pcall(next, {}, 'a')",
    "pairs(setmetatable({}, {__pairs = function() return 7 end})) == 7",
    "setmetatable({}, nil) and not pcall(setmetatable, setmetatable({}, {__metatable = 1}), {})",
    "_VERSION == 'Lua 5.5' and math.maxinteger == 0x7fffffffffffffff and utf8.charpattern",
    "(function() function string.twice(s) return s .. s end; return ('ab'):twice() end)() == 'abab'",
];

#[test]
fn table_of_what_holds_in_the_sandbox() {
    let folder = Folder::new(&[
        ("list.txt", "one\ntwo\n"),
        ("numbers.txt", " 42 x"),
        ("sub/inner.lua", "#!/usr/bin/lua\nreturn 'inner'"),
        ("sub/init.lua", "return 'init'"),
        ("fresh.lua", "return {...}"),
        ("nothing.lua", ""),
        ("code.luac", "\x1bLua"),
        ("code.lua", "\x1bLua"),
    ]);
    for expression in HOLDS {
        fs::write(folder.path("x.lua"), format!("assert({expression}){ATTACH}")).unwrap();
        if let Err(error) = folder.load("x.lua") {
            panic!("{expression}: {error}");
        }
    }
}

#[test]
fn messages_of_replaced_functions_are_those_of_lua() {
    for (call, expected) in [
        ("io.open()", "bad argument #1 to 'open' (string expected, got no value)"),
        ("io.lines('absent')", "absent: No such file or directory"),
        ("setmetatable(1, {})", "bad argument #1 to 'setmetatable' (table expected, got number)"),
        ("setmetatable({})", "bad argument #2 to 'setmetatable' (nil or table expected, got no value)"),
        ("setmetatable({}, 1)", "bad argument #2 to 'setmetatable' (nil or table expected, got number)"),
        ("next()", "bad argument #1 to 'next' (table expected, got no value)"),
        ("for _ in pairs(nil) do end", "bad argument #1 to 'for iterator' (table expected, got nil)"),
        ("require('xdp').attach(7)", "bad argument #1 to 'attach' (function expected, got number)"),
        ("require('xdp').attach()", "bad argument #1 to 'attach' (function expected, got no value)"),
        ("require('xdp').attach(print)", "bad argument #1 to 'attach' (a function written in Lua expected)"),
        (
            "require('xdp').attach(require)",
            "bad argument #1 to 'attach' (a function written in Lua expected)",
        ),
        ("require('ip').parse({})", "bad argument #1 to 'parse' (string expected, got table)"),
        ("require('ip').prefix('10.0.0.0/8', 8)", "bad argument #1 to 'prefix' (IP address expected)"),
        (
            "require('ip').prefix('10.0.0.1', 33)",
            "bad argument #2 to 'prefix' (integer from 0 to 32 expected)",
        ),
        ("require('ip').prefix('::1', -1)", "bad argument #2 to 'prefix' (integer from 0 to 128 expected)"),
        ("require('ip').prefix('10.0.0.1')", "bad argument #2 to 'prefix' (number expected, got no value)"),
        ("require('byteorder').hton16({})", "bad argument #1 to 'hton16' (number expected, got table)"),
        (
            "require('byteorder').hton16(0.5)",
            "bad argument #1 to 'hton16' (number has no integer representation)",
        ),
    ] {
        let error = load_text(&format!("\n{call}")).err().unwrap_or_else(|| panic!("{call} loads"));
        let shown = error.to_string();
        assert!(shown.ends_with(&format!("x.lua:2: {expected}")), "{call} says {shown}");
    }
}

#[test]
fn scripts_do_not_see_one_another() {
    let first = "global_of_first = 1; string.extra = 1; package.loaded.shared = 1; require('xdp').mark = 1
                 require('xdp').attach(function() return 1 end)";
    let second = "assert(global_of_first == nil and string.extra == nil and _G._G == _G)
                  assert(not pcall(require, 'shared') and require('xdp').mark == nil and ('').extra == nil)
                  require('xdp').detach()
                  require('xdp').attach(function() return 2 end)";
    let folder = Folder::new(&[("1.lua", first), ("2.lua", second)]);
    let loaded = load(&[folder.path("1.lua"), folder.path("2.lua")], &Options::default()).unwrap();
    let results: Vec<i64> = loaded.handlers.iter().map(|handler| handler.call(()).unwrap()).collect();
    assert_eq!(results, [1, 2]);
}

#[test]
fn every_file_read_is_reported_once() {
    let folder = Folder::new(&[
        ("list.txt", "a\n"),
        ("m.lua", "return 1"),
        (
            "x.lua",
            "require 'm'; io.open('list.txt'):close(); for _ in io.lines('list.txt') do end
             require('xdp').attach(function() end)",
        ),
    ]);
    let files: Vec<PathBuf> = folder.load("x.lua").unwrap().files;
    assert_eq!(files, ["x.lua", "m.lua", "list.txt"].map(|name| folder.path(name)));
}

#[test]
fn coroutines_that_outlive_load_time_are_not_stopped() {
    let folder = Folder::new(&[(
        "x.lua",
        "local step = coroutine.wrap(function() while true do for i = 1, 100000 do end coroutine.yield(2) end end)
         require('xdp').attach(function() return step() end)",
    )]);
    let options = Options { instruction_limit: 50_000, ..Options::default() };
    let loaded = load(&[folder.path("x.lua")], &options).unwrap();
    for _ in 0..10 {
        assert_eq!(loaded.handlers[0].call::<i64>(()).unwrap(), 2);
    }
}

#[test]
fn what_is_printed_can_be_captured() {
    let loaded = load_text(
        "local show = setmetatable({}, {__tostring = function() return 'shown' end})
         require('xdp').attach(function(...) print(...) print(show, nil, 1.5) print() end)",
    )
    .unwrap();
    capture_print(&loaded.lua).unwrap();
    loaded.handlers[0].call::<()>((1, "a\0b")).unwrap();
    assert_eq!(captured_print(&loaded.lua).unwrap(), [&b"1\ta\0b"[..], b"shown\tnil\t1.5", b""]);
    assert!(captured_print(&loaded.lua).unwrap().is_empty());
}

/// A folder with a script's folder `here` and another one, `there`, and links between them.
fn two_folders() -> Folder {
    let folder = Folder::new(&[
        ("here/list.txt", "one\n"),
        ("here/module.lua", "return 1"),
        ("there/secret.txt", "secret\n"),
        ("there/module.lua", "return 'secret'"),
    ]);
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.path(name)).unwrap();
    link("../there/secret.txt", "here/link.txt");
    link("../there/module.lua", "here/linked.lua");
    link("../there", "here/folder");
    link("list.txt", "here/inside.txt");
    link(&folder.path("here/list.txt").to_string_lossy(), "here/absolute.txt");
    link("/proc/self/environ", "here/environ.txt");
    link("../here", "there/back");
    folder
}

fn loads(folder: &Folder, script: &str, allow_read: &[&str]) {
    fs::write(folder.path("here/x.lua"), format!("{script}{ATTACH}")).unwrap();
    let allow_read = allow_read.iter().map(|name| folder.path(name)).collect();
    let options = Options { allow_read, ..Options::default() };
    if let Err(error) = load(&[folder.path("here/x.lua")], &options) {
        panic!("{error}\nin {script}");
    }
}

#[test]
fn files_elsewhere_are_out_of_reach_whatever_leads_there() {
    let folder = two_folders();
    let absolute = |name: &str| folder.path(name).to_string_lossy().into_owned();
    for name in [
        "/etc/shadow",
        "/etc/passwd",
        "/etc/no such file",
        "/proc/self/environ",
        "/proc/self/cwd/x.lua",
        "/proc/self/mem",
        "/dev/zero",
        "/dev/stdin",
        "/",
        "..",
        "../there/secret.txt",
        "../there/absent.txt",
        "./../there/secret.txt",
        "link.txt",
        "environ.txt",
        "folder/secret.txt",
        "folder/absent.txt",
        "absent/../../there/secret.txt",
        &absolute("there/secret.txt"),
    ] {
        let refused = format!(
            "local function refused(ok, message)
               assert(not ok and message:find('--allow-read DIR', 1, true), message)
             end
             local f, message, number = io.open({name:?})
             refused(f, message)
             assert(number == 13, number)
             refused(pcall(io.lines, {name:?}))
             refused(loadfile({name:?}))
             refused(pcall(dofile, {name:?}))"
        );
        loads(&folder, &refused, &[]);
    }
    // A module's name leads nowhere else; a link may.
    loads(
        &folder,
        "for _, name in ipairs{'linked', 'folder.module'} do
           local ok, message = pcall(require, name)
           assert(not ok and message:find('--allow-read DIR', 1, true), message)
         end",
        &[],
    );
}

#[test]
fn files_of_the_folder_can_be_reached_in_any_way() {
    let folder = two_folders();
    let names =
        ["list.txt", "./list.txt", "inside.txt", "absolute.txt", "../here/list.txt", "folder/back/list.txt"];
    let names = names.map(|name| format!("{name:?}")).join(", ");
    let read = format!(
        "for _, name in ipairs{{{names}, {:?}}} do
           assert(assert(io.open(name)):read('a') == 'one\\n', name)
           for line in io.lines(name) do assert(line == 'one', name) end
         end
         assert(require('module') == 1 and dofile('module.lua') == 1 and loadfile('../here/module.lua')() == 1)
         assert(select(2, io.open('absent.txt')) == 'absent.txt: No such file or directory')
         for i = 1, 5000 do assert(io.open('list.txt')):close() end",
        folder.path("here/list.txt").to_string_lossy()
    );
    loads(&folder, &read, &[]);
}

#[test]
fn folders_can_be_allowed() {
    let folder = two_folders();
    let read =
        "assert(io.open('../there/secret.txt'):read() == 'secret' and io.open('link.txt'):read() == 'secret')
         assert(require('linked') == 'secret' and require('folder.module') == 'secret')
         assert(dofile('../there/module.lua') == 'secret')
         assert(not io.open('/etc/passwd') and not io.open('environ.txt'))";
    loads(&folder, read, &["there"]);
    loads(&folder, read, &["here", "there/../there"]);
    fs::write(folder.path("here/x.lua"), ATTACH).unwrap();
    for absent in ["nowhere", "there/secret.txt"] {
        let options = Options { allow_read: vec![folder.path(absent)], ..Options::default() };
        let error = load(&[folder.path("here/x.lua")], &options).err().expect("no such folder");
        assert_eq!(error.code(), "MH0101");
        assert!(error.to_string().contains(absent), "{error}");
    }
}

/// The limit on steps holds inside library functions, and for those that are called again and again.
#[test]
fn library_functions_that_take_for_ever_are_stopped() {
    for body in [
        "('a'):rep(200):find('.-.-.-.-.-.-b$')",
        "('a'):rep(200):match(('a*'):rep(20) .. 'b')",
        "('a'):rep(60):match('^' .. ('a?'):rep(60) .. ('a'):rep(60) .. 'b')",
        "('a'):rep(500):gsub('.-.-.-.-b', '')",
        "(function() for _ in ('a'):rep(500):gmatch('.-.-.-.-b') do end end)()",
        "(function() local f = ('a'):rep(500):gmatch('(.-)(.-)%1%2b') f() end)()",
        "string.find(12345678901234567890123, ('.-'):rep(20) .. 'x')",
        "('x'):rep(1e7):find(('x'):rep(1e6) .. 'y', 1, true)",
        "('x'):rep(1e7):find(('x'):rep(1e6) .. 'y')",
        "table.move({}, 1, math.maxinteger - 2, 2)",
        "(function() for i = 1, 1e9 do local s = ('x'):rep(1e6) end end)()",
        "(function() while true do pcall(string.find, ('a'):rep(200), '.-.-.-.-.-.-b$') end end)()",
        "table.sort({3, 2, 1}, function(a, b) for _ = 1, 1e9 do end return a < b end)",
        "('x'):rep(100):gsub('x', function() while true do end end)",
        "('x'):rep(100):gsub('x', setmetatable({}, {__index = function() while true do end end}))",
        "table.concat(setmetatable({}, {__index = function() return '' end}), '', 1, 1 << 60)",
        "table.insert(setmetatable({}, {__len = function() return 1 << 60 end, __index = function() end}), 1, 1)",
        "tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
        "load(function() return ' ' end)",
        "coroutine.wrap(function() ('a'):rep(200):find('.-.-.-.-.-.-b$') end)()",
    ] {
        let folder = Folder::new(&[("x.lua", &format!("local _ = {body}{ATTACH}"))]);
        let options = Options { instruction_limit: 5_000_000, ..Options::default() };
        let begin = std::time::Instant::now();
        let error = load(&[folder.path("x.lua")], &options).err().unwrap_or_else(|| panic!("{body} ended"));
        assert_eq!(error.code(), "MH0105", "{body}: {error}");
        assert!(begin.elapsed().as_secs() < 60, "{body}");
    }
    // These end by themselves, or with the limit of memory.
    for body in [
        "('x'):rep(1 << 40)",
        "('x'):rep(1 << 28):rep(1 << 28)",
        "string.format('%99999d', 1)",
        "table.unpack({}, 1, 1 << 60)",
    ] {
        let folder = Folder::new(&[("x.lua", &format!("local _ = {body}{ATTACH}"))]);
        let error = load(&[folder.path("x.lua")], &Options::default()).err();
        assert!(error.is_some_and(|error| ["MH0103", "MH0106"].contains(&error.code())), "{body}");
    }
    // What looks slow and is not has room.
    let quick = "local line = ('word '):rep(100)
         assert(line:match('^(%S+) (%S+) (%S+) (%S+) ') == 'word' and select(2, line:gsub('(%w+)%s*', '')) == 100)
         local n = 0 for a, b in line:gmatch('(%a+) (%a+)') do n = n + 1 end assert(n == 50)
         assert(('x'):rep(1e5):find('y', 1, true) == nil and #table.move({1, 2, 3}, 1, 3, 4) == 6)";
    let folder = Folder::new(&[("x.lua", &format!("{quick}{ATTACH}"))]);
    let options = Options { instruction_limit: 5_000_000, ..Options::default() };
    load(&[folder.path("x.lua")], &options).unwrap_or_else(|error| panic!("{error}"));
}
