//! Maps and data of C objects that functions refer to.

use crate::context::Context;
use crate::object_maps::{data_name, definition, map_name};
use moonhook_ir::{MapId, MapKind};

/// The map with that number of an object.
pub fn map(context: &mut Context<'_>, object: usize, index: usize) -> MapId {
    let snapshot = context.snapshot;
    let name = map_name(snapshot, object, index);
    let definition = || MapKind::Map(definition(&snapshot.objects[object].maps[index]));
    context.output.map(&name, definition)
}

/// A section with variables or constants.
pub(super) fn data(context: &mut Context<'_>, object: usize, index: usize) -> MapId {
    let data = &context.snapshot.objects[object].data[index];
    context.output.map(&data_name(object, index, &data.section), || match data.is_constant {
        true => MapKind::ReadOnlyData(data.bytes.clone()),
        false => MapKind::Data(data.bytes.clone()),
    })
}
