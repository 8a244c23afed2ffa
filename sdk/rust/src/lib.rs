//! Rust client of a Kedge server. It signs every change, retries as the server asks, and verifies every receipt against
//! the sent request, the log's domain and the sequencer's key before a call returns.
//!
//! ```no_run
//! use kedge_client::{BatchMode, Client, NewAction, NewObject, NewTemplate, Registration};
//! use kedge_protocol::signature::SigningKey;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("http://127.0.0.1:8080").connect().await?;
//! let account = client.account(SigningKey::from_bytes(&kedge_client::random::bytes()?)?);
//! let registration = Registration {
//!     email: "ann@example.com".into(),
//!     password: "correct horse battery staple".into(),
//!     nickname: None,
//!     organization_name: None,
//! };
//! account.register(&registration).await?;
//! let ticket = NewTemplate { name: "ticket".into(), ..NewTemplate::default() };
//! let template = account.create_template(&ticket).await?.resource;
//! let mints = vec![NewAction::mint(template.id, &NewObject::default())?; 500];
//! let outcome = account.batch(&mints, BatchMode::Atomic).await?;
//! assert_eq!(outcome.done().count(), 500);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

pub mod error;
pub mod random;
pub mod retry;
pub mod sign;
pub mod types;

mod account;
mod bus;
#[cfg(feature = "claims")]
pub mod claims;
mod client;
mod disputes;
mod export;
mod files;
mod header_watch;
mod keys;
mod members;
mod nonces;
mod page;
mod preview;
mod probe;
mod resources;
mod state;
mod template;
mod transport;
mod verify;
mod webhooks;

pub use account::{Account, Registration};
pub use bus::exactly_once::{AttemptStore, OnceBatch, OnceResult, SigningAttempt};
pub use bus::{BatchActionResult, BatchMode, BatchOutcome, DoneAction, NewAction};
pub use client::{Client, ClientBuilder};
pub use disputes::{DisputeCategory, DisputeResource, SubmittedDispute};
pub use error::{ClientError, ClientResult, ServerRefusal, VerificationError};
pub use export::Export;
pub use members::{
    ApiKeyResource, CreatedApiKey, CreatedInvitation, InvitationResource, NewApiKey, NewInvitation,
    WalletChange,
};
pub use page::{ListQuery, Page, Pages};
pub use preview::{ActionPreview, PreviewedObject, RequestPreview};
pub use probe::{NodePart, ServerProbe, node_part, probe};
pub use resources::ProofForm;
pub use retry::RetryPolicy;
pub use state::{ProvenAnswer, ProvenObject, StateQuery};
pub use types::{
    ChangedResource, NewObject, NewTemplate, NewVariation, Properties, TemplateChange, TokenPair,
};
pub use webhooks::{DeliveryResource, NewWebhook, WebhookChange, WebhookResource};
