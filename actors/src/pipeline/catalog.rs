//! Cache of the values that decisions look up most: templates and variations, whose rules rarely change, and wallets'
//! addresses. The bounds are in bytes, because a template takes from a few hundred bytes to tens of megabytes of
//! compiled regular expressions.
//!
//! Nothing else keeps a template for longer than a decision. Live objects do not: a few objects that each keep one
//! compiled schema would take more memory than the whole catalog.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_protocol::Id;
use kedge_protocol::resource::{Template, Variation};
use kedge_rules::{RecipientWallet, TemplateRules};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// Parts of a cache, each with a lock and a bound. They are few, so that one part has room for the largest template.
const PARTS: usize = 8;
/// Typical size of a template or variation.
const USUAL_BYTES: usize = 16 * 1024;
/// Overhead of an entry in addition to its texts.
const ENTRY_BYTES: usize = 512;
/// One part in so many of the bytes is for variations.
const VARIATIONS_PART: usize = 4;

/// Bounded cache of templates, variations and recipients.
pub(crate) struct TemplateCatalog {
    /// Each is valid for readers of its generation.
    templates: CatalogCache<TemplateGeneration>,
    /// Number of rule changes so far.
    generation: AtomicU64,
    /// Variations never change.
    variations: CatalogCache<Arc<Variation>>,
    recipients: Cache<Id, RecipientWallet>,
    templates_max: usize,
    variations_max: usize,
}

/// Cached value with its weight in bytes.
#[derive(Clone)]
struct CatalogEntry<T> {
    value: T,
    bytes: u64,
}

/// Template rules of one generation.
#[derive(Clone)]
struct TemplateGeneration {
    generation: u64,
    template: Arc<TemplateRules>,
}

#[derive(Clone)]
struct CatalogWeighter;

impl<T> Weighter<Id, CatalogEntry<T>> for CatalogWeighter {
    fn weight(&self, _: &Id, kept: &CatalogEntry<T>) -> u64 {
        kept.bytes
    }
}

type CatalogCache<T> = Cache<Id, CatalogEntry<T>, CatalogWeighter>;

/// The template used last, for callers that need the same one repeatedly.
pub(crate) type RecentTemplate = Option<(u64, Id, Arc<TemplateRules>)>;

fn cache<T: Clone>(bytes_max: usize) -> CatalogCache<T> {
    let mut options = OptionsBuilder::new();
    let options = options
        .shards(PARTS)
        .estimated_items_capacity(bytes_max / USUAL_BYTES)
        .weight_capacity(bytes_max as u64)
        .build();
    Cache::with_options(
        options.expect("every option is given"),
        CatalogWeighter,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

/// Weight of a value of so many bytes in a cache of `bytes_max`. One that is too large for its part weighs as much as a
/// part keeps, nine tenths of it; otherwise each decision would read and compile it again.
fn weight(bytes: usize, bytes_max: usize) -> u64 {
    (bytes + ENTRY_BYTES).min(bytes_max / PARTS * 9 / 10) as u64
}

impl TemplateCatalog {
    /// A catalog of about `bytes_max` bytes of templates and variations, and so many recipients.
    pub(crate) fn new(bytes_max: usize, recipients_max: usize) -> Self {
        let variations_max = bytes_max / VARIATIONS_PART;
        let templates_max = bytes_max - variations_max;
        Self {
            templates: cache(templates_max),
            generation: AtomicU64::new(0),
            variations: cache(variations_max),
            recipients: Cache::new(recipients_max),
            templates_max,
            variations_max,
        }
    }

    /// Begins a generation, because the rules of a template have changed. Later readers read every template again, but
    /// compile only the changed one.
    pub(crate) fn forget_templates(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The present generation.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// A template, if it is cached for this generation.
    pub(crate) fn template(&self, generation: u64, id: Id) -> Option<Arc<TemplateRules>> {
        let kept = self.templates.get(&id)?.value;
        (kept.generation == generation).then_some(kept.template)
    }

    /// Compiles a template that a reader of a generation has read. It is cached unless a newer one is: a reader that
    /// continues while rules change keeps the old rules to itself.
    pub(crate) fn keep_template(&self, generation: u64, template: Template) -> Arc<TemplateRules> {
        let id = template.id;
        let known = self.templates.peek(&id).map(|kept| kept.value);
        let template = Arc::new(match &known {
            Some(known) => TemplateRules::sharing(template, &known.template),
            None => TemplateRules::from(template),
        });
        if known.is_none_or(|known| known.generation <= generation) {
            let value = TemplateGeneration {
                generation,
                template: Arc::clone(&template),
            };
            let kept = CatalogEntry {
                value,
                bytes: weight(template.bytes_compiled(), self.templates_max),
            };
            self.templates.insert(id, kept);
        }
        template
    }

    pub(crate) fn variation(&self, id: Id) -> Option<Arc<Variation>> {
        self.variations.get(&id).map(|kept| kept.value)
    }

    pub(crate) fn keep_variation(&self, variation: &Arc<Variation>) {
        let bytes = variation.name.len() + variation.properties.len();
        let kept = CatalogEntry {
            value: Arc::clone(variation),
            bytes: weight(bytes, self.variations_max),
        };
        self.variations.insert(variation.id, kept);
    }

    pub(crate) fn recipient(&self, id: Id) -> Option<RecipientWallet> {
        self.recipients.get(&id)
    }

    pub(crate) fn keep_recipient(&self, recipient: RecipientWallet) {
        self.recipients.insert(recipient.wallet_id, recipient);
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;
    use kedge_protocol::resource::ResourceTrace;

    use super::*;

    const BYTES_MAX: usize = 64 << 20;

    fn id(prefix: Prefix, number: u8) -> Id {
        Id {
            prefix,
            bytes: [number; 16],
        }
    }

    fn template(number: u8, schema: Option<String>) -> Template {
        Template {
            id: id(Prefix::Template, number),
            organization_id: id(Prefix::Organization, 1),
            name: String::new(),
            description: String::new(),
            properties: "{}".to_owned(),
            schema,
            max_supply: None,
            actions: Vec::new(),
            public_access: false,
            variation_count: 0,
            trace: ResourceTrace::NEW,
        }
    }

    /// A schema with as many patterns as are allowed, each of few bytes that take much memory.
    fn heavy(number: u8) -> String {
        let patterns =
            (0..64).map(|pattern| format!(r#"{{"pattern":"\\p{{Lu}}{{9}}{number}-{pattern}"}}"#));
        let patterns: Vec<String> = patterns.collect();
        format!(r#"{{"anyOf":[{}]}}"#, patterns.join(","))
    }

    // Holds invariant 215.
    #[test]
    fn templates_have_a_bound_of_bytes_and_the_compiled_schemas_count() {
        let catalog = TemplateCatalog::new(BYTES_MAX, 10);
        for number in 0..=255 {
            catalog.keep_template(0, template(number, Some(heavy(number))));
        }
        let weight = catalog.templates.weight();
        assert!(weight <= (BYTES_MAX - BYTES_MAX / VARIATIONS_PART) as u64);
        assert!(catalog.templates.len() <= PARTS, "each fills a part");
        let catalog = TemplateCatalog::new(BYTES_MAX, 10);
        for number in 0..=255 {
            catalog.keep_template(0, template(number, None));
        }
        assert_eq!(catalog.templates.len(), 256);
    }

    // Holds invariant 215.
    #[test]
    fn a_template_that_is_too_large_is_kept_all_the_same() {
        let catalog = TemplateCatalog::new(BYTES_MAX, 10);
        let large = catalog.keep_template(0, template(7, Some(heavy(7))));
        assert!(large.bytes_compiled() > BYTES_MAX / PARTS);
        assert!(catalog.template(0, large.id).is_some());
    }

    // Holds invariant 215.
    #[test]
    fn whose_schemas_have_not_changed_is_read_again_and_not_compiled_again() {
        let catalog = TemplateCatalog::new(BYTES_MAX, 10);
        let first = catalog.keep_template(0, template(7, Some(heavy(7))));
        catalog.forget_templates();
        assert_eq!(catalog.generation(), 1);
        assert!(catalog.template(1, first.id).is_none());
        let mut changed = template(7, Some(heavy(7)));
        changed.description = "new".to_owned();
        let second = catalog.keep_template(1, changed);
        assert!(second.shares_with(&first));
        // A reader of the old rules neither gets the new ones nor leaves its own in the cache.
        assert!(catalog.template(0, first.id).is_none());
        let old = catalog.keep_template(0, template(7, Some(heavy(7))));
        assert_eq!(old.description, "");
        assert_eq!(catalog.template(1, first.id).unwrap().description, "new");
        let third = catalog.keep_template(2, template(7, Some(heavy(8))));
        assert!(!third.shares_with(&first));
    }

    // Holds invariant 215.
    #[test]
    fn variations_have_a_bound_of_bytes() {
        let catalog = TemplateCatalog::new(BYTES_MAX, 10);
        for number in 0..=255 {
            catalog.keep_variation(&Arc::new(Variation {
                id: id(Prefix::Variation, number),
                template_id: id(Prefix::Template, 1),
                organization_id: id(Prefix::Organization, 1),
                name: String::new(),
                properties: "x".repeat(1 << 20),
                index: 0,
                created_sequence: 1,
                created_at_ms: 1,
            }));
        }
        let weight = catalog.variations.weight();
        assert!(weight <= (BYTES_MAX / VARIATIONS_PART) as u64);
        assert!(weight > 0);
    }
}
