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
use super::table::{MIN_SEQUENCE, documented, handler};
use super::{Endpoint, Signs, Target, docs, schema};
use crate::listing::{LIST, LIST_NEWEST_FIRST};
use crate::routes::{object_list, objects, past, search};

pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::Body(Kind::Mint, Target::TemplateMember),
            limit: ObjectWrites,
            request: Some(schema::<ObjectBody>),
            status: 201,
            response: schema::<Changed<ObjectView>>,
            handler: handler!(objects::create),
            ..documented(Method::POST, "/objects", &docs::objects::MINT)
        },
        Endpoint {
            limit: Lists,
            query: &[LIST, object_list::FILTERS],
            response: schema::<Page<ObjectView>>,
            handler: handler!(object_list::list),
            ..documented(Method::GET, "/objects", &docs::objects::LIST)
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<SearchBody>),
            response: schema::<Page<ObjectView>>,
            handler: handler!(search::search),
            ..documented(Method::POST, "/objects/search", &docs::objects::SEARCH)
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<CountBody>),
            response: schema::<CountView>,
            handler: handler!(search::count),
            ..documented(Method::POST, "/objects/count", &docs::objects::COUNT)
        },
        Endpoint {
            query: &[past::AT_SEQUENCE],
            response: schema::<ObjectView>,
            etag: true,
            handler: handler!(objects::get),
            ..documented(Method::GET, "/objects/{id}", &docs::objects::GET)
        },
        Endpoint {
            signs: Signs::Body(Kind::Update, Target::Path),
            limit: ObjectWrites,
            request: Some(schema::<ObjectPatch>),
            response: schema::<Changed<ObjectView>>,
            handler: handler!(objects::update),
            ..documented(Method::PATCH, "/objects/{id}", &docs::objects::UPDATE)
        },
        Endpoint {
            signs: Signs::Body(Kind::Transfer, Target::Path),
            request: Some(schema::<TransferBody>),
            response: schema::<Changed<ObjectView>>,
            right: Some(Right {
                area: Area::Objects,
                access: Access::Update,
            }),
            handler: handler!(objects::update),
            ..documented(
                Method::POST,
                "/objects/{id}/transfer",
                &docs::objects::TRANSFER,
            )
        },
        Endpoint {
            query: &[LIST_NEWEST_FIRST],
            response: schema::<HistoryPage>,
            handler: handler!(objects::history),
            ..documented(
                Method::GET,
                "/objects/{id}/history",
                &docs::objects::HISTORY,
            )
        },
    ]
}
