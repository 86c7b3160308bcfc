import { randomUUID } from "node:crypto";
import type { Keypair, TransactionInstruction } from "@solana/web3.js";
import { ChainLookupLimit } from "../../../../src/app/payments/chain-lookup-limit.ts";
import { GaslessRelay, type RelayDeps } from "../../../../src/app/payments/gasless/relay.ts";
import type { RelayClaims, RelayLimits } from "../../../../src/app/payments/gasless/relay-claims.ts";
import type { RelayChain, RelayRequest } from "../../../../src/app/payments/gasless/relay-port.ts";
import { Quotes, type Quote } from "../../../../src/domain/payments/quote.ts";
import { startLocalChain, type LocalChain } from "../../../../src/localchain/index.ts";
import { GaslessSponsor, readFeePayer } from "../../../../src/payments/gasless/index.ts";
import { openPool } from "../../../../src/postgres/database/pool.ts";
import { PostgresRelays } from "../../../../src/postgres/payments/relays.ts";
import { idFromUuid } from "../../../../src/postgres/database/row-mapping.ts";
import { SolanaRelayChain } from "../../../../src/solana/index.ts";
import { SolanaRpc } from "../../../../src/solana/rpc/rpc.ts";
import { systemClock, systemRandom } from "../../../../src/system.ts";
import { usdcOf } from "../../../localchain/paying.ts";
import { makeScene, payment, signed, type Scene } from "../../../payments/gasless/fixture.ts";
import { createTestDatabase, type TestDatabase } from "../../../support/postgres.ts";

export const PRICE = 10_000n;
const silent = { info: () => {}, warn: () => {}, error: () => {} };
const sealing = { version: 1, secret: Buffer.alloc(32, 7) };
const PLENTY: RelayLimits = { dailyLamports: 10n ** 12n, perAccountHourly: 1_000, failuresHourly: 1_000 };

/** The relay part of one gateway, with its own connections. */
export interface Instance {
  readonly relay: GaslessRelay;
  readonly book: RelayClaims;
  readonly chain: RelayChain;
}

/** A payer's transaction for a quote, and who sends it in. */
export interface Payment {
  readonly quote: Quote;
  readonly bytes: Uint8Array;
  readonly keyId: string;
}

/** A chain, a database and the participants. Times are the chain's: a slot takes 40 ms. */
export class RelayScene {
  readonly local: LocalChain;
  readonly #database: TestDatabase;
  readonly #closing: (() => Promise<void>)[] = [];
  readonly #stopping = new AbortController();
  readonly feePayer: Keypair;
  readonly treasury: Keypair;
  readonly payer: Keypair;
  readonly quotes: Quotes;

  private constructor(local: LocalChain, database: TestDatabase) {
    this.local = local;
    this.#database = database;
    this.feePayer = local.controls.createWallet();
    this.treasury = local.controls.createWallet({ microUsd: 0n, lamports: 0n });
    this.payer = local.controls.createWallet({ microUsd: 1_000_000_000n, lamports: 0n });
    const keys = { current: () => sealing, version: () => undefined, find: async () => sealing };
    this.quotes = new Quotes(keys, systemClock, systemRandom, 300);
  }

  static async start(): Promise<RelayScene> {
    return new RelayScene(await startLocalChain({ slotMs: 40 }), await createTestDatabase());
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#closing.map((close) => close()));
    await Promise.all([this.local.close(), this.#database.drop()]);
  }

  /** Another gateway on the same database and chain. */
  instance(change: Partial<RelayDeps> = {}): Instance {
    const pool = openPool(this.#database.servingUrl, { max: 3, applicationName: "relay test" });
    this.#closing.push(() => pool.end());
    const rpc = new SolanaRpc([this.local.url], { clock: systemClock, log: silent, attemptMs: 1_000 });
    const book = change.claims ?? new PostgresRelays(pool);
    const chain = change.chain ?? new SolanaRelayChain(rpc);
    const relay = new GaslessRelay({
      sponsor: this.sponsor(),
      clock: systemClock,
      limits: PLENTY,
      minimum: 1_000n,
      waitMs: 5_000,
      lookupLimit: new ChainLookupLimit(systemClock, { count: () => {} }, async () => false),
      log: silent,
      stopping: this.#stopping.signal,
      ...change,
      claims: book,
      chain,
    });
    return { relay, book, chain };
  }

  sponsor(feePayer = this.feePayer): GaslessSponsor {
    const key = readFeePayer(JSON.stringify([...feePayer.secretKey]));
    return new GaslessSponsor({
      feePayer: key,
      treasuryOwner: this.treasury.publicKey.toBase58(),
      memoPrefix: "svc",
    });
  }

  quote(price = PRICE): Quote {
    return this.quotes.issue(idFromUuid("acct", randomUUID()), price, Buffer.alloc(32));
  }

  /** A payer's transaction, by default on the current blockhash. */
  pay(
    change: {
      quote?: Quote;
      payer?: Keypair;
      blockhash?: string;
      keyId?: string;
      instructions?: (scene: Scene) => TransactionInstruction[];
    } = {},
  ): Payment {
    const quote = change.quote ?? this.quote();
    const people = {
      feePayer: this.feePayer,
      payer: change.payer ?? this.payer,
      treasuryOwner: this.treasury.publicKey,
    };
    const scene = { ...makeScene(people), quote, memo: `svc:${quote.quoteId}` };
    const { slots } = this.local.chain;
    const blockhash = change.blockhash ?? slots.blockhash(slots.current);
    const bytes = signed(scene, (change.instructions ?? payment)(scene), { blockhash });
    return { quote, bytes, keyId: change.keyId ?? idFromUuid("key", randomUUID()) };
  }

  /** The paid-call path up to the payment. */
  async relay({ relay }: Instance, { quote, bytes, keyId }: Payment, change: Partial<RelayRequest> = {}) {
    const transaction = await relay.identify(bytes);
    const { signal } = new AbortController();
    const { accountId } = quote;
    return relay.relay({
      transaction,
      quote,
      accountId,
      keyId,
      receivedAt: systemClock.now(),
      signal,
      ...change,
    });
  }

  /** A claim as an instance has left it that died right after. */
  async leaveClaimed({ book }: Instance, { quote, bytes, keyId }: Payment): Promise<Buffer> {
    const decoded = this.sponsor().decode(bytes);
    const { slots } = this.local.chain;
    const claim = {
      ...this.sponsor().sign(decoded, quote),
      messageHash: decoded.messageHash,
      txSignature: decoded.txSignature ?? "",
      quoteId: quote.quoteId,
      accountId: quote.accountId,
      keyId,
      lastValidBlockHeight: BigInt(slots.lastValidBlockHeight(slots.current)),
    };
    const verdict = await book.claim(claim, PLENTY);
    if (verdict.kind !== "claimed") throw new Error(verdict.kind);
    return decoded.messageHash;
  }

  /** Micro-USD that the treasury has. */
  treasuryHas(): Promise<bigint> {
    return usdcOf(this.local, this.treasury);
  }

  sends(): number {
    return this.local.faults.callCount("sendTransaction");
  }
}

/** The part with some of its methods replaced. */
export function altered<Part extends object>(part: Part, methods: Partial<Part>): Part {
  const bound = (value: unknown): unknown => (typeof value === "function" ? value.bind(part) : value);
  return new Proxy(part, {
    get: (_part, name) =>
      Object.hasOwn(methods, name) ? Reflect.get(methods, name) : bound(Reflect.get(part, name)),
  });
}
