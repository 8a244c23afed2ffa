//! Templates, objects and actions: the resource endpoints.

use std::fmt::Display;

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::{Hash, Id, Prefix};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::account::{Account, AuthorizedRequest, SigningPayload, to_json};
use crate::error::ClientResult;
use crate::page::{ListQuery, PageSource, Pages};
use crate::sign::SignableAction;
use crate::types::{
    ActionResource, ChangedResource, CreatedVariations, NewObject, NewTemplate, NewVariation,
    ObjectResource, Properties, TemplateChange, TemplateResource, VariationResource,
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
    /// Proves that the log holds the action; can be passed on.
    #[default]
    Inclusion,
    /// Also proves the signer's signature; reveals the signature and the hashes of neighbouring actions.
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
    /// Calls a resource endpoint whose whole body is the signed payload.
    pub(crate) async fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        kind: Kind,
        target: impl Display,
        body: &impl Serialize,
    ) -> ClientResult<ChangedResource<T>> {
        let body = to_json(body)?;
        let payload = body.clone();
        let (changed, _) = self
            .change_signing(method, path, body, (kind, target, payload))
            .await?;
        Ok(changed)
    }

    /// Like [`Self::change`], and verifies the id of the created resource, which `made` reads.
    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: Kind,
        target: impl Display,
        body: &impl Serialize,
        made: impl FnOnce(&T) -> Option<(Prefix, Id)>,
    ) -> ClientResult<ChangedResource<T>> {
        let body = to_json(body)?;
        let signs = (kind, target, body.clone());
        let (changed, content) = self.change_signing(Method::POST, path, body, signs).await?;
        if let Some((prefix, id)) = made(&changed.resource) {
            self.check_made(prefix, &content, id)?;
        }
        Ok(changed)
    }

    /// Deletes the resource in the path. The request has no body; the payload is only signed.
    pub(crate) async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: Kind,
        target: impl Display,
        payload: String,
    ) -> ClientResult<ChangedResource<T>> {
        let signs = (kind, target, Bytes::from(payload));
        let deleted = self.change_signing(Method::DELETE, path, Bytes::new(), signs);
        Ok(deleted.await?.0)
    }

    /// Calls a resource endpoint. Also returns the content hash of its action.
    async fn change_signing<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        (kind, target, payload): (Kind, impl Display, Bytes),
    ) -> ClientResult<(ChangedResource<T>, Hash)> {
        let request = AuthorizedRequest::new(method, path, body);
        let action = SignableAction {
            kind: &kind,
            target: &target.to_string(),
            payload: &payload,
        };
        self.signed_alone(&request, &action, path_name(&kind)).await
    }

    /// Signs and sends one action, and verifies its receipt. Also returns its content hash.
    pub(crate) async fn signed_alone<T: DeserializeOwned>(
        &self,
        request: &AuthorizedRequest<'_>,
        action: &SignableAction<'_>,
        what: &'static str,
    ) -> ClientResult<(ChangedResource<T>, Hash)> {
        let signs = SigningPayload {
            actions: std::slice::from_ref(action),
            atomic: false,
        };
        let (answer, signed) = self.signed(request, &signs).await?;
        let changed: ChangedResource<T> = answer.read(what)?;
        let batch = changed.receipt.as_ref().map(|receipt| &receipt.batch);
        self.client().learn_key_of(batch).await;
        let content = signed.contents[0];
        self.check_single(&content, changed.action_id, changed.receipt.as_ref())?;
        Ok((changed, content))
    }

    /// Creates a template.
    pub async fn create_template(
        &self,
        template: &NewTemplate,
    ) -> ClientResult<ChangedResource<TemplateResource>> {
        let made = |made: &TemplateResource| Some((Prefix::Template, made.id));
        self.create("/templates", Kind::TemplateCreate, "", template, made)
            .await
    }

    /// Changes a template without live objects.
    pub async fn update_template(
        &self,
        template_id: Id,
        change: &TemplateChange,
    ) -> ClientResult<ChangedResource<TemplateResource>> {
        let path = format!("/templates/{template_id}");
        let kind = Kind::TemplateUpdate;
        self.change(Method::PATCH, &path, kind, template_id, change)
            .await
    }

    /// Creates up to 500 variations of a template, all or none.
    pub async fn create_variations(
        &self,
        template_id: Id,
        variations: &[NewVariation],
    ) -> ClientResult<ChangedResource<CreatedVariations>> {
        let path = format!("/templates/{template_id}/variations");
        let body = json!({ "variations": variations });
        let made = |made: &CreatedVariations| Some((Prefix::Variation, made.items.first()?.id));
        self.create(&path, Kind::TemplateVariations, template_id, &body, made)
            .await
    }

    /// Mints an object from a template.
    pub async fn mint(
        &self,
        template_id: Id,
        object: &NewObject,
    ) -> ClientResult<ChangedResource<ObjectResource>> {
        let body = MintBody {
            template_id,
            object,
        };
        let made = |made: &ObjectResource| Some((Prefix::Object, made.id));
        self.create("/objects", Kind::Mint, template_id, &body, made)
            .await
    }

    /// Merges a patch into an object's properties (RFC 7396).
    pub async fn update(
        &self,
        object_id: Id,
        properties: &Properties,
    ) -> ClientResult<ChangedResource<ObjectResource>> {
        let path = format!("/objects/{object_id}");
        let body = json!({ "properties": properties });
        self.change(Method::PATCH, &path, Kind::Update, object_id, &body)
            .await
    }

    /// Transfers an object to a wallet, by id or address.
    pub async fn transfer(
        &self,
        object_id: Id,
        to: &str,
    ) -> ClientResult<ChangedResource<ObjectResource>> {
        let path = format!("/objects/{object_id}/transfer");
        let body = json!({ "to": to });
        self.change(Method::POST, &path, Kind::Transfer, object_id, &body)
            .await
    }

    pub(crate) fn list<T: DeserializeOwned>(&self, path: String, query: &ListQuery) -> Pages<T> {
        Pages::new(PageSource::Account(self.clone()), path, query)
    }

    /// Lists the templates that the account may see.
    pub fn templates(&self, query: &ListQuery) -> Pages<TemplateResource> {
        self.list("/templates".to_owned(), query)
    }

    /// Reads a template.
    pub async fn template(&self, id: Id) -> ClientResult<TemplateResource> {
        self.get(&format!("/templates/{id}"), "a template").await
    }

    /// Lists the variations of a template.
    pub fn variations(&self, template_id: Id, query: &ListQuery) -> Pages<VariationResource> {
        self.list(format!("/templates/{template_id}/variations"), query)
    }

    /// Lists the organization's objects.
    pub fn objects(&self, query: &ListQuery) -> Pages<ObjectResource> {
        self.list("/objects".to_owned(), query)
    }

    /// Reads an object.
    pub async fn object(&self, id: Id) -> ClientResult<ObjectResource> {
        self.get(&format!("/objects/{id}"), "an object").await
    }

    /// Lists the actions of an object, newest first. Of pruned actions the log keeps only the leaves.
    pub fn history(&self, object_id: Id, query: &ListQuery) -> Pages<ActionResource> {
        self.list(format!("/objects/{object_id}/history"), query)
    }

    /// Lists the organization's actions, in sequence order.
    pub fn actions(&self, query: &ListQuery) -> Pages<ActionResource> {
        self.list("/ebus/actions".to_owned(), query)
    }

    /// Reads an action.
    pub async fn action(&self, id: Id) -> ClientResult<ActionResource> {
        self.get(&format!("/ebus/actions/{id}"), "an action").await
    }

    /// Reads the action at a sequence of the log.
    pub async fn action_at(&self, sequence: u64) -> ClientResult<ActionResource> {
        let path = format!("/ebus/actions/{sequence}");
        self.get(&path, "an action").await
    }

    /// Reads the proof file of an action, and verifies it offline. The file refers to the chain only once the action's
    /// anchor is final, and only the chain can confirm that part.
    pub async fn proof(&self, action_id: Id, form: ProofForm) -> ClientResult<ProofFile> {
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
