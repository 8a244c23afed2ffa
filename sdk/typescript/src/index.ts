/**
 * The client of a Kedge server, and everything of `@kedge/sdk/verify`.
 *
 * @module
 */

export * from './verify.js';
export { type DownloadOptions, KedgeClient, type Registration, type StreamOptions, type Upload, type WalletChange } from './client/kedge.js';
export {
  type ObjectReads, type ProvenItem, type ProvenItems, type ProvenReadOptions, type StateProof, type StateReadOptions, type StateReads,
  type TemplateReads, type WaitingOptions, type WithStateProof, type WithStateProofs,
} from './client/proven-reads.js';
export { type ClientOptions, type OwnIds, type Session } from './client/options.js';
export { type AnswerOf, type BodyOf, type CallOptions, type ChangeOptions, type OperationId, type QueryOf, type Schemas } from './client/operation.js';
export { type ActionInput } from './client/bus.js';
export { BATCH_MAX, Batch, type BatchOptions, type BatchReply, type BatchOutcome } from './client/batch.js';
export { Listing, type Page } from './client/pages.js';
export { AlreadyDone, Contradiction, type ErrorBody, NotModified, ServerError, TransportError } from './client/errors.js';
export { type AnswerInfo, answerInfo } from './client/answers.js';
export { type RetryPolicy } from './client/retry.js';
export { type AccountLike, type Signer, type SignerInput, type SigningInput, type WalletClientLike, generateKey, signerOf } from './client/signers.js';
export { type KeyAddition, type SignedRequest, type SigningTerms, type UnsaltedAction, signConsent, signRequest } from './client/signing.js';
export { type TypedConsent, type TypedRequest } from './protocol/domain.js';
export { type Fetch } from './client/transport.js';
export { JsonText, parseJson, writeJson } from './reading/json.js';
export { type HeadersLike, type WebhookMessage, verifyWebhook } from './webhooks.js';
