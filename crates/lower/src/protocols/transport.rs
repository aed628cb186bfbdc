//! What TCP, UDP and ICMP have in common: they follow an IP header, whole or first fragment, of their protocol number.

use super::header::absent;
use super::network::{self, Part};
use crate::context::{Context, Result};
use crate::value::Word;
use crate::ways::Arm;
use moonhook_ir::CompareOp;
use moonhook_ir::words::Words;

/// Finds the header of a protocol: where it starts, with the current state there, and where `header` bytes of it are in
/// the frame. Ways on which there is none are added to `arms`. `numbers` are its protocol numbers under IPv4 and IPv6.
pub fn locate(
    context: &mut Context<'_>,
    numbers: [i64; 2],
    header: u32,
    arms: &mut Vec<Arm>,
) -> Result<Option<(Word, moonhook_ir::words::Address)>> {
    // Each way to an IP header decides by itself whether it goes on, so that most know what they compare.
    let (ways, none) = context.found_apart("ip", network::parse)?;
    arms.extend(absent(none));
    let mut right = Vec::new();
    for state in ways {
        context.state = state;
        if let Some(words) = context.state.facts.parsed("ip").map(<[Word]>::to_vec) {
            follow(context, &words, numbers, arms)?;
            right.push(context.take_state());
        }
    }
    context.enter(right)?;
    let Some(start) = context.state.facts.parsed("ip").map(|words| words[Part::Next as usize]) else {
        return Ok(None);
    };
    let (address, outside) = context.locate(start, header);
    arms.extend(absent(outside));
    Ok(context.state.alive().then_some((start, address)))
}

/// Goes on where the protocol's header follows an IP header with these words.
fn follow(context: &mut Context<'_>, words: &[Word], numbers: [i64; 2], arms: &mut Vec<Arm>) -> Result<()> {
    let number = words[Part::Protocol as usize];
    if numbers[0] == numbers[1] {
        let other = context.compare(CompareOp::Ne, number, numbers[0]);
        let (other, same) = context.split(other);
        arms.extend(absent([other]));
        context.state = same;
    } else {
        let mut right = Vec::new();
        for ((state, _), wanted) in network::by_version(context, words).into_iter().zip(numbers) {
            context.state = state;
            let other = context.compare(CompareOp::Ne, number, wanted);
            let (other, same) = context.split(other);
            arms.extend(absent([other]));
            right.push(same);
        }
        context.enter(right)?;
    }
    let later = context.compare(CompareOp::Ne, words[Part::FragmentOffset as usize], 0);
    let (later, first) = context.split(later);
    arms.extend(absent([later]));
    context.state = first;
    Ok(())
}
