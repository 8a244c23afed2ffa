//! secp256k1 signatures in Ethereum's 65-byte form, and their keys.

use core::fmt;
use core::str::FromStr;

use k256::ecdsa::{RecoveryId, Signature as EcdsaSignature, SigningKey as EcdsaKey, VerifyingKey};
use k256::elliptic_curve::ops::{MulVartime as _, Reduce};
use k256::elliptic_curve::point::DecompressPoint as _;
use k256::{AffinePoint, FieldBytes, ProjectivePoint, Scalar};

use crate::address::Address;
use crate::hash::{Hash, HexError, from_hex, keccak, text_serde};
use crate::multiples::{self, GENERATOR, PointTerms};

/// r ‖ s ‖ v, v stored as 27 or 28. Signatures with a high s are neither made nor read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature(pub [u8; 65]);

/// Why bytes are not an acceptable signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Not `0x` and 130 hexadecimal digits.
    #[error("a signature {0}")]
    Hex(#[from] HexError),
    /// v is none of 0, 1, 27 and 28.
    #[error("the signature's last byte (v) must be 0, 1, 27 or 28, not {0}")]
    RecoveryByte(u8),
    /// s lies in the upper half of the group order (EIP-2): the other form of a valid signature.
    #[error("the signature's s is in the upper half of the curve's order; use the low form")]
    HighS,
    /// r or s is zero or too large, or no key fits.
    #[error("the signature does not recover to any key")]
    Unrecoverable,
}

impl Signature {
    /// Accepts 65 bytes; v 0 or 1 becomes 27 or 28; a high s is rejected.
    pub fn from_bytes(mut bytes: [u8; 65]) -> Result<Self, SignatureError> {
        bytes[64] = match bytes[64] {
            v @ (27 | 28) => v,
            v @ (0 | 1) => v + 27,
            v => return Err(SignatureError::RecoveryByte(v)),
        };
        let ecdsa =
            EcdsaSignature::from_slice(&bytes[..64]).map_err(|_| SignatureError::Unrecoverable)?;
        if ecdsa.normalize_s() != ecdsa {
            return Err(SignatureError::HighS);
        }
        Ok(Self(bytes))
    }

    /// The address whose key signed `digest`.
    pub fn recover(&self, digest: &Hash) -> Result<Address, SignatureError> {
        self.recover_key(digest).map(|key| key.address())
    }

    /// The key that signed `digest`.
    pub fn recover_key(&self, digest: &Hash) -> Result<PublicKey, SignatureError> {
        let ecdsa =
            EcdsaSignature::from_slice(&self.0[..64]).map_err(|_| SignatureError::Unrecoverable)?;
        let recovery = RecoveryId::from_byte(self.0[64].wrapping_sub(27))
            .ok_or(SignatureError::RecoveryByte(self.0[64]))?;
        let key = if recovery.is_x_reduced() {
            // v is 29 or 30, which a parsed signature never has.
            VerifyingKey::recover_from_prehash(&digest.0, &ecdsa, recovery).ok()
        } else {
            recovered(&ecdsa, recovery.is_y_odd(), digest)
        };
        key.map(PublicKey).ok_or(SignatureError::Unrecoverable)
    }
}

/// The key s/r · R − z/r · G (SEC 1, 4.1.6), where R is the point with x = r. `k256` computes the same, but doubles the
/// generator instead of using precomputed multiples.
fn recovered(ecdsa: &EcdsaSignature, y_is_odd: bool, digest: &Hash) -> Option<VerifyingKey> {
    let (r, s) = ecdsa.split_scalars();
    let z = <Scalar as Reduce<FieldBytes>>::reduce(&FieldBytes::from(digest.0));
    let point = AffinePoint::decompress(&r.to_bytes(), u8::from(y_is_odd).into());
    let point = ProjectivePoint::from(Option::<AffinePoint>::from(point)?);
    let r_inverted = Option::<Scalar>::from(r.invert_vartime())?;
    let mut terms = PointTerms::new();
    terms.add(&GENERATOR, &-(z * r_inverted));
    let key = terms.sum() + point.mul_vartime(&(*s * r_inverted));
    VerifyingKey::from_affine(multiples::affine(key)).ok()
}

/// A secp256k1 public key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// The last 20 bytes of the hash of the key's two coordinates (Yellow Paper, appendix F).
    pub fn address(&self) -> Address {
        address_of(&self.0)
    }

    pub(crate) fn point(&self) -> &AffinePoint {
        self.0.as_affine()
    }
}

fn address_of(key: &VerifyingKey) -> Address {
    let point = key.to_sec1_point(false);
    let hash = keccak(&point.as_bytes()[1..]);
    let mut address = [0; 20];
    address.copy_from_slice(&hash.0[12..]);
    Address(address)
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(const_hex::Buffer::<65, true>::new().format(&self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Signature {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        Self::from_bytes(from_hex(text)?)
    }
}

text_serde!(Signature);

/// A secp256k1 private key. Never printed: `Debug` shows only the address.
#[derive(Clone)]
pub struct SigningKey {
    key: EcdsaKey,
    address: Address,
}

/// The bytes are not a private key: zero, or not below the curve's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not a secp256k1 private key")]
pub struct SigningKeyError;

impl SigningKey {
    /// Accepts the 32 bytes of a private key.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, SigningKeyError> {
        let key = EcdsaKey::from_slice(bytes).map_err(|_| SigningKeyError)?;
        let address = address_of(key.verifying_key());
        Ok(Self { key, address })
    }

    /// The address of the key.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The 32 bytes of the key, for storing it.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.key.to_bytes().into()
    }

    /// Signs a 32-byte digest: deterministic (RFC 6979), low s.
    pub fn sign(&self, digest: &Hash) -> Signature {
        let (signature, recovery) = self.key.sign_prehash_recoverable(&digest.0);
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&signature.to_bytes());
        bytes[64] = 27 + recovery.to_byte();
        Signature(bytes)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.address)
    }
}

#[cfg(test)]
mod tests {
    use k256::elliptic_curve::point::AffineCoordinates as _;
    use proptest::prelude::*;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[0xa1; 32]).unwrap()
    }

    #[test]
    fn signs_and_recovers() {
        let digest = keccak(b"something");
        let signature = key().sign(&digest);
        assert_eq!(signature.recover(&digest), Ok(key().address()));
        assert_ne!(signature.recover(&keccak(b"else")), Ok(key().address()));
        assert_eq!(signature.to_string().parse(), Ok(signature));
        assert_eq!(format!("{signature:?}"), signature.to_string());
    }

    #[test]
    fn v_is_normalised_and_high_s_refused() {
        let digest = keccak(b"something");
        let signature = key().sign(&digest);
        let mut low_v = signature.0;
        low_v[64] -= 27;
        assert_eq!(Signature::from_bytes(low_v), Ok(signature));
        let mut bad_v = signature.0;
        bad_v[64] = 29;
        assert_eq!(
            Signature::from_bytes(bad_v),
            Err(SignatureError::RecoveryByte(29))
        );

        let ecdsa = EcdsaSignature::from_slice(&signature.0[..64]).unwrap();
        let (r, s) = ecdsa.split_scalars();
        let high = EcdsaSignature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
        let mut bytes = signature.0;
        bytes[..64].copy_from_slice(&high.to_bytes());
        bytes[64] = 27 + (28 - signature.0[64]);
        assert_eq!(Signature::from_bytes(bytes), Err(SignatureError::HighS));
    }

    /// The key that `k256` recovers, as the reference.
    fn reference(digest: &Hash, signature: &Signature) -> Option<PublicKey> {
        let ecdsa = EcdsaSignature::from_slice(&signature.0[..64]).ok()?;
        let recovery = RecoveryId::from_byte(signature.0[64].wrapping_sub(27))?;
        let key = VerifyingKey::recover_from_prehash(&digest.0, &ecdsa, recovery);
        key.ok().map(PublicKey)
    }

    fn signature_of(r: &FieldBytes, s: &FieldBytes, v: u8) -> Signature {
        let mut bytes = [v; 65];
        bytes[..32].copy_from_slice(r);
        bytes[32..64].copy_from_slice(s);
        Signature(bytes)
    }

    #[test]
    fn nothing_is_recovered_from_what_is_no_signature() {
        let digest = keccak(b"something");
        let good = key().sign(&digest);
        let zero = Scalar::ZERO.to_bytes();
        let mut order = (-Scalar::ONE).to_bytes();
        order[31] += 1;
        let (r, s) = EcdsaSignature::from_slice(&good.0[..64])
            .unwrap()
            .split_bytes();
        for (r, s) in [(zero, s), (order, s), (r, zero), (r, order)] {
            let bad = signature_of(&r, &s, 27);
            assert_eq!(bad.recover_key(&digest), Err(SignatureError::Unrecoverable));
        }
    }

    /// The point at infinity is no key: s · R = z · G.
    #[test]
    fn infinity_is_not_recovered() {
        let nonce = Scalar::from(77u32);
        let point = (ProjectivePoint::GENERATOR * nonce).to_affine();
        let digest = keccak(b"something");
        let z = <Scalar as Reduce<FieldBytes>>::reduce(&FieldBytes::from(digest.0));
        let s = z * nonce.invert().unwrap();
        let v = 27 + u8::from(bool::from(point.y_is_odd()));
        let signature = signature_of(&point.x(), &s.to_bytes(), v);
        assert_eq!(
            signature.recover_key(&digest),
            Err(SignatureError::Unrecoverable)
        );
        assert_eq!(reference(&digest, &signature), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        // Holds invariant 57.
        #[test]
        fn recovers_what_k256_recovers(
            secret in prop::array::uniform32(1..=250u8),
            digest in prop_oneof![
                prop::array::uniform32(any::<u8>()),
                prop::sample::select(vec![[0; 32], [255; 32]]),
            ],
            other in prop::array::uniform32(any::<u8>()),
            flipped in 0..64 * 8usize,
            v in prop_oneof![27..=30u8, any::<u8>()],
        ) {
            let key = SigningKey::from_bytes(&secret).unwrap();
            let digest = Hash(digest);
            let signature = key.sign(&digest);
            prop_assert_eq!(signature.recover(&digest), Ok(key.address()));

            let mut changed = [signature; 5];
            changed[1].0[flipped / 8] ^= 1 << (flipped % 8);
            changed[2].0[64] = v;
            // Most likely no point has this x, and no key fits r and s.
            changed[3].0[..32].copy_from_slice(&other);
            changed[4].0[32..64].copy_from_slice(&other);
            let high = EcdsaSignature::from_slice(&signature.0[..64]).unwrap();
            let (r, s) = high.split_scalars();
            let high = signature_of(&r.to_bytes(), &(-*s).to_bytes(), 55 - signature.0[64]);
            prop_assert_eq!(high.recover(&digest), Ok(key.address()));
            for signature in changed.into_iter().chain([high]) {
                for digest in [digest, Hash(other)] {
                    let found = signature.recover_key(&digest);
                    prop_assert_eq!(found.ok(), reference(&digest, &signature));
                }
            }
        }
    }

    #[test]
    fn debug_hides_the_key() {
        let shown = format!("{:?}", key());
        assert_eq!(shown, format!("SigningKey({})", key().address()));
        assert_eq!(key().to_bytes(), [0xa1; 32]);
        assert_eq!(
            SigningKey::from_bytes(&[0; 32]).unwrap_err(),
            SigningKeyError
        );
    }
}
