import type {
  HistoryEntry,
  HistoryQuery,
  Movement,
  FinalityStatus,
  TreasuryChain,
  UnfinalizedPayment,
} from "../../app/treasury/treasury-ledger.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Log } from "../../domain/core/log.ts";
import { FinalityStatuses } from "./finality-statuses.ts";
import { type SolanaRpc, unavailable } from "../rpc/rpc.ts";
import { readHistory } from "./signature-history.ts";
import type { EvidenceRules } from "../transactions/transaction-evidence.ts";
import { transactionRequest } from "../transactions/transaction-reader.ts";
import { balanceRequest } from "./treasury-balance.ts";
import { readMovement } from "./treasury-movement.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Endpoint, RpcRequest } from "../rpc/endpoint.ts";
import { RpcError, RpcFailure } from "../rpc/rpc-failure.ts";

export interface SolanaTreasuryOptions extends EvidenceRules {
  /** Shared with payment verification, so that each endpoint has one circuit breaker. */
  readonly rpc: SolanaRpc;
  /** FINALIZED_ABOVE_MICROUSD: payments of at least this amount need two endpoints to be credited. */
  readonly finalizedAbove: MicroUsd;
  readonly log: Log;
}

/** The finalized state of the treasury's token account on Solana. */
export class SolanaTreasury implements TreasuryChain {
  readonly #options: SolanaTreasuryOptions;
  readonly #finality: FinalityStatuses;

  constructor(options: SolanaTreasuryOptions) {
    this.#options = options;
    this.#finality = new FinalityStatuses(options);
  }

  get tokenAccount(): string {
    return this.#options.treasury.tokenAccount;
  }

  get endpoints(): number {
    return this.#options.rpc.endpoints.length;
  }

  /** @throws ToolgateError UNAVAILABLE if no endpoint returns all of it; the signal's reason on abort */
  history(query: HistoryQuery): Promise<{ entries: HistoryEntry[]; before: HistoryEntry | undefined }> {
    const { rpc } = this.#options;
    const turn = query.firstEndpoint % rpc.endpoints.length;
    const order = [...rpc.endpoints.slice(turn), ...rpc.endpoints.slice(0, turn)];
    return rpc.firstKnown(order, query.signal, (endpoint) => readHistory(endpoint, this.tokenAccount, query));
  }

  /**
   * @throws ToolgateError UNAVAILABLE while no endpoint has it finalized, or only one has a large payment;
   * the signal's reason on abort
   */
  async movement(txSignature: string, signal: AbortSignal): Promise<Movement> {
    const { rpc, finalizedAbove, log } = this.#options;
    const read = (result: unknown) =>
      result === null ? undefined : readMovement(txSignature, result, this.#options)?.movement;
    const request = transactionRequest({ txSignature, commitment: "finalized", signal }, read);
    const report = await rpc.firstKnown(rpc.endpoints, signal, async (endpoint) => {
      const movement = await endpoint.ask(request);
      return movement && { movement, reporter: endpoint, request };
    });
    const { memo, change } = report.movement;
    // A movement without our memo credits no account.
    if (memo === undefined || change < finalizedAbove) return report.movement;
    return confirmMovement(report, rpc.endpoints, log);
  }

  /**
   * @throws ToolgateError UNAVAILABLE if no endpoint responds or there is no such account; the signal's
   * reason on abort
   */
  balance(signal: AbortSignal): Promise<MicroUsd> {
    const { rpc, treasury } = this.#options;
    const request = balanceRequest(treasury, "finalized", signal);
    return rpc.firstKnown(rpc.endpoints, signal, (endpoint) => endpoint.ask(request));
  }

  /** @throws ToolgateError UNAVAILABLE if no endpoint responds; the signal's reason on abort */
  finalityStatuses(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<FinalityStatus[]> {
    return this.#finality.read(payments, signal);
  }
}

/** A movement reported by one endpoint, and the request for confirming it. */
interface MovementReport {
  readonly movement: Movement;
  readonly reporter: Endpoint;
  /** Resolves to undefined if the endpoint does not find it. */
  readonly request: RpcRequest<Movement | undefined>;
}

/**
 * Confirms a large movement with a second endpoint: a single endpoint could forge it. Waits while others
 * respond without it; trusts the first if no other responds.
 * @throws ToolgateError UNAVAILABLE to retry later; the signal's reason on abort
 */
async function confirmMovement(
  { movement, reporter, request }: MovementReport,
  endpoints: readonly Endpoint[],
  log: Log,
): Promise<Movement> {
  const others = endpoints.filter((endpoint) => endpoint !== reporter);
  const unknown: Error[] = [];
  for (const endpoint of others) {
    const again = await askAgain(endpoint, request);
    if (again instanceof RpcFailure) unknown.push(again);
    else if (again && isSame(movement, again)) return movement;
    else if (again) throw disagreement(movement, [reporter.host, endpoint.host], log);
  }
  if (unknown.length > 0) throw unavailable(unknown, others);
  return movement;
}

/** Another endpoint's report; RpcFailure: it does not find the movement; undefined: no response. */
async function askAgain(
  endpoint: Endpoint,
  request: RpcRequest<Movement | undefined>,
): Promise<Movement | RpcFailure | undefined> {
  try {
    return (await endpoint.ask(request)) ?? new RpcFailure("not_here", endpoint.host, "does not know");
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof RpcFailure && error.kind === "not_here") return error;
    if (error instanceof RpcFailure || error instanceof RpcError) return undefined;
    throw error;
  }
}

function isSame(one: Movement, other: Movement): boolean {
  return one.change === other.change && one.memo === other.memo;
}

function disagreement({ txSignature }: Movement, endpoints: readonly string[], log: Log): ToolgateError {
  log.error({ tx_signature: txSignature, endpoints }, "Solana RPC endpoints disagree on a transaction");
  return new ToolgateError("UNAVAILABLE", "the Solana network's answers contradict each other", {
    retryAfterSeconds: 5,
  });
}
