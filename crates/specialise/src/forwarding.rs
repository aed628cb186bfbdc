//! Where packets go by entries of maps (`bpf_redirect_map`): CPUs, all interfaces of a group, sockets of the process.
//!
//! Which maps there are is known before packets arrive: one for each group, one for each length of the CPUs' queues. Whoever runs the program
//! fills them ([`moonhook_ir::targets`]).

use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::shared::map_calls::lookup;
use crate::state::State;
use crate::targets::{Group, Interface};
use crate::value::{Abs, Str, Word};
use moonhook_hook::Source;
use moonhook_hook::targets::{NO_RECEIVER, OTHER_QUEUE};
use moonhook_ir as ir;
use moonhook_ir::helper::REDIRECT_MAP;
use moonhook_ir::maps::{GROUPS, Port};
use moonhook_ir::targets::{self, MOST_INTERFACES, Member, SOCKET_INTERFACES, SOCKETS};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, Op, Size};
use moonhook_packet::Machine;

/// Flags of `bpf_redirect_map` (include/uapi/linux/bpf.h): a copy for each entry, but for the interface by which the packet came.
const TO_ALL_OTHERS: i64 = 1 << 3 | 1 << 4;

/// Names the slot of the key in the map of interfaces that have sockets.
const SLOT: u32 = 5;

impl Context<'_> {
    /// Sends the packet to all interfaces of a group. Those that there are none of have no part in it.
    pub fn send_to_group(&mut self, group: &Group) -> Result<()> {
        let impossible = group.interfaces.iter().find_map(|interface| match interface {
            Interface::Name(name) if !Port::is_name(name) => Some(name),
            _ => None,
        });
        match impossible {
            Some(name) if !self.options.any_interface => {
                self.fail_for_want_of(&Str::Const(name.as_slice().into()))
            }
            _ => {
                let map = self.group_map(group);
                self.send_by_map(map, Word::Imm(0), TO_ALL_OTHERS);
                Ok(())
            }
        }
    }

    fn group_map(&mut self, group: &Group) -> ir::MapId {
        let mut places: Vec<usize> = Vec::new();
        for interface in &group.interfaces {
            let name = match interface {
                Interface::Name(name) => String::from_utf8_lossy(name).into_owned(),
                Interface::Number(number) => Port::name_of(*number),
            };
            places.extend(self.port_place(&name, group.loc).filter(|place| !places.contains(place)));
        }
        places.sort_unstable();
        let number = self.group_number(&places);
        let definition = ir::MapDefinition {
            map_type: ir::MapType::DevMapHash,
            key_size: 4,
            value_size: 4,
            max_entries: places.len().max(1) as u32,
            flags: 0,
        };
        self.output.map(&targets::group(number), || ir::MapKind::Map(definition))
    }

    /// The number, from 1, of the group of the interfaces at these places, in order.
    fn group_number(&mut self, places: &[usize]) -> usize {
        let Some(section) = self.output.section(GROUPS) else { return 0 };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for Member { group, port } in Member::all(section) {
            groups.resize((group as usize).max(groups.len()), Vec::new());
            groups[group as usize - 1].push(port as usize);
        }
        if let Some(known) = groups.iter().position(|known| known == places) {
            return known + 1;
        }
        let number = groups.len() + 1;
        let members = places.iter().map(|port| Member { group: number as u32, port: *port as u32 });
        section.extend(members.flat_map(Member::bytes));
        number
    }

    /// Sends the packet to a CPU, a number of 16 bits, whose queue has room for so many.
    pub fn send_to_cpu(&mut self, cpu: Word, queue: u32) -> Result<()> {
        let definition = ir::MapDefinition {
            map_type: ir::MapType::CpuMap,
            key_size: 4,
            value_size: 4,
            max_entries: self.options.cpus,
            flags: 0,
        };
        let map = self.output.map(&targets::cpus(queue), || ir::MapKind::Map(definition));
        let result = self.send_by_map(map, cpu, 0);
        if self.options.any_interface {
            return Ok(());
        }
        let (sent, lost) = self.split_sent(result);
        self.state = lost;
        self.fail_about("no CPU ", cpu)?;
        self.state = sent;
        Ok(())
    }

    /// Sends the packet to the socket of a queue, a number of 16 bits: the one by which it has come in, for which there is a function.
    pub fn send_to_socket(&mut self, queue: Word) -> Result<()> {
        let receivers = self.snapshot.receivers.clone();
        let mut found = Vec::new();
        for (place, receiver) in receivers.iter().enumerate() {
            let is = self.compare(CompareOp::Eq, queue, i64::from(*receiver));
            let (is, other) = self.split(is);
            if is.alive() {
                found.push(Arm { state: is, values: vec![Abs::int(place as i64)] });
            }
            self.state = other;
        }
        self.fail_about(NO_RECEIVER, queue)?;
        let Some([Abs::Int(place)]) = self.join(found)?.as_deref().map(|values| [values[0].clone()]) else {
            return Ok(());
        };
        let arrived = self.beside("queue");
        let other = self.compare(CompareOp::Ne, arrived, queue);
        let (other, same) = self.split(other);
        self.state = other;
        self.fail_about(OTHER_QUEUE, queue)?;
        self.state = same;
        if self.options.any_interface { Ok(()) } else { self.send_to_socket_at(place, queue) }
    }

    /// The same, where the socket has that place among those of the interface.
    fn send_to_socket_at(&mut self, place: Word, queue: Word) -> Result<()> {
        let count = self.snapshot.receivers.len() as u32;
        let sockets = ir::MapDefinition {
            map_type: ir::MapType::XskMap,
            key_size: 4,
            value_size: 4,
            max_entries: MOST_INTERFACES * count,
            flags: 0,
        };
        let interfaces = ir::MapDefinition {
            map_type: ir::MapType::Hash,
            key_size: 8,
            value_size: 8,
            max_entries: MOST_INTERFACES,
            flags: 0,
        };
        let sockets = self.output.map(SOCKETS, || ir::MapKind::Map(sockets));
        let interfaces = self.output.map(SOCKET_INTERFACES, || ir::MapKind::Map(interfaces));
        let slot = self.known.shared.slot(SLOT, 8, &mut self.code.function);
        let key = self.emit(Op::SlotAddress(slot));
        let interface = self.beside("ifindex");
        self.store(key, 0, Size::B8, interface);
        let first = lookup(self, interfaces, key);
        let none = self.compare(CompareOp::Eq, Word::Value(first), 0);
        let (none, there) = self.split(none);
        let mut lost = vec![none];
        self.state = there;
        let first = self.load(first, 0, Size::B8, false);
        let place = self.add(first, place);
        let result = self.send_by_map(sockets, place, 0);
        let (sent, nowhere) = self.split_sent(result);
        lost.push(nowhere);
        self.enter(lost)?;
        self.fail_about("no socket for queue ", queue)?;
        self.state = sent;
        Ok(())
    }

    /// What the kernel keeps beside a packet under that name, which it does at hooks with maps of targets.
    fn beside(&mut self, name: &str) -> Word {
        let at = match self.target.hook.metadata(name).map(|metadata| metadata.source) {
            Some(Source::Word { at, .. }) => at,
            _ => 0,
        };
        let context = self.program_context();
        let context = self.value(context);
        self.load(context, at, Size::B4, false)
    }

    /// Calls the helper; gives what it gives.
    fn send_by_map(&mut self, map: ir::MapId, key: Word, flags: i64) -> Word {
        let map = self.emit(Op::MapReference(map));
        self.helper(REDIRECT_MAP, &[map.into(), key, Word::Imm(flags)])
    }

    /// Splits by whether the map had an entry: otherwise the helper gives the flags' low bits, which are 0.
    fn split_sent(&mut self, result: Word) -> (State, State) {
        let nowhere = self.and(result, 0xffff_ffff);
        let nowhere = self.compare(CompareOp::Eq, nowhere, 0);
        let (lost, sent) = self.split(nowhere);
        (sent, lost)
    }

    /// Raises the error of a text that a number ends.
    fn fail_about(&mut self, text: &str, number: Word) -> Result<()> {
        if !self.state.alive() {
            return Ok(());
        }
        self.make_cold();
        let pieces = vec![ir::Piece::Text(text.into()), ir::Piece::Argument("%d".into())];
        self.fail_with(Message { pieces, positioned: true }, &[Abs::Int(number)])
    }
}
