//! SHA-256 of several messages. Each step waits for the one before, so the processor's SHA instructions process two
//! messages in the time of one.

use sha2::{Digest, Sha256};

use crate::hash::Hash;

/// SHA-256 of each message, in order. Two are hashed at a time: neighbours of similar length are fastest.
pub fn sha256_each<M: AsRef<[u8]>>(messages: &[M]) -> Vec<Hash> {
    #[cfg(target_arch = "x86_64")]
    if messages.len() > 1
        && std::arch::is_x86_feature_detected!("sha")
        && std::arch::is_x86_feature_detected!("sse4.1")
    {
        return sha256_pairs(messages, x86::compress_2);
    }
    let plain = |message: &M| Hash(Sha256::digest(message.as_ref()).into());
    messages.iter().map(plain).collect()
}

/// The first words of a state of SHA-256 (FIPS 180-4, 5.3.3).
const SHA256_START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

type Sha256Block = [u8; 64];

/// A message during hashing.
struct Sha256Lane<'m> {
    place: usize,
    state: [u32; 8],
    body: &'m [Sha256Block],
    /// The last bytes with the padding, and the index of its next block.
    tail: [Sha256Block; 2],
    next: usize,
}

impl<'m> Sha256Lane<'m> {
    fn new(place: usize, message: &'m [u8]) -> Self {
        let (body, rest) = message.as_chunks();
        let mut tail = [0; 128];
        tail[..rest.len()].copy_from_slice(rest);
        tail[rest.len()] = 0x80;
        tail[120..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
        // If the length fits into the first block, that block is the only one.
        let fits = rest.len() < 56;
        if fits {
            tail.copy_within(120.., 56);
        }
        let (blocks, _) = tail.as_chunks();
        Self {
            place,
            state: SHA256_START,
            body,
            tail: [blocks[0], if fits { blocks[0] } else { blocks[1] }],
            next: usize::from(fits),
        }
    }

    fn left(&self) -> &[Sha256Block] {
        if self.body.is_empty() {
            &self.tail[self.next..]
        } else {
            self.body
        }
    }

    fn pass(&mut self, blocks: usize) {
        if self.body.is_empty() {
            self.next += blocks;
        } else {
            self.body = &self.body[blocks..];
        }
    }

    fn hash(&self) -> Hash {
        let mut hash = [0; 32];
        for (bytes, word) in hash.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        Hash(hash)
    }
}

/// Hashes messages in two lanes; the lane that becomes free takes the next message.
fn sha256_pairs<M: AsRef<[u8]>>(
    messages: &[M],
    compress: impl Fn(&mut [u32; 8], &[Sha256Block], &mut [u32; 8], &[Sha256Block]),
) -> Vec<Hash> {
    let mut hashes = vec![Hash::ZERO; messages.len()];
    let mut waiting = messages.iter().enumerate();
    let mut next = || {
        let (place, message) = waiting.next()?;
        Some(Sha256Lane::new(place, message.as_ref()))
    };
    let mut lanes = [next(), next()];
    loop {
        match &mut lanes {
            [None, None] => return hashes,
            [Some(one), Some(two)] => {
                let blocks = one.left().len().min(two.left().len());
                let (mut a, mut b) = (one.state, two.state);
                compress(&mut a, &one.left()[..blocks], &mut b, &two.left()[..blocks]);
                (one.state, two.state) = (a, b);
                one.pass(blocks);
                two.pass(blocks);
            }
            [Some(one), None] | [None, Some(one)] => {
                // The other lane repeats the same work, which costs no extra time.
                let (mut state, mut unused) = (one.state, one.state);
                compress(&mut state, one.left(), &mut unused, one.left());
                one.state = state;
                one.pass(one.left().len());
            }
        }
        for lane in &mut lanes {
            if let Some(done) = lane.take_if(|lane| lane.left().is_empty()) {
                hashes[done.place] = done.hash();
                *lane = next();
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "vector instructions; see the head of `lanes.rs`"
)]
mod x86 {
    use core::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_set_epi32, _mm_set_epi64x, _mm_setzero_si128,
        _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi8,
        _mm_shuffle_epi32,
    };
    use core::mem::transmute;

    use super::Sha256Block;

    /// FIPS 180-4, 4.2.2.
    const ROUND_CONSTANTS: [[u32; 4]; 16] = [
        [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5],
        [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
        [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3],
        [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
        [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc],
        [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
        [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7],
        [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
        [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13],
        [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
        [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3],
        [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
        [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5],
        [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
        [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208],
        [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
    ];

    /// Compresses equally many blocks into each of the two states.
    pub(super) fn compress_2(
        one: &mut [u32; 8],
        one_blocks: &[Sha256Block],
        two: &mut [u32; 8],
        two_blocks: &[Sha256Block],
    ) {
        // SAFETY: the caller has detected SHA and SSE4.1, which implies SSSE3.
        unsafe { compress(one, one_blocks, two, two_blocks) }
    }

    #[target_feature(enable = "sha,sse4.1")]
    fn compress(
        one: &mut [u32; 8],
        one_blocks: &[Sha256Block],
        two: &mut [u32; 8],
        two_blocks: &[Sha256Block],
    ) {
        let mut states = [load(one), load(two)];
        for (one, two) in one_blocks.iter().zip(two_blocks) {
            let before = states;
            let mut words = [message(one), message(two)];
            for (step, constants) in ROUND_CONSTANTS.iter().enumerate() {
                let [k0, k1, k2, k3] = constants.map(u32::cast_signed);
                let constants = _mm_set_epi32(k3, k2, k1, k0);
                for (state, words) in states.iter_mut().zip(&mut words) {
                    let word = words[step % 4];
                    let sum = _mm_add_epi32(word, constants);
                    state[1] = _mm_sha256rnds2_epu32(state[1], state[0], sum);
                    let sum = _mm_shuffle_epi32::<0x0e>(sum);
                    state[0] = _mm_sha256rnds2_epu32(state[0], state[1], sum);
                    if step < 12 {
                        // The word for four steps later replaces this one.
                        let [after, before, last] = [1, 2, 3].map(|on| words[(step + on) % 4]);
                        let mixed = _mm_sha256msg1_epu32(word, after);
                        let mixed = _mm_add_epi32(mixed, _mm_alignr_epi8::<4>(last, before));
                        words[step % 4] = _mm_sha256msg2_epu32(mixed, last);
                    }
                }
            }
            for (state, before) in states.iter_mut().zip(before) {
                *state = [0, 1].map(|i| _mm_add_epi32(state[i], before[i]));
            }
        }
        (*one, *two) = (store(states[0]), store(states[1]));
    }

    /// The instructions expect the words a, b, e and f in one register, and c, d, g and h in the other, the last
    /// lowest.
    #[target_feature(enable = "sha,sse4.1")]
    fn load(state: &[u32; 8]) -> [__m128i; 2] {
        let pick = |places: [usize; 4]| {
            let [w3, w2, w1, w0] = places.map(|place| state[place].cast_signed());
            _mm_set_epi32(w3, w2, w1, w0)
        };
        [pick([0, 1, 4, 5]), pick([2, 3, 6, 7])]
    }

    fn store(state: [__m128i; 2]) -> [u32; 8] {
        // SAFETY: two vectors of 128 bits are eight words in order.
        let words = unsafe { transmute::<[__m128i; 2], [u32; 8]>(state) };
        [3, 2, 7, 6, 1, 0, 5, 4].map(|place: usize| words[place])
    }

    #[target_feature(enable = "sha,sse4.1")]
    fn message(block: &Sha256Block) -> [__m128i; 4] {
        let big_endian = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        let mut words = [_mm_setzero_si128(); 4];
        let (quarters, _) = block.as_chunks::<16>();
        for (word, bytes) in words.iter_mut().zip(quarters) {
            // SAFETY: a vector of 128 bits is 16 bytes in order.
            let bytes = unsafe { transmute::<[u8; 16], __m128i>(*bytes) };
            *word = _mm_shuffle_epi8(bytes, big_endian);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of all lengths around the ends of one and two blocks, including none.
    fn messages() -> Vec<Vec<u8>> {
        let lengths = (0..=3 * 64 + 2).chain([1_000, 5_000, 3]);
        let of = |length: usize| (0..length).map(|i| (i * 31 + length * 7) as u8).collect();
        lengths.map(of).collect()
    }

    #[test]
    fn two_lanes_of_sha_256_give_what_one_gives() {
        let messages = messages();
        for messages in [
            &messages[..0],
            &messages[9..10],
            &messages[62..64],
            &messages,
        ] {
            let plain = messages
                .iter()
                .map(|message| Hash(Sha256::digest(message).into()));
            assert_eq!(sha256_each(messages), plain.collect::<Vec<_>>());
        }
    }
}
