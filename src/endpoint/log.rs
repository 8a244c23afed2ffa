//! The rows of the public log.

use hyper::Method;
use kedge_api::Page;
use kedge_api::action::BatchAction;
use kedge_api::log::{AnchorView, BatchView, CheckpointView, ConsistencyView, LeavesView};
use kedge_api::sequencer_keys::SequencerKeyView;

use super::Auth::Public;
use super::LimitClass::Lists;
use super::table::{documented, handler};
use super::{Endpoint, docs, schema};
use crate::listing::LIST;
use crate::routes::{anchors, batches, sequencer_keys};

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            limit: Lists,
            query: &[LIST],
            response: schema::<Page<BatchView>>,
            handler: handler!(batches::list),
            ..documented(Method::GET, "/batches", &docs::log::LIST_BATCHES)
        },
        Endpoint {
            auth: Public,
            response: schema::<BatchView>,
            etag: true,
            handler: handler!(batches::get),
            ..documented(Method::GET, "/batches/{id}", &docs::log::GET_BATCH)
        },
        Endpoint {
            auth: Public,
            response: schema::<LeavesView>,
            etag: true,
            handler: handler!(batches::leaves),
            ..documented(Method::GET, "/batches/{id}/leaves", &docs::log::GET_LEAVES)
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<BatchAction>>,
            handler: handler!(batches::actions),
            ..documented(
                Method::GET,
                "/batches/{id}/actions",
                &docs::log::LIST_BATCH_ACTIONS,
            )
        },
        Endpoint {
            auth: Public,
            query: &[LIST],
            response: schema::<Page<AnchorView>>,
            handler: handler!(anchors::list),
            ..documented(Method::GET, "/anchors", &docs::log::LIST_ANCHORS)
        },
        Endpoint {
            auth: Public,
            response: schema::<AnchorView>,
            etag: true,
            handler: handler!(anchors::get),
            ..documented(Method::GET, "/anchors/{id}", &docs::log::GET_ANCHOR)
        },
        Endpoint {
            auth: Public,
            response: schema::<CheckpointView>,
            etag: true,
            handler: handler!(anchors::checkpoint),
            ..documented(Method::GET, "/checkpoint", &docs::log::GET_CHECKPOINT)
        },
        Endpoint {
            auth: Public,
            query: &[LIST],
            response: schema::<Page<SequencerKeyView>>,
            handler: handler!(sequencer_keys::list),
            ..documented(
                Method::GET,
                "/sequencer-keys",
                &docs::log::LIST_SEQUENCER_KEYS,
            )
        },
        Endpoint {
            auth: Public,
            query: &[anchors::SIZES],
            response: schema::<ConsistencyView>,
            etag: true,
            handler: handler!(anchors::consistency),
            ..documented(Method::GET, "/consistency", &docs::log::GET_CONSISTENCY)
        },
    ]
}
