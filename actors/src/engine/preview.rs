//! Preview of actions: the rules' decisions on one published state, each on top of the earlier ones, in a private
//! overlay. No actor is asked, and nothing is reserved, placed or stored.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::resource::Object;
use kedge_protocol::{Id, Prefix};
use kedge_rules::{ActionInput, Caller, Refusal, World, object};

use crate::engine::Engine;
use crate::pipeline::published_state::{PublishedState, StateReader, unavailable};

/// Preview of one request's actions in the present state.
pub struct DecisionPreview {
    published: Arc<PublishedState>,
    reader: StateReader,
    /// Objects after the actions so far.
    objects: HashMap<Id, Object>,
    /// Objects that the actions so far would mint of each bounded template.
    minted: HashMap<Id, u64>,
}

impl Engine {
    /// Begins a preview on the state that was published last.
    pub fn preview(&self) -> DecisionPreview {
        let (reader, published) = self.reader().fixed();
        DecisionPreview {
            published,
            reader,
            objects: HashMap::new(),
            minted: HashMap::new(),
        }
    }
}

impl DecisionPreview {
    /// The state that the preview decides on.
    pub fn published(&self) -> &PublishedState {
        &self.published
    }

    /// Decides the next bus action and returns the object after it. Values that depend on the action's content (a new
    /// object's identifier, the integrity) are fixed only by the signature, so they mean nothing here.
    pub fn decide(&mut self, caller: &Caller, input: &ActionInput<'_>) -> Result<Object, Refusal> {
        if *input.kind == Kind::Mint {
            return self.mint(caller, input);
        }
        let missing = || Refusal::not_found("object", input.target);
        let id = Id::parse_as(Prefix::Object, input.target).map_err(|_| missing())?;
        let before = match self.objects.remove(&id) {
            Some(object) => object,
            None => self.load(id, input)?.ok_or_else(missing)?,
        };
        let template = self.reader.template(before.template_id)?;
        let template = template.ok_or_else(missing)?;
        let after = object::act(&self.reader, caller, &before, &template, input);
        let kept = after.as_ref().map_or(before, Object::clone);
        self.objects.insert(id, kept);
        after
    }

    fn mint(&mut self, caller: &Caller, input: &ActionInput<'_>) -> Result<Object, Refusal> {
        let object = object::mint(&self.reader, caller, input)?;
        let template = self.reader.template(object.template_id)?;
        if let Some(max) = template.and_then(|template| template.max_supply) {
            let minted = self.reader.minted(object.template_id)?;
            let more = self.minted.entry(object.template_id).or_default();
            if minted + *more >= max {
                return Err(Refusal::State("the template's supply is used up".into()));
            }
            *more += 1;
        }
        Ok(object)
    }

    fn load(&self, id: Id, input: &ActionInput<'_>) -> Result<Option<Object>, Refusal> {
        if let Some(allowance) = input.allowance {
            allowance.before_read()?;
        }
        let object = self.published.snapshot.object(id);
        let object = object.map_err(unavailable)?;
        if let (Some(allowance), Some(object)) = (input.allowance, &object) {
            allowance.count_read(object.properties.len());
        }
        Ok(object)
    }
}
