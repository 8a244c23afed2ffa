//! Hashes several messages in parallel lanes. A request has many keccak hashes that do not depend on one another
//! (texts, salts, action hashes, integrities, leaves, a layer of the batch tree); only the chain of heads is
//! sequential.
//!
//! Keccak: each message has a separate state, and the 64-bit words of eight (AVX-512) or four (AVX2) states share one
//! vector register, so a permutation of all of them takes about as many instructions as that of one. SHA-256: each step
//! waits for the one before, so the processor's SHA instructions process two messages in the time of one. Other
//! processors, and single messages without AVX-512, use the plain implementation; tests compare all of them.
//!
//! Only this module and `lanes/` contain `unsafe` in Kedge: to call functions that need a detected processor feature,
//! and to view a vector as its words.

mod sha256;

use sha3::{Digest, Keccak256};

use crate::hash::Hash;

pub use self::sha256::sha256_each;

/// Bytes that a block absorbs.
const RATE_BYTES: usize = 136;
const RATE_WORDS: usize = RATE_BYTES / 8;
const STATE_WORDS: usize = 25;
/// Smaller groups of messages are hashed one after another.
const MESSAGES_MIN: usize = 3;

/// State of `N` messages: for each word its value in every message's state.
type KeccakLanes<const N: usize> = [[u64; N]; STATE_WORDS];

/// Appends keccak256 of each message, in order, to `out`.
pub fn keccak_each<M: AsRef<[u8]>>(messages: &[M], out: &mut Vec<Hash>) {
    out.reserve(messages.len());
    let mut rest = messages;
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            rest = hash_chunks::<M, 8>(rest, out, x86::permute_8);
        } else if std::arch::is_x86_feature_detected!("avx2") {
            rest = hash_chunks::<M, 4>(rest, out, x86::permute_4);
        }
    }
    out.extend(rest.iter().map(|message| keccak_one(message.as_ref())));
}

/// keccak256 of one message. Vector instructions rotate and combine three words in one step, so they are faster even
/// with a single state.
pub(crate) fn keccak_one(message: &[u8]) -> Hash {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512vl") {
            return hash_one(message, x86::permute_1);
        }
    }
    Hash(Keccak256::digest(message).into())
}

#[cfg(target_arch = "x86_64")]
fn hash_one(message: &[u8], permute: impl Fn(&mut KeccakLanes<1>)) -> Hash {
    let mut state: KeccakLanes<1> = [[0]; STATE_WORDS];
    for block in 0..=message.len() / RATE_BYTES {
        absorb(&mut state, 0, message, block);
        permute(&mut state);
    }
    let mut hash = [0; 32];
    for (bytes, [word]) in hash.chunks_exact_mut(8).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Hash(hash)
}

/// Hashes chunks of up to `N` messages; returns the remaining ones, too few for a chunk.
fn hash_chunks<'m, M: AsRef<[u8]>, const N: usize>(
    messages: &'m [M],
    out: &mut Vec<Hash>,
    permute: impl Fn(&mut KeccakLanes<N>),
) -> &'m [M] {
    let mut rest = messages;
    while rest.len() >= MESSAGES_MIN.min(N) {
        let (chunk, after) = rest.split_at(rest.len().min(N));
        hash_chunk(chunk, out, &permute);
        rest = after;
    }
    rest
}

fn hash_chunk<M: AsRef<[u8]>, const N: usize>(
    chunk: &[M],
    out: &mut Vec<Hash>,
    permute: &impl Fn(&mut KeccakLanes<N>),
) {
    let mut state: KeccakLanes<N> = [[0; N]; STATE_WORDS];
    let first = out.len();
    out.resize(first + chunk.len(), Hash::ZERO);
    // The padding always takes a byte, so a full last block is followed by one more.
    let last_block = |message: &M| message.as_ref().len() / RATE_BYTES;
    let blocks = chunk
        .iter()
        .map(last_block)
        .max()
        .map_or(0, |last| last + 1);
    for block in 0..blocks {
        for (lane, message) in chunk.iter().enumerate() {
            if block <= last_block(message) {
                absorb(&mut state, lane, message.as_ref(), block);
            }
        }
        permute(&mut state);
        for (lane, message) in chunk.iter().enumerate() {
            if block == last_block(message) {
                for (word, bytes) in out[first + lane].0.chunks_exact_mut(8).enumerate() {
                    bytes.copy_from_slice(&state[word][lane].to_le_bytes());
                }
            }
        }
    }
}

fn absorb<const N: usize>(state: &mut KeccakLanes<N>, lane: usize, message: &[u8], block: usize) {
    let rest = &message[block * RATE_BYTES..];
    let is_last = rest.len() < RATE_BYTES;
    let (words, tail) = rest[..rest.len().min(RATE_BYTES)].as_chunks::<8>();
    for (word, bytes) in state.iter_mut().zip(words) {
        word[lane] ^= u64::from_le_bytes(*bytes);
    }
    if is_last {
        // The padding: a bit after the message, and one at the block's end.
        let after = tail.iter().rev();
        let after = after.fold(1, |word, byte| word << 8 | u64::from(*byte));
        state[words.len()][lane] ^= after;
        state[RATE_WORDS - 1][lane] ^= 0x80 << 56;
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vector instructions; see the head of this file")]
mod x86 {
    use core::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_rol_epi64,
        _mm_set1_epi64x, _mm_ternarylogic_epi64, _mm_xor_si128, _mm256_andnot_si256,
        _mm256_or_si256, _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_srli_epi64,
        _mm256_xor_si256, _mm512_rol_epi64, _mm512_set1_epi64, _mm512_ternarylogic_epi64,
        _mm512_xor_si512,
    };
    use core::mem::transmute;

    use super::{KeccakLanes, STATE_WORDS};

    /// FIPS 202, 3.2.5: what iota adds to the first word, round by round.
    const ROUND_CONSTANTS: [u64; 24] = [
        0x0000_0000_0000_0001,
        0x0000_0000_0000_8082,
        0x8000_0000_0000_808a,
        0x8000_0000_8000_8000,
        0x0000_0000_0000_808b,
        0x0000_0000_8000_0001,
        0x8000_0000_8000_8081,
        0x8000_0000_0000_8009,
        0x0000_0000_0000_008a,
        0x0000_0000_0000_0088,
        0x0000_0000_8000_8009,
        0x0000_0000_8000_000a,
        0x0000_0000_8000_808b,
        0x8000_0000_0000_008b,
        0x8000_0000_0000_8089,
        0x8000_0000_0000_8003,
        0x8000_0000_0000_8002,
        0x8000_0000_0000_0080,
        0x0000_0000_0000_800a,
        0x8000_0000_8000_000a,
        0x8000_0000_8000_8081,
        0x8000_0000_0000_8080,
        0x0000_0000_8000_0001,
        0x8000_0000_8000_8008,
    ];

    /// Permutes eight states.
    pub(super) fn permute_8(state: &mut KeccakLanes<8>) {
        // SAFETY: the caller has detected AVX-512F; a vector of 512 bits is eight words in order, and every bit
        // pattern is valid for both.
        unsafe {
            let mut vectors = transmute::<KeccakLanes<8>, [__m512i; STATE_WORDS]>(*state);
            permute_512(&mut vectors);
            *state = transmute::<[__m512i; STATE_WORDS], KeccakLanes<8>>(vectors);
        }
    }

    /// Permutes four states.
    pub(super) fn permute_4(state: &mut KeccakLanes<4>) {
        // SAFETY: as above, with AVX2 and four words in 256 bits.
        unsafe {
            let mut vectors = transmute::<KeccakLanes<4>, [__m256i; STATE_WORDS]>(*state);
            permute_256(&mut vectors);
            *state = transmute::<[__m256i; STATE_WORDS], KeccakLanes<4>>(vectors);
        }
    }

    /// Permutes one state.
    pub(super) fn permute_1(state: &mut KeccakLanes<1>) {
        // SAFETY: the caller has detected AVX-512VL.
        unsafe { permute_128(state) }
    }

    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor3_128(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        _mm_ternarylogic_epi64::<0x96>(a, b, c)
    }

    /// `a ^ (!b & c)`.
    #[target_feature(enable = "avx512f,avx512vl")]
    fn chi_128(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        _mm_ternarylogic_epi64::<0xd2>(a, b, c)
    }

    #[target_feature(enable = "avx512f")]
    fn xor3_512(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0x96>(a, b, c)
    }

    /// `a ^ (!b & c)`.
    #[target_feature(enable = "avx512f")]
    fn chi_512(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0xd2>(a, b, c)
    }

    #[target_feature(enable = "avx2")]
    fn rotate_256<const LEFT: i32, const RIGHT: i32>(a: __m256i) -> __m256i {
        _mm256_or_si256(_mm256_slli_epi64::<LEFT>(a), _mm256_srli_epi64::<RIGHT>(a))
    }

    #[target_feature(enable = "avx2")]
    fn xor3_256(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        _mm256_xor_si256(_mm256_xor_si256(a, b), c)
    }

    #[target_feature(enable = "avx2")]
    fn chi_256(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        _mm256_xor_si256(a, _mm256_andnot_si256(b, c))
    }

    /// Five words of the next state: each is a word of this one, passed through theta, rotated left, and then
    /// mixed with its two neighbours.
    macro_rules! keccak_row {
        (
            $next:ident[$first:literal], $a:ident, $d:ident, $xor:ident, $chi:ident, $rotate:ident,
            $($word:literal << $left:literal),+
        ) => {
            let b = [$($rotate!($xor($a[$word], $d[$word % 5]), $left)),+];
            for x in 0..5 {
                $next[$first + x] = $chi(b[x], b[(x + 1) % 5], b[(x + 2) % 5]);
            }
        };
    }

    /// Keccak-f[1600] (FIPS 202, 3.3) over words of any width. `rotate!(word, left)` rotates a word.
    macro_rules! keccak_f {
        ($a:ident, $xor:ident, $xor3:ident, $chi:ident, $splat:expr, $rotate:ident) => {
            for constant in ROUND_CONSTANTS {
                // Theta: each column's parity is mixed into its neighbours.
                let c: [_; 5] = core::array::from_fn(|x| {
                    $xor3($xor3($a[x], $a[x + 5], $a[x + 10]), $a[x + 15], $a[x + 20])
                });
                let d: [_; 5] =
                    core::array::from_fn(|x| $xor(c[(x + 4) % 5], $rotate!(c[(x + 1) % 5], 1)));
                // Rho and pi rotate each word by a fixed number of bits and move it; chi combines a row of five. This
                // runs row by row because all words, the five of theta and one row together fill the registers.
                let mut next = $a;
                keccak_row!(next[0], $a, d, $xor, $chi, $rotate, 0 << 0, 6 << 44, 12 << 43, 18 << 21, 24 << 14);
                keccak_row!(next[5], $a, d, $xor, $chi, $rotate, 3 << 28, 9 << 20, 10 << 3, 16 << 45, 22 << 61);
                keccak_row!(next[10], $a, d, $xor, $chi, $rotate, 1 << 1, 7 << 6, 13 << 25, 19 << 8, 20 << 18);
                keccak_row!(next[15], $a, d, $xor, $chi, $rotate, 4 << 27, 5 << 36, 11 << 10, 17 << 15, 23 << 56);
                keccak_row!(next[20], $a, d, $xor, $chi, $rotate, 2 << 62, 8 << 55, 14 << 39, 15 << 41, 21 << 2);
                $a = next;
                // Iota breaks the symmetry.
                $a[0] = $xor($a[0], $splat(constant.cast_signed()));
            }
        };
    }

    macro_rules! rotate_128 {
        ($word:expr, $left:literal) => {
            _mm_rol_epi64::<$left>($word)
        };
    }

    macro_rules! rotate_512 {
        ($word:expr, $left:literal) => {
            _mm512_rol_epi64::<$left>($word)
        };
    }

    macro_rules! rotate_256 {
        ($word:expr, $left:literal) => {
            rotate_256::<$left, { 64 - $left }>($word)
        };
    }

    /// The lower half of each vector is a word of the state.
    #[target_feature(enable = "avx512f,avx512vl")]
    fn permute_128(state: &mut KeccakLanes<1>) {
        let mut a: [__m128i; STATE_WORDS] =
            core::array::from_fn(|word| _mm_cvtsi64_si128(state[word][0].cast_signed()));
        keccak_f!(
            a,
            _mm_xor_si128,
            xor3_128,
            chi_128,
            _mm_set1_epi64x,
            rotate_128
        );
        *state = a.map(|word| [_mm_cvtsi128_si64(word).cast_unsigned()]);
    }

    #[target_feature(enable = "avx512f")]
    fn permute_512(state: &mut [__m512i; STATE_WORDS]) {
        let mut a = *state;
        keccak_f!(
            a,
            _mm512_xor_si512,
            xor3_512,
            chi_512,
            _mm512_set1_epi64,
            rotate_512
        );
        *state = a;
    }

    #[target_feature(enable = "avx2")]
    fn permute_256(state: &mut [__m256i; STATE_WORDS]) {
        let mut a = *state;
        keccak_f!(
            a,
            _mm256_xor_si256,
            xor3_256,
            chi_256,
            _mm256_set1_epi64x,
            rotate_256
        );
        *state = a;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(messages: &[Vec<u8>]) -> Vec<Hash> {
        let hash = |message: &Vec<u8>| Hash(Keccak256::digest(message).into());
        messages.iter().map(hash).collect()
    }

    /// Messages of all lengths around the ends of one and two blocks, including none.
    fn messages() -> Vec<Vec<u8>> {
        let lengths = (0..=3 * RATE_BYTES + 2).chain([1_000, 5_000]);
        let of = |length: usize| (0..length).map(|i| (i * 31 + length * 7) as u8).collect();
        lengths.map(of).collect()
    }

    fn check<const N: usize>(permute: impl Fn(&mut KeccakLanes<N>)) {
        let messages = messages();
        for count in [1, 2, 3, N - 1, N, N + 1, 3 * N + 2, messages.len()] {
            for start in [0, 130, 270] {
                let some = &messages[start..(start + count).min(messages.len())];
                let mut out = Vec::new();
                let rest = hash_chunks::<_, N>(some, &mut out, &permute);
                assert!(rest.len() < MESSAGES_MIN);
                assert_eq!(
                    out,
                    plain(&some[..some.len() - rest.len()]),
                    "{count} from {start}"
                );
            }
        }
    }

    #[test]
    fn every_length_and_count_is_as_the_plain_implementation_has_it() {
        let messages = messages();
        let mut out = vec![Hash::ZERO];
        keccak_each(&messages, &mut out);
        assert_eq!(out[0], Hash::ZERO);
        assert_eq!(out[1..], plain(&messages));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_width_that_this_processor_has() {
        if std::arch::is_x86_feature_detected!("avx512f") {
            check::<8>(x86::permute_8);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            check::<4>(x86::permute_4);
        }
        if std::arch::is_x86_feature_detected!("avx512vl") {
            let messages = messages();
            let alone = messages.iter();
            let alone: Vec<Hash> = alone
                .map(|message| hash_one(message, x86::permute_1))
                .collect();
            assert_eq!(alone, plain(&messages));
        }
    }
}
