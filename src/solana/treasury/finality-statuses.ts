import type { Log } from "../../domain/core/log.ts";
import type { FinalityStatus, UnfinalizedPayment } from "../../app/treasury/treasury-ledger.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { RpcError, RpcFailure } from "../rpc/rpc-failure.ts";
import { unavailable, type SolanaRpc } from "../rpc/rpc.ts";
import type { EvidenceRules } from "../transactions/transaction-evidence.ts";
import { transactionRequest, type TransactionQuery } from "../transactions/transaction-reader.ts";
import { openTransaction } from "../transactions/payment-memo.ts";
import { readMovement } from "./treasury-movement.ts";
import { z } from "zod";
import { readOutcomes, type SignatureOutcome } from "../transactions/transaction-failure.ts";

/** Maximum signatures of one `getSignatureStatuses` request. */
const BATCH = 256;
/** Payments that are checked in parallel. */
const AT_ONCE = 8;
/**
 * Slots past a payment before an endpoint's ignorance of it counts. A blockhash lives 150 blocks, and 600
 * slots hold 150 blocks even if three of four slots are skipped. A durable-nonce transaction that lands later
 * is found as a new movement.
 */
const SAFE_SLOTS = 600n;

/**
 * Reads the finality status of payments accepted before they were finalized.
 * A payment is reversed only if all configured endpoints agree.
 */
export class FinalityStatuses {
  readonly #options: EvidenceRules & { readonly rpc: SolanaRpc; readonly log: Log };

  constructor(options: EvidenceRules & { readonly rpc: SolanaRpc; readonly log: Log }) {
    this.#options = options;
  }

  /** @throws ToolgateError UNAVAILABLE if no endpoint responds; the signal's reason on abort */
  async read(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<FinalityStatus[]> {
    const statuses: FinalityStatus[] = [];
    for (let at = 0; at < payments.length; at += BATCH) {
      const batch = payments.slice(at, at + BATCH);
      const reports = await this.#reports(batch, signal);
      for (let first = 0; first < batch.length; first += AT_ONCE) {
        const some = batch.slice(first, first + AT_ONCE);
        const judged = some.map((payment, index) => this.#judge(payment, first + index, reports, signal));
        statuses.push(...(await Promise.all(judged)));
      }
    }
    return statuses;
  }

  async #reports(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<PaymentReport[]> {
    const { endpoints } = this.#options.rpc;
    const signatures = payments.map(({ reference: txSignature }) => txSignature);
    const failures: Error[] = [];
    const responses = await Promise.all(
      endpoints.map((endpoint) =>
        requestReport(endpoint, signatures, signal).catch((error: unknown) => {
          failures.push(failureOf(error, signal));
          return undefined;
        }),
      ),
    );
    const reports = responses.filter((report) => report !== undefined);
    if (reports.length === 0) throw unavailable(failures, endpoints);
    return reports;
  }

  async #judge(
    payment: UnfinalizedPayment,
    index: number,
    reports: readonly PaymentReport[],
    signal: AbortSignal,
  ): Promise<FinalityStatus> {
    const query = { txSignature: payment.reference, commitment: "finalized", signal } as const;
    const reporter = reports.find(
      ({ outcomes }) => isFinalized(outcomes[index]) && outcomes[index]?.err === null,
    );
    if (reporter) return this.#confirm(payment, reporter.endpoint, query);
    if (reports.length < this.#options.rpc.endpoints.length) return "pending";
    const disproofs = await Promise.all(reports.map((report) => disproof(payment, index, report, query)));
    if (disproofs.includes(undefined)) return "pending";
    return disproofs.includes("failed") ? "failed" : "vanished";
  }

  /**
   * Compares the paid amount with the credited one; queries another endpoint than the reporting one first,
   * if there is one.
   */
  async #confirm(
    payment: UnfinalizedPayment,
    reporter: Endpoint,
    query: TransactionQuery,
  ): Promise<FinalityStatus> {
    const { rpc, log } = this.#options;
    const order = [...rpc.endpoints.filter((endpoint) => endpoint !== reporter), reporter];
    let differs = false;
    for (const endpoint of order) {
      const reading = await request(endpoint, query, (result) =>
        readMovement(query.txSignature, result, this.#options),
      );
      if (!reading) continue;
      const asCredited = reading.movement.change === payment.amount;
      if (asCredited && !differs) return "finalized";
      if (asCredited || reading.failed) {
        log.error({ tx_signature: query.txSignature }, "Solana RPC endpoints disagree on a payment");
        return "pending";
      }
      differs = true;
    }
    return differs ? "different" : "pending";
  }
}

/** Returns an endpoint's proof that the payment does not stand; undefined without one. */
async function disproof(
  { slot }: UnfinalizedPayment,
  index: number,
  { endpoint, finalizedSlot, outcomes }: PaymentReport,
  query: TransactionQuery,
): Promise<"failed" | "vanished" | undefined> {
  const outcome = outcomes[index];
  if (outcome === undefined) return undefined;
  if (outcome === null) {
    if (finalizedSlot <= slot + SAFE_SLOTS) return undefined;
    // Nodes can lose a status but keep the transaction.
    const known = await request(endpoint, { ...query, commitment: "confirmed" }, () => true);
    return known === null ? "vanished" : undefined;
  }
  if (!isFinalized(outcome) || outcome.err === null) return undefined;
  const opened = await request(endpoint, query, (result) => openTransaction(query.txSignature, result));
  return opened && opened.meta.err !== null ? "failed" : undefined;
}

/** Requests the transaction from one endpoint: null if unknown, undefined if the endpoint fails. */
async function request<Result>(
  endpoint: Endpoint,
  query: TransactionQuery,
  read: (result: unknown) => Result | undefined,
): Promise<Result | null | undefined> {
  try {
    return await endpoint.ask(transactionRequest(query, (result) => (result === null ? null : read(result))));
  } catch (error) {
    failureOf(error, query.signal);
    return undefined;
  }
}

/** Returns an endpoint's failure; rethrows any other error. */
function failureOf(error: unknown, signal: AbortSignal): Error {
  signal.throwIfAborted();
  if (error instanceof RpcFailure || error instanceof RpcError) return error;
  throw error;
}

function isFinalized(outcome: PaymentReport["outcomes"][number] | undefined): boolean {
  return outcome?.confirmationStatus === "finalized";
}

interface PaymentReport {
  readonly endpoint: Endpoint;
  /** Finalized slot that the endpoint had certainly reached. */
  readonly finalizedSlot: bigint;
  /** In the order of the signatures; null: unknown signature. */
  readonly outcomes: readonly SignatureOutcome[];
}

/** Requests a report. @throws RpcFailure or RpcError if the endpoint fails; the signal's reason on abort */
async function requestReport(
  endpoint: Endpoint,
  signatures: readonly string[],
  signal: AbortSignal,
): Promise<PaymentReport> {
  // Reads the slot first: the statuses are at least as recent.
  const reached = await endpoint.ask({
    method: "getSlot",
    params: [{ commitment: "finalized" }],
    read: (result) => BigInt(z.int().nonnegative().parse(result)),
    signal,
  });
  const { slot, outcomes } = await endpoint.ask({
    method: "getSignatureStatuses",
    params: [[...signatures], { searchTransactionHistory: true }],
    read: (result) => readOutcomes(result, signatures.length),
    signal,
  });
  // One address may hide several nodes, and a lagging one may have returned the statuses.
  return { endpoint, finalizedSlot: slot < reached ? slot : reached, outcomes };
}
