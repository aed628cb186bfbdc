//! What `netfilter.register` is given.

use mlua::{Table, Value};
use moonhook_hook::{Family, NETFILTER_POINTS, NetfilterPlace};
use moonhook_lunatik::{Arguments, Raise};

/// `NFPROTO_INET` (include/uapi/linux/netfilter.h): both families.
const INET: i64 = 1;

/// A table with a handler, and the place of that in the kernel's numbers.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Its field `hook` is the handler, whenever a packet comes (`luanetfilter_pushcb` in Lunatik's lib/luanetfilter.c).
    pub table: Table,
    family: i64,
    point: i64,
    priority: i64,
    mark: u32,
}

/// Reads the table of a call.
///
/// # Errors
/// It is none, or a field of it has another type.
pub(crate) fn read(arguments: &Arguments) -> Result<Wanted, Raise> {
    let Value::Table(table) = arguments.value(1) else { return Err(arguments.type_error(1, "table")) };
    let [family, point, priority] = ["pf", "hooknum", "priority"].map(|name| number(&table, name));
    let (family, point, priority) = (family?, point?, priority?);
    let mark = integer(&table.get::<Value>("mark")?) as u32;
    Ok(Wanted { table, family, point, priority, mark })
}

fn number(fields: &Table, name: &str) -> Result<i64, Raise> {
    match fields.get::<Value>(name)? {
        number @ (Value::Integer(_) | Value::Number(_)) => Ok(integer(&number)),
        other => Err(Raise::At(format!("bad field '{name}' (number expected, got {})", other.type_name()))),
    }
}

/// As `lua_tointeger` has it (Lua manual § 4.6): 0 of what is no number, nor a text that is one.
fn integer(value: &Value) -> i64 {
    let of_float = |number: f64| if number.fract() == 0.0 { number as i64 } else { 0 };
    match value {
        Value::Integer(number) => *number,
        Value::Number(number) => of_float(*number),
        Value::String(text) => {
            let text = text.to_string_lossy();
            let text = text.trim();
            text.parse().unwrap_or_else(|_| text.parse().map_or(0, of_float))
        }
        _ => 0,
    }
}

impl Wanted {
    /// Where its packets are.
    ///
    /// # Errors
    /// What is wrong, where there is no such place.
    pub fn places(&self) -> Result<Vec<NetfilterPlace>, String> {
        let is_wanted = |family: &Family| self.family == INET || *family as i64 == self.family;
        let families: Vec<_> = Family::ALL.into_iter().filter(is_wanted).collect();
        if families.is_empty() {
            return Err(format!(
                "there are no packets of the family {} (pf) here, only of INET, IPV4 and IPV6",
                self.family
            ));
        }
        let point = u32::try_from(self.point).ok().filter(|point| (*point as usize) < NETFILTER_POINTS.len());
        let number = point.ok_or_else(|| format!("there is no point {} (hooknum)", self.point))?;
        let priority = i32::try_from(self.priority)
            .map_err(|_| format!("the priority {} is too large", self.priority))?;
        let place =
            |family| NetfilterPlace { family, number, priority, defragments: false, mark: Some(self.mark) };
        Ok(families.into_iter().map(place).collect())
    }
}
