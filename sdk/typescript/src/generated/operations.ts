/* Generated from the OpenAPI document of the server: `npm run generate`. Do not edit. */

import type { Listing } from '../client/pages.js';
import type { AnswerOf, BodyOf, Call, CallOptions, ChangeOptions, Operation, QueryOf } from '../client/operation.js';

/** Every operation of the document, by its id. */
export const OPERATIONS = {
  addWalletKey: {"method":"POST","path":"/wallets/me/keys","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"wallet.key_add","target":"wallet","payload":"body"}},
  bringDispute: {"method":"POST","path":"/disputes","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":null},
  countObjects: {"method":"POST","path":"/objects/count","query":["min_sequence"],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  createApiKey: {"method":"POST","path":"/api-keys","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"key.create","target":"none","payload":"body"}},
  createTemplate: {"method":"POST","path":"/templates","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"template.create","target":"none","payload":"body"}},
  createVariations: {"method":"POST","path":"/templates/{id}/variations","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"template.variations","target":"path","payload":"body"}},
  createWebhook: {"method":"POST","path":"/webhooks","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"webhook.create","target":"none","payload":"body"}},
  deleteApiKey: {"method":"DELETE","path":"/api-keys/{id}","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"key.delete","target":"path","payload":"empty"}},
  deleteWebhook: {"method":"DELETE","path":"/webhooks/{id}","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"webhook.delete","target":"path","payload":"empty"}},
  exportLog: {"method":"GET","path":"/export","query":["from","wait","min_sequence"],"body":null,"answer":"text","page":false,"authorized":true,"keyed":false,"signs":null},
  getAction: {"method":"GET","path":"/ebus/actions/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getActionProof: {"method":"GET","path":"/ebus/actions/{id}/proof","query":["form","min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getAnchor: {"method":"GET","path":"/anchors/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getApiKey: {"method":"GET","path":"/api-keys/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getBatch: {"method":"GET","path":"/batches/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getBatchLeaves: {"method":"GET","path":"/batches/{id}/leaves","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getCheckpoint: {"method":"GET","path":"/checkpoint","query":["at_least","wait","min_sequence"],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getConsistencyProof: {"method":"GET","path":"/consistency","query":["from","to","min_sequence"],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getDispute: {"method":"GET","path":"/disputes/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getDocument: {"method":"GET","path":"/openapi.json","query":[],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getDomain: {"method":"GET","path":"/.well-known/eip712-domain.json","query":[],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getFile: {"method":"GET","path":"/files/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getFileContent: {"method":"GET","path":"/files/{id}/content","query":["min_sequence"],"body":null,"answer":"text","page":false,"authorized":true,"keyed":false,"signs":null},
  getHealth: {"method":"GET","path":"/healthz","query":[],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getObject: {"method":"GET","path":"/objects/{id}","query":["at_sequence","prove","wait","min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getObjectStateProof: {"method":"GET","path":"/objects/{id}/state-proof","query":["checkpoint","wait","min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getOwnOrganization: {"method":"GET","path":"/organizations/me","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getOwnWallet: {"method":"GET","path":"/wallets/me","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getReadiness: {"method":"GET","path":"/readyz","query":[],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getReference: {"method":"GET","path":"/docs","query":[],"body":null,"answer":"text","page":false,"authorized":false,"keyed":false,"signs":null},
  getReferenceScript: {"method":"GET","path":"/docs/reference.js","query":[],"body":null,"answer":"text","page":false,"authorized":false,"keyed":false,"signs":null},
  getReferenceStyle: {"method":"GET","path":"/docs/reference.css","query":[],"body":null,"answer":"text","page":false,"authorized":false,"keyed":false,"signs":null},
  getStateProof: {"method":"GET","path":"/state/{id}","query":["checkpoint","wait","min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getTemplate: {"method":"GET","path":"/templates/{id}","query":["prove","wait","min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getTemplateStateProof: {"method":"GET","path":"/templates/{id}/state-proof","query":["checkpoint","wait","min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  getTokenKeys: {"method":"GET","path":"/.well-known/jwks.json","query":[],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getVersion: {"method":"GET","path":"/version","query":[],"body":null,"answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  getWebhook: {"method":"GET","path":"/webhooks/{id}","query":["min_sequence"],"body":null,"answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  inviteMember: {"method":"POST","path":"/organizations/me/invitations","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"org.invite","target":"organization","payload":"body"}},
  listActions: {"method":"GET","path":"/ebus/actions","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listAnchors: {"method":"GET","path":"/anchors","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":false,"keyed":false,"signs":null},
  listApiKeys: {"method":"GET","path":"/api-keys","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listBatchActions: {"method":"GET","path":"/batches/{id}/actions","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listBatches: {"method":"GET","path":"/batches","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":false,"keyed":false,"signs":null},
  listDisputes: {"method":"GET","path":"/disputes","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listEvents: {"method":"GET","path":"/ebus/events","query":["limit","cursor","order","offset","type","object_id","template_id","after_sequence","before_sequence","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listFiles: {"method":"GET","path":"/files","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listInvitations: {"method":"GET","path":"/organizations/me/invitations","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listMembers: {"method":"GET","path":"/organizations/me/members","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listObjectHistory: {"method":"GET","path":"/objects/{id}/history","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listObjects: {"method":"GET","path":"/objects","query":["limit","cursor","order","offset","template_id","owner_id","status","created_after","created_before","updated_after","updated_before","prove","wait","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listSequencerKeys: {"method":"GET","path":"/sequencer-keys","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":false,"keyed":false,"signs":null},
  listTemplates: {"method":"GET","path":"/templates","query":["limit","cursor","order","offset","prove","wait","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listVariations: {"method":"GET","path":"/templates/{id}/variations","query":["limit","cursor","order","offset","prove","wait","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listWebhookDeliveries: {"method":"GET","path":"/webhooks/{id}/deliveries","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  listWebhooks: {"method":"GET","path":"/webhooks","query":["limit","cursor","order","offset","min_sequence"],"body":null,"answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  login: {"method":"POST","path":"/wallets/login","query":[],"body":"application/json","answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  logout: {"method":"POST","path":"/wallets/logout","query":[],"body":"application/json","answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  mintObject: {"method":"POST","path":"/objects","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"mint","target":"template","payload":"body"}},
  previewActions: {"method":"POST","path":"/ebus/actions/preview","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":false,"signs":null},
  redeliver: {"method":"POST","path":"/webhooks/{id}/deliveries/{delivery_id}/redeliver","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":null},
  refreshToken: {"method":"POST","path":"/wallets/token/refresh","query":[],"body":"application/json","answer":"json","page":false,"authorized":false,"keyed":false,"signs":null},
  registerWallet: {"method":"POST","path":"/wallets/register","query":[],"body":"application/json","answer":"json","page":false,"authorized":false,"keyed":true,"signs":{"kind":"wallet.register","target":"none","payload":"digest"}},
  removeMember: {"method":"DELETE","path":"/organizations/me/members/{id}","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"org.member_remove","target":"organization","payload":"member","member":"wallet_id"}},
  removeWalletKey: {"method":"DELETE","path":"/wallets/me/keys/{id}","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"wallet.key_remove","target":"wallet","payload":"member","member":"address"}},
  revokeInvitation: {"method":"DELETE","path":"/organizations/me/invitations/{id}","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"org.invitation_revoke","target":"organization","payload":"member","member":"invitation_id"}},
  rotateApiKey: {"method":"POST","path":"/api-keys/{id}/rotate","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"key.rotate","target":"path","payload":"body"}},
  rotateWebhookSecret: {"method":"POST","path":"/webhooks/{id}/rotate","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"webhook.rotate","target":"path","payload":"body"}},
  searchObjects: {"method":"POST","path":"/objects/search","query":["min_sequence"],"body":"application/json","answer":"json","page":true,"authorized":true,"keyed":false,"signs":null},
  setMemberRole: {"method":"PATCH","path":"/organizations/me/members/{id}","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"org.role","target":"organization","payload":"body"}},
  streamEvents: {"method":"GET","path":"/ebus/events/stream","query":["type","object_id","template_id","after_sequence","last_event_id","min_sequence"],"body":null,"answer":"text","page":false,"authorized":true,"keyed":false,"signs":null},
  submitAction: {"method":"POST","path":"/ebus/actions","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"action_type","target":"bus","payload":"bus"}},
  submitBatch: {"method":"POST","path":"/ebus/actions/batch","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"action_type of each action","target":"bus","payload":"bus"}},
  testWebhook: {"method":"POST","path":"/webhooks/{id}/test","query":[],"body":null,"answer":"json","page":false,"authorized":true,"keyed":true,"signs":null},
  transferObject: {"method":"POST","path":"/objects/{id}/transfer","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"transfer","target":"path","payload":"body"}},
  updateObject: {"method":"PATCH","path":"/objects/{id}","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"update","target":"path","payload":"body"}},
  updateOwnWallet: {"method":"PATCH","path":"/wallets/me","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"wallet.update","target":"wallet","payload":"secret"}},
  updateTemplate: {"method":"PATCH","path":"/templates/{id}","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"template.update","target":"path","payload":"body"}},
  updateWebhook: {"method":"PATCH","path":"/webhooks/{id}","query":[],"body":"application/json","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"webhook.update","target":"path","payload":"body"}},
  uploadFile: {"method":"POST","path":"/files","query":[],"body":"multipart/form-data","answer":"json","page":false,"authorized":true,"keyed":true,"signs":{"kind":"file.create","target":"file","payload":"file"}},
} as const satisfies Record<string, Operation>;

/** One method for each operation of the document whose body and answer are JSON. */
export abstract class Operations {
  /** Sends one request and returns its answer. */
  protected abstract call<T>(operation: Operation, call: Call): Promise<T>;

  /** The pages of a list. */
  protected abstract list<P extends { items: unknown[]; cursor: string | null }>(operation: Operation, call: Call): Listing<P>;

  /**
   * Read the domain of every signature
   *
   * The EIP-712 domain under which everything is signed, with the types, in the shape of EIP-5267, and the address of the
   * sequencer. A careful client compares it with the contract's.
   *
   * `GET /.well-known/eip712-domain.json`
   */
  getDomain(options: CallOptions = {}): Promise<AnswerOf<'getDomain'>> {
    return this.call<AnswerOf<'getDomain'>>(OPERATIONS.getDomain, { path: {}, options });
  }

  /**
   * Read the public keys of access tokens
   *
   * The public keys that access tokens are signed with, as a JWK set (RFC 7517).
   *
   * `GET /.well-known/jwks.json`
   */
  getTokenKeys(options: CallOptions = {}): Promise<AnswerOf<'getTokenKeys'>> {
    return this.call<AnswerOf<'getTokenKeys'>>(OPERATIONS.getTokenKeys, { path: {}, options });
  }

  /**
   * List anchors
   *
   * The checkpoints that were sent to the chain, in order.
   *
   * `GET /anchors`
   */
  listAnchors(query: QueryOf<'listAnchors'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listAnchors'>> {
    return this.list<AnswerOf<'listAnchors'>>(OPERATIONS.listAnchors, { path: {}, query, options });
  }

  /**
   * Read an anchor, by id or number
   *
   * An anchor: what it commits to, its transaction, and the state of that transaction.
   *
   * `GET /anchors/{id}`
   */
  getAnchor(id: string, query: QueryOf<'getAnchor'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getAnchor'>> {
    return this.call<AnswerOf<'getAnchor'>>(OPERATIONS.getAnchor, { path: { id }, query, options });
  }

  /**
   * List the organization's API keys
   *
   * The API keys of the caller's organization that were not deleted, without their secrets.
   *
   * `GET /api-keys`
   */
  listApiKeys(query: QueryOf<'listApiKeys'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listApiKeys'>> {
    return this.list<AnswerOf<'listApiKeys'>>(OPERATIONS.listApiKeys, { path: {}, query, options });
  }

  /**
   * Make an API key
   *
   * Makes an API key of the caller's organization, for its owners and admins. `key` is shown in this answer and its
   * replays alone: send it as `x-api-key`, alone or together with an access token of the same organization; then the
   * narrower right applies. What `permissions` does not grant is refused. A key signs nothing: changes still need a
   * signature of one of the organization's wallets. A request with an API key grants only rights that this key has.
   *
   * `POST /api-keys`
   */
  createApiKey(body: BodyOf<'createApiKey'>, options: ChangeOptions = {}): Promise<AnswerOf<'createApiKey'>> {
    return this.call<AnswerOf<'createApiKey'>>(OPERATIONS.createApiKey, { path: {}, body, options });
  }

  /**
   * Delete an API key
   *
   * Deletes an API key: from now on it is refused. It stays in the log and leaves the list.
   *
   * `DELETE /api-keys/{id}`
   */
  deleteApiKey(id: string, options: ChangeOptions = {}): Promise<AnswerOf<'deleteApiKey'>> {
    return this.call<AnswerOf<'deleteApiKey'>>(OPERATIONS.deleteApiKey, { path: { id }, options });
  }

  /**
   * Read an API key
   *
   * An API key without its secret: what it may do, when it expires, and when it was last used.
   *
   * `GET /api-keys/{id}`
   */
  getApiKey(id: string, query: QueryOf<'getApiKey'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getApiKey'>> {
    return this.call<AnswerOf<'getApiKey'>>(OPERATIONS.getApiKey, { path: { id }, query, options });
  }

  /**
   * Replace an API key's secret
   *
   * Gives an API key a new secret, which is shown in this answer and its replays alone. The old secret stays valid for
   * `overlap_s` seconds, a day if that is absent, so that it can be replaced everywhere first.
   *
   * `POST /api-keys/{id}/rotate`
   */
  rotateApiKey(id: string, body: BodyOf<'rotateApiKey'>, options: ChangeOptions = {}): Promise<AnswerOf<'rotateApiKey'>> {
    return this.call<AnswerOf<'rotateApiKey'>>(OPERATIONS.rotateApiKey, { path: { id }, body, options });
  }

  /**
   * List batches
   *
   * The batches of the whole log, of all organizations: headers and signatures are public.
   *
   * `GET /batches`
   */
  listBatches(query: QueryOf<'listBatches'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listBatches'>> {
    return this.list<AnswerOf<'listBatches'>>(OPERATIONS.listBatches, { path: {}, query, options });
  }

  /**
   * Read a batch, by id or number
   *
   * A batch: its signed header, and the state of its anchor on the chain.
   *
   * `GET /batches/{id}`
   */
  getBatch(id: string, query: QueryOf<'getBatch'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getBatch'>> {
    return this.call<AnswerOf<'getBatch'>>(OPERATIONS.getBatch, { path: { id }, query, options });
  }

  /**
   * List a batch's actions
   *
   * The actions of a batch. Those of the caller's organization in full, others only as sequence and leaf. An API key
   * without the right actions.read sees only sequence and leaf of all.
   *
   * `GET /batches/{id}/actions`
   */
  listBatchActions(id: string, query: QueryOf<'listBatchActions'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listBatchActions'>> {
    return this.list<AnswerOf<'listBatchActions'>>(OPERATIONS.listBatchActions, { path: { id }, query, options });
  }

  /**
   * Read a batch's leaves
   *
   * The leaf hashes of a batch, in order. They show nothing about the actions, and give the root and the head that the
   * header signs.
   *
   * `GET /batches/{id}/leaves`
   */
  getBatchLeaves(id: string, query: QueryOf<'getBatchLeaves'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getBatchLeaves'>> {
    return this.call<AnswerOf<'getBatchLeaves'>>(OPERATIONS.getBatchLeaves, { path: { id }, query, options });
  }

  /**
   * Read the newest signed checkpoint
   *
   * The newest checkpoint whose root of the state is made. Keep it: with the consistency proof, the next one shows that
   * nothing before was rewritten. The newest head is that of the newest batch, whose header is signed too.
   *
   * `GET /checkpoint`
   */
  getCheckpoint(query: QueryOf<'getCheckpoint'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getCheckpoint'>> {
    return this.call<AnswerOf<'getCheckpoint'>>(OPERATIONS.getCheckpoint, { path: {}, query, options });
  }

  /**
   * Prove that the log only grew
   *
   * Proves that the log of one size is a prefix of the log of another (RFC 9162, 2.1.4). Sizes are numbers of batches.
   *
   * `GET /consistency`
   */
  getConsistencyProof(query: QueryOf<'getConsistencyProof'>, options: CallOptions = {}): Promise<AnswerOf<'getConsistencyProof'>> {
    return this.call<AnswerOf<'getConsistencyProof'>>(OPERATIONS.getConsistencyProof, { path: {}, query, options });
  }

  /**
   * List the organization's disputes
   *
   * The disputes that the caller's organization submitted, in the order of their verdicts, without the evidence and the
   * claim files.
   *
   * `GET /disputes`
   */
  listDisputes(query: QueryOf<'listDisputes'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listDisputes'>> {
    return this.list<AnswerOf<'listDisputes'>>(OPERATIONS.listDisputes, { path: {}, query, options });
  }

  /**
   * Submit evidence of a fault, or a claim
   *
   * Accepts an evidence file: records that the sequencer signed or anchored, and that contradict each other or the
   * protocol. Evidence that shows its fault is recorded in the log with the verdict, an action `system.verdict` that the
   * operator signs; the same evidence again gives the same dispute, so this request needs no signature and no
   * `Idempotency-Key`. Evidence that shows no fault is 422 with the reason, and leaves no trace. `kedge verify evidence`
   * comes to the same verdict without this server, and the contract's judge accepts the same evidence. Also accepts a
   * claim file: a proof in zero knowledge of chosen words of one action. Only its claimant may submit it, with a token of
   * the wallet that has the claimant's key, else 403. A claim that holds is also recorded, once for each context: the same
   * file again gives the same dispute, another claim with the context is 409. A claim that does not hold is 400 and names
   * the member that is wrong; a batch or an anchor that this log does not have is 422. `kedge verify claim` comes to the
   * same verdict, and so does the contract `KedgeClaims`. A server without a key for claims answers 503.
   *
   * `POST /disputes`
   */
  bringDispute(body: BodyOf<'bringDispute'>, options: ChangeOptions = {}): Promise<AnswerOf<'bringDispute'>> {
    return this.call<AnswerOf<'bringDispute'>>(OPERATIONS.bringDispute, { path: {}, body, options });
  }

  /**
   * Read a dispute
   *
   * A dispute with its evidence or claim, which anyone can check again.
   *
   * `GET /disputes/{id}`
   */
  getDispute(id: string, query: QueryOf<'getDispute'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getDispute'>> {
    return this.call<AnswerOf<'getDispute'>>(OPERATIONS.getDispute, { path: { id }, query, options });
  }

  /**
   * Read the reference
   *
   * The reference for people: a page that shows this document and loads nothing from elsewhere.
   *
   * `GET /docs`
   */
  getReference(options: CallOptions = {}): Promise<AnswerOf<'getReference'>> {
    return this.call<AnswerOf<'getReference'>>(OPERATIONS.getReference, { path: {}, options });
  }

  /**
   * Read the reference's style sheet
   *
   * The style sheet of the reference.
   *
   * `GET /docs/reference.css`
   */
  getReferenceStyle(options: CallOptions = {}): Promise<AnswerOf<'getReferenceStyle'>> {
    return this.call<AnswerOf<'getReferenceStyle'>>(OPERATIONS.getReferenceStyle, { path: {}, options });
  }

  /**
   * Read the reference's script
   *
   * The script of the reference.
   *
   * `GET /docs/reference.js`
   */
  getReferenceScript(options: CallOptions = {}): Promise<AnswerOf<'getReferenceScript'>> {
    return this.call<AnswerOf<'getReferenceScript'>>(OPERATIONS.getReferenceScript, { path: {}, options });
  }

  /**
   * List the organization's actions
   *
   * The actions of the caller's organization, in the log's order.
   *
   * `GET /ebus/actions`
   */
  listActions(query: QueryOf<'listActions'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listActions'>> {
    return this.list<AnswerOf<'listActions'>>(OPERATIONS.listActions, { path: {}, query, options });
  }

  /**
   * Preview what actions would do
   *
   * Shows what one action or a batch would do if it arrived now, and gives the typed data to sign with the headers to
   * send, so that a wallet can show and sign it. Nothing is stored, no nonce is used, and nothing is promised: other
   * requests may be placed first.
   *
   * `POST /ebus/actions/preview`
   */
  previewActions(body: BodyOf<'previewActions'>, options: CallOptions = {}): Promise<AnswerOf<'previewActions'>> {
    return this.call<AnswerOf<'previewActions'>>(OPERATIONS.previewActions, { path: {}, body, options });
  }

  /**
   * Read an action, by id or sequence
   *
   * An action with its receipt, by id or sequence: the organization's own, or one on an object visible to the caller.
   *
   * `GET /ebus/actions/{id}`
   */
  getAction(id: string, query: QueryOf<'getAction'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getAction'>> {
    return this.call<AnswerOf<'getAction'>>(OPERATIONS.getAction, { path: { id }, query, options });
  }

  /**
   * Get an action's proof file
   *
   * One self-contained file that proves the action without this server: the opened leaf, the path to the signed batch
   * header, and, once the chain has finalized an anchor that covers it, the path to the anchored history with contract and
   * transaction. `form=authorship` adds the signature and the signed text, for the organization that signed.
   *
   * `GET /ebus/actions/{id}/proof`
   */
  getActionProof(id: string, query: QueryOf<'getActionProof'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getActionProof'>> {
    return this.call<AnswerOf<'getActionProof'>>(OPERATIONS.getActionProof, { path: { id }, query, options });
  }

  /**
   * List events
   *
   * What happened in the caller's organization, and the batches and anchors of the whole log, in the order of `position`.
   * An API key sees the events of the areas that it may read, or all with `actions.read`; a `type` that it may not read is
   * refused. Instead of polling, follow the stream, or have events sent by a webhook.
   *
   * `GET /ebus/events`
   */
  listEvents(query: QueryOf<'listEvents'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listEvents'>> {
    return this.list<AnswerOf<'listEvents'>>(OPERATIONS.listEvents, { path: {}, query, options });
  }

  /**
   * List the organization's files
   *
   * The files of the caller's organization, in the order of upload.
   *
   * `GET /files`
   */
  listFiles(query: QueryOf<'listFiles'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listFiles'>> {
    return this.list<AnswerOf<'listFiles'>>(OPERATIONS.listFiles, { path: {}, query, options });
  }

  /**
   * Read a file's description
   *
   * A file's name, size, media type and digest.
   *
   * `GET /files/{id}`
   */
  getFile(id: string, query: QueryOf<'getFile'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getFile'>> {
    return this.call<AnswerOf<'getFile'>>(OPERATIONS.getFile, { path: { id }, query, options });
  }

  /**
   * Check that the process answers
   *
   * Answers as long as the process runs.
   *
   * `GET /healthz`
   */
  getHealth(options: CallOptions = {}): Promise<AnswerOf<'getHealth'>> {
    return this.call<AnswerOf<'getHealth'>>(OPERATIONS.getHealth, { path: {}, options });
  }

  /**
   * List objects
   *
   * The objects of the caller's organization; with `template_id` those of a template, with `owner_id` those that a wallet
   * owns, both of any organization as far as the caller may see them. All given filters must hold; `POST /objects/search`
   * accepts trees of them.
   *
   * `GET /objects`
   */
  listObjects(query: QueryOf<'listObjects'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listObjects'>> {
    return this.list<AnswerOf<'listObjects'>>(OPERATIONS.listObjects, { path: {}, query, options });
  }

  /**
   * Mint an object
   *
   * Makes an object of a template, for callers that the template lets mint. The variation's properties override the
   * template's, and the body's override both. The object belongs to the caller, or to the wallet that `to` names by id or
   * address.
   *
   * `POST /objects`
   */
  mintObject(body: BodyOf<'mintObject'>, options: ChangeOptions = {}): Promise<AnswerOf<'mintObject'>> {
    return this.call<AnswerOf<'mintObject'>>(OPERATIONS.mintObject, { path: {}, body, options });
  }

  /**
   * Count the objects that a filter finds
   *
   * The exact number of objects visible to the caller that the filter finds. The bound on the rows read is that of the
   * search.
   *
   * `POST /objects/count`
   */
  countObjects(body: BodyOf<'countObjects'>, query: QueryOf<'countObjects'> = {}, options: CallOptions = {}): Promise<AnswerOf<'countObjects'>> {
    return this.call<AnswerOf<'countObjects'>>(OPERATIONS.countObjects, { path: {}, body, query, options });
  }

  /**
   * Find objects by a filter
   *
   * The objects visible to the caller that the filter finds: a tree of `and`, `or` and `not` over conditions on members
   * and properties. It uses indexes and reads a bounded number of rows: past that it is refused, and a narrower filter
   * helps.
   *
   * `POST /objects/search`
   */
  searchObjects(body: BodyOf<'searchObjects'>, query: QueryOf<'searchObjects'> = {}, options: CallOptions = {}): Listing<AnswerOf<'searchObjects'>> {
    return this.list<AnswerOf<'searchObjects'>>(OPERATIONS.searchObjects, { path: {}, body, query, options });
  }

  /**
   * Read an object
   *
   * An object of the caller's organization, of the caller, or of a public template; with `at_sequence` as it was then, as
   * far back as its listed history reaches.
   *
   * `GET /objects/{id}`
   */
  getObject(id: string, query: QueryOf<'getObject'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getObject'>> {
    return this.call<AnswerOf<'getObject'>>(OPERATIONS.getObject, { path: { id }, query, options });
  }

  /**
   * Merge a patch into an object's properties
   *
   * Merges a patch into an object's properties (RFC 7396): members that are null are removed, objects are merged, anything
   * else is replaced. Numbers that the patch does not touch keep their spelling. The properties may have 1,048,576 bytes
   * of compact JSON in all. `If-Match` makes it a change of one known state.
   *
   * `PATCH /objects/{id}`
   */
  updateObject(id: string, body: BodyOf<'updateObject'>, options: ChangeOptions = {}): Promise<AnswerOf<'updateObject'>> {
    return this.call<AnswerOf<'updateObject'>>(OPERATIONS.updateObject, { path: { id }, body, options });
  }

  /**
   * List an object's last actions
   *
   * The last 1,000 actions on an object, newest first whatever `order` is. Older ones leave this list and stay in the log;
   * `pruned_before` gives the version from which on the list is complete.
   *
   * `GET /objects/{id}/history`
   */
  listObjectHistory(id: string, query: QueryOf<'listObjectHistory'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listObjectHistory'>> {
    return this.list<AnswerOf<'listObjectHistory'>>(OPERATIONS.listObjectHistory, { path: { id }, query, options });
  }

  /**
   * Prove an object's state
   *
   * The object's entry at a signed checkpoint, with a proof that the checkpoint's root holds it. An id that the log has
   * not made gets a proof of absence. Verify it with `kedge verify state`, the SDKs, any Merkle-Patricia trie of Ethereum,
   * or the anchor contract.
   *
   * `GET /objects/{id}/state-proof`
   */
  getObjectStateProof(id: string, query: QueryOf<'getObjectStateProof'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getObjectStateProof'>> {
    return this.call<AnswerOf<'getObjectStateProof'>>(OPERATIONS.getObjectStateProof, { path: { id }, query, options });
  }

  /**
   * Transfer an object to another wallet
   *
   * Transfers an object to another wallet, named by its id or its address.
   *
   * `POST /objects/{id}/transfer`
   */
  transferObject(id: string, body: BodyOf<'transferObject'>, options: ChangeOptions = {}): Promise<AnswerOf<'transferObject'>> {
    return this.call<AnswerOf<'transferObject'>>(OPERATIONS.transferObject, { path: { id }, body, options });
  }

  /**
   * Read this document
   *
   * This document, generated from the table that routes requests.
   *
   * `GET /openapi.json`
   */
  getDocument(options: CallOptions = {}): Promise<AnswerOf<'getDocument'>> {
    return this.call<AnswerOf<'getDocument'>>(OPERATIONS.getDocument, { path: {}, options });
  }

  /**
   * Read the caller's organization and its limits
   *
   * The organization with its tier and price, how many requests each limit allows, how many were sent in the current
   * window, and when each limit would run out at that pace. Only the operator sets the tier.
   *
   * `GET /organizations/me`
   */
  getOwnOrganization(query: QueryOf<'getOwnOrganization'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getOwnOrganization'>> {
    return this.call<AnswerOf<'getOwnOrganization'>>(OPERATIONS.getOwnOrganization, { path: {}, query, options });
  }

  /**
   * List the organization's invitations
   *
   * The invitations of the caller's organization, including used, revoked and expired ones, without their codes.
   *
   * `GET /organizations/me/invitations`
   */
  listInvitations(query: QueryOf<'listInvitations'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listInvitations'>> {
    return this.list<AnswerOf<'listInvitations'>>(OPERATIONS.listInvitations, { path: {}, query, options });
  }

  /**
   * Invite someone
   *
   * Makes an invitation to the caller's organization. Its code is shown in this answer and never again; `POST
   * /wallets/register` accepts it as `invitation`. It is valid for one wallet, only for its e-mail address if it names
   * one, until it expires or is revoked, and only while the wallet that made it may still invite to that role.
   *
   * `POST /organizations/me/invitations`
   */
  inviteMember(body: BodyOf<'inviteMember'>, options: ChangeOptions = {}): Promise<AnswerOf<'inviteMember'>> {
    return this.call<AnswerOf<'inviteMember'>>(OPERATIONS.inviteMember, { path: {}, body, options });
  }

  /**
   * Revoke an invitation
   *
   * Revokes an unused invitation: nobody can register with its code any more. Owners and admins of the organization may
   * revoke any invitation.
   *
   * `DELETE /organizations/me/invitations/{id}`
   */
  revokeInvitation(id: string, options: ChangeOptions = {}): Promise<AnswerOf<'revokeInvitation'>> {
    return this.call<AnswerOf<'revokeInvitation'>>(OPERATIONS.revokeInvitation, { path: { id }, options });
  }

  /**
   * List the organization's wallets
   *
   * The wallets of the caller's organization, in the order of registration.
   *
   * `GET /organizations/me/members`
   */
  listMembers(query: QueryOf<'listMembers'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listMembers'>> {
    return this.list<AnswerOf<'listMembers'>>(OPERATIONS.listMembers, { path: {}, query, options });
  }

  /**
   * Remove a member
   *
   * Ends a wallet's membership. From then on none of its keys can sign; its logins, its access tokens and the API keys
   * that it made are refused; its e-mail address is free again. It keeps what it owns. Owners and admins remove members;
   * an owner cannot be removed, and nobody removes their own wallet.
   *
   * `DELETE /organizations/me/members/{id}`
   */
  removeMember(id: string, options: ChangeOptions = {}): Promise<AnswerOf<'removeMember'>> {
    return this.call<AnswerOf<'removeMember'>>(OPERATIONS.removeMember, { path: { id }, options });
  }

  /**
   * Set a member's role
   *
   * Sets what a member may do: `owner`, `admin` or `member`. Owners and admins set roles; only an owner makes or changes
   * owners, and nobody changes their own role. `wallet_id` repeats the path's, because the body is signed. `If-Match`
   * accepts the ETag of `GET /organizations/me`: every change of a role or a membership changes the organization.
   *
   * `PATCH /organizations/me/members/{id}`
   */
  setMemberRole(id: string, body: BodyOf<'setMemberRole'>, options: ChangeOptions = {}): Promise<AnswerOf<'setMemberRole'>> {
    return this.call<AnswerOf<'setMemberRole'>>(OPERATIONS.setMemberRole, { path: { id }, body, options });
  }

  /**
   * Check whether the server accepts changes
   *
   * Whether the server accepts changes, with the log's head. 503 and the reason if it is read-only; reads continue then.
   *
   * `GET /readyz`
   */
  getReadiness(options: CallOptions = {}): Promise<AnswerOf<'getReadiness'>> {
    return this.call<AnswerOf<'getReadiness'>>(OPERATIONS.getReadiness, { path: {}, options });
  }

  /**
   * List the sequencer's keys
   *
   * The keys that sign batches, each with the number of the first batch that it signs, in order. A header names no key:
   * check it with the key of its number, and a checkpoint with the key of its last batch. The log names every key but its
   * first by an action in an earlier batch; the action's proof file shows that to anyone who trusts the earlier keys. The
   * contract keeps the same list.
   *
   * `GET /sequencer-keys`
   */
  listSequencerKeys(query: QueryOf<'listSequencerKeys'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listSequencerKeys'>> {
    return this.list<AnswerOf<'listSequencerKeys'>>(OPERATIONS.listSequencerKeys, { path: {}, query, options });
  }

  /**
   * Prove the state of any resource
   *
   * The entry of any id of an object, template, variation, wallet, organization, API key, webhook, file or dispute, and of
   * the action that named a sequencer key. Who may see the resource may have its proof. An API key needs the right to read
   * actions, which show as much.
   *
   * `GET /state/{id}`
   */
  getStateProof(id: string, query: QueryOf<'getStateProof'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getStateProof'>> {
    return this.call<AnswerOf<'getStateProof'>>(OPERATIONS.getStateProof, { path: { id }, query, options });
  }

  /**
   * List the organization's templates
   *
   * The templates of the caller's organization, in the order of creation.
   *
   * `GET /templates`
   */
  listTemplates(query: QueryOf<'listTemplates'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listTemplates'>> {
    return this.list<AnswerOf<'listTemplates'>>(OPERATIONS.listTemplates, { path: {}, query, options });
  }

  /**
   * Make a template
   *
   * Makes a template in the caller's organization, for its owners and admins. Objects begin with the template's
   * properties. `actions` sets who may do what with them, if the default does not fit: owners act, issuers mint. Custom
   * kinds begin with `x.`. `max_supply` bounds how many are ever minted. The name is unique in the organization.
   *
   * `POST /templates`
   */
  createTemplate(body: BodyOf<'createTemplate'>, options: ChangeOptions = {}): Promise<AnswerOf<'createTemplate'>> {
    return this.call<AnswerOf<'createTemplate'>>(OPERATIONS.createTemplate, { path: {}, body, options });
  }

  /**
   * Read a template
   *
   * A template of the caller's organization, or a public one. Templates rarely change: keep the answer with its ETag and
   * ask with `If-None-Match`.
   *
   * `GET /templates/{id}`
   */
  getTemplate(id: string, query: QueryOf<'getTemplate'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getTemplate'>> {
    return this.call<AnswerOf<'getTemplate'>>(OPERATIONS.getTemplate, { path: { id }, query, options });
  }

  /**
   * Change a template
   *
   * Replaces the named members, each as a whole, for owners and admins of the template's organization. A template with
   * live objects cannot change: make a variation. When all of them are burned it can be changed again, except for the
   * places that its schema marks with `x-index`. Its supply stays as it was created, and counts burned objects.
   *
   * `PATCH /templates/{id}`
   */
  updateTemplate(id: string, body: BodyOf<'updateTemplate'>, options: ChangeOptions = {}): Promise<AnswerOf<'updateTemplate'>> {
    return this.call<AnswerOf<'updateTemplate'>>(OPERATIONS.updateTemplate, { path: { id }, body, options });
  }

  /**
   * Prove a template's state
   *
   * As for an object. The entry holds how many objects were minted and burned, so that supply is provable.
   *
   * `GET /templates/{id}/state-proof`
   */
  getTemplateStateProof(id: string, query: QueryOf<'getTemplateStateProof'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getTemplateStateProof'>> {
    return this.call<AnswerOf<'getTemplateStateProof'>>(OPERATIONS.getTemplateStateProof, { path: { id }, query, options });
  }

  /**
   * List a template's variations
   *
   * A template's variations, in the order of creation.
   *
   * `GET /templates/{id}/variations`
   */
  listVariations(id: string, query: QueryOf<'listVariations'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listVariations'>> {
    return this.list<AnswerOf<'listVariations'>>(OPERATIONS.listVariations, { path: { id }, query, options });
  }

  /**
   * Make variations, all or none
   *
   * Makes up to 500 variations of a template, all or none: a name, and properties that are merged over the template's. One
   * bare variation is accepted too.
   *
   * `POST /templates/{id}/variations`
   */
  createVariations(id: string, body: BodyOf<'createVariations'>, options: ChangeOptions = {}): Promise<AnswerOf<'createVariations'>> {
    return this.call<AnswerOf<'createVariations'>>(OPERATIONS.createVariations, { path: { id }, body, options });
  }

  /**
   * Read name and version
   *
   * The name and version of the running server.
   *
   * `GET /version`
   */
  getVersion(options: CallOptions = {}): Promise<AnswerOf<'getVersion'>> {
    return this.call<AnswerOf<'getVersion'>>(OPERATIONS.getVersion, { path: {}, options });
  }

  /**
   * Read the caller's wallet
   *
   * The wallet that the access token belongs to, with the highest nonce that each of its keys has spent: continue from
   * there.
   *
   * `GET /wallets/me`
   */
  getOwnWallet(query: QueryOf<'getOwnWallet'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getOwnWallet'>> {
    return this.call<AnswerOf<'getOwnWallet'>>(OPERATIONS.getOwnWallet, { path: {}, query, options });
  }

  /**
   * Add a key that signs for the wallet
   *
   * Adds a key that may sign for the caller's wallet, by its address. The request is signed by a key that the wallet
   * already has, and `possession` is the new key's own signature: it consents to belong to this wallet for ever. The
   * address must never have belonged to another wallet. A request without `possession`, or with a wrong one, is refused as
   * STATE_VIOLATION with a pointer.
   *
   * `POST /wallets/me/keys`
   */
  addWalletKey(body: BodyOf<'addWalletKey'>, options: ChangeOptions = {}): Promise<AnswerOf<'addWalletKey'>> {
    return this.call<AnswerOf<'addWalletKey'>>(OPERATIONS.addWalletKey, { path: {}, body, options });
  }

  /**
   * Remove a signing key from the wallet
   *
   * Removes a key's right to sign for the caller's wallet. What it signed stays valid. The last key cannot be removed.
   *
   * `DELETE /wallets/me/keys/{id}`
   */
  removeWalletKey(id: string, options: ChangeOptions = {}): Promise<AnswerOf<'removeWalletKey'>> {
    return this.call<AnswerOf<'removeWalletKey'>>(OPERATIONS.removeWalletKey, { path: { id }, options });
  }

  /**
   * List the organization's webhooks
   *
   * The webhooks of the caller's organization that were not deleted, without their secrets.
   *
   * `GET /webhooks`
   */
  listWebhooks(query: QueryOf<'listWebhooks'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listWebhooks'>> {
    return this.list<AnswerOf<'listWebhooks'>>(OPERATIONS.listWebhooks, { path: {}, query, options });
  }

  /**
   * Make a webhook
   *
   * Makes a webhook of the caller's organization, for its owners and admins: events of the named types are sent to the
   * URL, at least once each and in order for each object, signed as Standard Webhooks 1.0 specifies. `secret` is shown in
   * this answer and its replays alone. The host must be on the public internet. An API key makes and changes only webhooks
   * for events that it may read itself. Failed deliveries are retried for three days; 410 switches the webhook off.
   *
   * `POST /webhooks`
   */
  createWebhook(body: BodyOf<'createWebhook'>, options: ChangeOptions = {}): Promise<AnswerOf<'createWebhook'>> {
    return this.call<AnswerOf<'createWebhook'>>(OPERATIONS.createWebhook, { path: {}, body, options });
  }

  /**
   * Delete a webhook
   *
   * Deletes a webhook: nothing more is sent. The signed payload is empty. The webhook stays in the log and leaves the
   * list.
   *
   * `DELETE /webhooks/{id}`
   */
  deleteWebhook(id: string, options: ChangeOptions = {}): Promise<AnswerOf<'deleteWebhook'>> {
    return this.call<AnswerOf<'deleteWebhook'>>(OPERATIONS.deleteWebhook, { path: { id }, options });
  }

  /**
   * Read a webhook
   *
   * A webhook without its secret.
   *
   * `GET /webhooks/{id}`
   */
  getWebhook(id: string, query: QueryOf<'getWebhook'> = {}, options: CallOptions = {}): Promise<AnswerOf<'getWebhook'>> {
    return this.call<AnswerOf<'getWebhook'>>(OPERATIONS.getWebhook, { path: { id }, query, options });
  }

  /**
   * Change a webhook
   *
   * Changes the named members; absent ones stay. `active` switches it on again after a receiver's 410.
   *
   * `PATCH /webhooks/{id}`
   */
  updateWebhook(id: string, body: BodyOf<'updateWebhook'>, options: ChangeOptions = {}): Promise<AnswerOf<'updateWebhook'>> {
    return this.call<AnswerOf<'updateWebhook'>>(OPERATIONS.updateWebhook, { path: { id }, body, options });
  }

  /**
   * List a webhook's deliveries
   *
   * What was sent, with what result, and when the next attempt is due.
   *
   * `GET /webhooks/{id}/deliveries`
   */
  listWebhookDeliveries(id: string, query: QueryOf<'listWebhookDeliveries'> = {}, options: CallOptions = {}): Listing<AnswerOf<'listWebhookDeliveries'>> {
    return this.list<AnswerOf<'listWebhookDeliveries'>>(OPERATIONS.listWebhookDeliveries, { path: { id }, query, options });
  }

  /**
   * Redeliver a message
   *
   * Queues a delivery again, whatever its result was, with the same message and id. It is made in its turn among the
   * object's other deliveries.
   *
   * `POST /webhooks/{id}/deliveries/{delivery_id}/redeliver`
   */
  redeliver(id: string, deliveryId: string, options: ChangeOptions = {}): Promise<AnswerOf<'redeliver'>> {
    return this.call<AnswerOf<'redeliver'>>(OPERATIONS.redeliver, { path: { id, delivery_id: deliveryId }, options });
  }

  /**
   * Give a webhook a new secret
   *
   * Gives a webhook a new secret, which is shown in this answer and its replays alone. For `overlap_s` seconds, a day if
   * that is absent, messages carry signatures of both secrets.
   *
   * `POST /webhooks/{id}/rotate`
   */
  rotateWebhookSecret(id: string, body: BodyOf<'rotateWebhookSecret'>, options: ChangeOptions = {}): Promise<AnswerOf<'rotateWebhookSecret'>> {
    return this.call<AnswerOf<'rotateWebhookSecret'>>(OPERATIONS.rotateWebhookSecret, { path: { id }, body, options });
  }

  /**
   * Send a test event
   *
   * Sends an event of the type `webhook.test`, waits for the receiver's answer and returns it; it is not kept among the
   * deliveries. It changes nothing and is not signed; only owners and admins may request it.
   *
   * `POST /webhooks/{id}/test`
   */
  testWebhook(id: string, options: ChangeOptions = {}): Promise<AnswerOf<'testWebhook'>> {
    return this.call<AnswerOf<'testWebhook'>>(OPERATIONS.testWebhook, { path: { id }, options });
  }
}
