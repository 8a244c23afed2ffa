/** The steps of a check, for programs that show them one by one. */

/**
 * A step of a check.
 *
 * - `form`: the file has the members that its kind has, each of its type
 * - `words`: the opened words hash to the content that the leaf holds
 * - `log`: the file is of the trusted log
 * - `leaf`: integrity, sequence and time are those that the header allows
 * - `path`: the leaf leads to the header's root
 * - `header`: the sequencer's key signed the header
 * - `history`: the header leads to the history of a signed checkpoint; only where the file states one
 * - `authorship`: the signer signed the action; only where the file shows it
 * - `proof`: the zero-knowledge proof holds; only of claims
 */
export type Step = 'form' | 'words' | 'log' | 'leaf' | 'path' | 'header' | 'history' | 'authorship' | 'proof';

/**
 * Is called when a step begins. A step holds once the next one begins or the check returns; where the check throws, the
 * last one that began does not.
 */
export type OnStep = (step: Step) => void;

/** For callers that do not ask. */
export const unseen: OnStep = () => {};
