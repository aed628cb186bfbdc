//! What `netfilter.register` is given.

use mlua::{Function, Table, Value};
use moonhook_hook::{Family, NETFILTER_POINTS, NetfilterPlace};
use moonhook_lunatik::{Arguments, Raise};

/// `NFPROTO_INET` (include/uapi/linux/netfilter.h): both families.
const INET: i64 = 1;

/// A handler and its place, in the kernel's numbers.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub hook: Function,
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
    let Value::Table(fields) = arguments.value(1) else { return Err(arguments.type_error(1, "table")) };
    let hook = match fields.get::<Value>("hook")? {
        Value::Function(hook) => hook,
        other => return Err(bad("hook", "function", &other)),
    };
    Ok(Wanted {
        hook,
        family: number(&fields, "pf", None)?,
        point: number(&fields, "hooknum", None)?,
        priority: number(&fields, "priority", None)?,
        mark: number(&fields, "mark", Some(0))? as u32,
    })
}

/// A number, cut to an integer as `lua_tointeger` does: 0 where it has none.
fn number(fields: &Table, name: &str, default: Option<i64>) -> Result<i64, Raise> {
    match (fields.get::<Value>(name)?, default) {
        (Value::Integer(number), _) => Ok(number),
        (Value::Number(number), _) if number.fract() == 0.0 => Ok(number as i64),
        (Value::Number(_), _) => Ok(0),
        (Value::Nil, Some(default)) => Ok(default),
        (other, _) => Err(bad(name, "number", &other)),
    }
}

fn bad(name: &str, expected: &str, value: &Value) -> Raise {
    Raise::At(format!("bad field '{name}' ({expected} expected, got {})", value.type_name()))
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
