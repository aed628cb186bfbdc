//! What the kernel asks of who serves a file, and what it is answered: FUSE (include/uapi/linux/fuse.h), as far as one file needs it that is no folder.
//!
//! Pure: bytes ↔ requests. Numbers are in the machine's order. Of structures that grow with the protocol's version what is read here is the front.

use nix::libc;

/// The version whose structures these are; the kernel keeps to the older one of its own and this.
const MAJOR: u32 = 7;
const MINOR: u32 = 31;

/// Bytes of `fuse_in_header` and `fuse_out_header`.
const HEADER: usize = 40;
const ANSWER_HEADER: usize = 16;

/// The most bytes that one request reads or writes, which is what the kernel has room for (`FUSE_MAX_MAX_PAGES`, pages of 4 KiB).
pub(super) const LARGEST: usize = 256 * 4096;

/// Room for any request: `fuse_write_in` and its header in front of the bytes.
pub(super) const ROOM: usize = LARGEST + 4096;

/// `FUSE_ATOMIC_O_TRUNC` is left out: `O_TRUNC` comes as a size, which says nothing. `FUSE_MAX_PAGES`: `max_pages` counts.
const FLAGS: u32 = 1 << 22;
const PAGES: u16 = 256;

/// `FOPEN_DIRECT_IO`: nothing is kept for later. Without a position (`FOPEN_STREAM`) it would be more like a character device, but programs go back in what is a
/// file to them (`head`, `read` of shells), and say so where they cannot.
const OPENED: u32 = 1;

/// What the kernel wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// The number that the answer has to have.
    pub unique: u64,
    pub operation: Operation<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    Begin,
    /// What is known of the file system.
    Space,
    Attributes,
    SetAttributes(Changed),
    Open,
    Read {
        place: Place,
        length: usize,
    },
    Write {
        place: Place,
        bytes: &'a [u8],
    },
    Release {
        handle: u64,
    },
    /// Who has asked for this is not going to wait any more.
    Interrupt(u64),
    /// Nothing is to be done, nor answered.
    Nothing,
    /// A terminal's requests and the like.
    Control,
    /// What a file may do without.
    Other,
}

/// Where something is read or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The open file.
    pub handle: u64,
    /// Its position for the kernel; `None` of files that are opened to append, whose positions mean nothing.
    pub position: Option<u64>,
}

/// Attributes that somebody has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub mode: Option<u32>,
    pub user: Option<u32>,
    pub group: Option<u32>,
}

/// What the file is to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Permissions alone.
    pub mode: u32,
    pub user: u32,
    pub group: u32,
    /// Seconds since 1970.
    pub made: u64,
}

impl<'a> Request<'a> {
    /// `None` for bytes that are no request.
    pub fn parse(bytes: &'a [u8]) -> Option<Request<'a>> {
        let (code, unique, body) = (word(bytes, 4)?, long(bytes, 8)?, bytes.get(HEADER..)?);
        let operation = match code {
            // FUSE_FORGET, FUSE_BATCH_FORGET
            2 | 42 => Operation::Nothing,
            3 => Operation::Attributes,
            4 => Operation::SetAttributes(changed(body)?),
            14 => Operation::Open,
            15 => Operation::Read { place: place(body)?, length: usize::try_from(word(body, 16)?).ok()? },
            16 => {
                let length = usize::try_from(word(body, 16)?).ok()?;
                let end = HEADER.checked_add(length)?;
                Operation::Write { place: place(body)?, bytes: body.get(HEADER..end)? }
            }
            17 => Operation::Space,
            18 => Operation::Release { handle: long(body, 0)? },
            26 => Operation::Begin,
            36 => Operation::Interrupt(long(body, 0)?),
            39 => Operation::Control,
            _ => Operation::Other,
        };
        Some(Request { unique, operation })
    }
}

/// What `fuse_read_in` and `fuse_write_in` have in common.
fn place(body: &[u8]) -> Option<Place> {
    let (handle, position, flags) = (long(body, 0)?, long(body, 8)?, word(body, 32)?);
    Some(Place { handle, position: (flags & libc::O_APPEND as u32 == 0).then_some(position) })
}

/// `fuse_setattr_in`, with `FATTR_MODE`, `FATTR_UID` and `FATTR_GID`.
fn changed(body: &[u8]) -> Option<Changed> {
    let valid = word(body, 0)?;
    let given = |bit: u32, at| if valid & bit != 0 { word(body, at).map(Some) } else { Some(None) };
    Some(Changed { mode: given(1, 68)?.map(|mode| mode & 0o7777), user: given(2, 76)?, group: given(4, 80)? })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

/// An answer with that body.
pub(super) fn answer(unique: u64, body: &[u8]) -> Vec<u8> {
    with_header(unique, 0, body)
}

/// An answer that says what is wrong.
pub(super) fn refusal(unique: u64, error: nix::errno::Errno) -> Vec<u8> {
    with_header(unique, -(error as i32), &[])
}

fn with_header(unique: u64, error: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ANSWER_HEADER + body.len());
    // No body is longer than LARGEST.
    bytes.extend(((ANSWER_HEADER + body.len()) as u32).to_ne_bytes());
    bytes.extend(error.to_ne_bytes());
    bytes.extend(unique.to_ne_bytes());
    bytes.extend(body);
    bytes
}

/// `fuse_init_out`.
pub(super) fn begun() -> Vec<u8> {
    let mut body = Vec::new();
    for word in [MAJOR, MINOR, 0, FLAGS] {
        body.extend(word.to_ne_bytes());
    }
    // As many requests in the background as the kernel has by itself, for none are.
    body.extend([0; 4]);
    body.extend((LARGEST as u32).to_ne_bytes());
    // Times are exact to a nanosecond.
    body.extend(1u32.to_ne_bytes());
    body.extend(PAGES.to_ne_bytes());
    body.resize(64, 0);
    body
}

/// `fuse_statfs_out`: blocks of 4 KiB, of which there are none, so that nobody counts them (df).
pub(super) fn space() -> Vec<u8> {
    let mut body = vec![0; 40];
    for word in [4096u32, 255, 4096] {
        body.extend(word.to_ne_bytes());
    }
    body.resize(80, 0);
    body
}

/// `fuse_open_out`.
pub(super) fn opened(handle: u64) -> Vec<u8> {
    let mut body = handle.to_ne_bytes().to_vec();
    body.extend(OPENED.to_ne_bytes());
    body.extend([0; 4]);
    body
}

/// `fuse_write_out`.
pub(super) fn written(count: usize) -> Vec<u8> {
    let mut body = u32::try_from(count).unwrap_or(u32::MAX).to_ne_bytes().to_vec();
    body.extend([0; 4]);
    body
}

impl Attributes {
    /// `fuse_attr_out`: an empty file, whose attributes are asked for each time.
    pub fn body(&self) -> Vec<u8> {
        let mut body = vec![0; 16];
        // Number (`FUSE_ROOT_ID`), size, blocks, and three times.
        for long in [1, 0, 0, self.made, self.made, self.made] {
            body.extend(u64::to_ne_bytes(long));
        }
        let mode = libc::S_IFREG | self.mode;
        // Parts of times; mode, links, owners; kind of device, size of blocks, flags.
        for word in [0, 0, 0, mode, 1, self.user, self.group, 0, 4096, 0] {
            body.extend(u32::to_ne_bytes(word));
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

    /// A request with that code and body.
    fn request(code: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(code.to_ne_bytes());
        bytes.extend(77u64.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes
    }

    fn operation(code: u32, body: &[u8]) -> Option<Operation<'static>> {
        let bytes: &'static [u8] = request(code, body).leak();
        Request::parse(bytes).map(|request| request.operation)
    }

    #[test]
    fn requests_are_read() {
        let of_file = |words: [u64; 5]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let place = Place { handle: 5, position: Some(7) };
        assert_eq!(operation(15, &of_file([5, 7, 300, 0, 0])), Some(Operation::Read { place, length: 300 }));
        let append = libc::O_APPEND as u64;
        let write = [&of_file([9, 7, 2, 0, append])[..], b"hi!"].concat();
        let place = Place { handle: 9, position: None };
        assert_eq!(operation(16, &write), Some(Operation::Write { place, bytes: b"hi" }));
        let of_file = of_file([5, 0, 0, 0, 0]);
        assert_eq!(operation(18, &of_file), Some(Operation::Release { handle: 5 }));
        assert_eq!(operation(36, &77u64.to_ne_bytes()), Some(Operation::Interrupt(77)));
        assert_eq!(operation(42, &[]), Some(Operation::Nothing));
        assert_eq!(operation(22, &[]), Some(Operation::Other));
        let mut owner = vec![0; 88];
        owner[0] = 3;
        owner[68..70].copy_from_slice(&0o100_640_u32.to_ne_bytes()[..2]);
        owner[76] = 33;
        let changed = Changed { mode: Some(0o640), user: Some(33), group: None };
        assert_eq!(operation(4, &owner), Some(Operation::SetAttributes(changed)));
    }

    #[test]
    fn what_is_cut_off_is_no_request() {
        let whole = request(16, &[[0; 16].as_slice(), &100u64.to_ne_bytes(), &[0; 16], &[1; 99]].concat());
        for length in 0..whole.len() {
            assert_eq!(Request::parse(&whole[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn answers_have_the_lengths_of_the_kernels_structures() {
        assert_eq!(space().len(), 80);
        let attributes = Attributes { mode: 0o444, user: 0, group: 0, made: 1 };
        assert_eq!(
            (begun().len(), opened(1).len(), written(1).len(), attributes.body().len()),
            (64, 16, 8, 104)
        );
        assert_eq!(refusal(3, Errno::ENXIO)[..8], [16, 0, 0, 0, 250, 255, 255, 255]);
    }
}
