//! Small listeners for the operator, separate from the API's: metrics and the operator's page. They have few callers,
//! and each connection carries one request with a short answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::HEADERS_MAX;

/// Bytes of a request line and its headers.
const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Concurrent connections; more wait in the kernel.
const CONNECTIONS_MAX: usize = 16;
/// Time limit for a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept, for instance when file descriptors run out.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers requests with `answer` until the process ends, each within `patience`. Returns the bound address.
///
/// # Errors
/// If the address cannot be bound.
pub async fn serve<F, A>(
    address: SocketAddr,
    patience: Duration,
    answer: F,
) -> std::io::Result<SocketAddr>
where
    F: Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let answer = Arc::new(answer);
    let turns = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    tokio::spawn(async move {
        while let Ok(turn) = Arc::clone(&turns).acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let _turn = turn;
                let conversation = converse(stream, &*answer);
                let _ended = tokio::time::timeout(patience, conversation).await;
            });
        }
    });
    Ok(bound)
}

async fn converse<F, A>(stream: TcpStream, answer: &F) -> hyper::Result<()>
where
    F: Fn(Request<Incoming>) -> A,
    A: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(|request| {
        let answering = answer(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn asked(bound: SocketAddr, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(bound).await.unwrap();
        let text = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn an_answer_that_never_comes_gives_its_place_back() {
        let answer = async |request: Request<Incoming>| {
            if request.uri().path() == "/never" {
                std::future::pending::<()>().await;
            }
            Response::new(Full::from("here"))
        };
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = serve(any, Duration::from_millis(500), answer)
            .await
            .unwrap();
        let mut waiting = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            waiting.push(asked(bound, "/never").await);
        }
        let answered = async {
            loop {
                let mut text = String::new();
                let read = asked(bound, "/").await.read_to_string(&mut text).await;
                // On a slow machine the answer itself may be cut off.
                if read.is_ok() && !text.is_empty() {
                    return text;
                }
            }
        };
        let text = tokio::time::timeout(Duration::from_mins(2), answered).await;
        let text = text.expect("the places are free again");
        assert!(
            text.starts_with("HTTP/1.1 200 OK") && text.ends_with("here"),
            "{text}"
        );
        drop(waiting);
    }
}
