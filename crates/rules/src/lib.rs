//! The rules: the effects of actions on resources. Pure and deterministic: the same state and the same log make the
//! same bytes, on the server and in a replay alike. No I/O, no clock, no randomness. Rules look up other state through
//! [`World`].

pub mod event;
mod field_error;
pub mod fold;
pub mod history;
pub mod index;
pub mod json;
pub mod object;
pub mod paths;
pub mod pointer;
pub mod refusal;
pub mod replay;
pub mod resource_state;
pub mod resources;
pub mod rights;
mod rule;
pub mod scalar;
pub mod schema;
pub mod sequencer;
pub mod template_rules;
mod text;
pub mod world;

pub use field_error::FieldError;
pub use refusal::Refusal;
pub use resources::{dispute, file, registration, template};
pub use template_rules::TemplateRules;
pub use world::{
    ActionInput, Caller, CountedResource, IntegrityLink, KeyPosition, OPERATOR, RecipientWallet,
    ResourceCount, StateUnavailable, StepAllowance, World,
};
