import type { Endpoint, RpcRequest } from "../rpc/endpoint.ts";
import { UNSUPPORTED_TRANSACTION_VERSION, RpcError } from "../rpc/rpc-failure.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import type { Commitment } from "./transaction-failure.ts";
import { judgeTransaction, type EvidenceRules, type Payment } from "./transaction-evidence.ts";

export interface TransactionQuery {
  readonly txSignature: string;
  readonly commitment: Commitment;
  readonly signal: AbortSignal;
}

export interface Finding {
  readonly evidence: Payment | Refusal;
  /** Its endpoint; undefined for a transaction that no endpoint returns. */
  readonly endpoint: Endpoint | undefined;
  readonly finalized: boolean;
}

/**
 * `getTransaction`. With a lower `maxSupportedTransactionVersion` the node refuses version 1 transactions.
 */
export function transactionRequest<Result>(
  { txSignature, commitment, signal }: TransactionQuery,
  read: (result: unknown) => Result,
): RpcRequest<Result> {
  const options = { encoding: "json", commitment, maxSupportedTransactionVersion: 1 };
  return { method: "getTransaction", params: [txSignature, options], read, signal };
}

/**
 * Fetches and verifies transactions (`getTransaction`); a result that proves nothing counts as no response.
 */
export class TransactionReader {
  readonly #rpc: SolanaRpc;
  readonly #rules: EvidenceRules;

  constructor(rpc: SolanaRpc, rules: EvidenceRules) {
    this.#rpc = rpc;
    this.#rules = rules;
  }

  /**
   * Tries the endpoints in order until one responds, even with "unknown". @throws ToolgateError UNAVAILABLE
   * if none responds
   */
  async read(
    { txSignature, commitment, signal }: TransactionQuery,
    order: readonly Endpoint[] = this.#rpc.endpoints,
  ): Promise<Finding | undefined> {
    const read = (result: unknown) =>
      result === null ? undefined : judgeTransaction(txSignature, result, this.#rules);
    try {
      const request = transactionRequest({ txSignature, commitment, signal }, read);
      const { result, endpoint } = await this.#rpc.ask(request, order);
      return result && { evidence: result, endpoint, finalized: false };
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== UNSUPPORTED_TRANSACTION_VERSION) throw error;
      return { evidence: refusal.unsupportedVersion(), endpoint: undefined, finalized: false };
    }
  }

  /**
   * Queries every endpoint: a transaction is unknown only if none finds it, since one may lag or lie.
   * @throws ToolgateError UNAVAILABLE if none finds it and not all respond
   */
  async readEverywhere(query: TransactionQuery): Promise<Finding | undefined> {
    const answers = await Promise.allSettled(
      this.#rpc.endpoints.map((endpoint) => this.read(query, [endpoint])),
    );
    for (const answer of answers) if (answer.status === "fulfilled" && answer.value) return answer.value;
    for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
    return undefined;
  }
}
