//! Layers that handlers ask for and packets do not have: `skb:data("ip")` is an error whenever it is reached, wherever the handler runs.

use super::objects::{Object, Objects};
use super::{place, reached};
use moonhook_diagnostic::Diagnostic;
use moonhook_hook::can_queue;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Snapshot, Value};

/// Those that there are (`luaskb_data` in Lunatik's lib/luaskb.c).
const LAYERS: [&[u8]; 2] = [b"net", b"mac"];

/// A warning for each line that names another one, of handlers of netfilter.
pub fn unknown_layers(snapshot: &Snapshot) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for handler in snapshot.handlers.iter().filter(|handler| can_queue(handler.point.hook)) {
        let reach = reached(snapshot, handler.written);
        let objects = Objects::new(snapshot, &reach);
        for (number, function) in reach.functions.iter().enumerate() {
            let prototype = snapshot.prototype(function.prototype);
            for pc in 0..prototype.code.len() {
                let layer = layer_asked_for(&objects, snapshot, (number, pc), function);
                let Some(layer) = layer.filter(|layer| !LAYERS.contains(layer)) else { continue };
                let shown = String::from_utf8_lossy(layer);
                let warning = Diagnostic::new("MH0122", format!("packets have no layer '{shown}'"));
                let warning = match place(snapshot, prototype, pc, Some(layer)) {
                    Some(place) => warning.at(place),
                    None => warning,
                };
                let warning = warning
                    .reason("an error whenever it is reached")
                    .help("write \"net\" for the packet from its IP header on, or \"mac\" for the Ethernet header as well");
                if !found.contains(&warning) {
                    found.push(warning);
                }
            }
        }
    }
    found
}

/// The layer that an instruction looks up `data` for, where it is surely a packet or a copy that is asked, and for which one.
fn layer_asked_for<'s>(
    objects: &Objects<'s>,
    snapshot: &'s Snapshot,
    site: (usize, usize),
    function: &super::Reached,
) -> Option<&'s [u8]> {
    let prototype = snapshot.prototype(function.prototype);
    let i = Instruction(prototype.code[site.1]);
    let is_data = matches!(prototype.constants.get(i.c()), Some(Value::String(name)) if **name == *b"data");
    if i.opcode() != Some(Opcode::Self_) || !is_data {
        return None;
    }
    objects.at(site, i.b()).filter(|object| matches!(object, Object::Packet | Object::Copy))?;
    objects.layer(site)
}
