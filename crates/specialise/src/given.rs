//! What scripts give for fields of packets: values as fields take them.

use crate::context::{Context, Result};
use crate::literals;
use crate::value::{Abs, Str};
use moonhook_packet::{Takes, Value};

/// What the value is for a field; `None` if it is of another type.
pub fn given(context: &mut Context<'_>, takes: Takes, value: &Abs) -> Result<Option<Value>> {
    Ok(match (takes, value) {
        (Takes::Number(_) | Takes::Integer, Abs::Int(word)) => Some(Value::Number(*word)),
        (Takes::Flag, Abs::Bool(word)) => Some(Value::Flag(*word)),
        (Takes::Mac, Abs::Str(Str::Mac(word))) => Some(Value::Mac(*word)),
        (Takes::Mac, Abs::Str(Str::Const(text))) => literals::mac(text).map(|mac| Value::Mac(mac.into())),
        (Takes::Address | Takes::Ipv4, Abs::Str(Str::Ipv4(word))) => Some(Value::Ipv4(*word)),
        (Takes::Address, Abs::Str(Str::Ipv6(high, low))) => Some(Value::Ipv6(*high, *low)),
        (Takes::Address, Abs::Str(Str::Const(text))) => match literals::ipv4(text) {
            Some(address) => Some(Value::Ipv4(address.into())),
            None => literals::ipv6(text).map(|[high, low]| Value::Ipv6(high.into(), low.into())),
        },
        (Takes::Ipv4, Abs::Str(Str::Const(text))) => {
            literals::ipv4(text).map(|address| Value::Ipv4(address.into()))
        }
        (Takes::Mac | Takes::Address | Takes::Ipv4, Abs::Str(Str::Slice { .. } | Str::Cased { .. })) => {
            return context.unsupported(
                "a string made at packet time in the place of an address",
                "make an address of it with `ip.parse(text)` or `mac.parse(text)`, or use addresses of packets and of tables",
                None,
            );
        }
        _ => None,
    })
}
