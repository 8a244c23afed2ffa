//! Creation of templates, objects, variations and files: schemas, and checks against them.

use super::Dimension;
use super::forms::{alike, members, names};
use super::stored::{BYTES, refused, stored, template};
use crate::ask::Ask;
use crate::world::{World, upload};

/// Bytes of a schema.
const SCHEMA_BYTES: usize = 60 * 1024;

pub(super) fn dimensions() -> Vec<Dimension> {
    let mut dimensions = schemas();
    dimensions.extend(values());
    dimensions.extend(resources());
    dimensions
}

/// A request that creates a template with this schema.
fn making(world: &World, schema: &str) -> Ask {
    let body = format!(r#"{{"name":"made {}","schema":{schema}}}"#, world.fresh());
    Ask::get("/templates")
        .with_body(body)
        .signing("template.create", "")
}

fn schemas() -> Vec<Dimension> {
    let path = ("POST", "/templates");
    vec![
        stored(
            path,
            "subschemas side by side",
            SCHEMA_BYTES / 2,
            |world, bytes| async move {
                making(
                    &world,
                    &format!(r#"{{"properties":{}}}"#, members("k", bytes, "{}")),
                )
            },
        ),
        refused(stored(
            path,
            "a long name above many",
            SCHEMA_BYTES,
            |world, bytes| async move {
                let inner = members("k", bytes / 2, "{}");
                let name = "n".repeat(bytes / 2);
                let schema = format!(r#"{{"properties":{{"{name}":{{"properties":{inner}}}}}}}"#);
                making(&world, &schema)
            },
        )),
        refused(stored(
            path,
            "lists for names",
            SCHEMA_BYTES,
            |world, bytes| async move { making(&world, &format!(r#"{{"required":{}}}"#, alike(bytes))) },
        )),
        stored(
            path,
            "values of an enum",
            SCHEMA_BYTES,
            |world, bytes| async move {
                making(
                    &world,
                    &format!(r#"{{"enum":{}}}"#, names(&"v".repeat(40), bytes)),
                )
            },
        ),
    ]
}

fn values() -> Vec<Dimension> {
    let mint = ("POST", "/objects");
    vec![
        stored(
            mint,
            "items that look alike and must differ",
            BYTES,
            |world, bytes| async move {
                let schema = r#"{"properties":{"a":{"uniqueItems":true}}}"#;
                let template = template(&world, schema, "{}").await;
                let body = format!(
                    r#"{{"template_id":"{template}","properties":{{"a":{}}}}}"#,
                    alike(bytes)
                );
                Ask::get("/objects")
                    .with_body(body)
                    .signing("mint", &template)
            },
        ),
        refused(stored(
            mint,
            "faults below a long name",
            BYTES / 4,
            |world, bytes| async move {
                let schema =
                    r#"{"additionalProperties":{"additionalProperties":{"type":"string"}}}"#;
                let template = template(&world, schema, "{}").await;
                let (name, inner) = ("n".repeat(bytes / 2), members("k", bytes / 2, "1"));
                let properties = format!(r#"{{"{name}":{inner}}}"#);
                let body = format!(r#"{{"template_id":"{template}","properties":{properties}}}"#);
                Ask::get("/objects")
                    .with_body(body)
                    .signing("mint", &template)
            },
        )),
    ]
}

fn resources() -> Vec<Dimension> {
    vec![
        stored(
            ("PATCH", "/templates/{id}"),
            "properties",
            BYTES,
            |world, bytes| async move {
                let id = template(&world, "{}", &members("k", bytes, "1")).await;
                let body = format!(r#"{{"properties":{}}}"#, members("x", bytes, "1"));
                Ask::get(format!("/templates/{id}"))
                    .with_body(body)
                    .signing("template.update", &id)
            },
        ),
        stored(
            ("POST", "/templates/{id}/variations"),
            "variations",
            500,
            |world, count| async move {
                let id = template(&world, "{}", &members("k", BYTES, "1")).await;
                let properties = members("x", 900, "1");
                let variation = |i| format!(r#"{{"name":"v{i}","properties":{properties}}}"#);
                let variations = (0..count).map(variation).collect::<Vec<_>>().join(",");
                let body = format!(r#"{{"variations":[{variations}]}}"#);
                let path = format!("/templates/{id}/variations");
                Ask::get(path)
                    .with_body(body)
                    .signing("template.variations", &id)
            },
        ),
        stored(
            ("POST", "/files"),
            "bytes of the file",
            4 << 20,
            |_, bytes| async move { upload("large", &vec![b'x'; bytes]) },
        ),
    ]
}
