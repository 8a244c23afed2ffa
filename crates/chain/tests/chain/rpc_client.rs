//! Error kinds of the client, on a misbehaving server.

use kedge_chain::rpc::{RpcClient, RpcError, RpcOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{client, free_port};

/// Answers every connection with `response` and closes it; without one it never answers.
async fn serve(response: Option<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let response = response.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4_096];
                let _request = stream.read(&mut buffer).await;
                match response {
                    Some(response) => {
                        let _sent = stream.write_all(response.as_bytes()).await;
                    }
                    None => std::future::pending().await,
                }
            });
        }
    });
    url
}

fn http(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn error_of(response: Option<String>) -> RpcError {
    let options = RpcOptions {
        timeout_ms: 300,
        response_bytes_max: 1_000,
    };
    let url = serve(response).await;
    let rpc = RpcClient::new(url.parse().unwrap(), options);
    rpc.chain_id().await.unwrap_err()
}

#[tokio::test]
async fn a_result_is_read() {
    let url = serve(Some(http(
        "200 OK",
        r#"{"jsonrpc":"2.0","id":1,"result":"0x7a69"}"#,
    )))
    .await;
    assert_eq!(client(&url).chain_id().await, Ok(31_337));
}

#[tokio::test]
async fn each_failure_has_its_kind() {
    assert_eq!(
        error_of(Some(http("503 Service Unavailable", "busy"))).await,
        RpcError::Status { status: 503 }
    );
    assert_eq!(error_of(None).await, RpcError::Timeout { timeout_ms: 300 });
    assert_eq!(
        error_of(Some(http("200 OK", &"x".repeat(1_001)))).await,
        RpcError::TooLarge { limit_bytes: 1_000 }
    );
    let malformed = error_of(Some(http("200 OK", "no json"))).await;
    assert!(matches!(malformed, RpcError::Malformed(_)), "{malformed}");
    let wrong_type = error_of(Some(http("200 OK", r#"{"result":{}}"#))).await;
    assert!(matches!(wrong_type, RpcError::Malformed(_)), "{wrong_type}");
}

#[tokio::test]
async fn a_nodes_refusal_keeps_code_message_and_data() {
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0x0102"}}"#;
    for status in ["200 OK", "400 Bad Request"] {
        let error = error_of(Some(http(status, body))).await;
        let error = error.node().unwrap();
        assert_eq!(
            (error.code, error.message.as_str()),
            (3, "execution reverted")
        );
        assert_eq!(error.revert_data(), Some(vec![1, 2]));
    }
}

#[tokio::test]
async fn a_dead_node_is_a_transport_error_without_the_urls_secrets() {
    let url = format!("http://user:secret@127.0.0.1:{}/key", free_port());
    let error = client(&url).chain_id().await.unwrap_err();
    assert!(matches!(error, RpcError::Transport(_)), "{error}");
    let text = format!("{error} {error:?} {:?}", client(&url));
    assert!(!text.contains("secret") && !text.contains("/key"), "{text}");
}

#[tokio::test]
async fn https_to_a_server_without_tls_is_a_transport_error() {
    let url = serve(Some(http("200 OK", "plain text"))).await;
    let error = client(&url.replace("http://", "https://")).chain_id().await;
    assert!(matches!(error, Err(RpcError::Transport(_))), "{error:?}");
}
