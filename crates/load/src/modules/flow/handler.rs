//! What is called for each packet of a flow table: Lua that is written for the table's key.

use mlua::{Function, Lua};
use moonhook_flows::{Field, KeyKind};

/// A function that makes the handler: what is called for each packet, given what calls the flow's function, the table's number, the
/// function for other packets and the one that makes keys.
pub(super) fn handler(lua: &Lua, kind: &KeyKind) -> mlua::Result<Function> {
    let body = match kind {
        KeyKind::Values => {
            // Behind the first value that is nil there is none.
            "local a, b, c, d = key(pkt)\n if b == nil then c = nil end\n if c == nil then d = nil end\n\
             if a ~= nil then CALL(a, b, c, d) END end"
                .to_string()
        }
        KeyKind::Fields(fields) => of_fields(fields, *kind == KeyKind::five_tuple()),
    };
    let call = "local found, verdict = call(number, pkt, arg, ";
    let body = body.replace("CALL(", call).replace("END", "if found then return verdict end");
    let text = format!(
        "local call, number, default, key = ...\n\
         if default then return function(pkt, arg) {body}\n return default(pkt, arg) end end\n\
         return function(pkt, arg) {body}\n end"
    );
    // Without lines: what is wrong in it is nothing that a person could mend.
    let stripped = lua.load(text).into_function()?.dump(true);
    lua.load(stripped).set_name("=moonhook").set_mode(mlua::chunk::ChunkMode::Binary).into_function()
}

/// The body of a handler that finds the fields. `defaults_ports`: packets without ports have 0 there.
fn of_fields(fields: &[Field], defaults_ports: bool) -> String {
    let has = |names: &[&str]| fields.iter().any(|field| names.contains(&field.name));
    let (mut before, mut tests) = (String::new(), Vec::new());
    if has(&["src", "dst", "proto"]) {
        before.push_str("local ip = pkt.ip\n");
        tests.push("ip");
    }
    if has(&["sport", "dport"]) {
        let ports = "local ports = pkt.tcp or pkt.udp or pkt.sctp\n";
        before.push_str(ports);
        tests.push("ports");
    }
    if defaults_ports {
        return of_five_tuple();
    }
    if has(&["smac", "dmac"]) {
        before.push_str("local eth = pkt.eth\n");
        tests.push("eth");
    }
    if has(&["vlan"]) {
        before.push_str("local vlan = pkt.vlan\n");
        tests.push("vlan");
    }
    format!("{before} if {} then CALL{} END end", tests.join(" and "), packed(fields))
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

/// Packets without ports have 0 there.
fn of_five_tuple() -> String {
    "local ip = pkt.ip\n\
     if ip then\n\
       local ports, sport, dport = pkt.tcp or pkt.udp or pkt.sctp, 0, 0\n\
       if ports then sport, dport = ports.sport, ports.dport end\n\
       CALL(ip.src, ip.dst, ip.proto | sport << 8 | dport << 24) END end"
        .to_string()
}
