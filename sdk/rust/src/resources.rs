//! The resource endpoints: templates, objects, and reading the account's part of the log.

use std::fmt::Display;

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::{Hash, Id, Prefix};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::account::{Account, Authorized, Signs, to_json};
use crate::error::Result;
use crate::page::{ListQuery, Pages, Source};
use crate::sign::ActionText;
use crate::types::{
    Action, Changed, MadeVariations, NewObject, NewTemplate, NewVariation, Object, Properties,
    Template, TemplateChange, Variation,
};

#[derive(Serialize)]
struct MintBody<'a> {
    template_id: Id,
    #[serde(flatten)]
    object: &'a NewObject,
}

/// The requested form of a proof file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProofForm {
    /// Shows that the log holds the action; can be passed on.
    #[default]
    Inclusion,
    /// Also shows that the signer signed it; reveals the signature and the neighbours' hashes.
    Authorship,
}

impl ProofForm {
    fn text(self) -> &'static str {
        match self {
            Self::Inclusion => "inclusion",
            Self::Authorship => "authorship",
        }
    }
}

impl Account {
    /// One call of a resource endpoint: its whole body is the payload.
    pub(crate) async fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        kind: Kind,
        target: impl Display,
        body: &impl Serialize,
    ) -> Result<Changed<T>> {
        let body = to_json(body)?;
        let payload = body.clone();
        let (changed, _) = self
            .change_signing(method, path, body, (kind, target, payload))
            .await?;
        Ok(changed)
    }

    /// As [`Self::change`], making a resource that `made` names.
    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: Kind,
        target: impl Display,
        body: &impl Serialize,
        made: impl FnOnce(&T) -> Option<(Prefix, Id)>,
    ) -> Result<Changed<T>> {
        let body = to_json(body)?;
        let signs = (kind, target, body.clone());
        let (changed, content) = self.change_signing(Method::POST, path, body, signs).await?;
        if let Some((prefix, id)) = made(&changed.resource) {
            self.check_made(prefix, &content, id)?;
        }
        Ok(changed)
    }

    /// Deletes what the path names. The request has no body: what is signed is the payload alone.
    pub(crate) async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: Kind,
        target: impl Display,
        payload: String,
    ) -> Result<Changed<T>> {
        let signs = (kind, target, Bytes::from(payload));
        let deleted = self.change_signing(Method::DELETE, path, Bytes::new(), signs);
        Ok(deleted.await?.0)
    }

    /// One call of a resource endpoint, and the content of its action: a kind, a target and a payload.
    async fn change_signing<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        (kind, target, payload): (Kind, impl Display, Bytes),
    ) -> Result<(Changed<T>, Hash)> {
        let request = Authorized::new(method, path, body);
        let action = ActionText {
            kind: &kind,
            target: &target.to_string(),
            payload: &payload,
        };
        self.signed_alone(&request, &action, path_name(&kind)).await
    }

    /// Signs and sends one action, and checks its receipt; returns its content too.
    pub(crate) async fn signed_alone<T: DeserializeOwned>(
        &self,
        request: &Authorized<'_>,
        action: &ActionText<'_>,
        what: &'static str,
    ) -> Result<(Changed<T>, Hash)> {
        let signs = Signs {
            actions: std::slice::from_ref(action),
            atomic: false,
        };
        let (answer, signed) = self.signed(request, &signs).await?;
        let changed: Changed<T> = answer.read(what)?;
        let batch = changed.receipt.as_ref().map(|receipt| &receipt.batch);
        self.client().learn_key_of(batch).await;
        let content = signed.contents[0];
        self.check_single(&content, changed.action_id, changed.receipt.as_ref())?;
        Ok((changed, content))
    }

    /// Creates a template.
    pub async fn create_template(&self, template: &NewTemplate) -> Result<Changed<Template>> {
        let made = |made: &Template| Some((Prefix::Template, made.id));
        self.create("/templates", Kind::TemplateCreate, "", template, made)
            .await
    }

    /// Changes a template that has no live objects.
    pub async fn update_template(
        &self,
        template_id: Id,
        change: &TemplateChange,
    ) -> Result<Changed<Template>> {
        let path = format!("/templates/{template_id}");
        let kind = Kind::TemplateUpdate;
        self.change(Method::PATCH, &path, kind, template_id, change)
            .await
    }

    /// Creates variations of a template, all or none; at most 500.
    pub async fn create_variations(
        &self,
        template_id: Id,
        variations: &[NewVariation],
    ) -> Result<Changed<MadeVariations>> {
        let path = format!("/templates/{template_id}/variations");
        let body = json!({ "variations": variations });
        let made = |made: &MadeVariations| Some((Prefix::Variation, made.items.first()?.id));
        self.create(&path, Kind::TemplateVariations, template_id, &body, made)
            .await
    }

    /// Mints an object from a template.
    pub async fn mint(&self, template_id: Id, object: &NewObject) -> Result<Changed<Object>> {
        let body = MintBody {
            template_id,
            object,
        };
        let made = |made: &Object| Some((Prefix::Object, made.id));
        self.create("/objects", Kind::Mint, template_id, &body, made)
            .await
    }

    /// Merges a patch into an object's properties (RFC 7396).
    pub async fn update(&self, object_id: Id, properties: &Properties) -> Result<Changed<Object>> {
        let path = format!("/objects/{object_id}");
        let body = json!({ "properties": properties });
        self.change(Method::PATCH, &path, Kind::Update, object_id, &body)
            .await
    }

    /// Transfers an object to a wallet, by id or address.
    pub async fn transfer(&self, object_id: Id, to: &str) -> Result<Changed<Object>> {
        let path = format!("/objects/{object_id}/transfer");
        let body = json!({ "to": to });
        self.change(Method::POST, &path, Kind::Transfer, object_id, &body)
            .await
    }

    pub(crate) fn list<T: DeserializeOwned>(&self, path: String, query: &ListQuery) -> Pages<T> {
        Pages::new(Source::Account(self.clone()), path, query)
    }

    /// The templates that the account sees.
    pub fn templates(&self, query: &ListQuery) -> Pages<Template> {
        self.list("/templates".to_owned(), query)
    }

    /// A template.
    pub async fn template(&self, id: Id) -> Result<Template> {
        self.get(&format!("/templates/{id}"), "a template").await
    }

    /// The variations of a template.
    pub fn variations(&self, template_id: Id, query: &ListQuery) -> Pages<Variation> {
        self.list(format!("/templates/{template_id}/variations"), query)
    }

    /// The organization's objects.
    pub fn objects(&self, query: &ListQuery) -> Pages<Object> {
        self.list("/objects".to_owned(), query)
    }

    /// An object.
    pub async fn object(&self, id: Id) -> Result<Object> {
        self.get(&format!("/objects/{id}"), "an object").await
    }

    /// The actions of an object, newest first; for those no longer listed, the log keeps the leaves.
    pub fn history(&self, object_id: Id, query: &ListQuery) -> Pages<Action> {
        self.list(format!("/objects/{object_id}/history"), query)
    }

    /// The organization's actions, in sequence order.
    pub fn actions(&self, query: &ListQuery) -> Pages<Action> {
        self.list("/ebus/actions".to_owned(), query)
    }

    /// An action.
    pub async fn action(&self, id: Id) -> Result<Action> {
        self.get(&format!("/ebus/actions/{id}"), "an action").await
    }

    /// The proof file of an action, checked offline. Until the action's anchor is final, it states nothing
    /// about the chain; after that, only the chain can confirm what it states.
    pub async fn proof(&self, action_id: Id, form: ProofForm) -> Result<ProofFile> {
        let path = format!("/ebus/actions/{action_id}/proof?form={}", form.text());
        let proof: ProofFile = self.get(&path, "a proof").await?;
        self.client().learn_key_of(Some(&proof.batch)).await;
        self.check_proof(action_id, &proof)?;
        Ok(proof)
    }
}

fn path_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::TemplateCreate => "making a template",
        Kind::TemplateUpdate => "changing a template",
        Kind::TemplateVariations => "making variations",
        Kind::Mint => "minting an object",
        Kind::Transfer => "transferring an object",
        Kind::WebhookCreate => "making a webhook",
        Kind::WebhookUpdate | Kind::WebhookDelete | Kind::WebhookRotate => "changing a webhook",
        Kind::Update => "updating an object",
        _ => "changing an account",
    }
}
