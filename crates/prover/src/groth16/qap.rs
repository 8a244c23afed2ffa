//! Reduction of constraints to a quadratic arithmetic program, as in snarkjs.
//!
//! The quotient h enters a proof by its values on the odd 2n-th roots of unity instead of its coefficients. There,
//! `ab - c` is enough, as it vanishes on the even roots. This saves one transform, and makes keys of a snarkjs ceremony
//! fit. The rest is libsnark's reduction.

use ark_ff::PrimeField;
use ark_groth16::r1cs_to_qap::{LibsnarkReduction, R1CSToQAP, evaluate_constraint};
use ark_poly::EvaluationDomain;
use ark_relations::gr1cs::{ConstraintSystemRef, Matrix, SynthesisError};
use rayon::prelude::*;

pub(crate) struct SnarkjsReduction;

/// A QAP evaluated at one point: a, b, c, the vanishing polynomial, and two sizes.
type QapEvaluation<F> = (Vec<F>, Vec<F>, Vec<F>, F, usize, usize);

impl R1CSToQAP for SnarkjsReduction {
    fn instance_map_with_evaluation<F: PrimeField, D: EvaluationDomain<F>>(
        system: ConstraintSystemRef<F>,
        point: &F,
    ) -> Result<QapEvaluation<F>, SynthesisError> {
        LibsnarkReduction::instance_map_with_evaluation::<F, D>(system, point)
    }

    fn witness_map_from_matrices<F: PrimeField, D: EvaluationDomain<F>>(
        matrices: &[Matrix<F>],
        inputs: usize,
        constraints: usize,
        wires: &[F],
    ) -> Result<Vec<F>, SynthesisError> {
        let domain =
            D::new(constraints + inputs).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let evaluate = |matrix: &Matrix<F>| {
            let mut values = vec![F::zero(); domain.size()];
            values
                .par_iter_mut()
                .zip(matrix)
                .for_each(|(value, row)| *value = evaluate_constraint(row, wires));
            values
        };
        let mut a = evaluate(&matrices[0]);
        let mut b = evaluate(&matrices[1]);
        // One more row per public input keeps their polynomials independent.
        a[constraints..constraints + inputs].copy_from_slice(&wires[..inputs]);
        let mut c: Vec<F> = a.par_iter().zip(&b).map(|(a, b)| *a * b).collect();
        let doubled = D::new(2 * domain.size()).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let coset = domain
            .get_coset(doubled.group_gen())
            .ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        for values in [&mut a, &mut b, &mut c] {
            domain.ifft_in_place(values);
            coset.fft_in_place(values);
        }
        a.par_iter_mut()
            .zip(&b)
            .zip(&c)
            .for_each(|((a, b), c)| *a = *a * b - c);
        Ok(a)
    }

    fn h_query_scalars<F: PrimeField, D: EvaluationDomain<F>>(
        power_max: usize,
        point: F,
        _: F,
        delta_inverse: F,
    ) -> Result<Vec<F>, SynthesisError> {
        let count = 2 * power_max + 1;
        let domain = D::new(count).ok_or(SynthesisError::PolynomialDegreeTooLarge)?;
        let mut scalars = Vec::with_capacity(domain.size());
        let mut power = delta_inverse;
        for _ in 0..count {
            scalars.push(power);
            power *= point;
        }
        domain.ifft_in_place(&mut scalars);
        Ok(scalars.into_iter().skip(1).step_by(2).collect())
    }
}
