//! Captures made byte by byte, whole, cut off at every length, and with wrong bytes; and all files of a folder of traces.

use std::fs;
use std::path::{Path, PathBuf};

use moonhook_capture::{CaptureError, Frame, Resolution, Writer, open};

const FRAMES: [&[u8]; 3] = [b"first frame, 20 byte", b"second", b"a third frame that is a bit longer"];

fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn le(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn be(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn pcap(magic: u32, link_type: u32, words: fn(&[u32]) -> Vec<u8>) -> Vec<u8> {
    let mut bytes = words(&[magic]);
    // Two 16-bit numbers, 2 and 4, in the file's byte order.
    bytes.extend(if words(&[1])[0] == 1 { [2, 0, 4, 0] } else { [0, 2, 0, 4] });
    bytes.extend(words(&[0, 0, 65535, link_type]));
    for (index, frame) in FRAMES.iter().enumerate() {
        bytes.extend(words(&[1000 + index as u32, 5, frame.len() as u32, frame.len() as u32 + 100]));
        bytes.extend(*frame);
    }
    bytes
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = body.to_vec();
    bytes.resize(body.len().next_multiple_of(4), 0);
    let length = bytes.len() as u32 + 12;
    [le(&[kind, length]), bytes, le(&[length])].concat()
}

fn section() -> Vec<u8> {
    block(0x0a0d_0d0a, &le(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]))
}

/// An interface with a time resolution of 10⁻⁹ (option 9, 1 byte) and the end of options.
fn interface(link_type: u32) -> Vec<u8> {
    block(1, &le(&[link_type, 0, 9 | 1 << 16, 9, 0]))
}

fn enhanced(interface: u32, time: u64, frame: &[u8]) -> Vec<u8> {
    let head = [interface, (time >> 32) as u32, time as u32, frame.len() as u32, frame.len() as u32 + 7];
    block(6, &[le(&head), frame.to_vec()].concat())
}

fn pcapng() -> Vec<u8> {
    let mut bytes = [section(), interface(1)].concat();
    for (index, frame) in FRAMES.iter().enumerate() {
        bytes.extend(enhanced(0, 1_700_000_000_000_000_000 + index as u64, frame));
    }
    bytes
}

fn read(path: &Path) -> (Vec<Frame>, Vec<CaptureError>) {
    let (mut frames, mut errors) = (Vec::new(), Vec::new());
    match open(path) {
        Err(error) => errors.push(error),
        Ok(capture) => capture.for_each(|item| match item {
            Ok(frame) => frames.push(frame),
            Err(error) => errors.push(error),
        }),
    }
    (frames, errors)
}

#[test]
fn pcap_in_both_byte_orders_and_resolutions() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (pcap(0xa1b2_c3d4, 1, le), 5_000, Resolution::Microseconds),
        (pcap(0xa1b2_c3d4, 1, be), 5_000, Resolution::Microseconds),
        (pcap(0xa1b2_3c4d, 1, le), 5, Resolution::Nanoseconds),
        (pcap(0xa1b2_3c4d, 1, be), 5, Resolution::Nanoseconds),
    ];
    for (bytes, nanoseconds, resolution) in cases {
        let path = file(&folder, "x.pcap", &bytes);
        assert_eq!(open(&path).unwrap().resolution(), resolution);
        let (frames, errors) = read(&path);
        assert!(errors.is_empty(), "{errors:?}");
        for (index, frame) in frames.iter().enumerate() {
            assert_eq!(frame.data, FRAMES[index]);
            assert_eq!(frame.number, index as u64 + 1);
            assert_eq!(frame.original_length as usize, FRAMES[index].len() + 100);
            assert_eq!(frame.timestamp_ns, (1000 + index as u64) * 1_000_000_000 + nanoseconds);
        }
        assert_eq!(frames.len(), 3);
    }
}

#[test]
fn pcapng_with_its_own_resolution() {
    let folder = tempfile::tempdir().unwrap();
    let (frames, errors) = read(&file(&folder, "x.pcapng", &pcapng()));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(frames.iter().map(|frame| frame.data.as_slice()).collect::<Vec<_>>(), FRAMES);
    assert_eq!(frames[2].timestamp_ns, 1_700_000_000_000_000_002);
    assert_eq!(frames[1].original_length, 13);
}

#[test]
fn simple_and_old_packet_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let old = [le(&[0, 0, 77, 6, 6]), FRAMES[1].to_vec()].concat();
    let simple = [le(&[6]), FRAMES[1].to_vec()].concat();
    let bytes = [section(), interface(1), block(2, &old), block(3, &simple)].concat();
    let (frames, errors) = read(&file(&folder, "x.pcapng", &bytes));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(frames.iter().map(|frame| frame.data.as_slice()).collect::<Vec<_>>(), [FRAMES[1], FRAMES[1]]);
    assert_eq!((frames[0].timestamp_ns, frames[1].timestamp_ns), (77, 0));
}

/// Whatever the length a file is cut to: the frames that are whole come, then `Truncated`.
#[test]
fn cut_off_at_every_length() {
    let folder = tempfile::tempdir().unwrap();
    for whole in [pcap(0xa1b2_c3d4, 1, le), pcapng()] {
        let mut seen = [0; 4];
        for length in 4..whole.len() {
            let (frames, errors) = read(&file(&folder, "cut", &whole[..length]));
            for (frame, expected) in frames.iter().zip(FRAMES) {
                assert_eq!(frame.data, expected);
            }
            // A cut between two records or blocks cannot be told from an end.
            let codes: Vec<_> = errors.iter().map(CaptureError::code).collect();
            assert!(codes.is_empty() || codes == ["MH0604"], "{length}: {errors:?}");
            seen[frames.len()] += 1;
            if !codes.is_empty() && frames.len() == 2 {
                assert!(errors[0].to_string().ends_with("is cut off after frame 2"), "{}", errors[0]);
            }
        }
        assert!(seen[..3].iter().all(|count| *count > 10), "{seen:?}");
    }
}

#[test]
fn other_link_types_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (frames, errors) = read(&file(&folder, "x.pcap", &pcap(0xa1b2_c3d4, 195, le)));
    assert!(frames.is_empty());
    assert_eq!(errors[0].code(), "MH0603");
    assert!(errors[0].to_string().ends_with("holds 802.15.4 (link type 195) packets, not Ethernet frames"));

    let bytes = [
        section(),
        interface(1),
        interface(249),
        enhanced(1, 0, FRAMES[0]),
        enhanced(0, 0, FRAMES[1]),
        enhanced(1, 0, FRAMES[0]),
        enhanced(0, 0, FRAMES[2]),
    ];
    let (frames, errors) = read(&file(&folder, "x.pcapng", &bytes.concat()));
    assert_eq!(frames.iter().map(|frame| frame.number).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(errors.len(), 1, "one for each interface: {errors:?}");
    assert!(errors[0].to_string().starts_with("interface 1 of"), "{}", errors[0]);
}

#[test]
fn broken_files_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let code = |name: &str, bytes: &[u8]| {
        let (frames, errors) = read(&file(&folder, name, bytes));
        (frames.len(), errors.first().map(|error| error.code()))
    };
    assert_eq!(code("empty", b""), (0, Some("MH0602")));
    assert_eq!(code("text", b"not a capture"), (0, Some("MH0602")));
    let mut wrong_trailer = pcapng();
    *wrong_trailer.last_mut().unwrap() ^= 1;
    assert_eq!(code("trailer", &wrong_trailer), (2, Some("MH0605")));
    let undescribed = [section(), enhanced(0, 0, FRAMES[0])].concat();
    assert_eq!(code("interface", &undescribed), (0, Some("MH0605")));
    let mut longer_than_block = enhanced(0, 0, FRAMES[0]);
    longer_than_block[20] = 200;
    assert_eq!(code("length", &[section(), interface(1), longer_than_block].concat()), (0, Some("MH0605")));
    assert_eq!(read(&folder.path().join("absent")).1[0].code(), "MH0601");
    for error in read(&file(&folder, "trailer", &wrong_trailer)).1 {
        assert!(error.diagnostic().help.is_some());
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    let frame = |data: &[u8], timestamp_ns| Frame {
        timestamp_ns,
        data: data.to_vec(),
        original_length: data.len() as u32 + 3,
        number: 1,
    };
    let frames = [
        frame(FRAMES[0], 1_700_000_000_123_456_789),
        Frame { number: 2, ..frame(&[], 0) },
        Frame { number: 3, ..frame(&[7; 300_000], 5) },
    ];
    let mut writer = Writer::create(&path).unwrap();
    frames.iter().for_each(|frame| writer.write(frame).unwrap());
    writer.finish().unwrap();
    let (read_back, errors) = read(&path);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(read_back, frames);

    let mut writer = Writer::create_with(&path, Resolution::Microseconds).unwrap();
    writer.write(&frames[0]).unwrap();
    writer.finish().unwrap();
    assert_eq!(open(&path).unwrap().resolution(), Resolution::Microseconds);
    assert_eq!(read(&path).0[0].timestamp_ns, 1_700_000_000_123_456_000);
    assert_eq!(Writer::create(folder.path()).err().map(|error| error.code()), Some("MH0606"));
}

/// Every file of the folder of traces is read to its end or to a typed error.
#[test]
fn traces_are_read() {
    let Some(folder) = std::env::var_os("MOONHOOK_TRACES") else {
        eprintln!("MOONHOOK_TRACES is not set: traces are not read");
        return;
    };
    let (mut files, mut count) = (0, 0);
    for path in walk(Path::new(&folder)) {
        let (frames, _) = read(&path);
        files += 1;
        count += frames.len();
    }
    assert!(count > 0, "{files} files without a frame in {}", Path::new(&folder).display());
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
