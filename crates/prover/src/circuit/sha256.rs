//! SHA-256 (FIPS 180-4) as constraints.

use ark_relations::gr1cs::SynthesisError;

use super::gates::{CircuitSum, CircuitWord, Gates};

/// 32-bit words of a block.
pub(super) const BLOCK_WORDS: usize = 16;
const ROUNDS: usize = 64;

/// FIPS 180-4, 5.3.3.
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// FIPS 180-4, 4.2.2.
#[rustfmt::skip]
const ROUND_CONSTANTS: [u32; ROUNDS] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// Digest of a message of whole 32-bit words, big-endian.
pub(super) fn sha256(
    gates: &Gates,
    message: &[CircuitWord],
) -> Result<[CircuitWord; 8], SynthesisError> {
    let mut padded = message.to_vec();
    padded.push(CircuitWord::known(1 << 31));
    while !(padded.len() + 2).is_multiple_of(BLOCK_WORDS) {
        padded.push(CircuitWord::known(0));
    }
    let bits = message.len() as u64 * u64::from(u32::BITS);
    padded.push(CircuitWord::known((bits >> 32) as u32));
    padded.push(CircuitWord::known(bits as u32));
    let mut state = START.map(CircuitWord::known);
    for block in padded.as_chunks::<BLOCK_WORDS>().0 {
        state = compress(gates, &state, block)?;
    }
    Ok(state)
}

/// FIPS 180-4, 6.2.2.
#[allow(clippy::many_single_char_names, reason = "the standard's names")]
fn compress(
    gates: &Gates,
    state: &[CircuitWord; 8],
    block: &[CircuitWord; BLOCK_WORDS],
) -> Result<[CircuitWord; 8], SynthesisError> {
    let schedule = schedule(gates, block)?;
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in schedule.iter().zip(ROUND_CONSTANTS) {
        let first = gates
            .exclusive_or(&e.rotated(6), &e.rotated(11), &e.rotated(25))?
            .add(&h)
            .add(&gates.choose(&e, &f, &g)?)
            .add(&CircuitWord::known(constant))
            .add(word);
        let second = gates
            .exclusive_or(&a.rotated(2), &a.rotated(13), &a.rotated(22))?
            .add(&gates.majority(&a, &b, &c)?);
        let next_e = gates.reduce(first.clone().add(&d))?;
        let next_a = gates.reduce(first.add_sum(&second))?;
        (h, g, f, e) = (g, f, e, next_e);
        (d, c, b, a) = (c, b, a, next_a);
    }
    let mut next = *state;
    for (word, worked) in next.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = gates.reduce(CircuitSum::new().add(word).add(&worked))?;
    }
    Ok(next)
}

fn schedule(
    gates: &Gates,
    block: &[CircuitWord; BLOCK_WORDS],
) -> Result<Vec<CircuitWord>, SynthesisError> {
    let mut words = block.to_vec();
    for t in BLOCK_WORDS..ROUNDS {
        let (near, far) = (words[t - 2], words[t - 15]);
        let sum = gates
            .exclusive_or(&near.rotated(17), &near.rotated(19), &near.shifted(10))?
            .add(&words[t - 7])
            .add_sum(&gates.exclusive_or(&far.rotated(7), &far.rotated(18), &far.shifted(3))?)
            .add(&words[t - 16]);
        words.push(gates.reduce(sum)?);
    }
    Ok(words)
}
