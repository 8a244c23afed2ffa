//! The rows of objects.

use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::LimitClass::{Lists, ObjectWrites};
use super::bodies::{ObjectBody, ObjectPatch, TransferBody};
use super::table::{MIN_SEQUENCE, handler, row};
use super::{Endpoint, Signs, Target, schema};
use crate::auth::rights::{Access, Right};
use crate::listing::LIST;
use crate::routes::{object_list, objects, past, search};
use crate::views::Page;
use crate::views::action::HistoryPage;
use crate::views::resources::{Changed, ObjectView};

/// A read by POST: its body says what is asked for.
const READ_OBJECTS: Right = Right {
    area: Area::Objects,
    access: Access::Read,
};

pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::Body(Kind::Mint, Target::TemplateMember),
            limit: ObjectWrites,
            request: Some(schema::<ObjectBody>),
            status: 201,
            response: schema::<Changed<ObjectView>>,
            handler: handler!(objects::create),
            ..row(Method::POST, "/objects", "Objects", "Mint an object")
        },
        Endpoint {
            limit: Lists,
            query: &[LIST, object_list::FILTERS],
            response: schema::<Page<ObjectView>>,
            handler: handler!(object_list::list),
            ..row(
                Method::GET,
                "/objects",
                "Objects",
                "List objects: the organization's, or a template's, or an owner's",
            )
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<search::SearchBody>),
            response: schema::<Page<ObjectView>>,
            right: Some(READ_OBJECTS),
            handler: handler!(search::search),
            ..row(
                Method::POST,
                "/objects/search",
                "Objects",
                "Find objects by a filter",
            )
        },
        Endpoint {
            query: &[&[MIN_SEQUENCE]],
            request: Some(schema::<search::CountBody>),
            response: schema::<search::CountView>,
            right: Some(READ_OBJECTS),
            handler: handler!(search::count),
            ..row(
                Method::POST,
                "/objects/count",
                "Objects",
                "Count the objects that a filter finds",
            )
        },
        Endpoint {
            query: &[past::AT_SEQUENCE],
            response: schema::<ObjectView>,
            handler: handler!(objects::get),
            ..row(Method::GET, "/objects/{id}", "Objects", "Read an object")
        },
        Endpoint {
            signs: Signs::Body(Kind::Update, Target::Path),
            limit: ObjectWrites,
            request: Some(schema::<ObjectPatch>),
            response: schema::<Changed<ObjectView>>,
            handler: handler!(objects::update),
            ..row(
                Method::PATCH,
                "/objects/{id}",
                "Objects",
                "Merge a patch into an object's properties",
            )
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
            ..row(
                Method::POST,
                "/objects/{id}/transfer",
                "Objects",
                "Give an object to another wallet",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<HistoryPage>,
            handler: handler!(objects::history),
            ..row(
                Method::GET,
                "/objects/{id}/history",
                "Objects",
                "List an object's last 1,000 actions, newest first",
            )
        },
    ]
}
