import type { Endpoint, RpcRequest } from "./endpoint.ts";
import { UNSUPPORTED_TRANSACTION_VERSION } from "./json-rpc.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { RpcError } from "./rpc-failure.ts";
import type { SolanaRpc } from "./rpc.ts";
import type { Commitment } from "./signature-status.ts";
import { judgeTransaction, type EvidenceRules, type Payment } from "./transaction-evidence.ts";

/** Which transaction, and how sure of it. */
export interface TransactionQuery {
  readonly txSignature: string;
  readonly commitment: Commitment;
  readonly signal: AbortSignal;
}

/** A judged transaction. */
export interface Finding {
  readonly evidence: Payment | Refusal;
  /** Which told it; undefined for a transaction that no endpoint can tell. */
  readonly endpoint: Endpoint | undefined;
  /** Whether it is known to be finalized. */
  readonly finalized: boolean;
}

/** `getTransaction`. Version 1 must be asked for as a number: with a lower one the node refuses such transactions. */
export function transactionRequest<Result>(
  { txSignature, commitment, signal }: TransactionQuery,
  read: (result: unknown) => Result,
): RpcRequest<Result> {
  const options = { encoding: "json", commitment, maxSupportedTransactionVersion: 1 };
  return { method: "getTransaction", params: [txSignature, options], read, signal };
}

/** Fetches transactions (`getTransaction`) and judges them as they are read, so that an answer that proves nothing counts as none. */
export class TransactionReader {
  readonly #rpc: SolanaRpc;
  readonly #rules: EvidenceRules;

  constructor(rpc: SolanaRpc, rules: EvidenceRules) {
    this.#rpc = rpc;
    this.#rules = rules;
  }

  /**
   * Asks the endpoints in that order until one answers, also with "not known".
   * @throws ToolgateError UNAVAILABLE when none answers
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
   * Asks every endpoint. Only when all of them do not know the transaction is it unknown: one may lag, or lie.
   * @throws ToolgateError UNAVAILABLE when none knows it and not all answer
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
