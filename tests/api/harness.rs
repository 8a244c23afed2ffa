//! A running server, for callers that sign rightly or wrongly.

use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::http::response::Parts;
use hyper::{HeaderMap, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use serde_json::Value;

pub(crate) use crate::caller::{Caller, PASSWORD, Signed, Terms, bus_members, signature};
use crate::program::kedge;

/// The server's log file, in its directory.
const LOG: &str = "server.log";

/// The test's own server in its own directory; both are removed when it drops.
pub(crate) struct Server {
    child: Child,
    /// Kept open, because the server must not find its standard output closed.
    stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
    pub(crate) domain: Domain,
    pub(crate) sequencer: Address,
    pub(crate) dir: tempfile::TempDir,
    /// Set once the test has changed the store behind the server's back.
    pub(crate) is_spoilt: bool,
    pub(crate) http: Client<HttpConnector, Full<Bytes>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
        crate::documented::look_through(&String::from_utf8_lossy(&self.log()));
        // A server that was restarted has taken over the directory.
        let data = self.dir.path().join("data");
        if !self.is_spoilt && !std::thread::panicking() && data.exists() {
            crate::remade::check(&data);
        }
    }
}

/// The same command with this limit of open files.
pub(crate) fn limited(command: &Command, files: u32) -> Command {
    let mut limited = Command::new("prlimit");
    limited
        .arg(format!("--nofile={files}"))
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or("")
    }

    /// The answer, checked for this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// Checks for an error in the service's form with this code.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.body);
        assert_eq!(self.body["status"], status);
        assert!(self.body["body"]["message"].is_string(), "{}", self.body);
        assert_eq!(self.body["body"]["request_id"], self.header("x-request-id"));
    }
}

impl Server {
    /// Checks the stopped server's log for every fault; returns the number of actions of each kind.
    pub(crate) fn is_never_convicted(&self) -> BTreeMap<String, usize> {
        let store = self.dir.path().join("data/store");
        crate::honest::is_never_convicted(&store, self.domain, self.sequencer)
    }

    /// The output of `kedge verify data` for the stopped server's store, whose log must not convict it.
    pub(crate) fn verify_data(&self) -> Output {
        self.is_never_convicted();
        kedge()
            .args(["verify", "data", "--dev"])
            .arg(self.dir.path().join("data"))
            .output()
            .unwrap()
    }

    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(options: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), options).await
    }

    /// A server with the log filter at its most detailed.
    pub(crate) async fn start_traced() -> Self {
        Self::start_with(&["log_filter=trace"]).await
    }

    /// The log of this server and of earlier ones in its directory.
    pub(crate) fn log(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join(LOG)).unwrap_or_default()
    }

    /// Restarts a server on the directory of one that has ended.
    pub(crate) async fn restart(self) -> Self {
        self.restart_with(&[]).await
    }

    pub(crate) async fn restart_with(mut self, options: &[&str]) -> Self {
        let other = tempfile::tempdir().unwrap();
        let dir = std::mem::replace(&mut self.dir, other);
        // Tokens name their issuer, which is the URL, and the port is different now.
        let issuer = format!("public_url=\"{}\"", self.url);
        let options = [&[issuer.as_str()], options].concat();
        Self::start_in(dir, &options).await
    }

    /// A server with this limit of open files.
    pub(crate) async fn start_allowed(files: u32, options: &[&str]) -> Self {
        Self::start_as(tempfile::tempdir().unwrap(), options, |command| {
            limited(&command, files)
        })
        .await
    }

    async fn start_in(dir: tempfile::TempDir, options: &[&str]) -> Self {
        Self::start_as(dir, options, |command| command).await
    }

    async fn start_as(
        dir: tempfile::TempDir,
        options: &[&str],
        changed: impl FnOnce(Command) -> Command,
    ) -> Self {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.path().join(LOG))
            .unwrap();
        let mut command = kedge();
        command
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
            .arg(dir.path().join("data"))
            .args(["--set", "embedded_chain_listen=\"127.0.0.1:0\""])
            .args(["--set", "log_filter=warn"])
            // `limits` tests them with its own server; the other tests send more than any tier allows.
            .args(["--set", "rate_limits=off"])
            .args(["--set", "compare_groups_every=16"])
            .args(["--set", "checkpoint_interval_s=1"]);
        for option in options {
            command.args(["--set", option]);
        }
        let mut command = changed(command);
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let url = (&mut stdout).lines().find_map(|line| {
            line.unwrap()
                .strip_prefix("listening on ")
                .map(str::to_owned)
        });
        let mut server = Self {
            is_spoilt: false,
            child,
            stdout,
            url: url.expect("the server says where it listens"),
            domain: Domain {
                chain_id: 0,
                verifying_contract: Address::ZERO,
            },
            sequencer: Address::ZERO,
            dir,
            http: Client::builder(TokioExecutor::new()).build_http(),
        };
        let domain = server
            .get("/.well-known/eip712-domain.json", None)
            .await
            .expect(200)
            .body;
        server.domain = Domain {
            chain_id: domain["chainId"].as_u64().unwrap(),
            verifying_contract: domain["verifyingContract"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap(),
        };
        server.sequencer = domain["sequencer"].as_str().unwrap().parse().unwrap();
        server
    }

    /// The URL of the server's embedded chain; available only once.
    pub(crate) fn rpc(&mut self) -> String {
        let mut lines = (&mut self.stdout).lines().map(Result::unwrap);
        let reported = lines.find_map(|line| Some(line.split_once("--rpc ")?.1.to_owned()));
        reported.expect("the server says where its chain is")
    }

    /// The process's resident memory in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
    }

    /// The processor time of the process's threads.
    #[allow(dead_code, reason = "not every test program measures it")]
    pub(crate) fn processor_time(&self) -> Duration {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        // A thread that ends meanwhile has no file any more.
        let text = |thread: DirEntry| std::fs::read_to_string(thread.path().join("schedstat")).ok();
        let texts = threads.filter_map(|thread| text(thread.ok()?));
        let spent = texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok());
        Duration::from_nanos(spent.sum())
    }

    /// Stops the process, and returns its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().code()
    }

    /// Sends a request and returns the answer's unparsed text.
    pub(crate) async fn text(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> String {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let response = self
            .http
            .request(request.body(body).unwrap())
            .await
            .unwrap();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn admin(&self, command: &str) {
        let socket = self.dir.path().join("data/admin.sock");
        let status = kedge()
            .arg("admin")
            .args(command.split(' '))
            .args(["--json", "--socket"])
            .arg(socket)
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{command}");
    }

    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Sends a request and reads the whole answer, of any status.
    pub(crate) async fn fetch(&self, request: Request<Full<Bytes>>) -> (Parts, Bytes) {
        let response = self.http.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts, body.collect().await.unwrap().to_bytes())
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let (parts, bytes) = self.fetch(request).await;
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap()
        };
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }

    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, token: Option<&str>) -> Answer {
        let bearer = token.map(|token| ("authorization", format!("Bearer {token}")));
        self.call("GET", path, bearer.as_slice(), "").await
    }

    /// The log's last sequence.
    pub(crate) async fn sequence(&self) -> u64 {
        let newest = self.get("/batches?order=desc&limit=1", None).await;
        newest.body["items"][0]["last_sequence"]
            .as_u64()
            .unwrap_or(0)
    }

    /// The signed checkpoint over the whole log.
    pub(crate) async fn newest_checkpoint(&self) -> Value {
        let path = format!("/checkpoint?at_least={}&wait=60", self.sequence().await);
        self.get(&path, None).await.expect(200).body
    }
}
