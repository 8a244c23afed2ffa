//! Answers of an Ethereum node: envelopes, blocks, logs and ABI words. The client must read them as serde and a plain
//! decoder do, or refuse them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use kedge_chain::contract::{
    anchor_calldata, anchored_topic, decode_anchor_call, decode_anchored, decode_revert,
};
use kedge_chain::rpc::{BlockTag, RpcClient, RpcError, RpcOptions};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};

use crate::fuzz;

/// An arbitrary address.
const ZERO: &str = "0x0000000000000000000000000000000000000000";

/// A node that answers every request with the same body.
struct Node {
    body: Arc<Mutex<Vec<u8>>>,
    client: RpcClient,
    runtime: tokio::runtime::Runtime,
}

impl Node {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let body = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::clone(&body);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let answers = Arc::clone(&answers);
                std::thread::spawn(move || while answer(&mut stream, &answers).is_some() {});
            }
        });
        Self {
            body,
            client: RpcClient::new(url.parse().unwrap(), RpcOptions::default()),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    fn ask<T>(
        &self,
        body: &[u8],
        ask: impl Future<Output = Result<T, RpcError>>,
    ) -> Result<T, RpcError> {
        *self.body.lock().unwrap() = body.to_vec();
        self.runtime.block_on(ask)
    }
}

/// Reads and answers one request; `None` at the end of the connection.
fn answer(stream: &mut std::net::TcpStream, body: &Mutex<Vec<u8>>) -> Option<()> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        let Some((head, rest)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if rest.len() >= length?.parse().ok()? {
            break;
        }
    }
    let body = body.lock().unwrap().clone();
    let mut answer =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(&body);
    stream.write_all(&answer).ok()
}

fn kind<T>(answer: &Result<T, RpcError>) -> &'static str {
    match answer {
        Ok(_) => "read",
        Err(error) => {
            assert!(!error.to_string().is_empty());
            error.kind()
        }
    }
}

/// Initial inputs of this target.
fn seeds() -> Vec<Vec<u8>> {
    let word = |byte: u8| format!("0x{}", format!("{byte:02x}").repeat(32));
    let filled = |byte: &str| byte.repeat(32);
    let log = json!({
        "address": format!("0x{}", "11".repeat(20)),
        "topics": [anchored_topic().to_string(), format!("0x{:064x}", 7)],
        "data": format!("0x{:064x}{}{}{}{:064x}", 9, filled("22"), filled("33"), filled("00"), 12),
        "blockNumber": "0x10", "blockHash": word(5), "transactionHash": word(6),
        "transactionIndex": "0x0", "logIndex": "0x0", "removed": false,
    });
    let block = json!({
        "number": "0x10", "hash": word(1), "parentHash": word(2), "timestamp": "0x65", "baseFeePerGas": "0x7",
    });
    let error = json!({ "code": -32000, "message": "no", "data": "0x08c379a0" });
    let seeds = [
        json!({ "jsonrpc": "2.0", "id": 1, "result": "0x10" }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": block }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": [log] }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": error }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "baseFeePerGas": ["0x1"], "reward": [["0x2"]] } }),
    ];
    seeds.map(|seed| seed.to_string().into_bytes()).into()
}

/// Checks a parsed number. ethers ignores white space and may misread the text around it.
fn check_number(text: &str, read: u64) {
    if text.contains(|char: char| char.is_ascii_whitespace()) {
        return;
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let hex = u64::from_str_radix(digits, 16).unwrap_or_default();
    assert!(
        hex == read || text.parse() == Ok(read),
        "{text:?} as {read}"
    );
}

/// Checks the words of an event: one topic, then the data.
fn check_words(checkpoint: &Checkpoint, topics: &[[u8; 32]], data: &[u8]) {
    assert_eq!(topics[0], anchored_topic().0);
    assert_eq!(topics[1][24..], checkpoint.batches.to_be_bytes());
    assert_eq!(data[24..32], checkpoint.sequence.to_be_bytes());
    assert_eq!(data[32..64], checkpoint.head.0);
    assert_eq!(data[64..96], checkpoint.history.0);
    assert_eq!(data[96..128], checkpoint.state.0);
    assert_eq!(data[128 + 24..160], checkpoint.issued_at_ms.to_be_bytes());
}

/// Reads envelopes, blocks and logs.
#[test]
fn answers_of_a_node_are_read_as_serde_reads_them() {
    let node = Node::new();
    let words = [
        "null",
        "\"0x\"",
        "\"result\":",
        "\"error\":",
        "{}",
        "[]",
        ",",
        "0x",
        "ff",
        "\"topics\":[]",
    ];
    let filter = kedge_chain::rpc::LogFilter {
        address: ZERO.parse().unwrap(),
        topics: Vec::new(),
        from_block: BlockTag::Latest,
        to_block: BlockTag::Latest,
    };
    fuzz("nodes").seeds(seeds()).words(&words).run(|input| {
        // Serde's values refuse more than the client, such as an oversized number in an ignored member.
        let envelope = serde_json::from_str::<Value>(&String::from_utf8_lossy(input)).ok();
        let is_error = |envelope: &Value| envelope.get("error").is_some_and(|it| !it.is_null());
        let failed = envelope.as_ref().is_some_and(is_error);
        let chain = node.ask(input, node.client.chain_id());
        if let (Some(envelope), Ok(chain)) = (&envelope, &chain) {
            check_number(envelope["result"].as_str().unwrap_or_default(), *chain);
        }
        let block = node.ask(input, node.client.block(BlockTag::Latest));
        let fees = node.ask(input, node.client.fee_history(4, &[50.0]));
        let logs = node.ask(input, node.client.logs(&filter));
        let answered = chain.is_ok() || block.is_ok() || fees.is_ok() || logs.is_ok();
        assert!(!failed || !answered, "an error is no answer");
        let found = logs.as_deref().unwrap_or_default();
        let mut anchored = 0;
        for log in found {
            if let Some(event) = decode_anchored(log) {
                let topics: Vec<[u8; 32]> = log.topics.iter().map(|topic| topic.0).collect();
                check_words(&event.checkpoint, &topics, &log.data);
                anchored += 1;
            }
        }
        let kinds = [kind(&chain), kind(&block), kind(&fees), kind(&logs)];
        format!("{} {}", kinds.join(" "), "anchor ".repeat(anchored.min(3)))
    });
}

/// Reads calldata and revert data.
#[test]
fn calls_are_read_as_they_are_written() {
    let signed = SignedCheckpoint {
        checkpoint: Checkpoint {
            batches: 3,
            sequence: 9,
            head: Hash([1; 32]),
            history: Hash([2; 32]),
            state: Hash::ZERO,
            issued_at_ms: 1_790_000_000_000,
        },
        signature: Signature([4; 65]),
    };
    let error = [&[0x08, 0xc3, 0x79, 0xa0][..], &{
        let mut words = [0; 96];
        words[31] = 32;
        words[63] = 2;
        words[64..66].copy_from_slice(b"no");
        words
    }]
    .concat();
    let seeds = [
        anchor_calldata(&signed, &[]),
        anchor_calldata(&signed, &[Hash([5; 32]), Hash([6; 32])]),
        kedge_chain::contract::rotate_calldata(Address([8; 20]), 7),
        error,
    ];
    fuzz("calls").seeds(seeds).run(|input| {
        let reason = decode_revert(input);
        assert!(!reason.is_empty());
        let Some(read) = decode_anchor_call(input) else {
            // An error name with its arguments, or the contract's own words.
            let name = reason.split('(').next().unwrap_or_default();
            let is_name = name.len() < 40 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
            return if is_name { name } else { "words" }.to_owned();
        };
        let written = anchor_calldata(&read, &[]);
        assert_eq!(
            written[..4 + 6 * 32],
            input[..4 + 6 * 32],
            "the words of the checkpoint"
        );
        assert_eq!(decode_anchor_call(&written), Some(read));
        "a checkpoint".to_owned()
    });
}
