//! What is called for each packet of a flow table: Lua that is written for the table's key.

use mlua::{Function, Lua};
use moonhook_flows::{Field, KeyKind};

/// A function that makes the handler: what is called for each packet, given what calls the flow's function, the table's number, the
/// function for other packets, the one that makes keys, and `error`.
pub(super) fn handler(lua: &Lua, kind: &KeyKind) -> mlua::Result<Function> {
    let body = match kind {
        KeyKind::Values => {
            // Behind the first value that is nil there is none.
            "local a, b, c, d, e = key(pkt)\n\
             if e ~= nil then error('a key has from one to four values', 0) end\n if b == nil then c = nil end\n if c == nil then d = nil end\n\
             if a ~= nil then CALL(a, b, c, d) END end"
                .to_string()
        }
        KeyKind::Fields(fields) => of_fields(fields, *kind == KeyKind::five_tuple()),
    };
    let call = "local found, verdict = call(number, pkt, arg, ";
    let body = body.replace("CALL(", call).replace("END", "if found then return verdict end");
    let text = format!(
        "local call, number, default, key, error = ...\n\
         if default then return function(pkt, arg) {body}\n return default(pkt, arg) end end\n\
         return function(pkt, arg) {body}\n end"
    );
    // Without lines: what is wrong in it is nothing that a person could mend.
    let stripped = lua.load(text).into_function()?.dump(true);
    lua.load(stripped).set_name("=moonhook").set_mode(mlua::chunk::ChunkMode::Binary).into_function()
}

/// The body of a handler that finds the fields. `defaults_ports`: packets without ports have 0 there.
fn of_fields(fields: &[Field], defaults_ports: bool) -> String {
    let has =
        |names: &[&str]| names.iter().filter(|name| fields.iter().any(|field| field.name == **name)).count();
    let (mut rest, mut tests) = (String::new(), Vec::new());
    let mut need = |local: &str, name, is_needed: bool| {
        if is_needed {
            rest.push_str(local);
            tests.push(name);
        }
    };
    let ports = "local ports = pkt.tcp or pkt.udp or pkt.sctp\n";
    need(ports, "ports", has(&["sport", "dport"]) > 0 && !defaults_ports);
    need("local eth = pkt.eth\n", "eth", has(&["smac", "dmac"]) > 0);
    need("local vlan = pkt.vlan\n", "vlan", has(&["vlan"]) > 0);
    let call = format!("CALL{} END\n", packed(fields));
    let rest = match tests.join(" and ").as_str() {
        "" if defaults_ports => format!(
            "{ports} local sport, dport = 0, 0\n\
             if ports then sport, dport = ports.sport, ports.dport end\n\
             CALL(ip.src, ip.dst, ip.proto | sport << 8 | dport << 24) END\n"
        ),
        "" => call,
        tests => format!("{rest} if {tests} then {call} end\n"),
    };
    match (has(&["src", "dst"]), has(&["proto"])) {
        (0, 0) => rest,
        // Told apart once, and not for each address.
        (2, _) => {
            format!("local ip = pkt.ip\n if ip then if ip.version == 4 then {rest} else {rest} end end")
        }
        _ => format!("local ip = pkt.ip\n if ip then {rest} end"),
    }
}

/// The arguments that a key of these fields is: addresses, and numbers put together as [`KeyKind`] says.
fn packed(fields: &[Field]) -> String {
    use moonhook_flows::FieldKind::{Address, Mac, Number};
    let expression = |field: &Field| match field.name {
        "src" | "dst" | "proto" => format!("ip.{}", field.name),
        "sport" | "dport" => format!("ports.{}", field.name),
        "vlan" => "vlan.id".to_string(),
        "smac" => "eth.src".to_string(),
        _ => "eth.dst".to_string(),
    };
    let mut arguments: Vec<String> = Vec::new();
    let mut open: Option<(usize, u32)> = None;
    for field in fields {
        match (field.kind, open) {
            (Number(bits), Some((at, used))) if used + bits <= 64 => {
                arguments[at].push_str(&format!(" | {} << {used}", expression(field)));
                open = Some((at, used + bits));
            }
            (Number(bits), _) => {
                open = Some((arguments.len(), bits));
                arguments.push(expression(field));
            }
            (Address | Mac, _) => arguments.push(expression(field)),
        }
    }
    format!("({})", arguments.join(", "))
}
