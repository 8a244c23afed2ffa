//! Searches: large values, many conditions, and both.

use super::Dimension;
use super::forms::{members, numbers};
use super::stored::{BYTES, object_of, stored};
use crate::ask::Ask;
use crate::world::World;

const CONDITIONS: usize = 120;

/// A search for an object of a template that meets any of these conditions.
async fn search(world: &World, path: &str, properties: &str, conditions: &[String]) -> Ask {
    let template = world.new_template().await;
    object_of(world, &template, properties).await;
    let named = format!(r#"{{"field":"template_id","op":"eq","value":"{template}"}}"#);
    let any = conditions.join(",");
    Ask::get(path).with_body(format!(
        r#"{{"filter":{{"and":[{named},{{"or":[{any}]}}]}}}}"#
    ))
}

fn contains(count: usize) -> Vec<String> {
    let condition =
        |value| format!(r#"{{"field":"properties.a","op":"contains","value":{value}}}"#);
    (0..count).map(|i| condition(i + 2)).collect()
}

fn fields(count: usize) -> Vec<String> {
    let condition = |i| format!(r#"{{"field":"properties.x{i}","op":"eq","value":7}}"#);
    (0..count).map(condition).collect()
}

pub(super) fn dimensions() -> Vec<Dimension> {
    let mut dimensions = Vec::new();
    for path in ["/objects/search", "/objects/count"] {
        let endpoint = ("POST", path);
        dimensions.extend([
            stored(
                endpoint,
                "a list that is looked through",
                BYTES,
                move |world, bytes| async move {
                    let properties = format!(r#"{{"a":{}}}"#, numbers(bytes));
                    search(&world, path, &properties, &contains(CONDITIONS)).await
                },
            ),
            stored(
                endpoint,
                "conditions on a list",
                CONDITIONS,
                move |world, count| async move {
                    let properties = format!(r#"{{"a":{}}}"#, numbers(BYTES));
                    search(&world, path, &properties, &contains(count)).await
                },
            ),
            stored(
                endpoint,
                "members that conditions name",
                BYTES,
                move |world, bytes| async move {
                    let properties = members("k", bytes, "1");
                    search(&world, path, &properties, &fields(CONDITIONS)).await
                },
            ),
        ]);
    }
    dimensions
}
