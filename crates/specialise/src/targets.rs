//! Where packets go by entries of maps (`bpf_redirect_map`): CPUs, and all interfaces of a group.
//!
//! Which maps there are is known before packets arrive: one for each group, one for each length of the CPUs' queues. Whoever runs the program
//! fills them ([`moonhook_ir::targets`]).

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::state::State;
use crate::value::{Abs, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::helper::REDIRECT_MAP;
use moonhook_ir::maps::{GROUPS, Port};
use moonhook_ir::targets::{self, Member};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{Loc, Op};

/// Flags of `bpf_redirect_map` (include/uapi/linux/bpf.h): a copy for each entry, but for the interface by which the packet came.
const TO_ALL_OTHERS: i64 = 1 << 3 | 1 << 4;

/// An interface of a group, as scripts name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Interface {
    Name(Vec<u8>),
    Number(u32),
}

/// A group of interfaces, and the line that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub interfaces: Vec<Interface>,
    pub loc: Loc,
}

/// What general code knows before packets arrive of where they may go.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Targets {
    pub groups: Vec<Group>,
    /// Lengths of queues.
    pub queues: Vec<u32>,
    /// The first that is made of the packet, and where.
    pub unknown: Option<(LowerErrorKind, Loc)>,
}

impl Interface {
    /// Numbers of interfaces are positive, and have 31 bits.
    pub fn of_number(number: i64) -> Option<Interface> {
        i32::try_from(number).ok().filter(|number| *number > 0).map(|number| Interface::Number(number as u32))
    }
}

impl Group {
    /// A text that no other group has: of names the length and the name, of numbers a sign and the number (`prelude/redirect.lua`).
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for interface in &self.interfaces {
            match interface {
                Interface::Name(name) => {
                    text.extend(format!("{}:", name.len()).bytes());
                    text.extend(name);
                }
                Interface::Number(number) => text.extend(format!("#{number}:").bytes()),
            }
        }
        text
    }
}

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
        self.fail_about(b"no CPU ", cpu)?;
        self.state = sent;
        Ok(())
    }

    /// Calls the helper; gives what it gives.
    fn send_by_map(&mut self, map: ir::MapId, key: Word, flags: i64) -> Word {
        let map = self.emit(Op::MapReference(map));
        self.helper(REDIRECT_MAP, &[map.into(), key, Word::Imm(flags)])
    }

    /// Splits by whether the map had an entry: otherwise the helper gives the flags' low bits, which are 0.
    fn split_sent(&mut self, result: Word) -> (State, State) {
        let nowhere = self.and(result, 0xffff_ffff);
        let nowhere = self.compare(ir::CompareOp::Eq, nowhere, 0);
        let (lost, sent) = self.split(nowhere);
        (sent, lost)
    }

    /// Raises the error of a text that a number ends.
    fn fail_about(&mut self, text: &[u8], number: Word) -> Result<()> {
        if !self.state.alive() {
            return Ok(());
        }
        self.make_cold();
        let pieces = vec![ir::Piece::Text(text.to_vec()), ir::Piece::Argument("%d".into())];
        self.fail_with(Message { pieces, positioned: true }, &[Abs::Int(number)])
    }
}
