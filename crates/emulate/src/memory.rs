//! Memory as a function sees it: regions apart from one another, each with its own length.
//!
//! An address is a number with the region's in its high half and an offset in the low one, so that C's arithmetic and comparisons of pointers
//! come out as they do in the kernel. What is no address of ours, or outside of the region, is a fault; small numbers are in no region.

use crate::elements::Elements;
use crate::fault::{Fault, FaultKind};
use crate::frame::Frame;

/// Of each function, in bytes (`MAX_BPF_STACK`, include/linux/filter.h), and how many can call one another (`MAX_CALL_FRAMES`).
pub(crate) const STACK: u32 = 512;
const DEPTH: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub u64);

/// What memory can be of. Numbers are among all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Context,
    Packet,
    /// A function's, by how many functions are around it.
    Stack(usize),
    /// The argument of a call from outside.
    Argument(usize),
    /// A key that a callback is shown.
    Key(usize),
    Data(usize),
    /// The map itself: only helpers know what to do with it.
    Map(usize),
    Function(usize),
    /// The value of an element.
    Element(u32),
}

/// Kinds of regions, each with its first number; they are in ascending order. Region 0 is left free.
mod first {
    pub const CONTEXT: u32 = 1;
    pub const PACKET: u32 = 2;
    pub const STACK: u32 = 0x100;
    pub const ARGUMENT: u32 = 0x200;
    pub const KEY: u32 = 0x300;
    pub const DATA: u32 = 0x100_0000;
    pub const MAP: u32 = 0x200_0000;
    pub const FUNCTION: u32 = 0x300_0000;
    pub const ELEMENT: u32 = 0x8000_0000;
    /// Negative numbers, and what lies a little before address 0, are in none.
    pub const END: u32 = 0xffff_0000;
}

impl Region {
    fn number(self) -> u32 {
        let at = |first: u32, number: usize| first.saturating_add(u32::try_from(number).unwrap_or(u32::MAX));
        match self {
            Region::Context => first::CONTEXT,
            Region::Packet => first::PACKET,
            Region::Stack(number) => at(first::STACK, number),
            Region::Argument(number) => at(first::ARGUMENT, number),
            Region::Key(number) => at(first::KEY, number),
            Region::Data(number) => at(first::DATA, number),
            Region::Map(number) => at(first::MAP, number),
            Region::Function(number) => at(first::FUNCTION, number),
            Region::Element(number) => first::ELEMENT.saturating_add(number),
        }
    }

    fn of_number(number: u32) -> Option<Region> {
        let from = |first: u32| (number - first) as usize;
        Some(match number {
            first::CONTEXT => Region::Context,
            first::PACKET => Region::Packet,
            0..first::STACK | first::END.. => return None,
            first::STACK..first::ARGUMENT => Region::Stack(from(first::STACK)),
            first::ARGUMENT..first::KEY => Region::Argument(from(first::ARGUMENT)),
            first::KEY..first::DATA => Region::Key(from(first::KEY)),
            first::DATA..first::MAP => Region::Data(from(first::DATA)),
            first::MAP..first::FUNCTION => Region::Map(from(first::MAP)),
            first::FUNCTION..first::ELEMENT => Region::Function(from(first::FUNCTION)),
            first::ELEMENT..first::END => Region::Element(number - first::ELEMENT),
        })
    }

    fn name(region: Option<Region>) -> &'static str {
        match region {
            None => "no memory",
            Some(Region::Context) => "the context",
            Some(Region::Packet) => "the packet",
            Some(Region::Stack(_)) => "the stack",
            Some(Region::Argument(_)) => "an argument",
            Some(Region::Key(_)) => "a map's key",
            Some(Region::Data(_)) => "a data section",
            Some(Region::Map(_)) => "a map",
            Some(Region::Function(_)) => "a function",
            Some(Region::Element(_)) => "a map's value",
        }
    }
}

impl Address {
    pub fn new(region: Region, offset: u32) -> Address {
        Address(u64::from(region.number()) << 32 | u64::from(offset))
    }

    pub fn region(self) -> Option<Region> {
        Region::of_number((self.0 >> 32) as u32)
    }

    pub fn offset(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The variables and constants of a section.
#[derive(Debug)]
pub(crate) struct Data {
    pub bytes: Vec<u8>,
    pub is_constant: bool,
}

/// All that a call can reach. What outlives it is borrowed.
pub(crate) struct Memory<'a> {
    pub frame: Frame,
    pub data: &'a mut [Data],
    pub elements: &'a mut Elements,
    pub arguments: Vec<&'a mut [u8]>,
    stacks: Vec<[u8; STACK as usize]>,
    keys: Vec<Vec<u8>>,
}

impl<'a> Memory<'a> {
    pub fn new(frame: Frame, data: &'a mut [Data], elements: &'a mut Elements) -> Memory<'a> {
        Memory { frame, data, elements, arguments: Vec::new(), stacks: Vec::new(), keys: Vec::new() }
    }

    /// A function begins: gives its frame pointer, the address behind its stack.
    pub fn enter(&mut self) -> Result<Address, Fault> {
        if self.stacks.len() == DEPTH {
            return Err(FaultKind::Depth(DEPTH).into());
        }
        self.stacks.push([0; STACK as usize]);
        Ok(Address::new(Region::Stack(self.stacks.len() - 1), STACK))
    }

    pub fn leave(&mut self) {
        self.stacks.pop();
    }

    /// Shows a key until [`Memory::hide`].
    pub fn show(&mut self, key: Vec<u8>) -> Address {
        self.keys.push(key);
        Address::new(Region::Key(self.keys.len() - 1), 0)
    }

    pub fn hide(&mut self) {
        self.keys.pop();
    }

    /// Bytes to read. None at all are everywhere.
    pub fn slice(&self, address: Address, size: usize) -> Result<&[u8], Fault> {
        if size == 0 {
            return Ok(&[]);
        }
        let region = address.region();
        let (whole, start): (Option<&[u8]>, _) = match region {
            Some(Region::Packet) => (Some(self.frame.bytes()), self.frame.data),
            Some(Region::Stack(number)) => (self.stacks.get(number).map(|stack| &stack[..]), 0),
            Some(Region::Argument(number)) => (self.arguments.get(number).map(|bytes| &**bytes), 0),
            Some(Region::Key(number)) => (self.keys.get(number).map(Vec::as_slice), 0),
            Some(Region::Data(number)) => (self.data.get(number).map(|data| &*data.bytes), 0),
            Some(Region::Element(number)) => (self.elements.value(number), 0),
            Some(Region::Context | Region::Map(_) | Region::Function(_)) | None => (None, 0),
        };
        let found = range(address, start, size).and_then(|range| whole?.get(range));
        found.ok_or_else(|| outside(false, address, start, size))
    }

    /// Bytes to write.
    pub fn slice_mut(&mut self, address: Address, size: usize) -> Result<&mut [u8], Fault> {
        if size == 0 {
            return Ok(&mut []);
        }
        let (whole, start): (Option<&mut [u8]>, _) = match address.region() {
            Some(Region::Packet) => {
                let start = self.frame.data;
                (Some(self.frame.bytes_mut()), start)
            }
            Some(Region::Stack(number)) => (self.stacks.get_mut(number).map(|stack| &mut stack[..]), 0),
            Some(Region::Argument(number)) => (self.arguments.get_mut(number).map(|bytes| &mut **bytes), 0),
            Some(Region::Data(number)) => match self.data.get_mut(number) {
                Some(Data { is_constant: true, .. }) => return Err(FaultKind::Constant.into()),
                data => (data.map(|data| &mut *data.bytes), 0),
            },
            Some(Region::Key(_)) => return Err(FaultKind::Constant.into()),
            Some(Region::Element(number)) => (self.elements.value_mut(number), 0),
            Some(Region::Context | Region::Map(_) | Region::Function(_)) | None => (None, 0),
        };
        let found = range(address, start, size).and_then(|range| whole?.get_mut(range));
        found.ok_or_else(|| outside(true, address, start, size))
    }

    /// A little-endian number of `size` bytes, at most 8.
    pub fn load(&self, address: Address, size: usize) -> Result<u64, Fault> {
        if address.region() == Some(Region::Context) {
            let field = self.frame.field(address.offset(), size);
            return field.ok_or_else(|| outside(false, address, 0, size));
        }
        let mut number = [0; 8];
        let bytes = self.slice(address, size)?;
        number.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(u64::from_le_bytes(number))
    }

    pub fn store(&mut self, address: Address, size: usize, number: u64) -> Result<(), Fault> {
        let bytes = self.slice_mut(address, size)?;
        bytes.iter_mut().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
        Ok(())
    }
}

/// Where bytes are in a region's memory, which begins at the offset `start`.
fn range(address: Address, start: usize, size: usize) -> Option<std::ops::Range<usize>> {
    let from = address.offset().checked_sub(start)?;
    Some(from..from.checked_add(size)?)
}

fn outside(is_write: bool, address: Address, start: usize, size: usize) -> Fault {
    // What lies just below a region is meant to be in it.
    let (number, offset) = ((address.0 >> 32) as u32, i64::from(address.0 as u32 as i32));
    let number = if offset < 0 { number.wrapping_add(1) } else { number };
    let (region, start) = (Region::of_number(number), start as i64);
    let offset = match region {
        // A number, which is said whole.
        None => address.0.cast_signed(),
        Some(Region::Stack(_)) => offset - i64::from(STACK),
        Some(_) => offset - start,
    };
    FaultKind::Access { is_write, size, offset, memory: Region::name(region) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Packet;

    fn with_memory(test: impl FnOnce(&mut Memory<'_>)) {
        let mut data = [
            Data { bytes: vec![1, 2, 3, 4], is_constant: true },
            Data { bytes: vec![0; 8], is_constant: false },
        ];
        let mut elements = Elements::default();
        let frame = Frame::new(&Packet { bytes: vec![7; 60], ..Packet::default() });
        test(&mut Memory::new(frame, &mut data, &mut elements));
    }

    #[test]
    fn regions_have_numbers_of_their_own() {
        let regions = [
            Region::Context,
            Region::Packet,
            Region::Stack(7),
            Region::Argument(4),
            Region::Key(7),
            Region::Data(0),
            Region::Map(9),
            Region::Function(1),
            Region::Element(0x7000_0000),
        ];
        for region in regions {
            let address = Address::new(region, 5);
            assert_eq!((address.region(), address.offset()), (Some(region), 5));
        }
        for number in [0, 5, 0xffff_ffff, u64::MAX, (-4095_i64).cast_unsigned()] {
            assert_eq!(Address(number).region(), None);
        }
    }

    #[test]
    fn accesses_end_where_regions_end() {
        with_memory(|memory| {
            let fp = memory.enter().unwrap();
            memory.store(Address(fp.0 - 8), 8, 0x1122_3344_5566_7788).unwrap();
            assert_eq!(memory.load(Address(fp.0 - 8), 2), Ok(0x7788));
            for (offset, size) in [(-4_i64, 8), (0, 1), (-513, 1), (-513, 600)] {
                let at = Address(fp.0.wrapping_add_signed(offset));
                assert!(memory.slice(at, size).is_err() && memory.slice_mut(at, size).is_err());
            }
            assert!(memory.slice(Address(fp.0 - 512), 512).is_ok());
            assert_eq!(memory.slice(Address(0), 0), Ok(&[][..]));
            assert!(memory.load(Address(0), 1).is_err());
            memory.leave();
            assert!(memory.load(Address(fp.0 - 8), 1).is_err(), "the stack of a function that has returned");
        });
    }

    #[test]
    fn constants_stay() {
        with_memory(|memory| {
            let constant = Address::new(Region::Data(0), 0);
            assert_eq!(memory.load(constant, 4), Ok(0x0403_0201));
            assert_eq!(memory.store(constant, 1, 9), Err(FaultKind::Constant.into()));
            assert!(memory.store(Address::new(Region::Data(1), 4), 4, 9).is_ok());
            assert!(memory.store(Address::new(Region::Data(2), 0), 1, 9).is_err());
        });
    }

    #[test]
    fn the_context_is_read_in_words() {
        with_memory(|memory| {
            let context = Address::new(Region::Context, 0);
            let (data, end) =
                (memory.load(context, 4).unwrap(), memory.load(Address(context.0 + 4), 4).unwrap());
            assert_eq!(end - data, 60);
            assert_eq!(memory.load(Address(data + 59), 1), Ok(7));
            assert!(memory.load(Address(end), 1).is_err() && memory.load(Address(data - 1), 1).is_err());
            assert!(memory.load(context, 8).is_err() && memory.load(Address(context.0 + 2), 4).is_err());
            assert!(memory.store(context, 4, 1).is_err());
        });
    }

    #[test]
    fn functions_nest_eight_deep() {
        with_memory(|memory| {
            assert!((0..8).all(|_| memory.enter().is_ok()));
            assert_eq!(memory.enter(), Err(FaultKind::Depth(8).into()));
        });
    }
}
