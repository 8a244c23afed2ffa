//! Paged lists.

use std::collections::VecDeque;

use kedge_protocol::{Id, percent};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::account::Account;
use crate::client::Client;
use crate::error::ClientResult;

/// One page of a list.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Page<T> {
    /// Records of this page.
    pub items: Vec<T>,
    /// Start of the next page; `None` on the last one.
    pub cursor: Option<String>,
    /// Whether more records follow.
    pub has_more: bool,
    /// For an object's history: actions below this version are no longer listed.
    #[serde(default)]
    pub pruned_before: Option<u64>,
}

/// Parameters of a list. The server refuses filters that the list does not support.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Records per page; 100 by default, at most 1,000.
    pub limit: Option<u32>,
    /// Newest first, if the list supports both directions.
    pub descending: bool,
    /// Only objects of this template.
    pub template_id: Option<Id>,
    /// Only objects of this wallet.
    pub owner_id: Option<Id>,
    /// The server waits until its answer reflects this sequence.
    pub min_sequence: Option<u64>,
}

impl ListQuery {
    fn text(&self) -> String {
        let order = self.descending.then(|| "desc".to_owned());
        let members = [
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("order", order),
            ("template_id", self.template_id.map(|id| id.to_string())),
            ("owner_id", self.owner_id.map(|id| id.to_string())),
            (
                "min_sequence",
                self.min_sequence.map(|sequence| sequence.to_string()),
            ),
        ];
        let mut text = String::new();
        for (name, value) in members {
            if let Some(value) = value {
                push_member(&mut text, name, &value);
            }
        }
        text
    }
}

fn push_member(query: &mut String, name: &str, value: &str) {
    query.push(if query.is_empty() { '?' } else { '&' });
    query.push_str(name);
    query.push('=');
    query.push_str(&percent::encode(value));
}

#[derive(Clone, Debug)]
pub(crate) enum PageSource {
    Public(Client),
    Account(Account),
}

/// A list whose pages are fetched on demand.
#[derive(Debug)]
pub struct Pages<T> {
    source: PageSource,
    path: String,
    query: String,
    cursor: Option<String>,
    ended: bool,
    pending: VecDeque<T>,
}

impl<T: DeserializeOwned> Pages<T> {
    pub(crate) fn new(source: PageSource, path: String, query: &ListQuery) -> Self {
        Self {
            source,
            path,
            query: query.text(),
            cursor: None,
            ended: false,
            pending: VecDeque::new(),
        }
    }

    /// Fetches the next page; `None` after the last one.
    pub async fn next_page(&mut self) -> ClientResult<Option<Page<T>>> {
        if self.ended {
            return Ok(None);
        }
        let mut query = self.query.clone();
        if let Some(cursor) = &self.cursor {
            push_member(&mut query, "cursor", cursor);
        }
        let path = format!("{}{query}", self.path);
        let page: Page<T> = match &self.source {
            PageSource::Public(client) => client.get(&path, "a list").await?,
            PageSource::Account(account) => account.get(&path, "a list").await?,
        };
        self.ended = !page.has_more || page.cursor.is_none();
        self.cursor.clone_from(&page.cursor);
        Ok(Some(page))
    }

    /// The next record; `None` after the last one.
    pub async fn next(&mut self) -> ClientResult<Option<T>> {
        while self.pending.is_empty() {
            match self.next_page().await? {
                Some(page) => self.pending.extend(page.items),
                None => return Ok(None),
            }
        }
        Ok(self.pending.pop_front())
    }

    /// The remaining records, up to `items_max`.
    pub async fn collect(mut self, items_max: usize) -> ClientResult<Vec<T>> {
        let mut items = Vec::new();
        while items.len() < items_max
            && let Some(item) = self.next().await?
        {
            items.push(item);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        assert_eq!(ListQuery::default().text(), "");
        let query = ListQuery {
            limit: Some(10),
            descending: true,
            min_sequence: Some(7),
            ..ListQuery::default()
        };
        assert_eq!(query.text(), "?limit=10&order=desc&min_sequence=7");
    }
}
