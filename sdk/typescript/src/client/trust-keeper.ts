/** The client's trusted log, and the verification of answers against it. */

import { Refused, refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';
import { type Checkpoint, PROTOCOL, domainOf } from '../protocol/domain.js';
import { followSequencerKeys } from '../verify/keys.js';
import { verifyBatchReceipt, verifyReceipt } from '../verify/receipts.js';
import { verifyStatedCheckpoint } from '../verify/signed.js';
import { type ListFacts, type StateFacts, type StateProofOptions, verifyList, verifyStateProof } from '../verify/state.js';
import type { Trust } from '../verify/trust.js';
import { CheckpointWatch } from './checkpoint-watch.js';
import { HeaderWatch } from './header-watch.js';
import type { Schemas } from './operation.js';

/** Reads the server's statements about its log. */
export interface TrustSource {
  domain(): Promise<Schemas['DomainView']>;
  sequencerKeys(): Promise<unknown[]>;
}

/** Keeps the trusted log, and extends it when the sequencer's key changes. */
export class TrustKeeper {
  #trust: Promise<Trust> | null;
  readonly #watch = new HeaderWatch();
  readonly #checkpoints = new CheckpointWatch();

  constructor(
    readonly source: TrustSource,
    given: Trust | undefined,
  ) {
    this.#trust = given === undefined ? null : Promise.resolve(given);
  }

  /** The trusted log; without a configured one, the server's first statement. */
  trust(): Promise<Trust> {
    if (this.#trust === null) {
      const read = this.#read();
      this.#trust = read;
      read.catch(() => {
        this.#trust = null;
      });
    }
    return this.#trust;
  }

  async #read(): Promise<Trust> {
    const [stated, keys] = await Promise.all([this.source.domain(), this.source.sequencerKeys()]);
    refuseUnless(stated.name === PROTOCOL.name && stated.version === PROTOCOL.version, 'the server speaks another protocol');
    const [first] = keys as { key: string }[];
    refuseUnless(first !== undefined, 'the server lists no key of the sequencer');
    return followSequencerKeys(keys, { domain: domainOf(BigInt(stated.chainId), stated.verifyingContract), sequencer: first.key });
  }

  /** Verifies with the trusted keys, and once more with their successors. */
  async #checked<T>(check: (trust: Trust) => T): Promise<T> {
    const trust = await this.trust();
    try {
      return check(trust);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const extended = followSequencerKeys(await this.source.sequencerKeys(), trust);
      if (extended.sequencer.length === (typeof trust.sequencer === 'string' ? 1 : trust.sequencer.length)) throw error;
      this.#trust = Promise.resolve(extended);
      return check(extended);
    }
  }

  /** Verifies the receipt of one action. */
  receipt(file: object, content: Hex): Promise<unknown> {
    return this.#checked((trust) => verifyReceipt(file, trust, content, this.#watch));
  }

  /** Verifies the receipt of a request of many actions. */
  batchReceipt(file: object, contents: readonly Hex[]): Promise<unknown> {
    return this.#checked((trust) => verifyBatchReceipt(file, trust, contents, this.#watch));
  }

  /** Verifies a state proof. {@link see} is for its checkpoint. */
  stateProof(file: string | object, options: StateProofOptions): Promise<StateFacts> {
    return this.#checked((trust) => verifyStateProof(file, trust, options));
  }

  /** Verifies the state proofs of a list's items. {@link see} is for their checkpoint. */
  stateProofs(file: object, options: StateProofOptions): Promise<ListFacts> {
    return this.#checked((trust) => verifyList(file, trust, options));
  }

  /** Verifies the answer of `GET /checkpoint`. {@link see} is for the checkpoint. */
  checkpoint(answer: string): Promise<Checkpoint> {
    return this.#checked((trust) => verifyStatedCheckpoint(answer, trust));
  }

  /**
   * Records a verified checkpoint.
   *
   * @throws Contradiction if the sequencer signed another one over as many batches
   */
  see(checkpoint: Checkpoint, signed: unknown): void {
    this.#checkpoints.add(checkpoint, signed);
  }
}
