/** Steps of a verification, for programs that show them one by one. */

/**
 * A step of a verification.
 *
 * - `form`: the file has the members of its kind, with their types
 * - `words`: the opened words hash to the leaf's content
 * - `log`: the file is of the trusted log
 * - `leaf`: integrity, sequence and time agree with the header
 * - `path`: the leaf leads to the header's root
 * - `header`: the sequencer's key signed the header
 * - `history`: the header leads to the history of a signed checkpoint; only if the file states one
 * - `authorship`: the signer signed the action; only if the file shows it
 * - `proof`: the zero-knowledge proof is valid; only for claims
 */
export type Step = 'form' | 'words' | 'log' | 'leaf' | 'path' | 'header' | 'history' | 'authorship' | 'proof';

/**
 * Called when a step begins. A step has passed once the next one begins or the check returns; if the check throws, the
 * last step failed.
 */
export type OnStep = (step: Step) => void;

/** No-op observer. */
export const unseen: OnStep = () => {};
