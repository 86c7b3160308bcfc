import { z } from "zod";
import type { DepositChain } from "../../app/deposits/deposits.ts";
import { parseSignature } from "../../domain/core/base58.ts";
import type { Candidate, TransactionEffect, Stage } from "../../domain/deposits/deposit.ts";
import type { Endpoint, RpcRequest } from "../rpc/endpoint.ts";
import { printable } from "../core/treasury.ts";
import { RpcError, RpcFailure } from "../rpc/rpc-failure.ts";
import { unavailable, type SolanaRpc } from "../rpc/rpc.ts";
import { readOutcomes, transactionFailure } from "../transactions/transaction-failure.ts";
import type { SignatureOutcome } from "../transactions/transaction-failure.ts";
import type { EvidenceRules } from "../transactions/transaction-evidence.ts";
import { transactionErrorSchema } from "../transactions/transaction-json.ts";
import { transactionRequest } from "../transactions/transaction-reader.ts";
import { readMovement } from "../treasury/treasury-movement.ts";

export interface SolanaDepositsOptions extends EvidenceRules {
  /** Shared with payment verification, so that each endpoint has one circuit breaker. */
  readonly rpc: SolanaRpc;
}

/** Newest transactions read per reference: a deposit has one, strangers may add more. */
const NEWEST = 5;

const entriesSchema = z.array(
  z.object({
    signature: z.string().refine((text) => parseSignature(text) !== undefined, "is no signature"),
    err: transactionErrorSchema,
    confirmationStatus: z.enum(["processed", "confirmed", "finalized"]).nullish(),
  }),
);

/** Reports the progress of deposits on Solana. Does not credit anything. */
export class SolanaDeposits implements DepositChain {
  readonly #options: SolanaDepositsOptions;

  constructor(options: SolanaDepositsOptions) {
    this.#options = options;
  }

  find(txSignature: string, signal: AbortSignal): Promise<Candidate | undefined> {
    return this.#firstKnown(signal, async (endpoint) => {
      const { outcomes } = await endpoint.ask({
        method: "getSignatureStatuses",
        params: [[txSignature], { searchTransactionHistory: true }],
        read: (answer) => readOutcomes(answer, 1),
        signal,
      });
      const [outcome] = outcomes;
      return outcome ? candidateOf(txSignature, outcome) : undefined;
    });
  }

  async findByReference(reference: string, signal: AbortSignal): Promise<Candidate[]> {
    const request: RpcRequest<Candidate[]> = {
      method: "getSignaturesForAddress",
      params: [reference, { limit: NEWEST, commitment: "confirmed" }],
      read: (answer) =>
        entriesSchema
          .parse(answer)
          .map(({ signature, confirmationStatus = "confirmed", ...entry }) =>
            candidateOf(signature, { ...entry, confirmationStatus }),
          ),
      signal,
    };
    const result = await this.#firstKnown(signal, async (endpoint) => {
      const candidates = await endpoint.ask(request);
      return candidates.length > 0 ? candidates : undefined;
    });
    return result ?? [];
  }

  effect(txSignature: string, signal: AbortSignal): Promise<TransactionEffect | undefined> {
    const read = (result: unknown) =>
      result === null ? undefined : readMovement(txSignature, result, this.#options)?.movement;
    const request = transactionRequest({ txSignature, commitment: "confirmed", signal }, read);
    return this.#firstKnown(signal, (endpoint) => endpoint.ask(request));
  }

  /**
   * Returns the first endpoint's result. It is unknown only if all endpoints respond that they do not know
   * it.
   * @throws ToolgateError UNAVAILABLE if none knows it and one fails; the signal's reason on abort
   */
  async #firstKnown<Result>(
    signal: AbortSignal,
    read: (endpoint: Endpoint) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const { endpoints } = this.#options.rpc;
    const failures: Error[] = [];
    for (const endpoint of endpoints) {
      try {
        const result = await read(endpoint);
        if (result !== undefined) return result;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFailure) && !(error instanceof RpcError)) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw unavailable(failures, endpoints);
    return undefined;
  }
}

const STAGES = {
  processed: "seen",
  confirmed: "confirmed",
  finalized: "finalized",
} as const satisfies Record<string, Stage>;

/**
 * A transaction that failed on one node's fork may succeed on the cluster's: only a confirmed failure counts.
 */
function candidateOf(
  txSignature: string,
  { confirmationStatus, err }: NonNullable<SignatureOutcome>,
): Candidate {
  const stage = STAGES[confirmationStatus ?? "processed"];
  const failed = err !== null && stage !== "seen";
  return { txSignature, stage, failure: failed ? printable(transactionFailure(err).reason) : undefined };
}
