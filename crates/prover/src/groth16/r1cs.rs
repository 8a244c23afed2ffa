//! Writer of `.r1cs` files (iden3's binary format, version 1), from which snarkjs makes keys.

use ark_bn254::Fr;
use ark_ff::{BigInteger as _, PrimeField as _};

use crate::circuit::Constraints;

const NUMBER_BYTES: usize = 32;
const VERSION: u32 = 1;
/// Section numbers of the format.
const HEADER: u32 = 1;
const CONSTRAINTS: u32 = 2;
const LABELS: u32 = 3;

/// The file's bytes.
pub fn file(constraints: &Constraints) -> Vec<u8> {
    let mut file = b"r1cs".to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend(LABELS.to_le_bytes());
    section(&mut file, HEADER, &header(constraints));
    section(&mut file, CONSTRAINTS, &rows(constraints));
    let labels: Vec<u8> = (0..constraints.wires as u64)
        .flat_map(u64::to_le_bytes)
        .collect();
    section(&mut file, LABELS, &labels);
    file
}

fn section(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    file.extend(kind.to_le_bytes());
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
}

fn header(constraints: &Constraints) -> Vec<u8> {
    let (wires, inputs) = (constraints.wires as u32, constraints.inputs as u32);
    let mut header = (NUMBER_BYTES as u32).to_le_bytes().to_vec();
    header.extend(Fr::MODULUS.to_bytes_le());
    header.extend(wires.to_le_bytes());
    // There are no outputs: every public number is an input.
    header.extend(0u32.to_le_bytes());
    header.extend(inputs.to_le_bytes());
    header.extend((wires - inputs - 1).to_le_bytes());
    header.extend(u64::from(wires).to_le_bytes());
    header.extend((constraints.count() as u32).to_le_bytes());
    header
}

fn rows(constraints: &Constraints) -> Vec<u8> {
    let mut body = Vec::new();
    for row in 0..constraints.count() {
        for matrix in &constraints.matrices {
            let mut terms: Vec<(u32, Fr)> = matrix[row]
                .iter()
                .map(|&(coefficient, wire)| (wire as u32, coefficient))
                .collect();
            terms.sort_unstable_by_key(|&(wire, _)| wire);
            body.extend((terms.len() as u32).to_le_bytes());
            for (wire, coefficient) in terms {
                body.extend(wire.to_le_bytes());
                body.extend(coefficient.into_bigint().to_bytes_le());
            }
        }
    }
    body
}
