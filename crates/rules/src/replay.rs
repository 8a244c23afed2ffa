//! Rebuilds one object from its actions with the rules that decided them.

use kedge_protocol::action::Kind;
use kedge_protocol::record::ActionRecord;
use kedge_protocol::resource::{Object, ResourceTrace, Role, Template};
use kedge_protocol::{Address, Hash, Id};

use crate::fold::FoldError;
use crate::json::JsonEdits;
use crate::object;
use crate::refusal::Refusal;
use crate::resources::template;
use crate::world::{ActionInput, Caller, World};

/// An action of the object in the log.
#[derive(Clone, Copy, Debug)]
pub struct PastAction<'a> {
    pub action: &'a ActionRecord<'a>,
    pub content: &'a Hash,
    pub wallet_id: Id,
    pub sequence: u64,
    /// When it was placed, Unix milliseconds.
    pub timestamp_ms: u64,
}

/// An object during the replay of its history.
#[derive(Clone, Default, Debug)]
pub struct ObjectReplay {
    /// Without its properties, once they are in `edits`.
    object: Option<Object>,
    edits: Option<JsonEdits>,
    beginning: Option<String>,
}

impl ObjectReplay {
    /// Continues from an earlier version of an object; `None` is before its mint.
    pub fn after(object: Option<Object>) -> Self {
        Self {
            object,
            edits: None,
            beginning: None,
        }
    }

    /// Sets the initial properties of the template's objects at the mint, if the template has changed since.
    #[must_use]
    pub fn beginning_with(self, properties: Option<String>) -> Self {
        Self {
            beginning: properties,
            ..self
        }
    }

    /// Applies the object's next action; the first one is its mint. Other lookups (a variation, a wallet's address) are
    /// of facts that never change.
    pub fn apply<W: World>(&mut self, world: &W, past: &PastAction<'_>) -> Result<(), FoldError> {
        let sequence = past.sequence;
        let action = past.action;
        let before = self.object.as_ref();
        let previous = before.map_or(ResourceTrace::NEW, |object| object.trace);
        let fits = before.is_none() == (action.kind == Kind::Mint)
            && previous.version + 1 == action.version
            && previous.integrity == action.previous_integrity
            && previous.sequence == action.previous_sequence
            && before.is_none_or(|object| object.id == action.resource);
        if !fits {
            return Err(FoldError::Differs { sequence });
        }
        let input = ActionInput {
            link: None,
            allowance: None,
            kind: &action.kind,
            target: &action.target,
            payload: &action.payload,
            signed: &action.payload,
            content: past.content,
        };
        let mut next = self
            .next(world, past.wallet_id, &input)
            .map_err(|refusal| FoldError::Refused { sequence, refusal })?;
        if next.id != action.resource {
            return Err(FoldError::Differs { sequence });
        }
        next.trace.place(sequence, past.timestamp_ms);
        self.object = Some(next);
        Ok(())
    }

    /// The object after an action. A change of properties takes time in proportion to its own size, not to the
    /// object's.
    fn next<W: World>(
        &mut self,
        world: &W,
        asker: Id,
        input: &ActionInput<'_>,
    ) -> Result<Object, Refusal> {
        let Some(mut before) = self.object.take() else {
            return object::again(world, None, asker, self.beginning.as_deref(), input);
        };
        let next = match object::edit_again(&mut self.edits, &mut before, input) {
            Ok(true) => return Ok(before),
            Ok(false) => object::again(world, Some(&before), asker, None, input),
            Err(refusal) => Err(refusal),
        };
        if next.is_err() {
            self.object = Some(before);
        }
        next
    }

    /// The object after the actions so far; `None` before the first.
    pub fn into_object(self) -> Option<Object> {
        let properties = self.edits.map(|edits| edits.text());
        let object = self.object?;
        Some(match properties {
            Some(properties) => Object {
                properties,
                ..object
            },
            None => object,
        })
    }
}

/// A template during the replay of its history.
#[derive(Clone, Default, Debug)]
pub struct TemplateReplay {
    template: Option<Template>,
}

impl TemplateReplay {
    /// Applies the template's next action; the first one makes it, in this organization.
    ///
    /// # Errors
    /// The action does not continue the template's history, or the rules refuse it.
    pub fn apply(&mut self, organization: Id, past: &PastAction<'_>) -> Result<(), FoldError> {
        let (sequence, action) = (past.sequence, past.action);
        let before = self.template.as_ref();
        let previous = before.map_or(ResourceTrace::NEW, |template| template.trace);
        let fits = before.is_none() == (action.kind == Kind::TemplateCreate)
            && previous.version + 1 == action.version
            && previous.integrity == action.previous_integrity
            && previous.sequence == action.previous_sequence;
        if !fits {
            return Err(FoldError::Differs { sequence });
        }
        let input = ActionInput {
            link: None,
            allowance: None,
            kind: &action.kind,
            target: &action.target,
            payload: &action.payload,
            signed: &action.payload,
            content: past.content,
        };
        // Who asked was checked when the action was placed.
        let caller = Caller {
            wallet_id: past.wallet_id,
            organization_id: organization,
            role: Role::Owner,
            address: Address::ZERO,
        };
        let mut next = template::again(before, &caller, &input)
            .map_err(|refusal| FoldError::Refused { sequence, refusal })?;
        if next.id != action.resource {
            return Err(FoldError::Differs { sequence });
        }
        next.trace.place(sequence, past.timestamp_ms);
        self.template = Some(next);
        Ok(())
    }

    /// The template after the actions so far; `None` before the first.
    pub fn into_template(self) -> Option<Template> {
        self.template
    }
}
