//! A template with its compiled schemas. They are compiled at first use and live as long as the template's rules: in
//! the engine's catalog, in a replay's state. A later version of a template with the same schemas shares them, because
//! compiling takes far longer than using them.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use kedge_protocol::limits::SCHEMA_WORK_MAX;
use kedge_protocol::resource::{ActionRule, Template};

use crate::index::IndexedPaths;
use crate::refusal::Refusal;
use crate::schema::{self, Schema};
use crate::world::ActionInput;

/// A template and its lazily compiled schemas: compiled once per version of the template, not for each action. A
/// template without schemas costs no extra memory.
pub struct TemplateRules {
    template: Template,
    compiled: Arc<TemplateCompilation>,
}

/// Values derived from the texts of a template's schemas alone.
#[derive(Default)]
struct TemplateCompilation {
    schemas: OnceLock<TemplateSchemas>,
    indexed: OnceLock<IndexedPaths>,
    bytes: OnceLock<usize>,
    steps: OnceLock<u64>,
}

/// `None` for a schema that cannot be read; the rules accept no template with one.
struct TemplateSchemas {
    properties: Option<Schema>,
    /// Schemas of the rules that have one, by the rule's index.
    payloads: Vec<(usize, Option<Schema>)>,
}

impl From<Template> for TemplateRules {
    fn from(template: Template) -> Self {
        Self {
            template,
            compiled: Arc::default(),
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
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The rules of a template; shares the compiled schemas of `other` if the texts are the same.
    #[must_use]
    pub fn sharing(template: Template, other: &Self) -> Self {
        if template.schema == other.template.schema && template.actions == other.template.actions {
            let compiled = Arc::clone(&other.compiled);
            return Self { template, compiled };
        }
        Self::from(template)
    }

    /// Whether both share their compiled schemas.
    pub fn shares_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled)
    }

    /// Approximate memory with its schemas compiled, whether they are by now or not. Reads the schemas.
    pub fn bytes_compiled(&self) -> usize {
        let template = &self.template;
        let texts = [&template.name, &template.description, &template.properties];
        let texts = texts.into_iter().map(String::len).sum::<usize>();
        let bytes = &self.compiled.bytes;
        let schemas = bytes.get_or_init(|| self.texts().map(schema::bytes_compiled).sum());
        texts + schemas
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let rules = self.template.actions.iter();
        let texts = rules.filter_map(|rule| rule.schema.as_deref());
        texts.chain(self.template.schema.as_deref())
    }

    /// Steps that compiling the schemas takes; always fewer than a request's limit.
    fn compile_steps(&self) -> u64 {
        let steps = self.compiled.steps.get_or_init(|| {
            let steps = self.texts().map(schema::compile_steps);
            steps.fold(0, u64::saturating_add).min(SCHEMA_WORK_MAX)
        });
        *steps
    }

    /// The compiled schemas. A request pays the compile steps once for each of its templates, whether they are compiled
    /// already or not: its result must not depend on other requests.
    fn schemas(&self, input: &ActionInput<'_>) -> Result<&TemplateSchemas, Refusal> {
        if let Some(allowance) = input.allowance {
            allowance.take_once(self.template.id, || self.compile_steps())?;
        }
        Ok(self.compiled.schemas.get_or_init(|| {
            let rules = self.template.actions.iter().enumerate();
            let payloads = rules.filter_map(|(index, rule)| {
                let text = rule.schema.as_deref()?;
                Some((index, schema::read(text)))
            });
            TemplateSchemas {
                properties: self.template.schema.as_deref().and_then(schema::read),
                payloads: payloads.collect(),
            }
        }))
    }

    /// The template's indexed paths; `None` if there are none.
    pub fn indexed(&self) -> Option<&IndexedPaths> {
        let schema = self.template.schema.as_deref()?;
        let indexed = self
            .compiled
            .indexed
            .get_or_init(|| IndexedPaths::of_schema(schema).unwrap_or_default());
        (!indexed.is_empty()).then_some(indexed)
    }

    /// Checks the properties that an object of the template would have.
    pub fn check_properties(
        &self,
        properties: &str,
        input: &ActionInput<'_>,
    ) -> Result<(), Refusal> {
        if self.template.schema.is_none() {
            return Ok(());
        }
        let schema = self.schemas(input)?.properties.as_ref();
        checked(schema, properties, "/properties", input)
    }

    /// Checks the payload of an action of one of the template's custom kinds.
    pub fn check_payload(&self, input: &ActionInput<'_>) -> Result<(), Refusal> {
        let mut rules = self.template.actions.iter();
        let has_schema = |rule: &ActionRule| rule.kind == *input.kind && rule.schema.is_some();
        let Some(index) = rules.position(has_schema) else {
            return Ok(());
        };
        let mut payloads = self.schemas(input)?.payloads.iter();
        let found = payloads.find(|(of, _)| *of == index);
        let schema = found.and_then(|(_, schema)| schema.as_ref());
        checked(schema, input.payload, "", input)
    }
}

/// Checks a text against a template's schema, within the request's remaining steps.
fn checked(
    schema: Option<&Schema>,
    text: &str,
    pointer: &str,
    input: &ActionInput<'_>,
) -> Result<(), Refusal> {
    let schema = schema.ok_or_else(unreadable)?;
    input.take(schema.work(text))?;
    schema.validate(text, pointer)
}

fn unreadable() -> Refusal {
    Refusal::State("the template's schema cannot be read; make another template".into())
}
