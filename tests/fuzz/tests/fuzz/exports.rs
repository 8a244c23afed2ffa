//! Lines of an export: batches that the checker accepts were signed, whatever else is changed.

use std::collections::HashSet;

use kedge_protocol::export::{
    BatchLine, EXPORT_VERSION, ExportChecker, ExportLine, ExportLineKind, LogLine, RequestLine,
};
use kedge_protocol::signature::SigningKey;

use crate::frames::{domain, stored};
use crate::fuzz;

/// Lines of the log in `crates/log/testdata`, whose key is known, without the checkpoint.
fn lines() -> Vec<ExportLine> {
    let frames = stored();
    let mut all = frames.iter().flat_map(|frame| frame.requests().unwrap());
    let organization_id = all.next().map(|first| first.head().organization_id);
    let key = SigningKey::from_bytes(&[1; 32]).unwrap();
    let domain = domain();
    let mut lines = vec![ExportLine::Log(LogLine {
        version: EXPORT_VERSION,
        domain,
        sequencer: key.address(),
        from: 0,
        sequence: 0,
        head: domain.separator(),
        peaks: Vec::new(),
        organization_id,
        sequencer_keys: None,
        operators: Vec::new(),
    })];
    for frame in &frames {
        let leaves = frame.leaves().unwrap();
        let first = frame.header().first_sequence;
        let requests = frame.requests().unwrap();
        let mut requests = requests
            .into_iter()
            .map(|packed| packed.into_record().unwrap())
            .peekable();
        for batch in frame.batches().unwrap() {
            let from = (batch.header.first_sequence - first) as usize;
            let own = leaves[from..from + batch.header.count as usize].to_vec();
            let number = batch.header.number;
            lines.push(ExportLine::Batch(BatchLine { batch, leaves: own }));
            while let Some(record) = requests.next_if(|record| record.batch_number == number) {
                lines.push(ExportLine::Request(Box::new(RequestLine::from(record))));
            }
        }
    }
    lines
}

fn texts(lines: &[ExportLine]) -> Vec<String> {
    let text = |line| serde_json::to_string(line).unwrap();
    lines.iter().map(text).collect()
}

/// Checks a whole export and returns its final error. Accepted batches must be in `good`.
fn check(text: &str, good: &HashSet<String>) -> (usize, String) {
    let key = SigningKey::from_bytes(&[1; 32]).unwrap();
    let mut checker = ExportChecker::new(domain(), key.address());
    for (place, line) in text.lines().enumerate() {
        let parsed = serde_json::from_str::<ExportLine>(line);
        if let Ok(parsed) = &parsed {
            let written = serde_json::to_string(parsed).unwrap();
            let again: ExportLine = serde_json::from_str(&written).unwrap();
            assert_eq!(&again, parsed, "{written}");
        }
        match checker.line(line) {
            Ok(ExportLineKind::Batch) => {
                let written = serde_json::to_string(&parsed.unwrap()).unwrap();
                assert!(
                    good.contains(&written),
                    "a forged batch is accepted: {written}"
                );
            }
            Ok(_) => {}
            Err(error) => return (place, error.what),
        }
    }
    let end = checker.finish().map(|_| ()).err();
    (
        text.lines().count(),
        end.map(|error| error.what).unwrap_or_default(),
    )
}

#[test]
fn accepted_batches_are_those_that_were_signed() {
    let texts = texts(&lines());
    let good: HashSet<String> = texts.iter().cloned().collect();
    let (reached, end) = check(&texts.join("\n"), &good);
    assert_eq!(reached, texts.len(), "the good export ends early: {end}");
    // Short exports, so that changes hit every line.
    let seeds = (1..texts.len().min(10)).map(|count| texts[..count].join("\n").into_bytes());
    let words = [
        "null",
        "\n",
        "{}",
        "\"type\":\"batch\"",
        "0x00",
        "[]",
        ",",
        "1",
    ];
    fuzz("exports").seeds(seeds).words(&words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return "not UTF-8".to_owned();
        };
        let (reached, end) = check(text, &good);
        format!("{} {end}", "line ".repeat(reached.min(5)))
    });
}

/// Numbers at the end of their range are refused like others.
#[test]
fn the_last_sequence_there_can_be_is_no_overflow() {
    let mut lines = lines();
    lines.truncate(3);
    let good: HashSet<String> = texts(&lines).into_iter().collect();
    let ExportLine::Request(request) = &mut lines[2] else {
        panic!("a batch and its request follow the first line");
    };
    request.first_sequence = u64::MAX;
    let (reached, end) = check(&texts(&lines).join("\n"), &good);
    assert_eq!(
        (reached, end.contains("place in its batch")),
        (2, true),
        "{end}"
    );
    // A log that continues after that sequence.
    lines.remove(1);
    let ExportLine::Log(log) = &mut lines[0] else {
        panic!("the first line describes the log");
    };
    (log.from, log.sequence, log.peaks) = (1, u64::MAX, vec![log.head]);
    let (reached, end) = check(&texts(&lines).join("\n"), &good);
    assert_eq!(
        (reached, end.contains("place in its batch")),
        (1, true),
        "{end}"
    );
}
