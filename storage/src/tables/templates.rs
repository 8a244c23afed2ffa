//! Rows of templates and variations.

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{ActionRule, Template, Variation, Who};

use super::row::{numbered, resource, stored, stored_as};
use crate::codec::CodecError;

numbered! { Who, "party of a rule" { Owner = 1, Issuer = 2, Anyone = 3 } }

stored_as! {
    Kind as String,
    |kind| kind.text().to_owned(),
    |text| Kind::of_text(&text)
        .ok_or_else(|| CodecError::bytes("a rule does not name a kind of action")),
}
stored! { ActionRule { kind, who, schema } }

resource! {
    Template in Templates, Template, listed in TEMPLATES_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        name,
        description,
        properties,
        schema,
        max_supply,
        actions,
        public_access,
        variation_count,
        trace,
    }
}

resource! {
    Variation in Variations, Variation, listed in VARIATIONS_OF_TEMPLATE by template_id, index {
        template_id: Template,
        organization_id: Organization,
        name,
        properties,
        index,
        created_sequence,
        created_at_ms,
    }
}
