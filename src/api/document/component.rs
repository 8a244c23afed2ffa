//! Named components of the document without a Rust type. Generators take a type's name from the component, and number
//! all other types.

use schemars::{Schema, SchemaGenerator};

/// Registers a schema as a component, and returns a reference.
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
