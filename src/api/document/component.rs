//! Components of the document that have no Rust type. Generators name what has a component's name, and number the rest.

use schemars::{Schema, SchemaGenerator};

/// Makes a schema a component, and refers to it.
pub(in crate::api) fn component(
    generator: &mut SchemaGenerator,
    name: &str,
    schema: Schema,
) -> Schema {
    let path = generator.settings().definitions_path.trim_matches('/');
    let reference = Schema::new_ref(format!("#/{path}/{name}"));
    let definitions = generator.definitions_mut();
    definitions.insert(name.to_owned(), schema.to_value());
    reference
}
