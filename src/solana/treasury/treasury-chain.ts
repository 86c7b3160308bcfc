import type {
  HistoryEntry,
  HistoryQuery,
  Movement,
  FinalityStatus,
  TreasuryChain,
  UnfinalizedPayment,
} from "../../app/treasury/treasury-chain.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { confirmMovement } from "./large-movement.ts";
import type { Log } from "../../domain/core/log.ts";
import { FinalityStatuses } from "./finality-statuses.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import { readHistory } from "./signature-history.ts";
import type { EvidenceRules } from "../transactions/transaction-evidence.ts";
import { transactionRequest } from "../transactions/transaction-reader.ts";
import { balanceRequest } from "./treasury-balance.ts";
import { readMovement } from "./treasury-movement.ts";

/** Options of SolanaTreasury. */
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
