import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { MicroUsd } from "../../../src/domain/core/money.ts";
import type {
  HistoryEntry,
  HistoryQuery,
  Movement,
  FinalityStatus,
  TreasuryChain,
  UnfinalizedPayment,
  AttributedMovement,
  RecordResult,
  TreasuryLedger,
  WatchState,
} from "../../../src/app/treasury/treasury-ledger.ts";
import type { PaymentId } from "../../../src/domain/payments/payment-id.ts";

/** Time of the chain's first slot; one slot per second. */
export const GENESIS = Date.UTC(2026, 0, 1);
export const INSTALLED = new Date(GENESIS + 1_000_000);
/** When the watch sees the head of the history. */
export const LOOKED = new Date(GENESIS + 2_000_000);

/** Thrown where a test has the process die. */
export class Crash extends Error {}

/** Dies at the n-th step on request, so that a test can die at each in turn. */
export class Steps {
  taken = 0;
  #dieAt = Number.POSITIVE_INFINITY;

  dieAt(step: number): void {
    this.taken = 0;
    this.#dieAt = step;
  }

  /** Half of the steps are before something is done, half are after it. */
  async around<Result>(act: () => Result): Promise<Result> {
    this.#step();
    const result = act();
    await Promise.resolve();
    this.#step();
    return result;
  }

  #step(): void {
    this.taken += 1;
    if (this.taken === this.#dieAt) throw new Crash(`died at step ${this.taken}`);
  }
}

interface Landed {
  movement: Movement;
  failed: boolean;
}

/** A chain of finalized transactions; each endpoint may leave some out. */
export class MemoryChain implements TreasuryChain {
  readonly tokenAccount = "treasury";
  endpoints = 1;
  readonly steps: Steps;
  readonly landed: Landed[] = [];
  /** Signatures that an endpoint omits. */
  readonly leftOut = new Map<number, Set<string>>();
  /** Signatures that no endpoint returns. */
  readonly unreadable = new Set<string>();
  readonly standing = new Map<string, FinalityStatus>();
  readonly fetched: string[] = [];
  readonly asked: HistoryQuery[] = [];
  atOnce = 0;
  #fetching = 0;

  constructor(steps: Steps) {
    this.steps = steps;
  }

  /** Lands a transaction in its own or the given slot, after the installation. */
  land(txSignature: string, change: MicroUsd, more: Partial<Movement & { failed: boolean }> = {}): void {
    const last = this.landed.at(-1)?.movement;
    const slot = more.slot ?? (last && last.slot > 1_000n ? last.slot : 1_000n) + 1n;
    const balanceAfter = (last?.balanceAfter ?? 0n) + change;
    const blockTime = new Date(GENESIS + Number(slot) * 1_000);
    const { failed = false, ...rest } = more;
    const untold = { memo: undefined, memos: more.memo, payer: undefined };
    this.landed.push({
      failed,
      movement: { txSignature, slot, blockTime, change, balanceAfter, ...untold, ...rest },
    });
  }

  async history(query: HistoryQuery): Promise<{ entries: HistoryEntry[]; before: HistoryEntry | undefined }> {
    return this.steps.around(() => {
      this.asked.push(query);
      const hidden = this.leftOut.get(query.firstEndpoint % this.endpoints);
      const reported = this.landed
        .map(({ failed, movement: { txSignature, slot, blockTime } }) => ({
          txSignature,
          slot,
          blockTime,
          failed,
        }))
        .filter(({ txSignature }) => !hidden?.has(txSignature));
      const within = ({ slot, blockTime }: { slot: bigint; blockTime: Date }) =>
        slot >= query.fromSlot && blockTime >= query.fromTime;
      return { entries: reported.filter(within), before: reported.findLast((entry) => !within(entry)) };
    });
  }

  async movement(txSignature: string): Promise<Movement> {
    this.fetched.push(txSignature);
    this.#fetching += 1;
    this.atOnce = Math.max(this.atOnce, this.#fetching);
    try {
      return await this.steps.around(() => {
        const found = this.landed.find(({ movement }) => movement.txSignature === txSignature);
        if (!found || this.unreadable.has(txSignature)) throw new ToolgateError("UNAVAILABLE", "not there");
        return found.movement;
      });
    } finally {
      this.#fetching -= 1;
    }
  }

  balance(): Promise<MicroUsd> {
    return this.steps.around(() => this.landed.at(-1)?.movement.balanceAfter ?? 0n);
  }

  finalityStatuses(payments: readonly UnfinalizedPayment[]): Promise<FinalityStatus[]> {
    return this.steps.around(() =>
      payments.map(({ reference: txSignature }) => this.standing.get(txSignature) ?? ("pending" as const)),
    );
  }
}

interface MemoryPayment extends UnfinalizedPayment {
  accountId: string;
  finalized: boolean;
  reversed: boolean;
}

/** The books as the port describes them, one step after the other. */
export class MemoryLedger implements TreasuryLedger {
  readonly steps: Steps;
  readonly recorded = new Map<string, AttributedMovement>();
  /** Results of record(), in order. */
  readonly reported: [txSignature: string, recorded: RecordResult][] = [];
  readonly payments = new Map<string, MemoryPayment>();
  readonly balances = new Map<string, MicroUsd>();
  /** Signatures that cannot be recorded. */
  readonly broken = new Set<string>();
  state: WatchState | undefined;
  leader: string | undefined;
  questions = 0;

  constructor(steps: Steps) {
    this.steps = steps;
  }

  /** A payment that was credited when it was proved. */
  credit(accountId: string, payment: UnfinalizedPayment): void {
    this.payments.set(payment.reference, { ...payment, accountId, finalized: false, reversed: false });
    this.#add(accountId, payment.amount);
  }

  acquireLeadership(): Promise<boolean> {
    return this.steps.around(() => true);
  }

  async releaseLeadership(): Promise<void> {}

  installedAt(): Promise<Date> {
    return this.steps.around(() => INSTALLED);
  }

  watch(): Promise<WatchState | undefined> {
    return this.steps.around(() => this.state && { ...this.state });
  }

  startWatch(_account: string, { amount, slot }: { amount: MicroUsd; slot: bigint }): Promise<void> {
    return this.steps.around(() => {
      this.state ??= { slot, checkedAt: INSTALLED, opening: amount, expected: amount };
    });
  }

  unrecorded(_account: string, txSignatures: readonly string[]) {
    return this.steps.around(() => {
      this.questions += 1;
      return txSignatures
        .filter((txSignature) => !this.recorded.has(txSignature))
        .map((txSignature) => ({ txSignature, credited: this.payments.get(txSignature)?.amount }));
    });
  }

  record(_account: string, movement: AttributedMovement): Promise<RecordResult> {
    return this.steps.around(() => {
      if (this.broken.has(movement.txSignature)) throw new Error("the database refuses it");
      const recorded = this.#record(movement);
      this.reported.push([movement.txSignature, recorded]);
      return recorded;
    });
  }

  advanceWatch(_account: string, slot: bigint, whole = true): Promise<void> {
    return this.steps.around(() => {
      if (this.state && slot > this.state.slot) this.state.slot = slot;
      if (this.state && whole) this.state.checkedAt = LOOKED;
    });
  }

  unfinalized({ limit }: { limit: number }): Promise<UnfinalizedPayment[]> {
    return this.steps.around(() =>
      [...this.payments.values()]
        .filter(({ finalized, reversed }) => !finalized && !reversed)
        .slice(0, limit),
    );
  }

  finalize(_network: string, txSignatures: readonly string[]): Promise<number> {
    return this.steps.around(() => {
      const open = txSignatures.flatMap((txSignature) => this.payments.get(txSignature) ?? []);
      const found = open.filter(({ finalized }) => !finalized);
      for (const payment of found) payment.finalized = true;
      return found.length;
    });
  }

  postpone(_network: string, txSignatures: readonly string[]): Promise<void> {
    return this.steps.around(() => {
      for (const txSignature of txSignatures) {
        const payment = this.payments.get(txSignature);
        this.payments.delete(txSignature);
        if (payment) this.payments.set(txSignature, payment);
      }
    });
  }

  reverse({ reference: txSignature }: PaymentId) {
    return this.steps.around(() => {
      const payment = this.payments.get(txSignature);
      if (!payment || payment.finalized || payment.reversed) return undefined;
      payment.reversed = true;
      const { accountId, amount } = payment;
      this.#add(accountId, -amount);
      return { accountId, amount, balance: this.balances.get(accountId) ?? 0n };
    });
  }

  suspended(): Promise<{ count: number; amount: MicroUsd }> {
    return this.steps.around(() => {
      const amounts = [...this.recorded.values()].filter(
        ({ txSignature, change, attribution }) =>
          change > 0n && !attribution && !this.payments.has(txSignature),
      );
      return { count: amounts.length, amount: amounts.reduce((sum, { change }) => sum + change, 0n) };
    });
  }

  #record(movement: AttributedMovement): RecordResult {
    const { txSignature, change, attribution } = movement;
    if (change === 0n || this.recorded.has(txSignature)) return "known";
    const payment = this.payments.get(txSignature);
    if (payment && payment.amount !== change) return "mismatch";
    this.recorded.set(txSignature, movement);
    if (this.state) this.state.expected += change;
    if (payment) return this.#found(payment);
    if (change < 0n) return "withdrawn";
    if (!attribution) return "suspended";
    this.#add(attribution.accountId, change);
    return "credited";
  }

  #found(payment: MemoryPayment): RecordResult {
    payment.finalized = true;
    if (!payment.reversed) return "finalized";
    payment.reversed = false;
    this.#add(payment.accountId, payment.amount);
    return "reinstated";
  }

  #add(accountId: string, amount: MicroUsd): void {
    this.balances.set(accountId, (this.balances.get(accountId) ?? 0n) + amount);
  }
}
