//! The resource endpoints: templates, objects, and reading the account's part of the log.

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
        kind: &Kind,
        target: &str,
        body: &impl Serialize,
    ) -> Result<(Changed<T>, Hash)> {
        let body = to_json(body)?;
        let action = ActionText {
            kind,
            target,
            payload: &body,
        };
        self.change_signing(method, path, body.clone(), action)
            .await
    }

    /// One call of a resource endpoint whose payload need not be its body.
    pub(crate) async fn change_signing<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        action: ActionText<'_>,
    ) -> Result<(Changed<T>, Hash)> {
        let request = Authorized {
            method,
            path,
            body,
            headers: Vec::new(),
            bearer: true,
        };
        let signs = Signs {
            actions: std::slice::from_ref(&action),
            atomic: false,
        };
        let (answer, signed) = self.signed(&request, &signs).await?;
        let changed: Changed<T> = answer.read(path_name(action.kind))?;
        let batch = changed.receipt.as_ref().map(|receipt| &receipt.batch);
        self.client().learn_key_of(batch).await;
        let content = signed.contents[0];
        self.check_single(&content, changed.action_id, changed.receipt.as_ref())?;
        Ok((changed, content))
    }

    /// Creates a template.
    pub async fn create_template(&self, template: &NewTemplate) -> Result<Changed<Template>> {
        let kind = Kind::TemplateCreate;
        let (made, content) = self
            .change::<Template>(Method::POST, "/templates", &kind, "", template)
            .await?;
        self.check_made(Prefix::Template, &content, made.resource.id)?;
        Ok(made)
    }

    /// Changes a template that has no live objects.
    pub async fn update_template(
        &self,
        template_id: Id,
        change: &TemplateChange,
    ) -> Result<Changed<Template>> {
        let target = template_id.to_string();
        let path = format!("/templates/{target}");
        let kind = Kind::TemplateUpdate;
        let (changed, _) = self
            .change(Method::PATCH, &path, &kind, &target, change)
            .await?;
        Ok(changed)
    }

    /// Creates variations of a template, all or none; at most 500.
    pub async fn create_variations(
        &self,
        template_id: Id,
        variations: &[NewVariation],
    ) -> Result<Changed<MadeVariations>> {
        let target = template_id.to_string();
        let path = format!("/templates/{target}/variations");
        let body = json!({ "variations": variations });
        let kind = Kind::TemplateVariations;
        let (made, content) = self
            .change::<MadeVariations>(Method::POST, &path, &kind, &target, &body)
            .await?;
        if let Some(first) = made.resource.items.first() {
            self.check_made(Prefix::Variation, &content, first.id)?;
        }
        Ok(made)
    }

    /// Mints an object from a template.
    pub async fn mint(&self, template_id: Id, object: &NewObject) -> Result<Changed<Object>> {
        let body = MintBody {
            template_id,
            object,
        };
        let target = template_id.to_string();
        let (made, content) = self
            .change::<Object>(Method::POST, "/objects", &Kind::Mint, &target, &body)
            .await?;
        self.check_made(Prefix::Object, &content, made.resource.id)?;
        Ok(made)
    }

    /// Merges a patch into an object's properties (RFC 7396).
    pub async fn update(&self, object_id: Id, properties: &Properties) -> Result<Changed<Object>> {
        let target = object_id.to_string();
        let path = format!("/objects/{target}");
        let body = json!({ "properties": properties });
        let (changed, _) = self
            .change(Method::PATCH, &path, &Kind::Update, &target, &body)
            .await?;
        Ok(changed)
    }

    /// Transfers an object to a wallet, by id or address.
    pub async fn transfer(&self, object_id: Id, to: &str) -> Result<Changed<Object>> {
        let target = object_id.to_string();
        let path = format!("/objects/{target}/transfer");
        let body = json!({ "to": to });
        let (changed, _) = self
            .change(Method::POST, &path, &Kind::Transfer, &target, &body)
            .await?;
        Ok(changed)
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
