//! What maps of C objects cannot have, as far as their definitions tell it: the kernel would refuse it without a line of the script.

use moonhook_link::Map;

/// Kinds of maps (`enum bpf_map_type`, include/uapi/linux/bpf.h): arrays, of each CPU or not; those with prefixes for keys; and those that have no
/// room for more entries than they say.
const ARRAYS: [u32; 2] = [2, 6];
const PREFIXES: u32 = 11;
const BOUNDED: [u32; 3] = [1, 5, PREFIXES];

/// Checks the bytes of a key.
///
/// # Errors
/// What is wrong with it, in words that follow "the key".
pub fn check_key(map: &Map, key: &[u8]) -> Result<(), String> {
    let Some(first) = key.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)) else { return Ok(()) };
    if ARRAYS.contains(&map.map_type) && first >= map.max_entries {
        let last = map.max_entries.saturating_sub(1);
        return Err(format!("is {first}, and the elements of the array are 0 to {last}"));
    }
    let most = 8 * map.key.0.saturating_sub(4);
    if map.map_type == PREFIXES && first > most {
        return Err(format!("has a prefix of {first} bits, of which the address has {most}"));
    }
    Ok(())
}

/// How many entries there is room for, of maps in which none takes another's place.
pub fn room(map: &Map) -> Option<usize> {
    BOUNDED.contains(&map.map_type).then_some(map.max_entries as usize)
}
