//! The Rust client against the real server: accounts.

use kedge_client::types::WalletResource;
use kedge_client::{
    Account, Client, ClientError, ListQuery, NewApiKey, NewInvitation, NewObject, NewTemplate,
    Registration, RetryPolicy, WalletChange, random,
};
use kedge_protocol::resource::{Area, Crud, Permission, Role};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Id};

use crate::harness::{PASSWORD, Server};

fn registration(email: &str) -> Registration {
    Registration {
        email: email.to_owned(),
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: None,
    }
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&random::bytes().unwrap()).unwrap()
}

async fn connect(server: &Server, api_key: Option<&str>) -> Client {
    let builder = Client::builder(server.url.as_str()).retry(RetryPolicy::never());
    let builder = match api_key {
        Some(api_key) => builder.api_key(api_key),
        None => builder,
    };
    builder.connect().await.unwrap()
}

fn code_of<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    result.unwrap_err().code().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_account_manages_keys_members_and_itself() {
    let server = Server::start().await;
    let client = connect(&server, None).await;
    let signing_key = key();
    let ann = client.account(signing_key.clone());
    let wallet = ann
        .register(&registration("ann@example.com"))
        .await
        .unwrap();

    manages_keys(&server, &ann, &signing_key, &wallet).await;
    manages_members(&client, &ann, wallet.organization_id).await;
    manages_itself(&ann, signing_key.address()).await;
}

async fn manages_keys(
    server: &Server,
    ann: &Account,
    signing_key: &SigningKey,
    wallet: &WalletResource,
) {
    let all = Crud {
        create: true,
        read: true,
        update: true,
        delete: true,
    };
    let grant = |resource| Permission {
        resource,
        crud: all,
    };
    let made = ann
        .create_api_key(&NewApiKey {
            name: "robot".to_owned(),
            permissions: vec![grant(Area::Templates), grant(Area::Objects)],
            expires_at: None,
        })
        .await
        .unwrap()
        .resource;
    let shown = format!("{made:?}");
    assert!(!shown.contains(&made.key), "{shown}");

    // With the key alone, nonces are learned from the first refusal.
    let robot = connect(server, Some(&made.key)).await;
    let robot: Account = robot.account(signing_key.clone());
    let template = NewTemplate {
        name: "ticket".to_owned(),
        ..NewTemplate::default()
    };
    let template = robot.create_template(&template).await.unwrap().resource;
    let object = robot
        .mint(template.id, &NewObject::default())
        .await
        .unwrap();
    assert_eq!(object.resource.owner_id, wallet.id);
    assert_eq!(code_of(robot.me().await), "FORBIDDEN");

    let id = made.api_key.id;
    let renewed = ann.rotate_api_key(id, Some(0)).await.unwrap().resource;
    assert_eq!(
        code_of(robot.template(template.id).await),
        "UNAUTHENTICATED"
    );
    let robot = connect(server, Some(&renewed.key)).await.account(key());
    robot.template(template.id).await.unwrap();
    assert!(ann.api_key(id).await.unwrap().last_used_at.is_some());
    let listed = ann
        .api_keys(&ListQuery::default())
        .next_page()
        .await
        .unwrap();
    assert_eq!(listed.unwrap().items.len(), 1);
    ann.delete_api_key(id).await.unwrap();
    assert_eq!(
        code_of(robot.template(template.id).await),
        "UNAUTHENTICATED"
    );
}

async fn manages_members(client: &Client, ann: &Account, organization: Id) {
    let invitation = NewInvitation {
        role: Some(Role::Admin),
        ..NewInvitation::default()
    };
    let invited = ann
        .invite(organization, &invitation)
        .await
        .unwrap()
        .resource;
    let bob = client.account(key());
    let joined = bob
        .join(&registration("bob@example.com"), &invited.code)
        .await
        .unwrap();
    assert_eq!(
        (joined.organization_id, joined.role),
        (organization, Role::Admin)
    );
    let member = ann
        .set_role(organization, joined.id, Role::Member)
        .await
        .unwrap();
    assert_eq!(member.resource.role, Role::Member);
    let members = bob
        .members(&ListQuery::default())
        .next_page()
        .await
        .unwrap();
    assert_eq!(members.unwrap().items.len(), 2);
    let invitations = bob
        .invitations(&ListQuery::default())
        .next_page()
        .await
        .unwrap();
    assert_eq!(invitations.unwrap().items[0].used_by, Some(joined.id));
}

async fn manages_itself(ann: &Account, address: Address) {
    let second = key();
    ann.add_signer(&second).await.unwrap();
    let left = ann.remove_signer(second.address()).await.unwrap().resource;
    assert_eq!(left.keys, [address]);
    let change = WalletChange {
        nickname: Some("ann".to_owned()),
        ..WalletChange::default()
    };
    let changed = ann.update_wallet(&change).await.unwrap().resource;
    assert_eq!(changed.nickname.as_deref(), Some("ann"));
}
