//! Reader of a ceremony's proving keys: snarkjs' `.zkey` files, version 1, Groth16 over BN254.
//!
//! Points are two coordinates in Montgomery form, little-endian; zeros are the point at infinity. The file's matrices
//! are ignored: the circuit provides them, and every produced proof is verified.

use ark_bn254::{Fq, Fq2, Fr, G1Affine, G2Affine};
use ark_ec::AffineRepr as _;
use ark_ff::{BigInt, BigInteger as _, PrimeField as _};

use super::{ProvingKey, VerifyingKeyError};
use crate::points::{PointError, g1_of, g2_of};

const NUMBER_BYTES: usize = 32;
const GROTH16: u32 = 1;
/// Section numbers of the format.
const SYSTEM: u32 = 1;
const HEADER: u32 = 2;
const POINTS_OF_INPUTS: u32 = 3;
const POINTS_A: u32 = 5;
const POINTS_B1: u32 = 6;
const POINTS_B2: u32 = 7;
const POINTS_C: u32 = 8;
const POINTS_H: u32 = 9;

/// Why a file is not a proving key.
#[derive(Debug, thiserror::Error)]
pub enum ZkeyError {
    /// The magic bytes or the version are wrong.
    #[error("not a .zkey file of version 1")]
    Format,
    /// It is for another proof system or curve.
    #[error("the key is not for Groth16 over BN254")]
    System,
    /// This section has a wrong length.
    #[error("the file is cut off, or the size of section {0} does not match its header")]
    Size(u32),
    /// A section is missing or repeated.
    #[error("section {0} must be present exactly once")]
    Section(u32),
    /// Numbers that are not a point.
    #[error("section {section}: {error}")]
    Point { section: u32, error: PointError },
    /// The parts do not form a safe verifying key.
    #[error(transparent)]
    Key(#[from] VerifyingKeyError),
}

/// Reads a proving key.
///
/// Checks that every point lies on its curve. Only the verifying key's points of G2 are checked for the right group;
/// the others rely on the ceremony.
pub fn read(file: &[u8]) -> Result<ProvingKey, ZkeyError> {
    let sections = Sections::of(file)?;
    let mut system = sections.reader(SYSTEM)?;
    if system.u32()? != GROTH16 {
        return Err(ZkeyError::System);
    }
    let mut header = sections.reader(HEADER)?;
    if header.order()? != Fq::MODULUS.to_bytes_le() || header.order()? != Fr::MODULUS.to_bytes_le()
    {
        return Err(ZkeyError::System);
    }
    let (wires, inputs, domain) = (header.count()?, header.count()?, header.count()?);
    if inputs >= wires {
        return Err(ZkeyError::Size(HEADER));
    }
    let (alpha_g1, beta_g1) = (header.g1()?, header.g1()?);
    let (beta_g2, gamma_g2) = (header.g2_of_group()?, header.g2_of_group()?);
    let (delta_g1, delta_g2) = (header.g1()?, header.g2_of_group()?);
    header.end()?;
    let g1 = |section, count| {
        sections
            .reader(section)?
            .points(count, ZkeySectionReader::g1)
    };
    let key = ark_groth16::ProvingKey {
        vk: ark_groth16::VerifyingKey {
            alpha_g1,
            beta_g2,
            gamma_g2,
            delta_g2,
            gamma_abc_g1: g1(POINTS_OF_INPUTS, inputs + 1)?,
        },
        beta_g1,
        delta_g1,
        a_query: g1(POINTS_A, wires)?,
        b_g1_query: g1(POINTS_B1, wires)?,
        b_g2_query: sections
            .reader(POINTS_B2)?
            .points(wires, ZkeySectionReader::g2)?,
        h_query: g1(POINTS_H, domain)?,
        l_query: g1(POINTS_C, wires - inputs - 1)?,
    };
    Ok(ProvingKey::new(key)?)
}

/// Numbers and bodies of the file's sections.
struct Sections<'a>(Vec<(u32, &'a [u8])>);

impl<'a> Sections<'a> {
    fn of(file: &'a [u8]) -> Result<Self, ZkeyError> {
        let mut rest = ZkeySectionReader {
            section: 0,
            bytes: file,
        };
        if rest.take(4)? != b"zkey" || rest.u32()? != 1 {
            return Err(ZkeyError::Format);
        }
        let mut sections = Vec::new();
        for _ in 0..rest.u32()? {
            let kind = rest.u32()?;
            rest.section = kind;
            let mut size = [0; 8];
            size.copy_from_slice(rest.take(8)?);
            let size =
                usize::try_from(u64::from_le_bytes(size)).map_err(|_| ZkeyError::Size(kind))?;
            sections.push((kind, rest.take(size)?));
        }
        rest.end()?;
        Ok(Self(sections))
    }

    fn reader(&self, section: u32) -> Result<ZkeySectionReader<'a>, ZkeyError> {
        let mut found = self.0.iter().filter(|(kind, _)| *kind == section);
        match (found.next(), found.next()) {
            (Some((_, bytes)), None) => Ok(ZkeySectionReader { section, bytes }),
            _ => Err(ZkeyError::Section(section)),
        }
    }
}

/// Unread rest of a section.
struct ZkeySectionReader<'a> {
    section: u32,
    bytes: &'a [u8],
}

impl<'a> ZkeySectionReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ZkeyError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(ZkeyError::Size(self.section))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn end(&self) -> Result<(), ZkeyError> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(ZkeyError::Size(self.section))
        }
    }

    fn u32(&mut self) -> Result<u32, ZkeyError> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(bytes))
    }

    fn count(&mut self) -> Result<usize, ZkeyError> {
        Ok(self.u32()? as usize)
    }

    /// Order of a field, preceded by its width.
    fn order(&mut self) -> Result<&'a [u8], ZkeyError> {
        if self.count()? != NUMBER_BYTES {
            return Err(ZkeyError::System);
        }
        self.take(NUMBER_BYTES)
    }

    fn number(&mut self) -> Result<Fq, ZkeyError> {
        let bytes = self.take(NUMBER_BYTES)?;
        let mut limbs = [0; 4];
        for (limb, bytes) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *limb = u64::from_le_bytes(*bytes);
        }
        let montgomery = BigInt(limbs);
        if montgomery >= Fq::MODULUS {
            return Err(self.refuse(PointError::Number));
        }
        Ok(Fq::new_unchecked(montgomery))
    }

    fn refuse(&self, error: PointError) -> ZkeyError {
        ZkeyError::Point {
            section: self.section,
            error,
        }
    }

    fn g1(&mut self) -> Result<G1Affine, ZkeyError> {
        let (x, y) = (self.number()?, self.number()?);
        if x == Fq::default() && y == Fq::default() {
            return Ok(G1Affine::identity());
        }
        g1_of(x, y).map_err(|error| self.refuse(error))
    }

    fn g2(&mut self) -> Result<G2Affine, ZkeyError> {
        let x = Fq2::new(self.number()?, self.number()?);
        let y = Fq2::new(self.number()?, self.number()?);
        if x == Fq2::default() && y == Fq2::default() {
            return Ok(G2Affine::identity());
        }
        let point = G2Affine::new_unchecked(x, y);
        if point.is_on_curve() {
            Ok(point)
        } else {
            Err(self.refuse(PointError::NotOnCurve))
        }
    }

    fn g2_of_group(&mut self) -> Result<G2Affine, ZkeyError> {
        let point = self.g2()?;
        let (x, y) = point
            .xy()
            .ok_or_else(|| self.refuse(PointError::NotOnCurve))?;
        g2_of(x, y).map_err(|error| self.refuse(error))
    }

    /// Exactly the expected number of points, with nothing after them.
    fn points<P>(
        mut self,
        count: usize,
        read: impl Fn(&mut Self) -> Result<P, ZkeyError>,
    ) -> Result<Vec<P>, ZkeyError> {
        let mut points = Vec::with_capacity(count.min(self.bytes.len() / NUMBER_BYTES));
        for _ in 0..count {
            points.push(read(&mut self)?);
        }
        self.end()?;
        Ok(points)
    }
}
