import type { Server } from "node:http";
import { base58 } from "@scure/base";
import {
  Connection,
  type Keypair,
  TransactionMessage,
  VersionedTransaction,
  type AddressLookupTableAccount,
  type TransactionInstruction,
} from "@solana/web3.js";
import { afterAll, afterEach, beforeAll } from "vitest";
import { Faults, type Fault } from "../../src/localchain/faults.ts";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import type { Json } from "../../src/localchain/json.ts";
import { createHttpServer } from "../../src/localchain/server.ts";
import { openChain, type ChainOptions, type SolanaChain } from "../../src/solana/payments/chain.ts";
import type { Log } from "../../src/domain/core/log.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { SolanaTreasury } from "../../src/solana/treasury/treasury-chain.ts";
import { closeServer, listen } from "../support/servers.ts";

/** One RPC endpoint of the cluster with its own faults. */
export interface Node {
  readonly url: string;
  readonly faults: Faults;
}

export type LogEntry = [level: "info" | "warn" | "error", fields: object, message: string];

/** A manually advanced chain behind two RPC nodes, with a payer and a treasury. */
export class Network {
  local!: LocalChain;
  first!: Node;
  second!: Node;
  payer!: Keypair;
  treasuryOwner!: Keypair;
  readonly log: LogEntry[] = [];
  readonly clock = { offset: 0, now: () => Date.now() + this.clock.offset };
  readonly #logger: Log;
  #server!: Server;
  readonly #opened: SolanaChain[] = [];
  #quotes = 0;

  constructor() {
    const write = (level: LogEntry[0]) => (fields: object, message: string) =>
      void this.log.push([level, fields, message]);
    this.#logger = { info: write("info"), warn: write("warn"), error: write("error") };
  }

  async start(): Promise<void> {
    this.local = await startLocalChain({ slotMs: 0 });
    const { chain, controls, faults, url } = this.local;
    const own = new Faults();
    this.#server = createHttpServer(chain, own);
    this.first = { url, faults };
    this.second = { url: `http://127.0.0.1:${await listen(this.#server)}`, faults: own };
    this.payer = controls.createWallet({ microUsd: 1_000_000_000n });
    this.treasuryOwner = controls.createWallet({ microUsd: 3_000_000n });
  }

  /** The gateway's view of the chain; by default through the first node alone. */
  open(options: Partial<ChainOptions> = {}): SolanaChain {
    const chain = openChain({
      urls: [this.first.url],
      treasuryOwner: this.treasuryOwner.publicKey.toBase58(),
      memoPrefix: "svc",
      // A busy machine must not exceed them; tests of the limits set their own.
      waitMs: 60_000,
      attemptMs: 60_000,
      finalizedAbove: 50_000_000n,
      clock: this.clock,
      log: this.#logger,
      ...options,
    });
    this.#opened.push(chain);
    return chain;
  }

  openBoth(options: Partial<ChainOptions> = {}): SolanaChain {
    return this.open({ urls: [this.first.url, this.second.url], ...options });
  }

  /** The treasury's account as the watch sees it; by default through both nodes. */
  watch({ rpc, treasury }: SolanaChain = this.openBoth()): SolanaTreasury {
    return new SolanaTreasury({
      rpc,
      treasury,
      memoPrefix: "svc",
      finalizedAbove: 50_000_000n,
      log: this.#logger,
    });
  }

  /** A memo of ours that no other payment has. */
  memo(): string {
    this.#quotes += 1;
    return `svc:qt_${base58.encode(Buffer.from(`quote ${this.#quotes}`))}`;
  }

  payment(amount: bigint, memo = this.memo()): TransactionInstruction[] {
    const payTo = this.local.controls.usdcAccount(this.treasuryOwner.publicKey).toBase58();
    return paymentInstructions({ payer: this.payer.publicKey.toBase58(), payTo, amount, memo });
  }

  /** Signs a transaction with the newest blockhash; it can be sent later. */
  sign(
    instructions: TransactionInstruction[],
    { signers = [this.payer], tables = [] as AddressLookupTableAccount[] } = {},
  ): { signature: string; send: () => Promise<string> } {
    const { slots } = this.local.chain;
    const message = new TransactionMessage({
      payerKey: (signers[0] ?? this.payer).publicKey,
      recentBlockhash: slots.blockhash(slots.current),
      instructions,
    });
    const transaction = new VersionedTransaction(message.compileToV0Message(tables));
    transaction.sign(signers);
    return {
      signature: base58.encode(transaction.signatures[0] ?? new Uint8Array()),
      send: () =>
        new Connection(this.local.url).sendRawTransaction(transaction.serialize(), { skipPreflight: true }),
    };
  }

  /** Sends a transaction and makes the cluster confirm it. */
  async confirm(...args: Parameters<Network["sign"]>): Promise<string> {
    const { signature, send } = this.sign(...args);
    await send();
    this.local.chain.advance();
    this.resetCounts();
    return signature;
  }

  /** A payment of that amount that nothing can undo any more. */
  async settle(amount: bigint): Promise<string> {
    const txSignature = await this.pay(amount);
    this.local.chain.advance(32);
    return txSignature;
  }

  pay(amount: bigint): Promise<string> {
    return this.confirm(this.payment(amount));
  }

  async getTransaction(
    signature: string,
  ): Promise<{ transaction: { signatures: string[] } } & { [member: string]: Json }> {
    const options = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "getTransaction",
      params: [signature, options],
    });
    const answer = await (await fetch(this.first.url, { method: "POST", body })).json();
    this.resetCounts();
    return (answer as { result: Awaited<ReturnType<Network["getTransaction"]>> }).result;
  }

  /** Makes the node fail every call of a method, or `times` calls. */
  fail(node: Node, method: string, fault: Fault, calls?: number): void {
    node.faults.add({ method, fault, ...(calls !== undefined && { calls }) });
  }

  counts(node: Node = this.first): Readonly<Record<string, number>> {
    return node.faults.callCounts();
  }

  resetCounts(): void {
    this.first.faults.resetCallCounts();
    this.second.faults.resetCallCounts();
  }

  /** Removes all faults, after each test. */
  heal(): void {
    for (const chain of this.#opened.splice(0)) chain.close();
    this.first.faults.clear();
    this.second.faults.clear();
    this.clock.offset = 0;
    this.log.length = 0;
    this.resetCounts();
  }

  async close(): Promise<void> {
    this.heal();
    await Promise.all([closeServer(this.#server), this.local.close()]);
  }
}

/** The network of a file, healed after each test. */
export function useNetwork(): Network {
  const net = new Network();
  beforeAll(() => net.start());
  afterEach(() => net.heal());
  afterAll(() => net.close());
  return net;
}

export const patient = () => new AbortController().signal;

export const verify = (chain: SolanaChain, txSignature: string) =>
  chain.verify({ txSignature, signal: patient() });
