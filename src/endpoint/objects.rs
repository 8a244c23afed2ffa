//! The rows of objects.

use hyper::Method;
use kedge_api::Page;
use kedge_api::action::HistoryPage;
use kedge_api::bodies::{ObjectBody, ObjectPatch, TransferBody};
use kedge_api::resources::{Changed, ObjectView};
use kedge_api::search::{CountBody, CountView, SearchBody};
use kedge_http::auth::rights::{Access, Right};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::LimitClass::{Lists, ObjectWrites};
use super::row::{answer, get, handler, signed, unsigned};
use super::{Endpoint, MIN_SEQUENCE, Signs, Target, docs, schema};
use crate::listing::{LIST, LIST_NEWEST_FIRST};
use crate::routes::{object_list, objects, past, search};

pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            limit: ObjectWrites,
            request: Some(schema::<ObjectBody>),
            status: 201,
            response: schema::<Changed<ObjectView>>,
            ..signed(
                Method::POST,
                "/objects",
                &docs::objects::MINT,
                Signs::Body(Kind::Mint, Target::TemplateMember),
                answer!(objects::changed),
            )
        },
        Endpoint {
            limit: Lists,
            query: &[LIST, object_list::FILTERS],
            response: schema::<Page<ObjectView>>,
            ..get(
                "/objects",
                &docs::objects::LIST,
                handler!(object_list::list),
            )
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<SearchBody>),
            response: schema::<Page<ObjectView>>,
            ..unsigned(
                Method::POST,
                "/objects/search",
                &docs::objects::SEARCH,
                handler!(search::search),
            )
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<CountBody>),
            response: schema::<CountView>,
            ..unsigned(
                Method::POST,
                "/objects/count",
                &docs::objects::COUNT,
                handler!(search::count),
            )
        },
        Endpoint {
            query: &[past::AT_SEQUENCE],
            response: schema::<ObjectView>,
            etag: true,
            ..get("/objects/{id}", &docs::objects::GET, handler!(objects::get))
        },
        Endpoint {
            limit: ObjectWrites,
            request: Some(schema::<ObjectPatch>),
            response: schema::<Changed<ObjectView>>,
            ..signed(
                Method::PATCH,
                "/objects/{id}",
                &docs::objects::UPDATE,
                Signs::Body(Kind::Update, Target::Path),
                answer!(objects::changed),
            )
        },
        Endpoint {
            request: Some(schema::<TransferBody>),
            response: schema::<Changed<ObjectView>>,
            right: Some(Right {
                area: Area::Objects,
                access: Access::Update,
            }),
            ..signed(
                Method::POST,
                "/objects/{id}/transfer",
                &docs::objects::TRANSFER,
                Signs::Body(Kind::Transfer, Target::Path),
                answer!(objects::changed),
            )
        },
        Endpoint {
            query: &[LIST_NEWEST_FIRST],
            response: schema::<HistoryPage>,
            ..get(
                "/objects/{id}/history",
                &docs::objects::HISTORY,
                handler!(objects::history),
            )
        },
    ]
}
