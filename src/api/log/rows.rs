//! Endpoints of the public log.

use kedge_http::limits::LimitClass::Lists;
use kedge_protocol::resource::Area;
use kedge_protocol::{Code, Prefix};

use crate::api::EndpointRow;
use crate::api::bus::views::BatchAction;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::EndpointAuth::Public;
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::log::sequencer_key_view::SequencerKeyView;
use crate::api::log::views::{AnchorView, BatchView, CheckpointView, ConsistencyView, LeavesView};
use crate::api::log::{anchors, batches, sequencer_keys};
use crate::api::row::{get, handler};

pub(in crate::api) fn rows() -> impl Iterator<Item = EndpointRow> {
    batches().into_iter().chain(anchors())
}

fn batches() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            auth: Public,
            limit: Lists,
            query: &[listing::LIST],
            response: schema::<ListPage<BatchView>>,
            ..get("/batches", &LIST_BATCHES, handler!(batches::list))
        },
        EndpointRow {
            auth: Public,
            response: schema::<BatchView>,
            etag: true,
            ..get("/batches/{id}", &GET_BATCH, handler!(batches::get))
        },
        EndpointRow {
            auth: Public,
            response: schema::<LeavesView>,
            etag: true,
            ..get(
                "/batches/{id}/leaves",
                &GET_LEAVES,
                handler!(batches::leaves),
            )
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<BatchAction>>,
            ..get(
                "/batches/{id}/actions",
                &LIST_BATCH_ACTIONS,
                handler!(batches::actions),
            )
        },
    ]
}

fn anchors() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            auth: Public,
            query: &[listing::LIST],
            response: schema::<ListPage<AnchorView>>,
            ..get("/anchors", &LIST_ANCHORS, handler!(anchors::list))
        },
        EndpointRow {
            auth: Public,
            response: schema::<AnchorView>,
            etag: true,
            ..get("/anchors/{id}", &GET_ANCHOR, handler!(anchors::get))
        },
        EndpointRow {
            auth: Public,
            query: &[anchors::AT_LEAST],
            response: schema::<CheckpointView>,
            etag: true,
            ..get(
                "/checkpoint",
                &GET_CHECKPOINT,
                handler!(anchors::checkpoint),
            )
        },
        EndpointRow {
            auth: Public,
            query: &[listing::LIST],
            response: schema::<ListPage<SequencerKeyView>>,
            ..get(
                "/sequencer-keys",
                &LIST_SEQUENCER_KEYS,
                handler!(sequencer_keys::list),
            )
        },
        EndpointRow {
            auth: Public,
            query: &[anchors::SIZES],
            response: schema::<ConsistencyView>,
            etag: true,
            ..get(
                "/consistency",
                &GET_CONSISTENCY,
                handler!(anchors::consistency),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Log",
    description: "Batches, anchors and their proofs. Public.",
    area: Some(Area::Batches),
    ids: &[
        ("/batches/", PathParameter::IdOr(Prefix::Batch, "number")),
        ("/anchors/", PathParameter::IdOr(Prefix::Anchor, "number")),
        ("/disputes/", PathParameter::Id(Prefix::Dispute)),
    ],
};

const LIST_BATCHES: EndpointDoc = EndpointDoc {
    id: "listBatches",
    heading: &HEADING,
    summary: "List batches",
    description: "The batches of the whole log, of all organizations: headers and signatures are public.",
    links: &[AnswerLink::with_first_id("getBatch")],
    ..EndpointDoc::MISSING
};

const GET_BATCH: EndpointDoc = EndpointDoc {
    id: "getBatch",
    heading: &HEADING,
    summary: "Read a batch, by id or number",
    description: "A batch: its signed header, and the state of its anchor on the chain.",
    links: &[
        AnswerLink::with_id("getBatchLeaves"),
        AnswerLink::with_parameters("listBatchActions", &[("id", "$response.body#/number")]),
    ],
    ..EndpointDoc::MISSING
};

const GET_LEAVES: EndpointDoc = EndpointDoc {
    id: "getBatchLeaves",
    heading: &HEADING,
    summary: "Read a batch's leaves",
    description: "The leaf hashes of a batch, in order. They show nothing about the actions, and give the \
        root and the head that the header signs.",
    links: &[AnswerLink::with_parameters(
        "listBatchActions",
        &[("id", "$response.body#/batch_id")],
    )],
    ..EndpointDoc::MISSING
};

const LIST_BATCH_ACTIONS: EndpointDoc = EndpointDoc {
    id: "listBatchActions",
    heading: &HEADING,
    summary: "List a batch's actions",
    description: "The actions of a batch. Those of the caller's organization in full, others only \
        as sequence and leaf. An API key without the right actions.read sees only sequence and leaf \
        of all.",
    ..EndpointDoc::MISSING
};

const LIST_ANCHORS: EndpointDoc = EndpointDoc {
    id: "listAnchors",
    heading: &HEADING,
    summary: "List anchors",
    description: "The checkpoints that were sent to the chain, in order.",
    links: &[AnswerLink::with_first_id("getAnchor")],
    ..EndpointDoc::MISSING
};

const GET_ANCHOR: EndpointDoc = EndpointDoc {
    id: "getAnchor",
    heading: &HEADING,
    summary: "Read an anchor, by id or number",
    description: "An anchor: what it commits to, its transaction, and the state of that transaction.",
    links: &[AnswerLink::with_parameters(
        "getBatch",
        &[("id", "$response.body#/last_batch")],
    )],
    ..EndpointDoc::MISSING
};

const GET_CHECKPOINT: EndpointDoc = EndpointDoc {
    id: "getCheckpoint",
    heading: &HEADING,
    summary: "Read the newest signed checkpoint",
    description: "The newest checkpoint whose root of the state is made. Keep it: with the consistency proof, the \
        next one shows that nothing before was rewritten. The newest head is that of the newest batch, whose header is \
        signed too.",
    errors: &[Code::SequenceNotReached],
    links: &[AnswerLink::with_parameters(
        "getConsistencyProof",
        &[
            ("from", "$response.body#/checkpoint/batches"),
            ("to", "$response.body#/checkpoint/batches"),
        ],
    )],
    ..EndpointDoc::MISSING
};

const LIST_SEQUENCER_KEYS: EndpointDoc = EndpointDoc {
    id: "listSequencerKeys",
    heading: &HEADING,
    summary: "List the sequencer's keys",
    description: "The keys that sign batches, each with the number of the first batch that it signs, in order. \
        A header names no key: check it with the key of its number, and a checkpoint with the key of its last \
        batch. The log names every key but its first by an action in an earlier batch; the action's proof file \
        shows that to anyone who trusts the earlier keys. The contract keeps the same list.",
    links: &[AnswerLink::with_parameters(
        "getBatch",
        &[("id", "$response.body#/items/0/from_batch")],
    )],
    ..EndpointDoc::MISSING
};

const GET_CONSISTENCY: EndpointDoc = EndpointDoc {
    id: "getConsistencyProof",
    heading: &HEADING,
    summary: "Prove that the log only grew",
    description: "Proves that the log of one size is a prefix of the log of another (RFC 9162, 2.1.4). \
        Sizes are numbers of batches.",
    required: &["from", "to"],
    ..EndpointDoc::MISSING
};
