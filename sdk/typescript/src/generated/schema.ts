/* Generated from the OpenAPI document of the server: `npm run generate`. Do not edit. */

export interface paths {
    "/.well-known/eip712-domain.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the domain of every signature
         * The EIP-712 domain under which everything is signed, with the types, in the shape of EIP-5267, and the address of the sequencer. A careful client compares it with the contract's.
         */
        get: operations["getDomain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the public keys of access tokens
         * The public keys that access tokens are signed with, as a JWK set (RFC 7517).
         */
        get: operations["getTokenKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/anchors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List anchors
         * The checkpoints that were sent to the chain, in order.
         */
        get: operations["listAnchors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/anchors/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an anchor, by id or number
         * An anchor: what it commits to, its transaction, and the state of that transaction.
         */
        get: operations["getAnchor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's API keys
         * The API keys of the caller's organization that were not deleted, without their secrets.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Make an API key
         * Makes an API key of the caller's organization, for its owners and admins. `key` is shown in this answer and its replays alone: send it as `x-api-key`, alone or together with an access token of the same organization; then the narrower right applies. What `permissions` does not grant is refused. A key signs nothing: changes still need a signature of one of the organization's wallets. A request with an API key grants only rights that this key has.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an API key
         * An API key without its secret: what it may do, when it expires, and when it was last used.
         */
        get: operations["getApiKey"];
        put?: never;
        post?: never;
        /**
         * Delete an API key
         * Deletes an API key: from now on it is refused. It stays in the log and leaves the list.
         */
        delete: operations["deleteApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace an API key's secret
         * Gives an API key a new secret, which is shown in this answer and its replays alone. The old secret stays valid for `overlap_s` seconds, a day if that is absent, so that it can be replaced everywhere first.
         */
        post: operations["rotateApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List batches
         * The batches of the whole log, of all organizations: headers and signatures are public.
         */
        get: operations["listBatches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a batch, by id or number
         * A batch: its signed header, and the state of its anchor on the chain.
         */
        get: operations["getBatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{id}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a batch's actions
         * The actions of a batch. Those of the caller's organization in full, others only as sequence and leaf. An API key without the right actions.read sees only sequence and leaf of all.
         */
        get: operations["listBatchActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{id}/leaves": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a batch's leaves
         * The leaf hashes of a batch, in order. They show nothing about the actions, and give the root and the head that the header signs.
         */
        get: operations["getBatchLeaves"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the newest signed checkpoint
         * The newest checkpoint whose root of the state is made. Keep it: with the consistency proof, the next one shows that nothing before was rewritten. The newest head is that of the newest batch, whose header is signed too.
         */
        get: operations["getCheckpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/consistency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove that the log only grew
         * Proves that the log of one size is a prefix of the log of another (RFC 9162, 2.1.4). Sizes are numbers of batches.
         */
        get: operations["getConsistencyProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/disputes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's disputes
         * The disputes that the caller's organization submitted, in the order of their verdicts, without the evidence and the claim files.
         */
        get: operations["listDisputes"];
        put?: never;
        /**
         * Submit evidence of a fault, or a claim
         * Accepts an evidence file: records that the sequencer signed or anchored, and that contradict each other or the protocol. Evidence that shows its fault is recorded in the log with the verdict, an action `system.verdict` that the operator signs; the same evidence again gives the same dispute, so this request needs no signature and no `Idempotency-Key`. Evidence that shows no fault is 422 with the reason, and leaves no trace. `kedge verify evidence` comes to the same verdict without this server, and the contract's judge accepts the same evidence.
         *
         *     Also accepts a claim file: a proof in zero knowledge of chosen words of one action. Only its claimant may submit it, with a token of the wallet that has the claimant's key, else 403. A claim that holds is also recorded, once for each context: the same file again gives the same dispute, another claim with the context is 409. A claim that does not hold is 400 and names the member that is wrong; a batch or an anchor that this log does not have is 422. `kedge verify claim` comes to the same verdict, and so does the contract `KedgeClaims`. A server without a key for claims answers 503.
         */
        post: operations["bringDispute"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/disputes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a dispute
         * A dispute with its evidence or claim, which anyone can check again.
         */
        get: operations["getDispute"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the reference
         * The reference for people: a page that shows this document and loads nothing from elsewhere.
         */
        get: operations["getReference"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/reference.css": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the reference's style sheet
         * The style sheet of the reference.
         */
        get: operations["getReferenceStyle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/reference.js": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the reference's script
         * The script of the reference.
         */
        get: operations["getReferenceScript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's actions
         * The actions of the caller's organization, in the log's order.
         */
        get: operations["listActions"];
        put?: never;
        /**
         * Submit one action
         * Does one action. The signed payload is the exact text of the member `payload`, from its first to its last byte, or `{}` if it is absent. The answer means that the action is durable, and its receipt can be checked at once and offline.
         */
        post: operations["submitAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/actions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an action, by id or sequence
         * An action with its receipt, by id or sequence: the organization's own, or one on an object visible to the caller.
         */
        get: operations["getAction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/actions/{id}/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an action's proof file
         * One self-contained file that proves the action without this server: the opened leaf, the path to the signed batch header, and, once the chain has finalized an anchor that covers it, the path to the anchored history with contract and transaction. `form=authorship` adds the signature and the signed text, for the organization that signed.
         */
        get: operations["getActionProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/actions/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit up to 500 actions under one signature
         * Does up to 500 actions under one signature; the limits count one request. By default they are independent, and the answer has one result for each in order: the action, or why it was refused. With `atomic`, which is part of the signed text, all are done or none, and the error names the first that was refused. One receipt proves all that were done. `Prefer: return=minimal` leaves out what the sender can compute.
         */
        post: operations["submitBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/actions/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview what actions would do
         * Shows what one action or a batch would do if it arrived now, and gives the typed data to sign with the headers to send, so that a wallet can show and sign it. Nothing is stored, no nonce is used, and nothing is promised: other requests may be placed first.
         */
        post: operations["previewActions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events
         * What happened in the caller's organization, and the batches and anchors of the whole log, in the order of `position`. An API key sees the events of the areas that it may read, or all with `actions.read`; a `type` that it may not read is refused. Instead of polling, follow the stream, or have events sent by a webhook.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ebus/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events as they happen
         * The same events as the list, one by one as they happen, as server-sent events. Each has its `position` as `id`: a reader that reconnects with it misses nothing and sees nothing twice. A comment every 15 s shows that the stream is alive. It ends when the access token expires, or if the reader is too slow: reconnect then.
         */
        get: operations["streamEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the log
         * The log as lines of JSON that anyone can replay: `log` first, then each batch with its leaves, and `checkpoint` at the end. With credentials, each batch is followed by the organization's own requests in it, with their signatures.
         */
        get: operations["exportLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's files
         * The files of the caller's organization, in the order of upload.
         */
        get: operations["listFiles"];
        put?: never;
        /**
         * Upload a file
         * Accepts a file as `multipart/form-data`, hashes it as it arrives, and puts its digest into the log. The signature covers that digest, `sha-256=:…:`, as the payload, and the name as the target: the part `name`, or else the filename of the part `file`. The media type is detected from the bytes, whatever was sent.
         */
        post: operations["uploadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a file's description
         * A file's name, size, media type and digest.
         */
        get: operations["getFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file
         * The file's bytes with their detected media type, always as an attachment.
         */
        get: operations["getFileContent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the process answers
         * Answers as long as the process runs.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/objects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List objects
         * The objects of the caller's organization; with `template_id` those of a template, with `owner_id` those that a wallet owns, both of any organization as far as the caller may see them. All given filters must hold; `POST /objects/search` accepts trees of them.
         */
        get: operations["listObjects"];
        put?: never;
        /**
         * Mint an object
         * Makes an object of a template, for callers that the template lets mint. The variation's properties override the template's, and the body's override both. The object belongs to the caller, or to the wallet that `to` names by id or address.
         */
        post: operations["mintObject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/objects/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an object
         * An object of the caller's organization, of the caller, or of a public template; with `at_sequence` as it was then, as far back as its listed history reaches.
         */
        get: operations["getObject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Merge a patch into an object's properties
         * Merges a patch into an object's properties (RFC 7396): members that are null are removed, objects are merged, anything else is replaced. Numbers that the patch does not touch keep their spelling. The properties may have 1,048,576 bytes of compact JSON in all. `If-Match` makes it a change of one known state.
         */
        patch: operations["updateObject"];
        trace?: never;
    };
    "/objects/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List an object's last actions
         * The last 1,000 actions on an object, newest first whatever `order` is. Older ones leave this list and stay in the log; `pruned_before` gives the version from which on the list is complete.
         */
        get: operations["listObjectHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/objects/{id}/state-proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove an object's state
         * The object's entry at a signed checkpoint, with a proof that the checkpoint's root holds it. An id that the log has not made gets a proof of absence. Verify it with `kedge verify state`, the SDKs, any Merkle-Patricia trie of Ethereum, or the anchor contract.
         */
        get: operations["getObjectStateProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/objects/{id}/transfer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Transfer an object to another wallet
         * Transfers an object to another wallet, named by its id or its address.
         */
        post: operations["transferObject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/objects/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Count the objects that a filter finds
         * The exact number of objects visible to the caller that the filter finds. The bound on the rows read is that of the search.
         */
        post: operations["countObjects"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/objects/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find objects by a filter
         * The objects visible to the caller that the filter finds: a tree of `and`, `or` and `not` over conditions on members and properties. It uses indexes and reads a bounded number of rows: past that it is refused, and a narrower filter helps.
         */
        post: operations["searchObjects"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read this document
         * This document, generated from the table that routes requests.
         */
        get: operations["getDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organizations/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the caller's organization and its limits
         * The organization with its tier and price, how many requests each limit allows, how many were sent in the current window, and when each limit would run out at that pace. Only the operator sets the tier.
         */
        get: operations["getOwnOrganization"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organizations/me/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's invitations
         * The invitations of the caller's organization, including used, revoked and expired ones, without their codes.
         */
        get: operations["listInvitations"];
        put?: never;
        /**
         * Invite someone
         * Makes an invitation to the caller's organization. Its code is shown in this answer and never again; `POST /wallets/register` accepts it as `invitation`. It is valid for one wallet, only for its e-mail address if it names one, until it expires or is revoked, and only while the wallet that made it may still invite to that role.
         */
        post: operations["inviteMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organizations/me/invitations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an invitation
         * Revokes an unused invitation: nobody can register with its code any more. Owners and admins of the organization may revoke any invitation.
         */
        delete: operations["revokeInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organizations/me/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's wallets
         * The wallets of the caller's organization, in the order of registration.
         */
        get: operations["listMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organizations/me/members/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member
         * Ends a wallet's membership. From then on none of its keys can sign; its logins, its access tokens and the API keys that it made are refused; its e-mail address is free again. It keeps what it owns. Owners and admins remove members; an owner cannot be removed, and nobody removes their own wallet.
         */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /**
         * Set a member's role
         * Sets what a member may do: `owner`, `admin` or `member`. Owners and admins set roles; only an owner makes or changes owners, and nobody changes their own role. `wallet_id` repeats the path's, because the body is signed. `If-Match` accepts the ETag of `GET /organizations/me`: every change of a role or a membership changes the organization.
         */
        patch: operations["setMemberRole"];
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check whether the server accepts changes
         * Whether the server accepts changes, with the log's head. 503 and the reason if it is read-only; reads continue then.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sequencer-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sequencer's keys
         * The keys that sign batches, each with the number of the first batch that it signs, in order. A header names no key: check it with the key of its number, and a checkpoint with the key of its last batch. The log names every key but its first by an action in an earlier batch; the action's proof file shows that to anyone who trusts the earlier keys. The contract keeps the same list.
         */
        get: operations["listSequencerKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/state/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove the state of any resource
         * The entry of any id of an object, template, variation, wallet, organization, API key, webhook, file or dispute, and of the action that named a sequencer key. Who may see the resource may have its proof. An API key needs the right to read actions, which show as much.
         */
        get: operations["getStateProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's templates
         * The templates of the caller's organization, in the order of creation.
         */
        get: operations["listTemplates"];
        put?: never;
        /**
         * Make a template
         * Makes a template in the caller's organization, for its owners and admins. Objects begin with the template's properties. `actions` sets who may do what with them, if the default does not fit: owners act, issuers mint. Custom kinds begin with `x.`. `max_supply` bounds how many are ever minted. The name is unique in the organization.
         */
        post: operations["createTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a template
         * A template of the caller's organization, or a public one. Templates rarely change: keep the answer with its ETag and ask with `If-None-Match`.
         */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a template
         * Replaces the named members, each as a whole, for owners and admins of the template's organization. A template with live objects cannot change: make a variation. When all of them are burned it can be changed again, except for the places that its schema marks with `x-index`. Its supply stays as it was created, and counts burned objects.
         */
        patch: operations["updateTemplate"];
        trace?: never;
    };
    "/templates/{id}/state-proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove a template's state
         * As for an object. The entry holds how many objects were minted and burned, so that supply is provable.
         */
        get: operations["getTemplateStateProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{id}/variations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a template's variations
         * A template's variations, in the order of creation.
         */
        get: operations["listVariations"];
        put?: never;
        /**
         * Make variations, all or none
         * Makes up to 500 variations of a template, all or none: a name, and properties that are merged over the template's. One bare variation is accepted too.
         */
        post: operations["createVariations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read name and version
         * The name and version of the running server.
         */
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in
         * Exchanges e-mail address and password for an access token and a refresh token. An unknown address takes as long as a wrong password and gets the same answer.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a login
         * Ends the login that a refresh token comes from, with every token exchanged from it. Access tokens expire by themselves. An unknown token ends nothing and gets the same answer.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the caller's wallet
         * The wallet that the access token belongs to, with the highest nonce that each of its keys has spent: continue from there.
         */
        get: operations["getOwnWallet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change e-mail address, nickname or password
         * Changes the caller's wallet. A nickname of `null` removes it. A new password needs the current one and `blind`; then the body's digest is signed instead of the body, as when a wallet is registered. A wrong current password counts as a failed login. Only with an access token: an API key belongs to no wallet.
         */
        patch: operations["updateOwnWallet"];
        trace?: never;
    };
    "/wallets/me/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a key that signs for the wallet
         * Adds a key that may sign for the caller's wallet, by its address. The request is signed by a key that the wallet already has, and `possession` is the new key's own signature: it consents to belong to this wallet for ever. The address must never have belonged to another wallet. A request without `possession`, or with a wrong one, is refused as STATE_VIOLATION with a pointer.
         */
        post: operations["addWalletKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/me/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a signing key from the wallet
         * Removes a key's right to sign for the caller's wallet. What it signed stays valid. The last key cannot be removed.
         */
        delete: operations["removeWalletKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a wallet, and its organization
         * Makes a wallet and the organization that it owns, and logs it in. The key of `address` signs the request; that address is the wallet's for ever. The body holds a password, so its digest is signed (`sha-256=:…:`), and it needs `blind`, random bytes that protect the digest against guessing; neither is kept. With the code of an `invitation` the wallet joins the organization that invited it instead of making one.
         */
        post: operations["registerWallet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/token/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange a refresh token for new tokens
         * Exchanges a refresh token for a new pair. Each is valid for one exchange: using one a second time revokes all tokens of that login.
         */
        post: operations["refreshToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the organization's webhooks
         * The webhooks of the caller's organization that were not deleted, without their secrets.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Make a webhook
         * Makes a webhook of the caller's organization, for its owners and admins: events of the named types are sent to the URL, at least once each and in order for each object, signed as Standard Webhooks 1.0 specifies. `secret` is shown in this answer and its replays alone. The host must be on the public internet. An API key makes and changes only webhooks for events that it may read itself. Failed deliveries are retried for three days; 410 switches the webhook off.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a webhook
         * A webhook without its secret.
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * Deletes a webhook: nothing more is sent. The signed payload is empty. The webhook stays in the log and leaves the list.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * Changes the named members; absent ones stay. `active` switches it on again after a receiver's 410.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a webhook's deliveries
         * What was sent, with what result, and when the next attempt is due.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{id}/deliveries/{delivery_id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redeliver a message
         * Queues a delivery again, whatever its result was, with the same message and id. It is made in its turn among the object's other deliveries.
         */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a webhook a new secret
         * Gives a webhook a new secret, which is shown in this answer and its replays alone. For `overlap_s` seconds, a day if that is absent, messages carry signatures of both secrets.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * Sends an event of the type `webhook.test`, waits for the receiver's answer and returns it; it is not kept among the deliveries. It changes nothing and is not signed; only owners and admins may request it.
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ActionBody: components["schemas"]["MintAction"] | components["schemas"]["UpdateAction"] | components["schemas"]["TransferAction"] | components["schemas"]["StatusAction"] | components["schemas"]["SetAttributesAction"] | components["schemas"]["DeleteAttributesAction"] | components["schemas"]["CustomAction"];
        /** Details of every event of an action in the log. */
        ActionData: {
            /** The action's kind. */
            action_type: string;
            /**
             * Format: uint64
             * The batch that holds it.
             */
            batch_number: number;
            /** The digest of a file's bytes: `sha-256=:…:`. */
            digest?: string | null;
            /** The name of a template, variation or file that was made. */
            name?: string | null;
            /** The object's owner after it: for minted and transferred objects. */
            owner_id?: string | null;
            /** The payload as signed, for actions on objects and for new templates, up to 4,096 bytes. */
            payload?: unknown;
            /**
             * Format: uint64
             * The payload's size if it is larger; the action itself contains it.
             */
            payload_bytes?: number | null;
            /** The resource that it acted on, or made first. */
            resource_id: string;
            /** The signing address. */
            signer: string;
            /** The template of the object, or the template that was made or changed. */
            template_id?: string | null;
            /** The variation that was made, or that an object was minted from. */
            variation_id?: string | null;
            /**
             * Format: uint64
             * That resource's version after it.
             */
            version: number;
            /** The wallet that made the request. */
            wallet_id: string;
        };
        /**
         * What was shown of an action.
         *
         *     - `inclusion`: The log holds it; not that its signer signed it.
         * @enum {string}
         */
        ActionShownText: "inclusion";
        /** An action. */
        ActionView: {
            /** Its kind. */
            action_type: string;
            /** Its batch. */
            batch_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * That batch's number.
             */
            batch_number: number;
            /** Its content. */
            content: components["schemas"]["Hash"];
            /** The log's head after it. */
            head: components["schemas"]["Hash"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** Its leaf. */
            leaf: components["schemas"]["Hash"];
            /**
             * Format: uint32
             * Its index among the batch's leaves.
             */
            leaf_index: number;
            /** The request's nonce. */
            nonce: components["schemas"]["Decimal"];
            /** The object that it acted on or made. */
            object_id: components["schemas"]["Id"] | null;
            /**
             * Format: uint64
             * The resource's version after it.
             */
            object_version: number;
            /** The payload, as signed. */
            payload: components["schemas"]["Payload"];
            /** The resource's integrity before it. */
            previous_integrity: components["schemas"]["Hash"];
            /** Proof that the log holds it; not in lists and answers to batches. */
            receipt?: components["schemas"]["Receipt"] | null;
            /** The resource that it acted on, or made first. */
            resource_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * Its position in the log.
             */
            sequence: number;
            /** The signing address. */
            signer: components["schemas"]["Address"];
            /** Always `committed`: the log contains nothing else. */
            status: string;
            /** The target, as signed. */
            target: string;
            /** When it was placed. */
            timestamp: components["schemas"]["Time"];
        };
        Address: string;
        /**
         * Format: eip55-address
         * One case throughout, or mixed as EIP-55's checksum requires.
         */
        AddressInput: string;
        /** Details of an anchor. */
        AnchorData: {
            /** The anchor. */
            anchor_id: string;
            /**
             * Format: uint64
             * The block that holds it.
             */
            block_number: number | null;
            /** The contract. */
            contract: string;
            /**
             * Format: uint64
             * The first batch that no earlier anchor covers.
             */
            first_batch: number;
            /** The log's head at that point. */
            head: string;
            /**
             * Format: uint64
             * The last batch that it covers.
             */
            last_batch: number | null;
            /**
             * Format: uint64
             * The last action that it covers.
             */
            last_sequence: number;
            /**
             * Format: uint64
             * Its number.
             */
            number: number;
            /** The root of the log tree at that point. */
            root: string;
            /** The state of the batches: `anchored` or `finalized`. */
            status: string;
            /** The transaction. */
            tx_hash: string | null;
        };
        /** How far the chain lags behind the log. A lag does not make the server unready. */
        AnchoringView: {
            /**
             * Format: uint64
             * Batches that a finalized anchor covers.
             */
            finalized_batches: number;
            /**
             * Format: uint64
             * Batches that none covers yet.
             */
            lag_batches: number;
            /**
             * Format: uint64
             * The age of the oldest of them, seconds; 0 if there is none.
             */
            lag_s: number;
        };
        /** The anchor that covers the batch. Absent from a file until the chain has finalized it. */
        AnchorProof: {
            /**
             * Format: uint64
             * The block of that transaction.
             */
            block_number: number | null;
            /** The signed checkpoint. */
            checkpoint: components["schemas"]["SignedCheckpoint"];
            /** The contract that holds the checkpoint. */
            contract: components["schemas"]["Address"];
            /** From the batch's leaf of the log tree to the checkpoint's history, bottom up. */
            path: components["schemas"]["Hash"][];
            /** The transaction that anchored it; null if the chain held it already. */
            transaction_hash: components["schemas"]["Hash"] | null;
        };
        /**
         * The status of an anchor.
         *
         *     - `pending`: Stored, not sent yet.
         *     - `submitted`: Sent.
         *     - `confirmed`: In a block.
         *     - `finalized`: In a final block.
         *     - `failed`: Given up; a later anchor covers its batches.
         * @enum {string}
         */
        AnchorState: "pending" | "submitted" | "confirmed" | "finalized" | "failed";
        /** An anchor. */
        AnchorView: {
            /**
             * Format: uint32
             * How often it was sent.
             */
            attempts: number;
            /**
             * Format: uint64
             * How many batches the log held.
             */
            batches: number;
            /**
             * Format: uint64
             * The block that holds it.
             */
            block_number: number | null;
            /** The contract. */
            contract: components["schemas"]["Address"];
            /**
             * Format: uint64
             * The first batch that no earlier anchor covers.
             */
            first_batch: number;
            /** The log's head. */
            head: components["schemas"]["Hash"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** When the checkpoint was issued. */
            issued_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * The same in milliseconds, as signed.
             */
            issued_at_ms: number;
            /**
             * Format: uint64
             * The last batch that it covers.
             */
            last_batch: number | null;
            /**
             * Format: uint64
             * Its number, from 0.
             */
            number: number;
            /** The consistency proof from the last anchored history. */
            proof: components["schemas"]["Hash"][];
            /** The root of the log tree that it anchors. */
            root: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * The last action's sequence.
             */
            sequence: number;
            /** The sequencer's signature over the checkpoint. */
            signature: components["schemas"]["Signature"];
            /** Zero for now. */
            state: components["schemas"]["Hash"];
            /** Its status. */
            status: components["schemas"]["AnchorState"];
            /** The newest transaction. */
            tx_hash: components["schemas"]["Hash"] | null;
        };
        /** Any JSON value, as it was sent. */
        AnyValue: unknown;
        ApiError: {
            /** The context; members that do not apply are absent. */
            body: {
                /** That action's error, in the service's envelope. */
                error?: components["schemas"]["ApiError"];
                /** With VALIDATION_ERROR: what is wrong, and where. */
                errors?: components["schemas"]["FieldError"][];
                /** The identifier that was not found. */
                id?: string;
                /** The first refused action of an atomic batch. */
                index?: number;
                /** What went wrong and what to do. */
                message: string;
                /** With GONE, if older parts of the log are archived: the first batch that is still here. An export can begin there. */
                minimum_batch?: number;
                /** With GONE, if older parts of the log are archived: the first sequence that is still here. */
                minimum_sequence?: number;
                /** With GONE, if the checkpoint that was asked for cannot be proven: the batches of the nearest one that can be. */
                nearest_checkpoint?: number;
                /** Its nonce, which is spent at most once. */
                nonce?: string;
                /**
                 * With UNAVAILABLE: `nothing_done` means that nothing was done and nothing will be; `unknown` that the request may be done, now or later: send exactly the same signed request again, never a new one.
                 * @enum {string}
                 */
                outcome?: "nothing_done" | "unknown";
                /** With RATE_LIMITED: the limit that is used up. */
                policy?: string;
                /**
                 * With NONCE_REUSED: `done` if something of the request that spent the nonce was done, `refused` if nothing was and a new request is needed. Absent while this is unknown.
                 * @enum {string}
                 */
                reason?: "done" | "refused";
                /** With SIGNATURE_INVALID: the address whose key made the signature. */
                recovered?: string;
                /** The request's id, as in `X-Request-Id`. */
                request_id: string;
                /** The kind of resource that was not found. */
                resource?: string;
                /** With NONCE_REUSED and `done`: the first sequence of the request that spent the nonce, shown only to the signer's own organization. */
                sequence?: number;
                /** Of a signed request with an unknown outcome: its signer. */
                signer?: string;
            };
            /**
             * What went wrong, for programs.
             * @enum {string}
             */
            code: "VALIDATION_ERROR" | "MALFORMED_JSON" | "CURSOR_INVALID" | "UNAUTHENTICATED" | "TOKEN_EXPIRED" | "CREDENTIALS_INVALID" | "SIGNATURE_REQUIRED" | "SIGNATURE_INVALID" | "DEADLINE_EXPIRED" | "NONCE_REUSED" | "FORBIDDEN" | "RESOURCE_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "CONFLICT" | "EMAIL_TAKEN" | "IDEMPOTENCY_IN_PROGRESS" | "SEQUENCE_NOT_REACHED" | "GONE" | "PRECONDITION_FAILED" | "HEADERS_TOO_LARGE" | "PAYLOAD_TOO_LARGE" | "OBJECT_TOO_LARGE" | "BATCH_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "QUOTA_EXCEEDED" | "RATE_LIMITED" | "STATE_VIOLATION" | "IDEMPOTENCY_MISMATCH" | "INTERNAL" | "UNAVAILABLE" | "RANGE_NOT_SATISFIABLE";
            /** The HTTP status. */
            status: number;
        };
        /** An API key; never its secret. */
        ApiKeyView: {
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** When it expires. */
            expires_at: components["schemas"]["Time"] | null;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** When it was last used, to the minute. */
            last_used_at: components["schemas"]["Time"] | null;
            /** Its name. */
            name: string;
            /** The organization that it acts for. */
            organization_id: components["schemas"]["Id"];
            /** What it may do. */
            permissions: components["schemas"]["Permission"][];
            /**
             * Format: uint64
             * How often its secret has been replaced.
             */
            rotations: number;
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
            /** The wallet that created it. */
            wallet_id: components["schemas"]["Id"];
        };
        /**
         * What an API key may be used for.
         *
         *     - `wallets`: The caller's wallet, its keys, the organization and its members.
         *     - `api_keys`: API keys.
         *     - `objects`: Objects, and actions on them.
         *     - `templates`: Templates and variations.
         *     - `actions`: The action bus.
         *     - `events`: Events.
         *     - `files`: Files.
         *     - `webhooks`: Webhooks.
         *     - `batches`: Batches, anchors, exports.
         * @enum {string}
         */
        Area: "wallets" | "api_keys" | "objects" | "templates" | "actions" | "events" | "files" | "webhooks" | "batches";
        /**
         * Proves that the signer signed. Not part of the default form, because a signature and the neighbours' hashes
         *     are for those who hold the request.
         */
        Authorship: {
            /** The action hashes of all the request's actions, in order. */
            action_hashes: components["schemas"]["Hash"][];
            /** Whether the request was all or none. */
            atomic: boolean;
            /**
             * Format: uint64
             * The request's deadline, Unix seconds.
             */
            deadline: number;
            /**
             * Format: uint32
             * The action's index in the request.
             */
            index: number;
            /** The request's nonce, a decimal string. */
            nonce: components["schemas"]["Decimal"];
            /** The action's salt. */
            salt: components["schemas"]["Hash"];
            /** The request's signature. */
            signature: components["schemas"]["Signature"];
        };
        /** An action of a batch. */
        BatchAction: components["schemas"]["ActionView"] | components["schemas"]["ForeignAction"];
        /** The answer to a batch. */
        BatchAnswer: {
            /** Proof for all actions that were done; null if none was. */
            receipt: components["schemas"]["BatchReceipt"] | null;
            /** One result for each action, in request order. */
            results: components["schemas"]["BatchResult"][];
        };
        /** Actions under one signature. */
        BatchBody: {
            /** The actions, done in this order. */
            actions: components["schemas"]["ActionBody"][];
            /**
             * All or none; part of what is signed.
             * @default false
             */
            atomic?: boolean;
        };
        /** Details of a sealed batch. */
        BatchData: {
            /**
             * Format: uint32
             * How many actions it holds, of all organizations.
             */
            action_count: number;
            /** The batch. */
            batch_id: string;
            /**
             * Format: uint64
             * The sequence of its first action.
             */
            first_sequence: number;
            /** The log's head after it. */
            head: string;
            /**
             * Format: uint64
             * The sequence of its last action.
             */
            last_sequence: number;
            /** The root of the tree over its leaves. */
            merkle_root: string;
            /**
             * Format: uint64
             * Its number.
             */
            number: number;
        };
        /** The header of a batch. */
        BatchHeader: {
            /**
             * Format: uint32
             * How many actions it holds: 1 to 500.
             */
            count: number;
            /**
             * Format: uint64
             * The sequence of its first action.
             */
            first_sequence: number;
            /** The log's head after its last action. */
            head: components["schemas"]["Hash"];
            /** The root of the log tree over all batches before it. */
            history: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * The batch's number, from 0.
             */
            number: number;
            /** The log's head before its first action. */
            previous_head: components["schemas"]["Hash"];
            /** The root of the tree over its leaves. */
            root: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * When it was sealed, milliseconds; never decreases, and no leaf's time is later.
             */
            sealed_at_ms: number;
            /** Always zero: the root of the state stands in checkpoints. */
            state: components["schemas"]["Hash"];
        };
        /** The leaf's position in its batch. */
        BatchPath: {
            /**
             * Format: uint32
             * The leaf's index among the batch's leaves.
             */
            leaf_index: number;
            /** From the leaf to the batch root, bottom up. */
            path: components["schemas"]["Hash"][];
        };
        /** The receipt for all the actions of a request that were done. */
        BatchReceipt: {
            /** The actions, in request order. */
            actions: components["schemas"]["ReceiptAction"][];
            /** The signed header. */
            batch: components["schemas"]["SignedBatch"];
            /** The log's domain. */
            domain: components["schemas"]["Domain"];
            /**
             * The hashes that lead from their leaves to the batch root: bottom layer first, left to right within a
             *     layer; empty if the actions are the whole batch.
             */
            proof: components["schemas"]["Hash"][];
            /**
             * Format: uint32
             * The format's version.
             */
            version: number;
        };
        /** The outcome of one action of a batch. */
        BatchResult: components["schemas"]["ActionView"] | components["schemas"]["MinimalAction"] | components["schemas"]["RefusedAction"];
        /**
         * The status of a batch.
         *
         *     - `sealed`: Signed and durable.
         *     - `anchoring`: An anchor that covers it is in progress.
         *     - `anchored`: A block holds that anchor.
         *     - `finalized`: A final block holds that anchor.
         * @enum {string}
         */
        BatchStatus: "sealed" | "anchoring" | "anchored" | "finalized";
        /** A batch. */
        BatchView: {
            /**
             * Format: uint32
             * How many actions it holds.
             */
            action_count: number;
            /** The anchor that covers it. */
            anchor_id: components["schemas"]["Id"] | null;
            /**
             * Format: uint64
             * The sequence of its first action.
             */
            first_sequence: number;
            /** The log's head after it. */
            head: components["schemas"]["Hash"];
            /** The root of the log tree over all batches before it. */
            history: components["schemas"]["Hash"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * The sequence of its last action.
             */
            last_sequence: number;
            /** The root of the tree over its leaves. */
            merkle_root: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * Its number, from 0.
             */
            number: number;
            /** The log's head before it. */
            previous_head: components["schemas"]["Hash"];
            /** When it was sealed. */
            sealed_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * The same in milliseconds, as signed.
             */
            sealed_at_ms: number;
            /** The sequencer's signature over the header. */
            signature: components["schemas"]["Signature"];
            /** Zero for now. */
            state: components["schemas"]["Hash"];
            /** Its status. */
            status: components["schemas"]["BatchStatus"];
        };
        BusKind: string;
        /** A resource that a request made or changed, with its proof. */
        ChangedApiKeyView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** When it expires. */
            expires_at: components["schemas"]["Time"] | null;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** When it was last used, to the minute. */
            last_used_at: components["schemas"]["Time"] | null;
            /** Its name. */
            name: string;
            /** The organization that it acts for. */
            organization_id: components["schemas"]["Id"];
            /** What it may do. */
            permissions: components["schemas"]["Permission"][];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /**
             * Format: uint64
             * How often its secret has been replaced.
             */
            rotations: number;
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
            /** The wallet that created it. */
            wallet_id: components["schemas"]["Id"];
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedFileView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** The path of the bytes on this service. */
            content_path: string;
            /** When it was uploaded. */
            created_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The media type detected from the bytes. */
            media_type: string;
            /** Its name. */
            name: string;
            /** Its organization. */
            organization_id: components["schemas"]["Id"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** SHA-256 of its bytes. */
            sha256: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * Its size in bytes.
             */
            size_bytes: number;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
            /** The wallet that uploaded it. */
            wallet_id: components["schemas"]["Id"];
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedInvitationView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** The only e-mail address that may use it; `null` for any. */
            email: string | null;
            /** When it expires. */
            expires_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The wallet that invites: the invitation is valid only while that wallet may invite. */
            invited_by: components["schemas"]["Id"];
            /** The organization. */
            organization_id: components["schemas"]["Id"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /** It was revoked. */
            revoked: boolean;
            /** The role of the wallet that joins. */
            role: components["schemas"]["Role"];
            /** The wallet that used it. */
            used_by: components["schemas"]["Id"] | null;
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedLoggedIn: {
            /** Shown with each request: `Authorization: Bearer <access_token>`. */
            access_token: string;
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * Seconds that the access token is good for.
             */
            expires_in: number;
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /** Exchanged for new tokens, once. */
            refresh_token: string;
            /** Always `Bearer`. */
            token_type: string;
            /** The wallet. */
            wallet: components["schemas"]["WalletView"];
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedObjectView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** When it was minted. */
            created_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The organization that issued it. */
            organization_id: components["schemas"]["Id"];
            /** That wallet's address. */
            owner_address: components["schemas"]["Address"];
            /** The wallet that owns it. */
            owner_id: components["schemas"]["Id"];
            /** Its properties. */
            properties: components["schemas"]["Properties"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /**
             * Format: uint64
             * Its number among the objects of its template, from 1, in the order in which they were minted.
             */
            serial: number;
            /** The proof of this state, if it was asked for. */
            state_proof?: components["schemas"]["StateProof"] | null;
            /** Which actions it allows. */
            status: components["schemas"]["ObjectStatus"];
            /** The template that it was made from. */
            template_id: components["schemas"]["Id"];
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /** The variation, if one was named. */
            variation_id: components["schemas"]["Id"] | null;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedShownInvitation: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** The code for registering: shown only in this answer, and in a replay. */
            code: string;
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** The only e-mail address that may use it; `null` for any. */
            email: string | null;
            /** When it expires. */
            expires_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The wallet that invites: the invitation is valid only while that wallet may invite. */
            invited_by: components["schemas"]["Id"];
            /** The organization. */
            organization_id: components["schemas"]["Id"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /** It was revoked. */
            revoked: boolean;
            /** The role of the wallet that joins. */
            role: components["schemas"]["Role"];
            /** The wallet that used it. */
            used_by: components["schemas"]["Id"] | null;
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedShownKey: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** When it expires. */
            expires_at: components["schemas"]["Time"] | null;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The key for the header `x-api-key`: shown only in this answer, and in a replay to the same signer. */
            key: string;
            /** When it was last used, to the minute. */
            last_used_at: components["schemas"]["Time"] | null;
            /** Its name. */
            name: string;
            /** The organization that it acts for. */
            organization_id: components["schemas"]["Id"];
            /** What it may do. */
            permissions: components["schemas"]["Permission"][];
            /** Until when the previous secret is still valid; absent if it is not. */
            previous_until?: components["schemas"]["Time"] | null;
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /**
             * Format: uint64
             * How often its secret has been replaced.
             */
            rotations: number;
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
            /** The wallet that created it. */
            wallet_id: components["schemas"]["Id"];
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedTemplateView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** Who may do what, if the default does not fit. */
            actions: components["schemas"]["RuleView"][];
            /**
             * Format: uint64
             * How many of these have been burned. Answers to changes do not say it.
             */
            burned_count?: number | null;
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** What it is for. */
            description: string;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** How many objects may ever be minted. */
            max_supply: components["schemas"]["Decimal"] | null;
            /**
             * Format: uint64
             * How many have been minted.
             */
            minted_count: number;
            /** Its name, unique in the organization. */
            name: string;
            /** The organization that issues its objects. */
            organization_id: components["schemas"]["Id"];
            /** The initial properties of its objects. */
            properties: components["schemas"]["Properties"];
            /** Every organization can read it and its objects. */
            public_access: boolean;
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /** JSON Schema that its objects' properties must satisfy. */
            schema: components["schemas"]["Properties"] | null;
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** The proof of this state, if it was asked for. */
            state_proof?: components["schemas"]["StateProof"] | null;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many variations it has.
             */
            variation_count: number;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedWalletView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** The address that registered it. */
            address: components["schemas"]["Address"];
            /** When it was registered. */
            created_at: components["schemas"]["Time"];
            /** The e-mail address for logging in. */
            email: string;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The current signing keys. */
            keys: components["schemas"]["Address"][];
            /** A name to show. */
            nickname: string | null;
            /** Its organization. */
            organization_id: components["schemas"]["Id"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /** Its role there. */
            role: components["schemas"]["Role"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedWebhookView: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** While false, nothing is sent. */
            active: boolean;
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** What it is for. */
            description: string;
            /** Types of events; `*` is every type. */
            events: string[];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The organization whose events are sent. */
            organization_id: components["schemas"]["Id"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /** The URL that receives the messages. */
            url: string;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** A resource that a request made or changed, with its proof. */
        ChangedWebhookWithSecret: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** While false, nothing is sent. */
            active: boolean;
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** What it is for. */
            description: string;
            /** Types of events; `*` is every type. */
            events: string[];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The organization whose events are sent. */
            organization_id: components["schemas"]["Id"];
            /** Proof that the log holds the action; it can be checked offline at once. */
            receipt: components["schemas"]["Receipt"];
            /**
             * The secret that signs from now on, `whsec_…` (Standard Webhooks). Shown only in this answer, and in a
             *     replay to the same signer.
             */
            secret: string;
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /** The URL that receives the messages. */
            url: string;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** The state of the log after some number of batches. */
        Checkpoint: {
            /**
             * Format: uint64
             * How many batches the log holds.
             */
            batches: number;
            /** The hash chain's head. */
            head: components["schemas"]["Hash"];
            /** The root of the log tree over all the batches. */
            history: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * When it was issued, milliseconds.
             */
            issued_at_ms: number;
            /**
             * Format: uint64
             * The sequence of the last action.
             */
            sequence: number;
            /** The root of the state after `sequence`; zero where the checkpoint has none. */
            state: components["schemas"]["Hash"];
        };
        /** The newest signed head. */
        CheckpointView: {
            /** The signed data. */
            checkpoint: components["schemas"]["Checkpoint"];
            /** The log's domain. */
            domain: components["schemas"]["Domain"];
            /** The key that signed it: the key of its last batch. */
            sequencer: components["schemas"]["Address"];
            /** The sequencer's signature. */
            signature: components["schemas"]["Signature"];
        };
        /** A claim file. */
        ClaimBody: {
            anchor: {
                block_number: number | null;
                checkpoint: components["schemas"]["SignedCheckpoint"];
                contract: components["schemas"]["Address"];
                path: components["schemas"]["Hash"][];
                transaction_hash: components["schemas"]["Hash"] | null;
            } | null;
            batch: components["schemas"]["SignedBatch"];
            binding: {
                claimant: components["schemas"]["Address"];
                purpose: components["schemas"]["Hash"];
                resolver: components["schemas"]["Address"];
            };
            disclosed: {
                kind?: {
                    hash: components["schemas"]["Hash"];
                    text?: string | null;
                };
                payload?: {
                    hash: components["schemas"]["Hash"];
                    text?: string | null;
                };
                signer?: components["schemas"]["Address"];
                target?: {
                    hash: components["schemas"]["Hash"];
                    text?: string | null;
                };
            };
            domain: components["schemas"]["Domain"];
            /** @enum {string} */
            format: "kedge.claim";
            inclusion: components["schemas"]["BatchPath"];
            key_hash: components["schemas"]["Hash"];
            leaf: {
                content: components["schemas"]["Hash"];
                integrity: components["schemas"]["Hash"];
                sequence: number;
                timestamp_ms: number;
            };
            proof: {
                a: components["schemas"]["Hash"][];
                b: components["schemas"]["Hash"][];
                c: components["schemas"]["Hash"][];
            };
            public_inputs: components["schemas"]["Hash"][];
            sequencer: components["schemas"]["Address"];
            /** @enum {integer} */
            version: 1;
        };
        /** What a valid claim shows. */
        ClaimShownView: {
            /** Whether it leads to a checkpoint that the chain had finalized when it was submitted. */
            anchored: boolean;
            /** The claimant. */
            claimant: components["schemas"]["Address"];
            /** The hash of these three and the log's domain; the log accepts each only once. */
            context: components["schemas"]["Hash"];
            /** What it discloses. */
            disclosed: components["schemas"]["DisclosedView"];
            /** What the claim is for. */
            purpose: components["schemas"]["Hash"];
            /** The contract that it is for. */
            resolver: components["schemas"]["Address"];
            /**
             * Format: uint64
             * The sequence of the action.
             */
            sequence: number;
            /** What it shows of the action. */
            shown: components["schemas"]["ActionShownText"];
            /** When the action was placed. */
            timestamp: components["schemas"]["Time"];
        };
        /** What a node is among several that share a log. A follower is ready once it lags by less than a second. */
        ClusterView: {
            /**
             * Format: uint64
             * The last frame of the log that it holds.
             */
            frame: number;
            /**
             * Format: double
             * Seconds since it held everything that the stream holds; absent before that was ever so.
             */
            lag_s?: number | null;
            /** The name of the node that leads, as far as it knows. */
            leader: string | null;
            /** This node's name. */
            node: string;
            /** Why it cannot continue, if so: the operator has to act. */
            problem?: string | null;
            /** `leader` or `follower`. */
            role: string;
            /** Why it accepts no changes although it leads, if so; it continues by itself. */
            stalled?: string | null;
            /**
             * Format: uint64
             * The last frame of the stream, when that was last seen.
             */
            stream_frame: number;
            /**
             * Format: uint64
             * The newest term it knows.
             */
            term: number;
        };
        /** Proof that one size of the log extends another (RFC 9162, 2.1.4). */
        ConsistencyView: {
            /** The root at the smaller size. */
            first_root: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * The smaller size, in batches.
             */
            from: number;
            /** The proof. */
            proof: components["schemas"]["Hash"][];
            /** The root at the larger size. */
            second_root: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * The larger size.
             */
            to: number;
        };
        /** The bytes, with the media type detected from them. */
        Content: unknown;
        /** The request of a count of objects. */
        CountBody: {
            /** The condition for matches. */
            filter: components["schemas"]["Filter"];
        };
        /** How many objects match. */
        CountView: {
            /**
             * Format: uint64
             * The exact number of matches that the caller sees.
             */
            count: number;
        };
        /** Which of the four operations are allowed. */
        Crud: {
            /**
             * Create.
             * @default false
             */
            create: boolean;
            /**
             * Delete.
             * @default false
             */
            delete: boolean;
            /**
             * Read.
             * @default false
             */
            read: boolean;
            /**
             * Change.
             * @default false
             */
            update: boolean;
        };
        CustomAction: {
            action_type: string;
            object_id: components["schemas"]["ObjectId"];
            /** Any JSON value, kept as it is. */
            payload?: unknown;
        };
        /** Requests counted on this UTC day. */
        DayUsage: {
            /**
             * Format: uint64
             * All requests that count.
             */
            requests: number;
        };
        Decimal: string;
        DeleteAttributesAction: {
            /** @enum {string} */
            action_type: "delete_attributes";
            object_id: components["schemas"]["ObjectId"];
            payload: components["schemas"]["DeleteAttributesPayload"];
        };
        /** Attributes to delete. */
        DeleteAttributesPayload: {
            /** Their names. */
            attributes: string[];
        };
        /** The delivery of an event to a webhook. */
        DeliveryView: {
            /**
             * Format: uint32
             * How many attempts were made.
             */
            attempts: number;
            /** When it was queued. */
            created_at: components["schemas"]["Time"];
            /** Why the last attempt failed. */
            error: string | null;
            /** The event. */
            event_id: components["schemas"]["Id"];
            /** The type of the event. */
            event_type: string;
            /** Its id: `webhook-id` of the message, the same for every attempt. */
            id: components["schemas"]["Id"];
            /** When the last attempt began. */
            last_attempt_at: components["schemas"]["Time"] | null;
            /** When the next one is due. */
            next_attempt_at: components["schemas"]["Time"] | null;
            /** The object of the event. */
            object_id: components["schemas"]["Id"] | null;
            /**
             * Format: uint16
             * The HTTP status of the last answer.
             */
            response_status: number | null;
            /** `pending`: another attempt will be made; `delivered`; `failed`: given up. */
            status: string;
            /** The webhook. */
            webhook_id: components["schemas"]["Id"];
        };
        /** A disclosed text. */
        DisclosedTextView: {
            /** keccak256 of the text, as shown by the proof. */
            hash: components["schemas"]["Hash"];
            /** The text, if the claimant discloses it. */
            text?: string | null;
        };
        /** What a claim discloses of an action; the rest stays hidden. */
        DisclosedView: {
            /** The kind of action. */
            kind?: components["schemas"]["DisclosedTextView"] | null;
            /** Its payload. */
            payload?: components["schemas"]["DisclosedTextView"] | null;
            /** Its signer. */
            signer?: components["schemas"]["Address"] | null;
            /** Its target. */
            target?: components["schemas"]["DisclosedTextView"] | null;
        };
        DisputeBody: components["schemas"]["EvidenceBody"] | components["schemas"]["ClaimBody"];
        /**
         * The kind of dispute.
         *
         *     - `fault`: A fault of the sequencer.
         *     - `claim`: A claim about an action.
         * @enum {string}
         */
        DisputeKindText: "fault" | "claim";
        /** A decided dispute. */
        DisputeView: {
            /** What the claim shows; only for claims. */
            action?: components["schemas"]["ClaimShownView"] | null;
            /**
             * Format: uint64
             * The number of that batch, of the checkpoint's last one, or of the batch that holds the action.
             */
            batch: number;
            /** The claim file, in its normal form; only for claims, and not in lists. */
            claim?: components["schemas"]["Properties"] | null;
            /** SHA-256 of the claim file in its normal form; only for claims. */
            claim_digest?: components["schemas"]["Hash"] | null;
            /** When the verdict was recorded. */
            created_at: components["schemas"]["Time"];
            /** The evidence file, in its normal form; only for faults, and not in lists. */
            evidence?: components["schemas"]["Properties"] | null;
            /** SHA-256 of the evidence in its normal form; only for faults. */
            evidence_digest?: components["schemas"]["Hash"] | null;
            /** The proven fault; only for faults. */
            fault?: components["schemas"]["FaultName"] | null;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The kind of dispute. */
            kind: components["schemas"]["DisputeKindText"];
            /** The organization that submitted it. */
            organization_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * The sequence of the verdict's action.
             */
            sequence: number;
            /**
             * Its subject. For a fault a batch, by its header, or an anchor, by its checkpoint. The log may not hold it,
             *     because that may be the fault. For a claim the action.
             */
            subject_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** What a log is bound to for its whole life: a chain and the log's first anchor contract there. */
        Domain: {
            /**
             * Format: uint64
             * EIP-155 chain id.
             */
            chain_id: number;
            /** The log's first anchor contract. */
            verifying_contract: components["schemas"]["Address"];
        };
        /** The domain of every signature, in the shape of EIP-5267's `eip712Domain()`. */
        DomainView: {
            /**
             * Format: uint64
             * The chain.
             */
            chainId: number;
            /** None. */
            extensions: number[];
            /** The members of the domain that are used: name, version, chainId, verifyingContract. */
            fields: string;
            /** Its name. */
            name: string;
            /** The type that is signed. */
            primaryType: string;
            /** Zero: it is not used. */
            salt: components["schemas"]["Hash"];
            /** The address that signs the next batch. `GET /sequencer-keys` lists the keys of all batches. */
            sequencer: components["schemas"]["Address"];
            /** The types of the signed data. */
            types: components["schemas"]["Types"];
            /** The contract. */
            verifyingContract: components["schemas"]["Address"];
            /** Its version. */
            version: string;
        };
        /** Details of an event. */
        EventData: components["schemas"]["FailedData"] | components["schemas"]["ActionData"] | components["schemas"]["BatchData"] | components["schemas"]["AnchorData"];
        /** Server-sent events. In each, `id` is its position, `event` its type, `data` an Event. Lines that begin with a colon are heartbeats. */
        EventStream: string;
        /** An event. */
        EventView: {
            /** The action in the log; null if there is none. */
            action_id: string | null;
            /** Details, by type. */
            data: components["schemas"]["EventData"];
            /** Its id: the same at every reading, so that duplicates can be recognised. */
            id: string;
            /** The object that it acted on or made. */
            object_id: string | null;
            /** The organization that acted; null for batches and anchors. */
            organization_id: string | null;
            /** Its position among all events; pass it to the stream as `last_event_id`. */
            position: string;
            /**
             * Format: uint64
             * The log's sequence: the action's own; for a batch its last; for an event outside the log,
             *     the log's last sequence at that time.
             */
            sequence: number;
            /** When it happened. */
            timestamp: string;
            /**
             * What happened: `object.created`, `object.updated`, `object.transferred`, `object.locked`,
             *     `object.unlocked`, `object.burned`, `template.created`, `variation.created`,
             *     `wallet.registered`, `file.created`, `action.executed` (any other action), `action.failed`
             *     (refused, not in the log), `batch.sealed`, `batch.anchored` (a block holds the anchor),
             *     `anchor.confirmed` (that block is final: proof files hold the anchor).
             */
            type: string;
        };
        /** An evidence file. */
        EvidenceBody: {
            domain: components["schemas"]["Domain"];
            /** The fault, and the records that show it; the members differ for each fault. */
            evidence: {
                action?: {
                    [key: string]: unknown;
                };
                anchored_batches?: number;
                batch?: {
                    [key: string]: unknown;
                };
                before?: {
                    [key: string]: unknown;
                };
                beginning?: string;
                earlier?: {
                    [key: string]: unknown;
                };
                fault: components["schemas"]["FaultName"];
                first?: {
                    [key: string]: unknown;
                };
                held?: string;
                last?: {
                    [key: string]: unknown;
                };
                later?: {
                    [key: string]: unknown;
                };
                leaves?: string[];
                left?: {
                    [key: string]: unknown;
                };
                next?: {
                    [key: string]: unknown;
                };
                path?: string[];
                previous?: string;
                proof?: string[];
                second?: {
                    [key: string]: unknown;
                };
                signed?: {
                    [key: string]: unknown;
                };
            };
            /** @enum {string} */
            format: "kedge.evidence";
            /** @enum {integer} */
            version: 1;
        };
        /** Details of a refused action. */
        FailedData: {
            /** hashStruct of the action, which the signature covers. */
            action_hash: string;
            /** The action's kind. */
            action_type: string;
            /** True if the whole request was refused because of it. */
            atomic: boolean;
            /** The error's code, as in the answer. */
            code: string;
            /**
             * Format: uint32
             * Its index in the request.
             */
            index: number;
            /** The error's message, shortened to 300 characters. */
            message: string;
            /** The first invalid place of the payload. */
            pointer?: string | null;
            /**
             * Format: uint64
             * How many actions the request held.
             */
            request_actions: number;
            /** The target, as signed. */
            target: string;
        };
        /**
         * A fault by the name of its evidence.
         *
         *     - `conflicting_batches`: Two headers with one number.
         *     - `conflicting_checkpoints`: Two checkpoints over equally many batches.
         *     - `omitted_batch`: A signed header that the anchored history does not hold.
         *     - `false_checkpoint`: A checkpoint whose head or sequence is not its last batch's.
         *     - `false_history`: A header whose history is not the anchored log's beginning.
         *     - `false_checkpoint_history`: A checkpoint whose history is not the anchored log's beginning.
         *     - `broken_link`: Two consecutive headers that do not connect.
         *     - `broken_header`: A header that no log can hold.
         *     - `broken_leaf`: A leaf that does not fit its position.
         *     - `falling_time`: A later action with an earlier time.
         *     - `broken_chain`: Leaves that give a batch's root but not its head.
         *     - `replayed_content`: One content at two sequences.
         *     - `forked_integrity`: Two actions that extend one integrity.
         * @enum {string}
         */
        FaultName: "conflicting_batches" | "conflicting_checkpoints" | "omitted_batch" | "false_checkpoint" | "false_history" | "false_checkpoint_history" | "broken_link" | "broken_header" | "broken_leaf" | "falling_time" | "broken_chain" | "replayed_content" | "forked_integrity";
        /** What is wrong at one place of the body. */
        FieldError: {
            /** What is wrong, for programs. */
            code: string;
            /** What to do about it. */
            message: string;
            /** RFC 6901 pointer into the body; empty for the whole. */
            pointer: string;
        };
        /** A file's description. */
        FileView: {
            /** The path of the bytes on this service. */
            content_path: string;
            /** When it was uploaded. */
            created_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The media type detected from the bytes. */
            media_type: string;
            /** Its name. */
            name: string;
            /** Its organization. */
            organization_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** SHA-256 of its bytes. */
            sha256: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * Its size in bytes.
             */
            size_bytes: number;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
            /** The wallet that uploaded it. */
            wallet_id: components["schemas"]["Id"];
        };
        /** A tree of `and`, `or` and `not` over conditions. Values of different JSON types are never equal and have no order; numbers are compared exactly, texts by code point. A condition on a missing value is false; `ne` is the negation of `eq`. */
        Filter: components["schemas"]["FilterAnd"] | components["schemas"]["FilterOr"] | components["schemas"]["FilterNot"] | components["schemas"]["FilterCondition"];
        FilterAnd: {
            and: components["schemas"]["Filter"][];
        };
        FilterCondition: {
            /** id, template_id, variation_id, owner_id, owner_address, status, version, sequence, created_at, updated_at, or properties. and the keys that lead to a value, separated by dots; a dot or a backslash in a key has a backslash before it. */
            field: string;
            /** @enum {string} */
            op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "exists" | "prefix" | "contains";
            /** For `in` an array of values, for `exists` true or false, otherwise a text, a number, true, false or null. `contains` finds part of a text, or an element of an array. */
            value: unknown;
        };
        FilterNot: {
            not: components["schemas"]["Filter"];
        };
        FilterOr: {
            or: components["schemas"]["Filter"][];
        };
        /** The forecast of a limit. */
        Forecast: {
            /**
             * When nothing will be left, if requests continue at the rate since the window began; null if
             *     the window ends first.
             */
            exhausted_at: components["schemas"]["Time"] | null;
            /** The limit's name, as in `policy` of a refusal. */
            policy: string;
            /**
             * Format: uint64
             * Requests left in this window.
             */
            remaining: number;
            /** When the next window begins. */
            resets_at: components["schemas"]["Time"];
        };
        /** When each limit will be used up. */
        ForecastView: {
            /** POST /ebus/actions/batch, per minute; a batch is one request (`action-batches`). */
            action_batches_per_minute: components["schemas"]["Forecast"] | null;
            /** POST /files, per minute (`file-uploads`). */
            file_uploads_per_minute: components["schemas"]["Forecast"] | null;
            /** GET /objects, GET /templates and GET /batches together, per minute (`list-reads`). */
            list_reads_per_minute: components["schemas"]["Forecast"] | null;
            /** The bytes in the log. */
            log_bytes: components["schemas"]["LogForecast"] | null;
            /** POST /objects and PATCH /objects/{id} together, per minute (`object-writes`). */
            object_writes_per_minute: components["schemas"]["Forecast"] | null;
            /** All requests, per UTC day (`tier-day`). */
            requests_per_day: components["schemas"]["Forecast"] | null;
            /** All requests, per minute (`tier-minute`). */
            requests_per_minute: components["schemas"]["Forecast"] | null;
            /** POST /templates, per minute (`template-writes`). */
            template_writes_per_minute: components["schemas"]["Forecast"] | null;
        };
        /** An action of a batch, for a caller that may not see it in full. */
        ForeignAction: {
            /** Its leaf. */
            leaf: components["schemas"]["Hash"];
            /**
             * Format: uint32
             * Its index among the batch's leaves.
             */
            leaf_index: number;
            /**
             * Format: uint64
             * Its position in the log.
             */
            sequence: number;
        };
        Hash: string;
        /** The process answers. */
        HealthView: {
            /** Always `ok`. */
            status: string;
        };
        /** Bytes in hexadecimal, `0x` for none. */
        HexBytes: string;
        /** The actions of an object. */
        HistoryPage: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The actions, newest first. */
            items: components["schemas"]["ActionView"][];
            /**
             * Format: uint64
             * Actions with a lower version are no longer in this list; the log keeps them. Null if there
             *     are none.
             */
            pruned_before: number | null;
        };
        Id: string;
        /** An invitation; never its code. */
        InvitationView: {
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** The only e-mail address that may use it; `null` for any. */
            email: string | null;
            /** When it expires. */
            expires_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The wallet that invites: the invitation is valid only while that wallet may invite. */
            invited_by: components["schemas"]["Id"];
            /** The organization. */
            organization_id: components["schemas"]["Id"];
            /** It was revoked. */
            revoked: boolean;
            /** The role of the wallet that joins. */
            role: components["schemas"]["Role"];
            /** The wallet that used it. */
            used_by: components["schemas"]["Id"] | null;
        };
        /** An invitation to create. */
        InviteBody: {
            /**
             * Format: email
             * The only e-mail address that may use it; any if absent.
             */
            email?: string | null;
            /**
             * Format: uint64
             * How long the invitation is valid, seconds; a week if absent.
             */
            expires_in_s?: number | null;
            /** The role of the wallet that joins; member if absent. */
            role?: components["schemas"]["Role"] | null;
        };
        /** An API key to create. */
        KeyBody: {
            /**
             * Format: date-time
             * When the key expires, RFC 3339; it must be in the future.
             */
            expires_at?: string | null;
            /** A name to recognise it by; not unique. */
            name: components["schemas"]["NameInput"];
            /** Each resource at most once; anything not granted is refused. */
            permissions: components["schemas"]["WantedPermission"][];
        };
        /** The public keys of access tokens (RFC 7517). */
        KeysView: {
            keys: {
                [key: string]: unknown;
            }[];
        };
        /** The leaves of a batch. */
        LeavesView: {
            /** The batch. */
            batch_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * The sequence of the first leaf.
             */
            first_sequence: number;
            /** The leaves, in order. */
            leaves: components["schemas"]["Hash"][];
            /**
             * Format: uint64
             * Its number.
             */
            number: number;
        };
        /** The limits of an organization. */
        LimitsView: {
            /**
             * Format: uint64
             * POST /ebus/actions/batch, per minute; a batch is one request (`action-batches`).
             */
            action_batches_per_minute: number | null;
            /**
             * Format: uint64
             * POST /files, per minute (`file-uploads`).
             */
            file_uploads_per_minute: number | null;
            /**
             * Format: uint64
             * GET /objects, GET /templates and GET /batches together, per minute (`list-reads`).
             */
            list_reads_per_minute: number | null;
            /**
             * Format: uint64
             * Bytes that its requests may add to the log, with the objects and variations that they make
             *     (`log-bytes`). Beyond that, writes are refused with 403.
             */
            log_bytes: number | null;
            /**
             * Format: uint64
             * POST /objects and PATCH /objects/{id} together, per minute (`object-writes`).
             */
            object_writes_per_minute: number | null;
            /**
             * Format: uint64
             * All requests, per UTC day (`tier-day`).
             */
            requests_per_day: number | null;
            /**
             * Format: uint64
             * All requests, per minute (`tier-minute`).
             */
            requests_per_minute: number | null;
            /**
             * Format: uint64
             * POST /templates, per minute (`template-writes`).
             */
            template_writes_per_minute: number | null;
        };
        /** Lines of JSON: `log`, then for each batch `batch` and the caller's `request`s, then `checkpoint`. */
        Lines: string;
        /** When the log's quota is used up. */
        LogForecast: {
            /**
             * When nothing will be left, if bytes continue to be added at the average rate since the
             *     organization was created; null if that is too far away to tell.
             */
            exhausted_at: components["schemas"]["Time"] | null;
            /** The quota's name, as in `policy` of a refusal. */
            policy: string;
            /**
             * Format: uint64
             * Bytes left.
             */
            remaining: number;
        };
        /** A wallet and the tokens to act for it. */
        LoggedIn: {
            /** Shown with each request: `Authorization: Bearer <access_token>`. */
            access_token: string;
            /**
             * Format: uint64
             * Seconds that the access token is good for.
             */
            expires_in: number;
            /** Exchanged for new tokens, once. */
            refresh_token: string;
            /** Always `Bearer`. */
            token_type: string;
            /** The wallet. */
            wallet: components["schemas"]["WalletView"];
        };
        /** The login has ended. */
        LoggedOut: {
            /** Always true: its refresh tokens no longer give new tokens. */
            ended: boolean;
        };
        /** The body of a login. */
        LoginBody: {
            email: string;
            password: string;
        };
        ManyVariations: {
            variations: components["schemas"]["VariationBody"][];
        };
        /** What `Prefer: return=minimal` keeps of a done action: what its sender cannot compute. */
        MinimalAction: {
            /**
             * Format: uint32
             * Its index among the batch's leaves.
             */
            leaf_index: number;
            /**
             * Format: uint64
             * The resource's version after it.
             */
            object_version: number;
            /**
             * Format: uint64
             * Its position in the log.
             */
            sequence: number;
        };
        MintAction: {
            /** @enum {string} */
            action_type: "mint";
            payload?: components["schemas"]["MintPayload"];
            template_id: components["schemas"]["TemplateId"];
        };
        /** What a mint makes. */
        MintPayload: {
            /** Merged over the properties of template and variation. */
            properties?: {
                [key: string]: unknown;
            } | null;
            /** The new object's owner; the signer's wallet if absent. */
            to?: components["schemas"]["Recipient"] | null;
            /** One of the template's variations. */
            variation_id?: components["schemas"]["VariationId"] | null;
        };
        /** Requests counted in this minute. */
        MinuteUsage: {
            /**
             * Format: uint64
             * POST /ebus/actions/batch.
             */
            action_batches: number;
            /**
             * Format: uint64
             * POST /files.
             */
            file_uploads: number;
            /**
             * Format: uint64
             * GET /objects, GET /templates and GET /batches.
             */
            list_reads: number;
            /**
             * Format: uint64
             * POST /objects and PATCH /objects/{id}.
             */
            object_writes: number;
            /**
             * Format: uint64
             * All requests that count.
             */
            requests: number;
            /**
             * Format: uint64
             * POST /templates.
             */
            template_writes: number;
        };
        NameInput: string;
        /** Whether the chain's node answers. The server stays ready if it does not. */
        NodeView: {
            /** Whether it answers. */
            reachable: boolean;
            /**
             * Format: uint64
             * For how long it has not answered, seconds.
             */
            unreachable_s?: number | null;
        };
        /** The nonces of one of a wallet's keys. */
        NonceView: {
            /** The key's address. */
            address: components["schemas"]["Address"];
            /** Its highest spent nonce; "0" before the first. */
            highest: components["schemas"]["Decimal"];
        };
        /** Nothing. */
        NoPayload: Record<string, never>;
        ObjectBody: {
            /** Merged over the properties of template and variation. */
            properties?: {
                [key: string]: unknown;
            } | null;
            /** The template that the object is made from. */
            template_id: components["schemas"]["TemplateId"];
            /** The new object's owner; the caller if absent. */
            to?: components["schemas"]["Recipient"] | null;
            /** One of the template's variations. */
            variation_id?: components["schemas"]["VariationId"] | null;
        };
        ObjectId: string;
        ObjectPatch: {
            /** RFC 7396 merge patch of the properties. */
            properties?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * What may be done with an object now.
         *
         *     - `active`: Everything that its template allows.
         *     - `locked`: Nothing except unlocking.
         *     - `burned`: Nothing, permanently.
         * @enum {string}
         */
        ObjectStatus: "active" | "locked" | "burned";
        /** An object. */
        ObjectView: {
            /** When it was minted. */
            created_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The organization that issued it. */
            organization_id: components["schemas"]["Id"];
            /** That wallet's address. */
            owner_address: components["schemas"]["Address"];
            /** The wallet that owns it. */
            owner_id: components["schemas"]["Id"];
            /** Its properties. */
            properties: components["schemas"]["Properties"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /**
             * Format: uint64
             * Its number among the objects of its template, from 1, in the order in which they were minted.
             */
            serial: number;
            /** The proof of this state, if it was asked for. */
            state_proof?: components["schemas"]["StateProof"] | null;
            /** Which actions it allows. */
            status: components["schemas"]["ObjectStatus"];
            /** The template that it was made from. */
            template_id: components["schemas"]["Id"];
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /** The variation, if one was named. */
            variation_id: components["schemas"]["Id"] | null;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** The opened action: the five words that its content is made of. */
        OpenedAction: {
            /** keccak(keccak(signature) ‖ salt). */
            authority: components["schemas"]["Hash"];
            /** The kind's text. */
            kind: string;
            /** The payload's exact text. */
            payload: string;
            /** The address that signed. */
            signer: components["schemas"]["Address"];
            /** The target's text; may be empty. */
            target: string;
        };
        OrganizationId: string;
        /** An organization, as its members see it. */
        OwnOrganization: {
            /** When each limit will be reached; null if there is no limit. */
            forecast: components["schemas"]["ForecastView"];
            id: components["schemas"]["Id"];
            /** How many requests it may send, and how many bytes it may have in the log; null is no limit. */
            limits: components["schemas"]["LimitsView"];
            name: string;
            /** The price of the tier. */
            price: string;
            /** `free`, `developer`, `enterprise`, or `custom` for what was agreed with the operator. */
            tier: string;
            /** How many requests it has sent, including this one. */
            usage: components["schemas"]["UsageView"];
        };
        /** The caller's own wallet. */
        OwnWallet: {
            /** The address that registered it. */
            address: components["schemas"]["Address"];
            /** When it was registered. */
            created_at: components["schemas"]["Time"];
            /** The e-mail address for logging in. */
            email: string;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The current signing keys. */
            keys: components["schemas"]["Address"][];
            /** A name to show. */
            nickname: string | null;
            /** The nonces of each key. */
            nonces: components["schemas"]["NonceView"][];
            /** Its organization. */
            organization_id: components["schemas"]["Id"];
            /** Its role there. */
            role: components["schemas"]["Role"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /** One page of a list. */
        PageOfActionView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["ActionView"][];
        };
        /** One page of a list. */
        PageOfAnchorView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["AnchorView"][];
        };
        /** One page of a list. */
        PageOfApiKeyView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["ApiKeyView"][];
        };
        /** One page of a list. */
        PageOfBatchAction: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["BatchAction"][];
        };
        /** One page of a list. */
        PageOfBatchView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["BatchView"][];
        };
        /** One page of a list. */
        PageOfDeliveryView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["DeliveryView"][];
        };
        /** One page of a list. */
        PageOfDisputeView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["DisputeView"][];
        };
        /** One page of a list. */
        PageOfEventView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["EventView"][];
        };
        /** One page of a list. */
        PageOfFileView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["FileView"][];
        };
        /** One page of a list. */
        PageOfInvitationView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["InvitationView"][];
        };
        /** One page of a list. */
        PageOfObjectView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["ObjectView"][];
        };
        /** One page of a list. */
        PageOfSequencerKeyView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["SequencerKeyView"][];
        };
        /** One page of a list. */
        PageOfWalletView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["WalletView"][];
        };
        /** One page of a list. */
        PageOfWebhookView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["WebhookView"][];
        };
        /** A payload: JSON as it was sent, or the text of a digest. */
        Payload: components["schemas"]["AnyValue"] | string;
        /** A right of an API key. */
        Permission: {
            /** Which operations. */
            crud: components["schemas"]["Crud"];
            /** On what. */
            resource: components["schemas"]["Area"];
        };
        PreviewActions: {
            actions: components["schemas"]["ActionBody"][];
            /** All or none. */
            atomic?: boolean;
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        /** What a request would do, and what to sign for it. */
        PreviewAnswer: {
            /** The headers to send with the signature. */
            headers: components["schemas"]["SignedHeaders"];
            /** One result for each action, in request order. */
            results: components["schemas"]["PreviewResult"][];
            /** The data to sign. */
            typed_data: components["schemas"]["TypedData"];
            /** True when at least one action would be done; for an atomic request, when all would. */
            would_commit: boolean;
        };
        PreviewCustom: {
            action_type: string;
            object_id: components["schemas"]["ObjectId"];
            /** Any JSON value, kept as it is. */
            payload?: unknown;
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        PreviewDeleteAttributes: {
            /** @enum {string} */
            action_type: "delete_attributes";
            object_id: components["schemas"]["ObjectId"];
            payload: components["schemas"]["DeleteAttributesPayload"];
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        PreviewMint: {
            /** @enum {string} */
            action_type: "mint";
            payload?: components["schemas"]["MintPayload"];
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
            template_id: components["schemas"]["TemplateId"];
        };
        /**
         * An object as it would be. Some members are not known before the signature: the id of a new
         *     object, times, sequence and integrity.
         */
        PreviewObject: {
            /** Its id; null for a new one. */
            id: components["schemas"]["Id"] | null;
            /** The organization that issued it. */
            organization_id: components["schemas"]["Id"];
            /** That wallet's address. */
            owner_address: components["schemas"]["Address"];
            /** The wallet that would own it. */
            owner_id: components["schemas"]["Id"];
            /** Its properties. */
            properties: components["schemas"]["Properties"];
            /** Which actions it allows. */
            status: components["schemas"]["ObjectStatus"];
            /** The template that it was made from. */
            template_id: components["schemas"]["Id"];
            /** The variation, if one was named. */
            variation_id: components["schemas"]["Id"] | null;
            /**
             * Format: uint64
             * How many actions would have created and changed it.
             */
            version: number;
        };
        PreviewRequest: components["schemas"]["PreviewMint"] | components["schemas"]["PreviewUpdate"] | components["schemas"]["PreviewTransfer"] | components["schemas"]["PreviewStatus"] | components["schemas"]["PreviewSetAttributes"] | components["schemas"]["PreviewDeleteAttributes"] | components["schemas"]["PreviewCustom"] | components["schemas"]["PreviewActions"];
        /** The expected outcome of one action. */
        PreviewResult: components["schemas"]["WouldBeDone"] | components["schemas"]["RefusedAction"];
        PreviewSetAttributes: {
            /** @enum {string} */
            action_type: "set_attributes";
            object_id: components["schemas"]["ObjectId"];
            payload: components["schemas"]["SetAttributesPayload"];
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        PreviewStatus: {
            /** @enum {string} */
            action_type: "lock" | "unlock" | "burn";
            object_id: components["schemas"]["ObjectId"];
            payload?: components["schemas"]["NoPayload"];
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        PreviewTransfer: {
            /** @enum {string} */
            action_type: "transfer";
            object_id: components["schemas"]["ObjectId"];
            payload: components["schemas"]["TransferBody"];
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        PreviewUpdate: {
            /** @enum {string} */
            action_type: "update";
            object_id: components["schemas"]["ObjectId"];
            payload?: components["schemas"]["ObjectPatch"];
            /** The seed of the salts, 32 random bytes; a fresh one if absent. */
            salt?: string;
            /** The key that will sign; the wallet's own address if absent. Required with an API key alone. */
            signer?: components["schemas"]["AddressInput"];
        };
        Problem: {
            /**
             * What went wrong, for programs.
             * @enum {string}
             */
            code: "VALIDATION_ERROR" | "MALFORMED_JSON" | "CURSOR_INVALID" | "UNAUTHENTICATED" | "TOKEN_EXPIRED" | "CREDENTIALS_INVALID" | "SIGNATURE_REQUIRED" | "SIGNATURE_INVALID" | "DEADLINE_EXPIRED" | "NONCE_REUSED" | "FORBIDDEN" | "RESOURCE_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "CONFLICT" | "EMAIL_TAKEN" | "IDEMPOTENCY_IN_PROGRESS" | "SEQUENCE_NOT_REACHED" | "GONE" | "PRECONDITION_FAILED" | "HEADERS_TOO_LARGE" | "PAYLOAD_TOO_LARGE" | "OBJECT_TOO_LARGE" | "BATCH_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "QUOTA_EXCEEDED" | "RATE_LIMITED" | "STATE_VIOLATION" | "IDEMPOTENCY_MISMATCH" | "INTERNAL" | "UNAVAILABLE" | "RANGE_NOT_SATISFIABLE";
            /** What went wrong and what to do. */
            detail: string;
            /** That action's error, in the service's envelope. */
            error?: components["schemas"]["ApiError"];
            /** With VALIDATION_ERROR: what is wrong, and where. */
            errors?: components["schemas"]["FieldError"][];
            /** The identifier that was not found. */
            id?: string;
            /** The first refused action of an atomic batch. */
            index?: number;
            /** With GONE, if older parts of the log are archived: the first batch that is still here. An export can begin there. */
            minimum_batch?: number;
            /** With GONE, if older parts of the log are archived: the first sequence that is still here. */
            minimum_sequence?: number;
            /** With GONE, if the checkpoint that was asked for cannot be proven: the batches of the nearest one that can be. */
            nearest_checkpoint?: number;
            /** Its nonce, which is spent at most once. */
            nonce?: string;
            /**
             * With UNAVAILABLE: `nothing_done` means that nothing was done and nothing will be; `unknown` that the request may be done, now or later: send exactly the same signed request again, never a new one.
             * @enum {string}
             */
            outcome?: "nothing_done" | "unknown";
            /** With RATE_LIMITED: the limit that is used up. */
            policy?: string;
            /**
             * With NONCE_REUSED: `done` if something of the request that spent the nonce was done, `refused` if nothing was and a new request is needed. Absent while this is unknown.
             * @enum {string}
             */
            reason?: "done" | "refused";
            /** With SIGNATURE_INVALID: the address whose key made the signature. */
            recovered?: string;
            /** The request's id, as in `X-Request-Id`. */
            request_id: string;
            /** The kind of resource that was not found. */
            resource?: string;
            /** With NONCE_REUSED and `done`: the first sequence of the request that spent the nonce, shown only to the signer's own organization. */
            sequence?: number;
            /** Of a signed request with an unknown outcome: its signer. */
            signer?: string;
            /** The HTTP status. */
            status: number;
            /** The status' name. */
            title: string;
            /** `about:blank`: the code identifies the error. */
            type: string;
        };
        /** A proof file: docs/PROTOCOL.md explains how to check it. */
        ProofFile: {
            /** The opened action. */
            action: components["schemas"]["OpenedAction"];
            /** The anchor; null until the chain has finalized one that covers the batch. */
            anchor: components["schemas"]["AnchorProof"] | null;
            /** Present only in the authorship form. */
            authorship?: components["schemas"]["Authorship"] | null;
            /** The signed header. */
            batch: components["schemas"]["SignedBatch"];
            /** The log's domain. */
            domain: components["schemas"]["Domain"];
            /** The leaf's position in the batch. */
            inclusion: components["schemas"]["BatchPath"];
            /** The leaf. */
            leaf: components["schemas"]["ReceiptLeaf"];
            /** The key that signed the batch, by its address. */
            sequencer: components["schemas"]["Address"];
            /**
             * Format: uint32
             * The format's version.
             */
            version: number;
        };
        Properties: {
            [key: string]: unknown;
        };
        /** A page of a list whose items can come with their proofs. */
        ProvablePageOfObjectView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["ObjectView"][];
            /** The items' proofs, if they were asked for: one an item, in their order. */
            state_proofs?: components["schemas"]["StateProofs"] | null;
        };
        /** A page of a list whose items can come with their proofs. */
        ProvablePageOfTemplateView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["TemplateView"][];
            /** The items' proofs, if they were asked for: one an item, in their order. */
            state_proofs?: components["schemas"]["StateProofs"] | null;
        };
        /** A page of a list whose items can come with their proofs. */
        ProvablePageOfVariationView: {
            /** Pass it to get the next page; null on the last one. */
            cursor: string | null;
            /** True when more records follow. */
            has_more: boolean;
            /** The records. */
            items: components["schemas"]["VariationView"][];
            /** The items' proofs, if they were asked for: one an item, in their order. */
            state_proofs?: components["schemas"]["StateProofs"] | null;
        };
        /** Whether the server accepts changes. */
        ReadyView: {
            /** How far the chain lags behind the log. */
            anchoring: components["schemas"]["AnchoringView"];
            /**
             * Format: uint64
             * How many batches there are.
             */
            batches: number;
            /** This node's part among several; absent on a single node. */
            cluster?: components["schemas"]["ClusterView"] | null;
            /** The log's head. */
            head: components["schemas"]["Hash"];
            /** `read_write`, or `read_only` with the reason. */
            mode: string;
            /** The chain's node; absent until it was asked. */
            node?: components["schemas"]["NodeView"] | null;
            /** Why it accepts no changes. */
            reason?: string | null;
            /**
             * Format: uint
             * The limit of such requests.
             */
            requests_max: number;
            /**
             * Format: uint
             * Requests in flight that change something.
             */
            requests_under_way: number;
            /**
             * Format: uint64
             * The last action's sequence.
             */
            sequence: number;
            /** `ready` or `not_ready`. */
            status: string;
        };
        /** The receipt of one action. */
        Receipt: {
            /** The signed header. */
            batch: components["schemas"]["SignedBatch"];
            /** The log's domain. */
            domain: components["schemas"]["Domain"];
            /** The opened leaf. */
            leaf: components["schemas"]["ReceiptLeaf"];
            /**
             * Format: uint32
             * Its index among the batch's leaves.
             */
            leaf_index: number;
            /** The path from the leaf to the batch root, bottom up. */
            path: components["schemas"]["Hash"][];
            /**
             * Format: uint32
             * The format's version.
             */
            version: number;
        };
        /** What the sender of a request of many actions cannot know about one of them. */
        ReceiptAction: {
            /**
             * Format: uint32
             * The action's index in the request; failed actions count too.
             */
            index: number;
            /**
             * Format: uint32
             * Its index among the batch's leaves.
             */
            leaf_index: number;
            /** The resource's integrity before it. */
            previous_integrity: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * Its place in the log.
             */
            sequence: number;
            /**
             * Format: uint64
             * When it was placed, milliseconds.
             */
            timestamp_ms: number;
        };
        /** What a leaf is made of, and the integrity before it. */
        ReceiptLeaf: {
            /** The action's content. */
            content: components["schemas"]["Hash"];
            /** The resource's integrity after it. */
            integrity: components["schemas"]["Hash"];
            /** The resource's integrity before it. */
            previous_integrity: components["schemas"]["Hash"];
            /**
             * Format: uint64
             * The action's place in the log.
             */
            sequence: number;
            /**
             * Format: uint64
             * When it was placed, milliseconds.
             */
            timestamp_ms: number;
        };
        /** What a webhook's URL receives. */
        ReceivedMessage: components["schemas"]["WebhookMessage"] | components["schemas"]["TestMessage"];
        /** A wallet, by id or by address. */
        Recipient: components["schemas"]["WalletId"] | components["schemas"]["AddressInput"];
        /** The body of a refresh. */
        RefreshBody: {
            refresh_token: string;
        };
        /** A refused action of a batch. */
        RefusedAction: {
            /** The reason. */
            error: components["schemas"]["ApiError"];
        };
        /** The body of a registration. */
        RegisterBody: {
            /** The address that signs this request, and signs for the wallet from now on. */
            address: components["schemas"]["AddressInput"];
            /** Base64 of at least 16 random bytes: keeps the signed digest from revealing the password. */
            blind: string;
            /**
             * Format: email
             * The e-mail address for logging in.
             */
            email: string;
            /** The code of an invitation, as shown to an admin of the organization. */
            invitation?: string | null;
            /** A name to show. */
            nickname?: components["schemas"]["NameInput"] | null;
            /** The organization to join; this needs the code of an invitation. */
            organization_id?: components["schemas"]["OrganizationId"] | null;
            /** The name of the organization that is created. */
            organization_name?: components["schemas"]["NameInput"] | null;
            /** At least 15 characters, at most 1,024 bytes. */
            password: string;
        };
        /**
         * What a wallet may do in its organization.
         *
         *     - `owner`: Created the organization; may do everything.
         *     - `admin`: Everything except the owner's own rights.
         *     - `member`: Acts on its own objects and as templates allow.
         * @enum {string}
         */
        Role: "owner" | "admin" | "member";
        /** A member's new role. */
        RoleBody: {
            /** The new role. */
            role: components["schemas"]["Role"];
            /** The member, as in the path: the signed body must name them. */
            wallet_id: components["schemas"]["WalletId"];
        };
        /** The options of a new secret. */
        RotateBody: {
            /**
             * Format: uint64
             * How long the previous secret stays valid, seconds: a day if absent, at most a week.
             */
            overlap_s?: number | null;
        };
        /** Who may do a kind of action. */
        RuleBody: {
            /** A kind of the action bus, or one of the template's own that begins with `x.`. */
            kind: components["schemas"]["BusKind"];
            /** JSON Schema of its payload; only for custom kinds. */
            schema?: {
                [key: string]: unknown;
            } | null;
            /** Who may do it. */
            who: components["schemas"]["Who"];
        };
        /** A rule of a template. */
        RuleView: {
            /** The kind of action. */
            kind: string;
            /** JSON Schema of its payload; only custom kinds have one. */
            schema?: components["schemas"]["Properties"] | null;
            /** Who may do it. */
            who: components["schemas"]["Who"];
        };
        /** The request of a search for objects. */
        SearchBody: {
            /** The cursor from the previous page. */
            cursor?: string | null;
            /** The condition for matches. */
            filter: components["schemas"]["Filter"];
            /**
             * Format: uint64
             * Records per page: 1 to 1,000, 100 if absent.
             */
            limit?: number | null;
            /** The order: by creation if absent. */
            sort?: components["schemas"]["SortKey"][] | null;
        };
        /** A key of the sequencer, and the places that name it. */
        SequencerKeyView: {
            /** That action. */
            action_id: components["schemas"]["Id"] | null;
            /** The contract, if it names the key too; null if it does not, or was not read yet. */
            contract: components["schemas"]["Address"] | null;
            /**
             * Format: uint64
             * The number of the first batch that it signs; the next key's first batch ends it.
             */
            from_batch: number;
            /** The key's address. */
            key: components["schemas"]["Address"];
            /** When it was placed. */
            named_at: components["schemas"]["Time"] | null;
            /**
             * The proof file of that action, without an anchor: with trust in the earlier keys, this alone is enough to trust
             *     this one.
             */
            proof: components["schemas"]["ProofFile"] | null;
            /**
             * Format: uint64
             * The sequence of the action that names it. Null for the log's first key, which no action names, and for a key
             *     that only the contract names.
             */
            sequence: number | null;
        };
        SetAttributesAction: {
            /** @enum {string} */
            action_type: "set_attributes";
            object_id: components["schemas"]["ObjectId"];
            payload: components["schemas"]["SetAttributesPayload"];
        };
        /** Attributes to set. */
        SetAttributesPayload: {
            /** Their names and values. */
            attributes: {
                [key: string]: unknown;
            };
        };
        /** What a shared proof says about one id. */
        SharedStateProof: {
            /** The entry in RLP. */
            entry: components["schemas"]["HexBytes"];
            /** The entry, read for people. */
            fields: components["schemas"]["StateEntry"] | null;
            /** The id. */
            key: components["schemas"]["Id"];
            /** Places of its nodes among the common ones, from 0. */
            nodes: number[];
            /** Whether the log had made it at the checkpoint. */
            present: boolean;
            /** Texts whose hashes are in the entry. */
            texts: components["schemas"]["StateTexts"];
        };
        Signature: string;
        /** 65 bytes r ‖ s ‖ v. v may be 0, 1, 27 or 28; s must be low. */
        SignatureInput: string;
        /** A header and the sequencer's signature over its EIP-712 digest. */
        SignedBatch: {
            /** What is signed. */
            header: components["schemas"]["BatchHeader"];
            /** The sequencer's signature. */
            signature: components["schemas"]["Signature"];
        };
        /** A checkpoint and the sequencer's signature over its EIP-712 digest. */
        SignedCheckpoint: {
            /** What is signed. */
            checkpoint: components["schemas"]["Checkpoint"];
            /** The sequencer's signature. */
            signature: components["schemas"]["Signature"];
        };
        /** The headers to send together with the signature in `X-Signature`. */
        SignedHeaders: {
            /** The signer. */
            "X-Signature-Address": components["schemas"]["Address"];
            /** Unix seconds. */
            "X-Signature-Deadline": components["schemas"]["Decimal"];
            /** One more than the signer's highest. */
            "X-Signature-Nonce": components["schemas"]["Decimal"];
            /** The seed of the salts. */
            "X-Signature-Salt": components["schemas"]["Hash"];
        };
        /** A signing key to add. */
        SignerBody: {
            /** Its address, which no other wallet may have, now or ever. */
            address: components["schemas"]["AddressInput"];
            /**
             * The new key's own signature over the EIP-712 type `KeyConsent(string wallet,address key)` in the log's domain, with
             *     the id of the caller's wallet and this address.
             */
            possession: components["schemas"]["SignatureInput"];
        };
        SortKey: {
            /** created_at, updated_at, or a property that the template's schema marks with `x-index`; then the filter must fix the template_id with eq. */
            field: string;
            /** @enum {string} */
            order?: "asc" | "desc";
        };
        /** The entry, read for people: the first three members, and those of the resource's type. */
        StateEntry: {
            active?: boolean;
            address?: components["schemas"]["Address"];
            burned_count?: number;
            deleted?: boolean;
            from_batch?: number;
            index?: number;
            /** The hash over those actions. */
            integrity: string;
            keys?: components["schemas"]["Address"][];
            max_supply?: components["schemas"]["Decimal"] | null;
            minted_count?: number;
            name_hash?: components["schemas"]["Hash"];
            organization_id?: components["schemas"]["Id"];
            owner_address?: components["schemas"]["Address"];
            owner_id?: components["schemas"]["Id"];
            properties_hash?: components["schemas"]["Hash"];
            public_access?: boolean;
            role?: components["schemas"]["Role"];
            rules?: {
                kind: string;
                schema_hash: components["schemas"]["Hash"];
                who: components["schemas"]["Who"];
            }[];
            schema_hash?: components["schemas"]["Hash"];
            /** The last one's sequence. */
            sequence: number;
            serial?: number;
            sha256?: components["schemas"]["Hash"];
            size_bytes?: number;
            status?: components["schemas"]["ObjectStatus"];
            subject_id?: components["schemas"]["Id"];
            template_id?: components["schemas"]["Id"];
            variation_count?: number;
            variation_id?: components["schemas"]["Id"] | null;
            /** How many actions have made and changed it. */
            version: number;
            wallet_id?: components["schemas"]["Id"];
        };
        /** What a state proof says about one id. */
        StateProof: {
            /** The anchor of this very checkpoint; null until the chain has finalized one. */
            anchor: components["schemas"]["AnchorProof"] | null;
            /** The signed checkpoint, whose `state` is the root. */
            checkpoint: components["schemas"]["SignedCheckpoint"];
            /** The entry in RLP; its hash is the value in the trie. */
            entry: components["schemas"]["HexBytes"];
            /** The entry, read for people. */
            fields: components["schemas"]["StateEntry"] | null;
            /** The id. */
            key: components["schemas"]["Id"];
            /** The trie's nodes from the root to where the id's path ends. */
            nodes: components["schemas"]["HexBytes"][];
            /** Whether the log had made it at the checkpoint. */
            present: boolean;
            /** Texts whose hashes are in the entry. */
            texts: components["schemas"]["StateTexts"];
        };
        /** The state proofs of a list's items, in their order. */
        StateProofs: {
            /** The anchor of this very checkpoint. */
            anchor: components["schemas"]["AnchorProof"] | null;
            /** The signed checkpoint, whose `state` is the root. */
            checkpoint: components["schemas"]["SignedCheckpoint"];
            /** The nodes of all proofs, each once. */
            nodes: components["schemas"]["HexBytes"][];
            /** One proof an item. */
            proofs: components["schemas"]["SharedStateProof"][];
        };
        /** Texts whose hashes are in the entry; empty where the resource has none. */
        StateTexts: {
            /** The name of a variation. */
            name?: string | null;
            /** The properties, as JSON text. */
            properties?: string | null;
            /** The JSON Schemas of a template's rules, in their order. */
            rules?: string[] | null;
            /** The JSON Schema of a template's objects. */
            schema?: string | null;
        };
        StatusAction: {
            /** @enum {string} */
            action_type: "lock" | "unlock" | "burn";
            object_id: components["schemas"]["ObjectId"];
            payload?: components["schemas"]["NoPayload"];
        };
        /** A template with its properties and rules. */
        TemplateBody: {
            /** Who may do what, if the default does not fit; each kind at most once. */
            actions?: components["schemas"]["RuleBody"][];
            /**
             * What it is for.
             * @default
             */
            description?: string;
            /** How many objects may ever be minted; no limit if absent. A number, or a decimal text as in answers. */
            max_supply?: components["schemas"]["WholeInput"] | null;
            /** Unique in the organization. */
            name: components["schemas"]["NameInput"];
            /** The initial properties of its objects. */
            properties?: {
                [key: string]: unknown;
            } | null;
            /**
             * Every organization can read it and its objects.
             * @default false
             */
            public_access?: boolean;
            /**
             * JSON Schema 2020-12 that its objects' properties must satisfy: at most 64 KiB, `$ref` only within itself and
             *     without cycles, patterns without look-around. `format` is an annotation and checks nothing.
             */
            schema?: {
                [key: string]: unknown;
            } | null;
        };
        TemplateId: string;
        /** The changes to a template; the members are those of a new one, each replaced as a whole. */
        TemplatePatch: {
            /** Who may do what; each kind at most once. */
            actions?: components["schemas"]["RuleBody"][] | null;
            /** What it is for. */
            description?: string | null;
            /** Unique in the organization. */
            name?: components["schemas"]["NameInput"] | null;
            /** The initial properties of its objects. */
            properties?: {
                [key: string]: unknown;
            } | null;
            /** Every organization can read it and its objects. */
            public_access?: boolean | null;
            /** JSON Schema 2020-12 that its objects' properties must satisfy. */
            schema?: {
                [key: string]: unknown;
            } | null;
        };
        /** A template. */
        TemplateView: {
            /** Who may do what, if the default does not fit. */
            actions: components["schemas"]["RuleView"][];
            /**
             * Format: uint64
             * How many of these have been burned. Answers to changes do not say it.
             */
            burned_count?: number | null;
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** What it is for. */
            description: string;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** How many objects may ever be minted. */
            max_supply: components["schemas"]["Decimal"] | null;
            /**
             * Format: uint64
             * How many have been minted.
             */
            minted_count: number;
            /** Its name, unique in the organization. */
            name: string;
            /** The organization that issues its objects. */
            organization_id: components["schemas"]["Id"];
            /** The initial properties of its objects. */
            properties: components["schemas"]["Properties"];
            /** Every organization can read it and its objects. */
            public_access: boolean;
            /** JSON Schema that its objects' properties must satisfy. */
            schema: components["schemas"]["Properties"] | null;
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** The proof of this state, if it was asked for. */
            state_proof?: components["schemas"]["StateProof"] | null;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many variations it has.
             */
            variation_count: number;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        TestData: {
            /** The tested webhook. */
            webhook_id: components["schemas"]["Id"];
        };
        /** A test message to a webhook. */
        TestMessage: {
            /** Always null. */
            action_id: components["schemas"]["Id"] | null;
            data: components["schemas"]["TestData"];
            id: components["schemas"]["Id"];
            /** Always null. */
            object_id: components["schemas"]["Id"] | null;
            organization_id: components["schemas"]["Id"];
            position: string;
            /** Always null. */
            receipt: components["schemas"]["Receipt"] | null;
            /**
             * Format: uint64
             * The log's last sequence.
             */
            sequence: number;
            timestamp: components["schemas"]["Time"];
            /** `webhook.test`. */
            type: string;
        };
        /** Format: date-time */
        Time: string;
        TransferAction: {
            /** @enum {string} */
            action_type: "transfer";
            object_id: components["schemas"]["ObjectId"];
            payload: components["schemas"]["TransferBody"];
        };
        TransferBody: {
            /** The new owner. */
            to: components["schemas"]["Recipient"];
        };
        /** One action in its signed form. */
        TypedAction: {
            kind: string;
            payload: string;
            salt: components["schemas"]["Hash"];
            target: string;
        };
        /** EIP-712 typed data for `eth_signTypedData_v4`. */
        TypedData: {
            domain: components["schemas"]["TypedDomain"];
            message: components["schemas"]["TypedRequest"];
            primaryType: string;
            /** The members of each type. */
            types: {
                [key: string]: unknown;
            };
        };
        /** The domain of the signature. */
        TypedDomain: {
            /** Format: uint64 */
            chainId: number;
            name: string;
            verifyingContract: components["schemas"]["Address"];
            version: string;
        };
        /** The message to sign. */
        TypedRequest: {
            actions: components["schemas"]["TypedAction"][];
            atomic: boolean;
            deadline: components["schemas"]["Decimal"];
            nonce: components["schemas"]["Decimal"];
            signer: components["schemas"]["Address"];
        };
        /** A member of an EIP-712 type. */
        TypeMember: {
            /** Its name. */
            name: string;
            /** Its type. */
            type: string;
        };
        /** The types of the signed data. */
        Types: {
            /** Those of an action. */
            Action: components["schemas"]["TypeMember"][];
            /** Those of a request. */
            ActionRequest: components["schemas"]["TypeMember"][];
        };
        UpdateAction: {
            /** @enum {string} */
            action_type: "update";
            object_id: components["schemas"]["ObjectId"];
            payload?: components["schemas"]["ObjectPatch"];
        };
        /** An upload: a multipart body. */
        UploadBody: {
            /** The bytes. The signed payload is their digest, `sha-256=:<base64>:`. */
            file: string;
            /** The file's name, which is the signed target; the filename of the part `file` if absent. */
            name: string;
        };
        /** Requests counted in the current windows. */
        UsageView: {
            /** On this UTC day. */
            day: components["schemas"]["DayUsage"];
            /**
             * Format: uint64
             * Bytes that its requests have added to the log, with the objects and variations that they made.
             */
            log_bytes: number;
            /** In this minute. */
            minute: components["schemas"]["MinuteUsage"];
        };
        VariationBody: {
            /** Its name. */
            name: components["schemas"]["NameInput"];
            /** Merged over the template's properties. */
            properties?: {
                [key: string]: unknown;
            } | null;
        };
        VariationId: string;
        /** Variations; a single variation without a list is accepted too. */
        VariationsBody: components["schemas"]["ManyVariations"] | components["schemas"]["VariationBody"];
        /** Newly made variations, and their template after that. */
        VariationsMade: {
            /** The action that did so. */
            action_id: components["schemas"]["Id"];
            /** The new variations, in request order. */
            items: components["schemas"]["VariationView"][];
            /** Proof that the log holds the action. */
            receipt: components["schemas"]["Receipt"];
            /** The template afterwards. */
            template: components["schemas"]["TemplateView"];
        };
        /** A variation of a template. */
        VariationView: {
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** Its id. */
            id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * Its number among the template's variations, from 0.
             */
            index: number;
            /** Its name. */
            name: string;
            /** The template's organization. */
            organization_id: components["schemas"]["Id"];
            /** Merged over the template's properties. */
            properties: components["schemas"]["Properties"];
            /** Its template. */
            template_id: components["schemas"]["Id"];
        };
        /** The running version. */
        VersionView: {
            /** Its name. */
            name: string;
            /** Its version. */
            version: string;
        };
        /** The body of `PATCH /wallets/me`. */
        WalletBody: {
            /** Base64 of at least 16 random bytes; with `password`. */
            blind?: string | null;
            /** The current password; with `password`. */
            current_password?: string | null;
            /**
             * Format: email
             * The new e-mail address for logging in.
             */
            email?: string | null;
            /** The new name to show; `null` removes it. */
            nickname?: components["schemas"]["NameInput"] | null;
            /** A new password: at least 15 characters, at most 1,024 bytes. */
            password?: string | null;
        };
        WalletId: string;
        /** A wallet. */
        WalletView: {
            /** The address that registered it. */
            address: components["schemas"]["Address"];
            /** When it was registered. */
            created_at: components["schemas"]["Time"];
            /** The e-mail address for logging in. */
            email: string;
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The current signing keys. */
            keys: components["schemas"]["Address"][];
            /** A name to show. */
            nickname: string | null;
            /** Its organization. */
            organization_id: components["schemas"]["Id"];
            /** Its role there. */
            role: components["schemas"]["Role"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        WantedCrud: {
            /**
             * Create.
             * @default false
             */
            create?: boolean;
            /**
             * Delete.
             * @default false
             */
            delete?: boolean;
            /**
             * Read.
             * @default false
             */
            read?: boolean;
            /**
             * Update.
             * @default false
             */
            update?: boolean;
        };
        /** @enum {string} */
        WantedEvent: "object.created" | "object.updated" | "object.transferred" | "object.locked" | "object.unlocked" | "object.burned" | "template.created" | "variation.created" | "wallet.registered" | "file.created" | "action.executed" | "action.failed" | "batch.sealed" | "batch.anchored" | "anchor.confirmed" | "*";
        /** What an API key may do with one kind of resource. */
        WantedPermission: {
            /** The kinds of access; each is false if absent. */
            crud: components["schemas"]["WantedCrud"];
            /** The resource. */
            resource: components["schemas"]["Area"];
        };
        /** Where events are sent, and which. */
        WebhookBody: {
            /**
             * Whether anything is sent.
             * @default true
             */
            active?: boolean;
            /**
             * What it is for.
             * @default
             */
            description?: string;
            /** Types of events, each once; `*` is every type. */
            events: components["schemas"]["WantedEvent"][];
            /** An https URL whose host is on the public internet. */
            url: string;
        };
        /** A message to a webhook: the event, with the receipt of its action. */
        WebhookMessage: {
            /** The action in the log; null if there is none. */
            action_id: string | null;
            /** Details, by type. */
            data: components["schemas"]["EventData"];
            /** Its id: the same at every reading, so that duplicates can be recognised. */
            id: string;
            /** The object that it acted on or made. */
            object_id: string | null;
            /** The organization that acted; null for batches and anchors. */
            organization_id: string | null;
            /** Its position among all events; pass it to the stream as `last_event_id`. */
            position: string;
            /** Proof that the log holds the action; null if there is none. */
            receipt: components["schemas"]["Receipt"] | null;
            /**
             * Format: uint64
             * The log's sequence: the action's own; for a batch its last; for an event outside the log,
             *     the log's last sequence at that time.
             */
            sequence: number;
            /** When it happened. */
            timestamp: string;
            /**
             * What happened: `object.created`, `object.updated`, `object.transferred`, `object.locked`,
             *     `object.unlocked`, `object.burned`, `template.created`, `variation.created`,
             *     `wallet.registered`, `file.created`, `action.executed` (any other action), `action.failed`
             *     (refused, not in the log), `batch.sealed`, `batch.anchored` (a block holds the anchor),
             *     `anchor.confirmed` (that block is final: proof files hold the anchor).
             */
            type: string;
        };
        /** The changes to a webhook. */
        WebhookPatch: {
            /** Whether anything is sent. */
            active?: boolean | null;
            /** What it is for. */
            description?: string | null;
            /** Types of events, each once; `*` is every type. */
            events?: components["schemas"]["WantedEvent"][] | null;
            /** An https URL whose host is on the public internet. */
            url?: string | null;
        };
        /** A webhook. */
        WebhookView: {
            /** While false, nothing is sent. */
            active: boolean;
            /** When it was created. */
            created_at: components["schemas"]["Time"];
            /** What it is for. */
            description: string;
            /** Types of events; `*` is every type. */
            events: string[];
            /** Its id. */
            id: components["schemas"]["Id"];
            /** The hash over those actions. */
            integrity_hash: components["schemas"]["Hash"];
            /** The organization whose events are sent. */
            organization_id: components["schemas"]["Id"];
            /**
             * Format: uint64
             * The last one's sequence.
             */
            sequence: number;
            /** When it was last changed. */
            updated_at: components["schemas"]["Time"];
            /** The URL that receives the messages. */
            url: string;
            /**
             * Format: uint64
             * How many actions have created and changed it.
             */
            version: number;
        };
        /**
         * Who may do something with a template's objects.
         *
         *     - `owner`: The object's owner.
         *     - `issuer`: Owners and admins of the template's organization.
         *     - `anyone`: Any wallet.
         * @enum {string}
         */
        Who: "owner" | "issuer" | "anyone";
        WholeInput: number | string;
        /** An action that would be done. */
        WouldBeDone: {
            /** The object after it. */
            object: components["schemas"]["PreviewObject"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getDomain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainView"];
                };
            };
        };
    };
    getTokenKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysView"];
                };
            };
        };
    };
    listAnchors: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 1
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfAnchorView"];
                };
            };
        };
    };
    getAnchor: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `anc_`, or the number.
                 * @example 0
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnchorView"];
                };
            };
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfApiKeyView"];
                };
            };
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedShownKey"];
                };
            };
        };
    };
    getApiKey: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `key_`.
                 * @example key_5k7v21e33aez1nvtjsyevavpbp
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"];
                };
            };
        };
    };
    deleteApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `key_`.
                 * @example key_5k7v21e33aez1nvtjsyevavpbp
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedApiKeyView"];
                };
            };
        };
    };
    rotateApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `key_`.
                 * @example key_5k7v21e33aez1nvtjsyevavpbp
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedShownKey"];
                };
            };
        };
    };
    listBatches: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 2
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfBatchView"];
                };
            };
        };
    };
    getBatch: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `bat_`, or the number.
                 * @example 15
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchView"];
                };
            };
        };
    };
    listBatchActions: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `bat_`, or the number.
                 * @example bat_4tqnbpnb2anpsp6qqrc4zhcqvs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfBatchAction"];
                };
            };
        };
    };
    getBatchLeaves: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `bat_`, or the number.
                 * @example bat_4tqnbpnb2anpsp6qqrc4zhcqvs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeavesView"];
                };
            };
        };
    };
    getCheckpoint: {
        parameters: {
            query?: {
                /**
                 * A sequence that the checkpoint must cover.
                 * @example 20
                 */
                at_least?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointView"];
                };
            };
        };
    };
    getConsistencyProof: {
        parameters: {
            query: {
                /**
                 * The smaller size of the log, in batches; at least 1.
                 * @example 3
                 */
                from: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * The larger size; at most the log's size.
                 * @example 8
                 */
                to: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsistencyView"];
                };
            };
        };
    };
    listDisputes: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfDisputeView"];
                };
            };
        };
    };
    bringDispute: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisputeBody"];
            };
        };
        responses: {
            /** The evidence or claim was submitted before: the dispute that it led to. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeView"];
                };
            };
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeView"];
                };
            };
        };
    };
    getDispute: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `dsp_`.
                 * @example dsp_2jby1v90h8crd302df5kf6zfgd
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeView"];
                };
            };
        };
    };
    getReference: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html; charset=utf-8": string;
                };
            };
        };
    };
    getReferenceStyle: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/css; charset=utf-8": string;
                };
            };
        };
    };
    getReferenceScript: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/javascript; charset=utf-8": string;
                };
            };
        };
    };
    listActions: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 1
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /**
                 * asc (the default) or desc, by creation.
                 * @example desc
                 */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfActionView"];
                };
            };
        };
    };
    submitAction: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActionBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionView"];
                };
            };
        };
    };
    getAction: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `act_`, or the sequence.
                 * @example act_2ym62qfksqpa9ravc1r17qnf7b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionView"];
                };
            };
        };
    };
    getActionProof: {
        parameters: {
            query?: {
                /**
                 * inclusion (the default), or authorship: with the signature, for the caller's organization's actions.
                 * @example authorship
                 */
                form?: "inclusion" | "authorship";
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `act_`, or the sequence.
                 * @example act_2ym62qfksqpa9ravc1r17qnf7b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProofFile"];
                };
            };
        };
    };
    submitBatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchAnswer"];
                };
            };
        };
    };
    previewActions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewRequest"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewAnswer"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** Only events after this sequence. */
                after_sequence?: number;
                /** Only events before this sequence. */
                before_sequence?: number;
                /** The cursor of the previous page. */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 2
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /** Only events of this object. */
                object_id?: string;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /**
                 * asc (the default) or desc, by creation.
                 * @example desc
                 */
                order?: "asc" | "desc";
                /** Only events of this template and its objects. */
                template_id?: string;
                /**
                 * Only events of these types: one or several, separated by commas; `object.*` means all that begin so.
                 * @example object.*
                 */
                type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfEventView"];
                };
            };
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /**
                 * Only events after this sequence.
                 * @example 0
                 */
                after_sequence?: number;
                /** The `position` of the last event that was seen: the stream begins after it. The header Last-Event-ID means the same and overrides it; it overrides after_sequence. With none of them the stream begins with new events. */
                last_event_id?: string;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /** Only events of this object. */
                object_id?: string;
                /** Only events of this template and its objects. */
                template_id?: string;
                /**
                 * Only events of these types: one or several, separated by commas; `object.*` means all that begin so.
                 * @example object.created
                 */
                type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["EventStream"];
                };
            };
        };
    };
    exportLog: {
        parameters: {
            query?: {
                /**
                 * The number of the first batch; 0 if absent.
                 * @example 5
                 */
                from?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["Lines"];
                };
            };
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfFileView"];
                };
            };
        };
    };
    uploadFile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["UploadBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedFileView"];
                };
            };
        };
    };
    getFile: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `fil_`.
                 * @example fil_25cb87fq4rnxz7tg47hqep3z0t
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileView"];
                };
            };
        };
    };
    getFileContent: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `fil_`.
                 * @example fil_25cb87fq4rnxz7tg47hqep3z0t
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": components["schemas"]["Content"];
                    "application/octet-stream": string;
                };
            };
            /** The part that `Range` requested. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": components["schemas"]["Content"];
                    "application/octet-stream": string;
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthView"];
                };
            };
        };
    };
    listObjects: {
        parameters: {
            query?: {
                /**
                 * Made at or after this RFC 3339 time.
                 * @example 2001-01-01T00:00:00Z
                 */
                created_after?: string;
                /** Made before this RFC 3339 time. */
                created_before?: string;
                /**
                 * The cursor of the previous page.
                 * @example AAAAAAAAAAAAAAAAAAAABww9BUniPBWUHJvc85PEC0c
                 */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 1
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /**
                 * asc (the default) or desc, by creation.
                 * @example desc
                 */
                order?: "asc" | "desc";
                /**
                 * Only objects that this wallet owns.
                 * @example wal_65jvabmpxksntm8vz8k177r31e
                 */
                owner_id?: string;
                /** With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a list then has at most 100 items. */
                prove?: boolean;
                /**
                 * active, locked or burned.
                 * @example active
                 */
                status?: "active" | "locked" | "burned";
                /**
                 * Only objects of this template.
                 * @example tpl_5ey2fekkcj1ybtqpzp648p988e
                 */
                template_id?: string;
                /** Last changed at or after this RFC 3339 time. */
                updated_after?: string;
                /** Last changed before this RFC 3339 time. */
                updated_before?: string;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProvablePageOfObjectView"];
                };
            };
        };
    };
    mintObject: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ObjectBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedObjectView"];
                };
            };
        };
    };
    getObject: {
        parameters: {
            query?: {
                /**
                 * The object as it was at this sequence of the log, as far back as its listed history reaches.
                 * @example 6
                 */
                at_sequence?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /** With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a list then has at most 100 items. */
                prove?: boolean;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `obj_`.
                 * @example obj_3j9gkh6fw999phjztyyarnkfwg
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
        };
    };
    updateObject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `obj_`.
                 * @example obj_3j9gkh6fw999phjztyyarnkfwg
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ObjectPatch"];
                "application/merge-patch+json": components["schemas"]["ObjectPatch"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedObjectView"];
                };
            };
        };
    };
    listObjectHistory: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 2
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc or desc (the default), by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `obj_`.
                 * @example obj_3j9gkh6fw999phjztyyarnkfwg
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
        };
    };
    getObjectStateProof: {
        parameters: {
            query?: {
                /** The batches of a kept checkpoint; the newest if absent. */
                checkpoint?: number;
                /**
                 * Waits up to 5 s until the answer reflects this sequence.
                 * @example 20
                 */
                min_sequence?: number;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `obj_`.
                 * @example obj_3j9gkh6fw999phjztyyarnkfwg
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateProof"];
                };
            };
        };
    };
    transferObject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `obj_`.
                 * @example obj_3j9gkh6fw999phjztyyarnkfwg
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransferBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedObjectView"];
                };
            };
        };
    };
    countObjects: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CountBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountView"];
                };
            };
        };
    };
    searchObjects: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfObjectView"];
                };
            };
        };
    };
    getDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getOwnOrganization: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnOrganization"];
                };
            };
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfInvitationView"];
                };
            };
        };
    };
    inviteMember: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InviteBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedShownInvitation"];
                };
            };
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `act_`.
                 * @example act_414zcc8zsv56hep6qqwe6mgat4
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedInvitationView"];
                };
            };
        };
    };
    listMembers: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfWalletView"];
                };
            };
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `wal_`.
                 * @example wal_5rj76tz1jg1mbpek5zrjk368v9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWalletView"];
                };
            };
        };
    };
    setMemberRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `wal_`.
                 * @example wal_5rj76tz1jg1mbpek5zrjk368v9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoleBody"];
                "application/merge-patch+json": components["schemas"]["RoleBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWalletView"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadyView"];
                };
            };
        };
    };
    listSequencerKeys: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfSequencerKeyView"];
                };
            };
        };
    };
    getStateProof: {
        parameters: {
            query?: {
                /** The batches of a kept checkpoint; the newest if absent. */
                checkpoint?: number;
                /**
                 * Waits up to 5 s until the answer reflects this sequence.
                 * @example 20
                 */
                min_sequence?: number;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier of any resource with an entry in the state.
                 * @example obj_00000000000000000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateProof"];
                };
            };
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
                /** With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a list then has at most 100 items. */
                prove?: boolean;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProvablePageOfTemplateView"];
                };
            };
        };
    };
    createTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TemplateBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedTemplateView"];
                };
            };
        };
    };
    getTemplate: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /** With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a list then has at most 100 items. */
                prove?: boolean;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `tpl_`.
                 * @example tpl_5ey2fekkcj1ybtqpzp648p988e
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateView"];
                };
            };
        };
    };
    updateTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `tpl_`.
                 * @example tpl_1ke7xafktngfcxbdbzgxmp5vh6
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TemplatePatch"];
                "application/merge-patch+json": components["schemas"]["TemplatePatch"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedTemplateView"];
                };
            };
        };
    };
    getTemplateStateProof: {
        parameters: {
            query?: {
                /** The batches of a kept checkpoint; the newest if absent. */
                checkpoint?: number;
                /**
                 * Waits up to 5 s until the answer reflects this sequence.
                 * @example 20
                 */
                min_sequence?: number;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `tpl_`.
                 * @example tpl_5ey2fekkcj1ybtqpzp648p988e
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateProof"];
                };
            };
        };
    };
    listVariations: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /**
                 * Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
                 * @example 2
                 */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
                /** With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a list then has at most 100 items. */
                prove?: boolean;
                /** Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that time. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `tpl_`.
                 * @example tpl_5ey2fekkcj1ybtqpzp648p988e
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProvablePageOfVariationView"];
                };
            };
        };
    };
    createVariations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `tpl_`.
                 * @example tpl_5ey2fekkcj1ybtqpzp648p988e
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VariationsBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VariationsMade"];
                };
            };
        };
    };
    getVersion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionView"];
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedIn"];
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedOut"];
                };
            };
        };
    };
    getOwnWallet: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnWallet"];
                };
            };
        };
    };
    updateOwnWallet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WalletBody"];
                "application/merge-patch+json": components["schemas"]["WalletBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWalletView"];
                };
            };
        };
    };
    addWalletKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignerBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWalletView"];
                };
            };
        };
    };
    removeWalletKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * The key's address.
                 * @example 0x36C09D2B99521a38320e076f369A0c45D361C90e
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWalletView"];
                };
            };
        };
    };
    registerWallet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedLoggedIn"];
                };
            };
        };
    };
    refreshToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedIn"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc (the default) or desc, by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfWebhookView"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookBody"];
            };
        };
        responses: {
            /** Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWebhookWithSecret"];
                };
            };
        };
    };
    getWebhook: {
        parameters: {
            query?: {
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWebhookView"];
                };
            };
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookPatch"];
                "application/merge-patch+json": components["schemas"]["WebhookPatch"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWebhookView"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** The cursor of the previous page. */
                cursor?: string;
                /** Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow. */
                limit?: number;
                /** Waits up to 5 s until the answer reflects this sequence. */
                min_sequence?: number;
                /**
                 * @deprecated
                 * Deprecated, at most 10,000: use cursor.
                 */
                offset?: number;
                /** asc or desc (the default), by creation. */
                order?: "asc" | "desc";
            };
            header?: never;
            path: {
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOfDeliveryView"];
                };
            };
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `dlv_`.
                 * @example dlv_417n2x4kxh2y16755wc3rqt3b4
                 */
                delivery_id: string;
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateBody"];
            };
        };
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWebhookWithSecret"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * An identifier that begins with `whk_`.
                 * @example whk_02d1tbras1c927qehbpnx8kgf9
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
        };
    };
}
