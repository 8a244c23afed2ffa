/**
 * Offline verification of receipts, proof files, state proofs, claims and exports, without network code.
 *
 * @module
 */

export { Refused } from './refused.js';
export { type Hex } from './protocol/bytes.js';
export { type Checkpoint, type Domain, type Header, domainOf, separatorOf } from './protocol/domain.js';
export { type ActionWords, actionId, authorityOf, contentOf, firstIntegrity, idBytes, madeId, nextHead } from './protocol/chain.js';
export { checkConsistency, checkInclusion, rootOf } from './protocol/merkle.js';
export { readExactly, readStrictly } from './reading/json.js';
export { type SequencerKey, type Trust } from './verify/trust.js';
export { type ProofFacts, type ReceiptFacts, verifyBatchReceipt, verifyProofFile, verifyReceipt } from './verify/receipts.js';
export { verifyCheckpoint, verifyHeader } from './verify/signed.js';
export { type StateFacts, type StateProofOptions, type StateStep, verifyStateProof, verifyStateProofs } from './verify/state.js';
export {
  type ApiKeyEntry, type DisputeEntry, type EntryBase, type FileEntry, MalformedEntry, type ObjectEntry, type OrganizationEntry, type RuleEntry,
  type SequencerKeyEntry, type StateEntry, type TemplateEntry, type VariationEntry, type WalletEntry, type WebhookEntry, decodeEntry,
} from './verify/state-entries.js';
export { checkShown } from './verify/shown-items.js';
export { StateMismatch, type StateTexts } from './verify/state-shown.js';
export { type MintTexts, deleteAttributes, mergeTexts, mintedText, setAttributes, tidyText } from './protocol/property-texts.js';
export { type OnStep, type Step } from './verify/steps.js';
export { Follower } from './verify/followed.js';
export { type ExportFacts, verifyExport } from './verify/exports.js';
export { type ClaimFacts, verificationKeyHash, verifyClaim } from './verify/claims.js';
export { type VerificationKey } from './verify/groth16.js';
export { followSequencerKeys } from './verify/keys.js';
