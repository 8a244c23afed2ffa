//! Cache of the templates that a search's plan uses. Each is read once, and counts against the search's budget.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use kedge_protocol::Id;
use kedge_protocol::limits::SEARCH_TEMPLATES_MAX;
use kedge_protocol::resource::Template;
use kedge_rules::Caller;
use kedge_rules::index::IndexedPaths;
use kedge_rules::rights::sees_template;
use kedge_storage::{RowPage, StoreSnapshot};

use super::budget::SearchBudget;
use crate::SearchError;

/// A template with its indexed paths.
pub(super) type IndexedTemplate = (Template, IndexedPaths);

pub(super) struct SearchTemplates<'a> {
    snapshot: &'a StoreSnapshot,
    caller: &'a Caller,
    /// By id; `None` for templates that are hidden from the caller.
    seen: RefCell<HashMap<Id, Option<Rc<IndexedTemplate>>>>,
    own: OnceCell<Option<Rc<[IndexedTemplate]>>>,
    budget: RefCell<SearchBudget>,
}

impl<'a> SearchTemplates<'a> {
    pub(super) fn new(snapshot: &'a StoreSnapshot, caller: &'a Caller) -> Self {
        Self {
            snapshot,
            caller,
            seen: RefCell::default(),
            own: OnceCell::new(),
            budget: RefCell::default(),
        }
    }

    /// A template, if the caller may see it.
    pub(super) fn seen(&self, id: Id) -> Result<Option<Rc<IndexedTemplate>>, SearchError> {
        if let Some(known) = self.seen.borrow().get(&id) {
            return Ok(known.clone());
        }
        let template = self.snapshot.template(id)?;
        let template = template.filter(|template| sees_template(template, self.caller));
        let seen = match template {
            Some(template) => Some(Rc::new(self.indexed(template)?)),
            None => None,
        };
        self.seen.borrow_mut().insert(id, seen.clone());
        Ok(seen)
    }

    /// The organization's templates, unless there are too many for their indexes to help.
    pub(super) fn own(&self) -> Result<Option<Rc<[IndexedTemplate]>>, SearchError> {
        if let Some(own) = self.own.get() {
            return Ok(own.clone());
        }
        let page = RowPage {
            after: None,
            descending: false,
            limit: SEARCH_TEMPLATES_MAX + 1,
        };
        let own = self.snapshot.templates(self.caller.organization_id, page)?;
        let own = if own.len() > SEARCH_TEMPLATES_MAX {
            None
        } else {
            let indexed = own.into_iter().map(|template| self.indexed(template));
            Some(indexed.collect::<Result<Rc<[IndexedTemplate]>, SearchError>>()?)
        };
        Ok(self.own.get_or_init(|| own).clone())
    }

    /// Parses a stored template's indexed paths; its schema was checked at creation.
    fn indexed(&self, template: Template) -> Result<IndexedTemplate, SearchError> {
        let schema = template.schema.as_deref();
        let bytes = template.properties.len() + schema.map_or(0, str::len);
        self.budget.borrow_mut().template(bytes)?;
        let indexed = schema.map(IndexedPaths::of_schema);
        let indexed = indexed.and_then(Result::ok).unwrap_or_default();
        Ok((template, indexed))
    }
}
