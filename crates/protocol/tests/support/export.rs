//! An export of a small log with lines that a test can change. Everything happens in one millisecond, which is also
//! every request's deadline.

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::export::{BatchLine, EXPORT_VERSION, ExportLine, LogLine, RequestLine};
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Hash, KeyActivation, SequencerKeys};

use super::requests::{SEALED_AT_MS, domain, key, organization_id, request};

/// The number of the key that signs a batch.
fn signer_of(batch: u64) -> u8 {
    if batch < 2 { 1 } else { 2 }
}

/// The sequencer's keys: the second one signs from batch 2 on.
pub(crate) fn keys() -> SequencerKeys {
    let entry = |number, from_batch| KeyActivation {
        key: key(number).address(),
        from_batch,
    };
    SequencerKeys::new(vec![entry(1, 0), entry(2, 2)]).unwrap()
}

/// Three batches: two requests with other organizations' actions before, between and after them; a single request; a
/// single action of another organization.
#[derive(Clone)]
pub(crate) struct Export {
    pub(crate) lines: Vec<ExportLine>,
}

impl Export {
    pub(crate) fn new() -> Self {
        let mut lines = vec![ExportLine::Log(LogLine {
            version: EXPORT_VERSION,
            domain: domain(),
            sequencer: key(1).address(),
            from: 0,
            sequence: 0,
            head: domain().separator(),
            peaks: Vec::new(),
            organization_id: Some(organization_id()),
            sequencer_keys: Some(keys()),
            operators: vec![key(8).address()],
        })];
        let batches = [
            vec![
                None,
                Some(request(0, 2, 1, &[0, 2])),
                None,
                Some(request(0, 5, 4, &[0])),
            ],
            vec![Some(request(1, 6, 0, &[1]))],
            vec![None],
        ];
        let mut frontier = TreeFrontier::default();
        let (mut head, mut sequence) = (domain().separator(), 0);
        for (number, requests) in batches.into_iter().enumerate() {
            let others = keccak(format!("leaf of others in {number}").as_bytes());
            let leaves: Vec<Hash> = requests
                .iter()
                .flat_map(|request| match request {
                    Some(record) => record.leaves(&record.hashes()),
                    None => vec![others],
                })
                .collect();
            let previous_head = head;
            head = leaves
                .iter()
                .fold(head, |head, leaf| chain::next_head(&head, leaf));
            let header = BatchHeader {
                number: number as u64,
                first_sequence: sequence + 1,
                count: u32::try_from(leaves.len()).unwrap(),
                previous_head,
                head,
                root: BatchTree::new(&leaves).root(),
                history: frontier.root(),
                state: Hash::ZERO,
                sealed_at_ms: SEALED_AT_MS,
            };
            let signer = key(signer_of(header.number));
            let batch = header.sign(&domain().separator(), &signer);
            frontier.append(log_tree::leaf(&header.hash()));
            sequence = header.last_sequence();
            lines.push(ExportLine::Batch(BatchLine { batch, leaves }));
            let requests = requests.into_iter().flatten();
            lines.extend(requests.map(|record| ExportLine::Request(Box::new(record.into()))));
        }
        let checkpoint = Checkpoint {
            batches: frontier.size(),
            sequence,
            head,
            history: frontier.root(),
            state: Hash::ZERO,
            issued_at_ms: SEALED_AT_MS,
        };
        let signer = key(signer_of(frontier.size() - 1));
        let signed = checkpoint.sign(&domain().separator(), &signer);
        lines.push(ExportLine::Checkpoint(signed));
        Self { lines }
    }

    /// The same without batch 0.
    pub(crate) fn beginning_at_1(mut self) -> Self {
        let first = self.batch(0).batch.header;
        let mut frontier = TreeFrontier::default();
        frontier.append(log_tree::leaf(&first.hash()));
        let log = self.log();
        log.from = 1;
        log.sequence = first.last_sequence();
        log.head = first.head;
        log.peaks = frontier.peaks().to_vec();
        self.lines.drain(1..4);
        self
    }

    pub(crate) fn log(&mut self) -> &mut LogLine {
        match &mut self.lines[0] {
            ExportLine::Log(log) => log,
            line => panic!("{line:?}"),
        }
    }

    pub(crate) fn batch(&mut self, number: usize) -> &mut BatchLine {
        let batches = self.lines.iter_mut().filter_map(|line| match line {
            ExportLine::Batch(batch) => Some(batch),
            _ => None,
        });
        batches.into_iter().nth(number).unwrap()
    }

    pub(crate) fn request(&mut self, place: usize) -> &mut RequestLine {
        let requests = self.lines.iter_mut().filter_map(|line| match line {
            ExportLine::Request(request) => Some(request),
            _ => None,
        });
        requests.into_iter().nth(place).unwrap()
    }

    /// Changes a header and signs it again.
    pub(crate) fn header(&mut self, number: u64, change: impl FnOnce(&mut BatchHeader)) {
        self.header_by(number, signer_of(number), change);
    }

    /// The same with another key.
    pub(crate) fn header_by(
        &mut self,
        number: u64,
        signer: u8,
        change: impl FnOnce(&mut BatchHeader),
    ) {
        let BatchLine { batch, .. } = self.batch(usize::try_from(number).unwrap());
        change(&mut batch.header);
        *batch = batch.header.sign(&domain().separator(), &key(signer));
    }

    /// Changes the checkpoint and signs it again.
    pub(crate) fn checkpoint(&mut self, change: impl FnOnce(&mut Checkpoint)) {
        self.checkpoint_by(2, change);
    }

    /// The same with another key.
    pub(crate) fn checkpoint_by(&mut self, signer: u8, change: impl FnOnce(&mut Checkpoint)) {
        match self.lines.last_mut() {
            Some(ExportLine::Checkpoint(signed)) => {
                change(&mut signed.checkpoint);
                *signed = signed.checkpoint.sign(&domain().separator(), &key(signer));
            }
            line => panic!("{line:?}"),
        }
    }
}
