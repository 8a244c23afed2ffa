//! A template with its schemas ready for use. They are compiled at their first use and kept as long as the template's
//! rules are: in the engine's catalog, in a replay's state.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use kedge_protocol::resource::{ActionRule, Template};

use crate::index::IndexedPaths;
use crate::refusal::Refusal;
use crate::schema::{self, Schema};
use crate::world::Input;

/// A template and its schemas, compiled at first use and kept as long as this is: once per version of the template, not
/// for each action. One without schemas costs no more than itself.
pub struct TemplateRules {
    template: Template,
    schemas: OnceLock<Schemas>,
    indexed: OnceLock<IndexedPaths>,
}

/// `None` for a schema that cannot be read; no template made here has one.
struct Schemas {
    properties: Option<Schema>,
    /// For the rules that have one, by their index.
    payloads: Vec<(usize, Option<Schema>)>,
}

impl From<Template> for TemplateRules {
    fn from(template: Template) -> Self {
        Self {
            template,
            schemas: OnceLock::new(),
            indexed: OnceLock::new(),
        }
    }
}

impl Deref for TemplateRules {
    type Target = Template;

    fn deref(&self) -> &Template {
        &self.template
    }
}

impl PartialEq for TemplateRules {
    fn eq(&self, other: &Self) -> bool {
        self.template == other.template
    }
}

impl fmt::Debug for TemplateRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.template.fmt(f)
    }
}

impl TemplateRules {
    /// The template alone.
    pub fn template(&self) -> &Template {
        &self.template
    }

    fn schemas(&self) -> &Schemas {
        self.schemas.get_or_init(|| {
            let rules = self.template.actions.iter().enumerate();
            let payloads = rules.filter_map(|(index, rule)| {
                let text = rule.schema.as_deref()?;
                Some((index, schema::read(text)))
            });
            Schemas {
                properties: self.template.schema.as_deref().and_then(schema::read),
                payloads: payloads.collect(),
            }
        })
    }

    /// The places that the template has indexed; `None` if there are none.
    pub fn indexed(&self) -> Option<&IndexedPaths> {
        let schema = self.template.schema.as_deref()?;
        let indexed = self
            .indexed
            .get_or_init(|| IndexedPaths::of_schema(schema).unwrap_or_default());
        (!indexed.is_empty()).then_some(indexed)
    }

    /// Checks the properties that an object of the template would have.
    pub fn check_properties(&self, properties: &str, input: &Input<'_>) -> Result<(), Refusal> {
        if self.template.schema.is_none() {
            return Ok(());
        }
        let schema = self.schemas().properties.as_ref();
        checked(schema, properties, "/properties", input)
    }

    /// Checks the payload of an action of one of the template's own kinds.
    pub fn check_payload(&self, input: &Input<'_>) -> Result<(), Refusal> {
        let mut rules = self.template.actions.iter();
        let has_schema = |rule: &ActionRule| rule.kind == *input.kind && rule.schema.is_some();
        let Some(index) = rules.position(has_schema) else {
            return Ok(());
        };
        let mut payloads = self.schemas().payloads.iter();
        let found = payloads.find(|(of, _)| *of == index);
        let schema = found.and_then(|(_, schema)| schema.as_ref());
        checked(schema, input.payload, "", input)
    }
}

/// Checks a text by a template's schema, as far as the request may still take steps.
fn checked(
    schema: Option<&Schema>,
    text: &str,
    pointer: &str,
    input: &Input<'_>,
) -> Result<(), Refusal> {
    let schema = schema.ok_or_else(unreadable)?;
    input.take(schema.work(text))?;
    schema.validate(text, pointer)
}

fn unreadable() -> Refusal {
    Refusal::State("the template's schema cannot be read; make another template".into())
}
