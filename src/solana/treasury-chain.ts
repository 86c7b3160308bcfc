import type {
  HistoryEntry,
  HistoryQuery,
  Movement,
  Standing,
  TreasuryChain,
  UnfinalizedPayment,
} from "../app/treasury-ports.ts";
import type { MicroUsd } from "../domain/money.ts";
import type { Log } from "./log.ts";
import { PaymentStandings } from "./payment-standings.ts";
import type { SolanaRpc } from "./rpc.ts";
import { readHistory } from "./signature-history.ts";
import type { EvidenceRules } from "./transaction-evidence.ts";
import { transactionRequest } from "./transaction-reader.ts";
import { balanceRequest } from "./treasury-balance.ts";
import { readMovement } from "./treasury-movement.ts";

/** What the treasury's account is watched with. */
export interface SolanaTreasuryOptions extends EvidenceRules {
  /** Shared with the chain that verifies payments, so that each endpoint has one circuit breaker. */
  readonly rpc: SolanaRpc;
  readonly log: Log;
}

/** The treasury's token account on Solana, as far as it is finalized. */
export class SolanaTreasury implements TreasuryChain {
  readonly #options: SolanaTreasuryOptions;
  readonly #standings: PaymentStandings;

  constructor(options: SolanaTreasuryOptions) {
    this.#options = options;
    this.#standings = new PaymentStandings(options);
  }

  get tokenAccount(): string {
    return this.#options.treasury.tokenAccount;
  }

  get endpoints(): number {
    return this.#options.rpc.endpoints.length;
  }

  /** @throws ToolgateError UNAVAILABLE when no endpoint can tell all of it, the signal's reason when it aborts */
  history(query: HistoryQuery): Promise<{ entries: HistoryEntry[]; before: HistoryEntry | undefined }> {
    const { rpc } = this.#options;
    const turn = query.turn % rpc.endpoints.length;
    const order = [...rpc.endpoints.slice(turn), ...rpc.endpoints.slice(0, turn)];
    return rpc.firstTold(order, query.signal, (endpoint) => readHistory(endpoint, this.tokenAccount, query));
  }

  /** @throws ToolgateError UNAVAILABLE while no endpoint has it finalized, the signal's reason when it aborts */
  movement(txSignature: string, signal: AbortSignal): Promise<Movement> {
    const { rpc } = this.#options;
    const read = (result: unknown) =>
      result === null ? undefined : readMovement(txSignature, result, this.#options)?.movement;
    const request = transactionRequest({ txSignature, commitment: "finalized", signal }, read);
    return rpc.firstTold(rpc.endpoints, signal, (endpoint) => endpoint.ask(request));
  }

  /** @throws ToolgateError UNAVAILABLE when no endpoint answers, or there is no such account; the signal's reason when it aborts */
  balance(signal: AbortSignal): Promise<MicroUsd> {
    const { rpc, treasury } = this.#options;
    const request = balanceRequest(treasury, "finalized", signal);
    return rpc.firstTold(rpc.endpoints, signal, (endpoint) => endpoint.ask(request));
  }

  /** @throws ToolgateError UNAVAILABLE when no endpoint answers, the signal's reason when it aborts */
  standings(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<Standing[]> {
    return this.#standings.read(payments, signal);
  }
}
