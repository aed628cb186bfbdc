//! Names of the maps and data sections that programs have besides the scripts' own tables. No table gets one of them.

/// Variables that handlers assign.
pub const STATE: &str = "state";
/// Variables of a flow's function that nothing else has.
pub const OWN_STATE: &str = "own_state";
/// Constant bytes: texts, tables of load time.
pub const POOL: &str = "pool";
/// A word that is 0 and that nothing writes, which the kernel's verifier cannot know: numbers that are combined with it are unknown to
/// the verifier.
pub const OPAQUE: &str = "opaque";
/// Memory of a packet, for each CPU.
pub const REGION: &str = "region";
/// The ring buffer of events.
pub const EVENTS: &str = "events";
/// How many events were lost, how many errors there were.
pub const COUNTERS: &str = "counters";
/// How often each verdict was given.
pub const VERDICTS: &str = "verdicts";
/// The arena of general code.
pub const ARENA: &str = "arena";
/// The time, where whoever runs the program gives it.
pub const CLOCK: &str = "clock";
/// Which nesting levels are taken, for each CPU and program.
pub const TAKEN: &str = "taken";
/// Interfaces whose names stand in the code: a [`Port`] each.
pub const PORTS: &str = "named_ifaces";
/// All interfaces, by name, for names that stand nowhere.
pub const INTERFACES: &str = "all_ifaces";

/// Which interfaces groups consist of: a [`Member`](crate::targets::Member) each.
pub const GROUPS: &str = "groups";

/// What C has given handlers as their argument, for each CPU.
pub const ARGUMENT: &str = "argument";

/// All that have fixed names.
const ALL: [&str; 15] = [
    STATE, OWN_STATE, POOL, OPAQUE, REGION, EVENTS, COUNTERS, VERDICTS, ARENA, CLOCK, TAKEN, PORTS,
    INTERFACES, GROUPS, ARGUMENT,
];

/// The memory of the flow table with that number.
pub fn flow_keys(table: usize) -> String {
    format!("{FLOW_KEYS}{table}")
}

/// The functions of the flow table with that number that a program calls, by the program's number.
pub fn flow_functions(table: usize, program: usize) -> String {
    format!("{FLOW_FUNCTIONS}{table}_{program}")
}

/// What the program with that number tells functions of flows that it calls.
pub fn flow_told(program: usize) -> String {
    format!("{FLOW_TOLD}{program}")
}

const FLOW_KEYS: &str = "flow_keys";
const FLOW_TOLD: &str = "flow_told";
const FLOW_FUNCTIONS: &str = "flow_code";

/// Whether it is a name for one of these, or for one of those that packets go elsewhere by ([`crate::targets`]).
pub fn is_taken(name: &str) -> bool {
    ALL.contains(&name) || crate::targets::is_map(name) || is_of_flows(name)
}

/// Whether it is a name for a map of flow tables, or of a section that is one.
pub fn is_of_flows(name: &str) -> bool {
    let name = name.strip_prefix(ZEROS).unwrap_or(name);
    [FLOW_KEYS, FLOW_FUNCTIONS, FLOW_TOLD].iter().any(|start| name.starts_with(start))
}

/// The section of an object that has the data of that name.
pub fn data_section(name: &str) -> String {
    format!(".data.{name}")
}

/// The section of an object that has the data of that name where that begins with zeros.
pub fn zeros_section(name: &str) -> String {
    format!("{ZEROS}{name}")
}

const ZEROS: &str = ".bss.";

/// Whether a map or data section of the module goes by that name, as such or in an object.
pub fn goes_by(map: &str, name: &str) -> bool {
    name == map || name == data_section(map) || name == zeros_section(map)
}

/// An interface that the script names, in the section [`PORTS`]: 16 bytes of its name, ended by zeros (or of a colon and its number, which is
/// no name), its number (`u32`; 0 while there is none), and where the script names it: 8 bits of the source, 24 of the line. Integers are in the machine's byte order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub name: String,
    pub source: u8,
    pub line: u32,
}

impl Port {
    /// Bytes of one.
    pub const SIZE: usize = 24;
    /// Bytes of a name, at most; the kernel's `IFNAMSIZ` has one more, which is 0.
    pub const LONGEST: usize = 15;
    /// Where the number is.
    pub const NUMBER: usize = 16;

    /// Whether an interface can have that name.
    pub fn is_name(name: &[u8]) -> bool {
        !name.is_empty() && name.len() <= Self::LONGEST && !name.iter().any(|byte| matches!(byte, 0 | b':'))
    }

    /// What stands in the place of a name for the interface of a number.
    pub fn name_of(number: u32) -> String {
        format!(":{number}")
    }

    /// The interface's number, where that stands in the place of its name.
    pub fn given_number(&self) -> Option<u32> {
        self.name.strip_prefix(':')?.parse().ok()
    }

    /// Its bytes, without number. `None` if there is no interface of such a name.
    pub fn bytes(&self) -> Option<[u8; Self::SIZE]> {
        if self.name.is_empty() || self.name.contains('\0') {
            return None;
        }
        let mut bytes = [0; Self::SIZE];
        bytes.get_mut(..Self::LONGEST)?.get_mut(..self.name.len())?.copy_from_slice(self.name.as_bytes());
        bytes[Self::NUMBER..].copy_from_slice(&self.word(0).to_ne_bytes());
        Some(bytes)
    }

    /// The word that has the number.
    pub fn word(&self, number: u32) -> u64 {
        let place = u32::from(self.source) << 24 | self.line & 0xff_ffff;
        let [number, place] = [number, place].map(u32::to_ne_bytes);
        let mut word = [0; 8];
        word[..4].copy_from_slice(&number);
        word[4..].copy_from_slice(&place);
        u64::from_ne_bytes(word)
    }

    /// Those in a section, which has zeros behind them.
    pub fn all(section: &[u8]) -> impl Iterator<Item = Port> {
        section.as_chunks::<{ Self::SIZE }>().0.iter().filter(|bytes| bytes[0] != 0).map(|bytes| {
            let end = bytes[..Self::NUMBER].iter().position(|byte| *byte == 0).unwrap_or(Self::LONGEST);
            let mut place = [0; 4];
            place.copy_from_slice(&bytes[Self::NUMBER + 4..]);
            let place = u32::from_ne_bytes(place);
            let name = String::from_utf8_lossy(&bytes[..end]).into_owned();
            Port { name, source: (place >> 24) as u8, line: place & 0xff_ffff }
        })
    }
}

/// Sections of objects that are looked for there.
pub mod sections {
    pub const STATE: &str = ".data.state";
    pub const COUNTERS: &str = ".data.counters";
    pub const VERDICTS: &str = ".data.verdicts";
    pub const CLOCK: &str = ".data.clock";
    pub const PORTS: &str = ".data.named_ifaces";
    pub const GROUPS: &str = ".data.groups";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_called_like_their_data() {
        let both = [
            (STATE, sections::STATE),
            (COUNTERS, sections::COUNTERS),
            (VERDICTS, sections::VERDICTS),
            (CLOCK, sections::CLOCK),
            (PORTS, sections::PORTS),
            (GROUPS, sections::GROUPS),
        ];
        assert!(both.iter().all(|(name, section)| data_section(name) == *section && is_taken(name)));
        let keys = flow_keys(3);
        for (name, goes) in [
            ("flow_keys3", true),
            (".data.flow_keys3", true),
            (".bss.flow_keys3", true),
            (".bss.flow_keys4", false),
        ] {
            assert_eq!(goes_by(&keys, name), goes, "{name}");
        }
        assert!(is_of_flows(&zeros_section(&keys)) && !is_of_flows(sections::STATE));
    }

    #[test]
    fn ports_are_read_as_they_were_written() {
        let port = |name: &str| Port { name: name.into(), source: 3, line: 70_000 };
        let (short, longest) = (port("eth0"), port("123456789012345"));
        let mut section = [short.bytes().unwrap(), longest.bytes().unwrap(), [0; Port::SIZE]].concat();
        section[Port::NUMBER..Port::SIZE].copy_from_slice(&short.word(7).to_ne_bytes());
        assert_eq!(Port::all(&section).collect::<Vec<_>>(), [short, longest]);
        assert_eq!(section[Port::NUMBER..Port::NUMBER + 4], 7u32.to_ne_bytes());
        for name in ["1234567890123456", "", "eth0\0x"] {
            assert_eq!(port(name).bytes(), None, "{name:?}");
        }
    }
}
