import { z } from "zod";
import type { RelayChain, RecentBlockhash } from "../../app/payments/gasless/relay-port.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { printable } from "../core/treasury.ts";
import {
  heightRequest,
  lamportsRequest,
  latestRequest,
  sendRequest,
  simulationRequest,
  validRequest,
} from "./relay-requests.ts";
import { MalformedAnswer, RpcError, RpcFailure } from "../rpc/rpc-failure.ts";
import { unavailable, type SolanaRpc } from "../rpc/rpc.ts";
import { transactionFailure, hasReached, readOutcomes } from "../transactions/transaction-failure.ts";

const errorDataSchema = z.object({ err: z.unknown() });

type Outcome = Awaited<ReturnType<RelayChain["outcome"]>>;

export class SolanaRelayChain implements RelayChain {
  readonly #rpc: SolanaRpc;

  /** @param rpc shared with payment verification, so that each endpoint has one circuit breaker */
  constructor(rpc: SolanaRpc) {
    this.#rpc = rpc;
  }

  async latestBlockhash(signal: AbortSignal): Promise<RecentBlockhash> {
    return (await this.#rpc.ask(latestRequest(signal))).result;
  }

  /**
   * A lagging endpoint may reject a valid blockhash: it is invalid only if all responding endpoints reject
   * it.
   */
  async blockhashStatus(
    blockhash: string,
    signal: AbortSignal,
  ): Promise<{ valid: boolean; blockHeight: bigint }> {
    const heights: bigint[] = [];
    const failures = await this.#eachUntil(signal, async (endpoint) => {
      const valid = await endpoint.ask(validRequest(blockhash, signal));
      // Read from the same endpoint afterwards: the expiry is computed from this height.
      const height = await endpoint.ask(heightRequest("processed", signal));
      if (valid) heights.length = 0;
      heights.push(height);
      return valid;
    });
    if (failures === undefined) return { valid: true, blockHeight: heights[0] ?? 0n };
    const [highest] = heights.toSorted((one, other) => (one < other ? 1 : -1));
    if (highest === undefined) throw unavailable(failures, this.#rpc.endpoints);
    return { valid: false, blockHeight: highest };
  }

  /**
   * Tries every endpoint, since one may lag. A transaction that landed meanwhile does not fail.
   * @throws ToolgateError UNAVAILABLE also if the fee payer cannot pay, which is not the caller's fault
   */
  async simulate(signedTransaction: Uint8Array, signal: AbortSignal): Promise<string | undefined> {
    let err: unknown;
    let succeeded = false;
    const failures = await this.#eachUntil(signal, async (endpoint) => {
      err = await endpoint.ask(simulationRequest(signedTransaction, signal)).catch(refusalOf);
      succeeded = true;
      return err !== "BlockhashNotFound";
    });
    if (!succeeded) throw unavailable(failures ?? [], this.#rpc.endpoints);
    if (err === null || err === "AlreadyProcessed") return undefined;
    const { reason, feePayer } = transactionFailure(err);
    if (feePayer) throw feePayerEmpty(reason);
    return printable(reason);
  }

  async send(signedTransaction: Uint8Array, signal: AbortSignal): Promise<void> {
    const sent = this.#rpc.endpoints.map(async (endpoint) => {
      await endpoint.ask(sendRequest(signedTransaction, signal)).catch((error: unknown) => {
        if (!hasAlready(error)) throw error;
      });
    });
    try {
      await Promise.any(sent);
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(
        error instanceof AggregateError ? error.errors.map(errorOf) : [],
        this.#rpc.endpoints,
      );
    }
  }

  /** Trusts the first endpoint with an outcome; the absence of one needs all endpoints. */
  async outcome(query: Parameters<RelayChain["outcome"]>[0]): Promise<Outcome> {
    const { endpoints } = this.#rpc;
    const failures: Error[] = [];
    let expired = true;
    const asked = endpoints.map(async (endpoint) => {
      const outcome = await outcomeAt(endpoint, query).catch(
        (error: unknown) => void failures.push(errorOf(error)),
      );
      if (outcome && outcome.kind !== "absent") return outcome;
      expired &&= outcome?.expired === true;
      throw new MalformedAnswer("no outcome");
    });
    const outcome = await Promise.any(asked).catch(() => undefined);
    if (outcome) return outcome;
    query.signal.throwIfAborted();
    const foreign = failures.find((failure) => !isAboutEndpoint(failure));
    if (foreign) throw foreign;
    if (failures.length > 0) throw unavailable(failures, endpoints);
    return { kind: "absent", expired };
  }

  async balance(address: string, signal: AbortSignal): Promise<bigint> {
    return (await this.#rpc.ask(lamportsRequest(address, signal))).result;
  }

  /** @returns undefined once one succeeded, else the failures */
  async #eachUntil(
    signal: AbortSignal,
    content: (endpoint: Endpoint) => Promise<boolean>,
  ): Promise<Error[] | undefined> {
    const failures: Error[] = [];
    for (const endpoint of this.#rpc.endpoints) {
      try {
        if (await content(endpoint)) return undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (!isAboutEndpoint(error)) throw error;
        failures.push(error);
      }
    }
    return failures;
  }
}

/** A node that refuses to simulate reports why the transaction is invalid. */
function refusalOf(error: unknown): unknown {
  if (error instanceof RpcError) return error.code === SIGNATURE_FAILURE ? "SignatureFailure" : error.message;
  throw error;
}

const SIGNATURE_FAILURE = -32003;
const PREFLIGHT_FAILURE = -32002;

function hasAlready(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== PREFLIGHT_FAILURE) return false;
  const data = errorDataSchema.safeParse(error.data);
  return (
    (data.success && data.data.err === "AlreadyProcessed") || error.message.includes("already been processed")
  );
}

function isAboutEndpoint(error: unknown): error is RpcFailure | RpcError {
  return error instanceof RpcFailure || error instanceof RpcError;
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function feePayerEmpty(reason: string): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    "the gateway cannot pay the network's fee right now; nothing was sent, pay with a transaction of " +
      "your own or try again later",
    { retryAfterSeconds: 60, cause: new Error(`the fee payer: ${reason}`) },
  );
}

/**
 * Blocks past a transaction's last valid block before its absence counts: it can no longer land, and nodes
 * had time to index it.
 */
const MARGIN_BLOCKS = 10n;

type Query = Parameters<RelayChain["outcome"]>[0];
/**
 * One endpoint's report on a transaction. @throws RpcFailure or RpcError if it fails; the signal's reason on
 * abort
 */
async function outcomeAt(endpoint: Endpoint, query: Query): Promise<Outcome> {
  const status = await statusAt(endpoint, query);
  if (status !== "absent") return status;
  const height = await endpoint.ask(heightRequest("finalized", query.signal));
  if (height <= query.lastValidBlockHeight + MARGIN_BLOCKS) return { kind: "absent", expired: false };
  // It may have landed between the two requests.
  const again = await statusAt(endpoint, query);
  return again === "absent" ? { kind: "absent", expired: true } : again;
}

async function statusAt(endpoint: Endpoint, { txSignature, signal }: Query): Promise<Outcome | "absent"> {
  const { outcomes } = await endpoint.ask({
    method: "getSignatureStatuses",
    params: [[txSignature], { searchTransactionHistory: true }],
    read: (answer) => readOutcomes(answer, 1),
    signal,
  });
  const [status] = outcomes;
  if (!status) return "absent";
  // Seen, but its fork may still be dropped.
  if (!hasReached(status, "confirmed")) return { kind: "absent", expired: false };
  if (status.err === null) return { kind: "confirmed" };
  return { kind: "failed", reason: printable(transactionFailure(status.err).reason) };
}
