import { formatAddress } from "../../domain/core/base58.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { newId } from "../../domain/core/ids.ts";
import { depositMemo, parseMemo } from "../../domain/payments/memo.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Quote, Quotes } from "../../domain/payments/quote.ts";
import type { DepositTracker, TrackedDeposit } from "./deposit-tracker.ts";
import type { Deposits, ReadSignedPayment, WalletPayments } from "./deposits.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";

/** Limit of uncredited deposits that an account created within a day. */
const MOST_WAITING = 100;
const DAY_MS = 24 * 3_600_000;

export interface AccountDepositsDeps {
  readonly deposits: Deposits;
  readonly tracker: DepositTracker;
  readonly payments: WalletPayments;
  readonly readSigned: ReadSignedPayment;
  readonly quotes: Pick<Quotes, "find">;
  readonly memoPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly cell?: number;
}

/** Use cases of deposits and wallet-signed payments for one account. */
export class AccountDeposits {
  readonly #deps: AccountDepositsDeps;

  constructor(deps: AccountDepositsDeps) {
    this.#deps = deps;
  }

  /** Creates a deposit. @throws ToolgateError INVALID_REQUEST when too many are waiting */
  async create(accountId: string, amount: MicroUsd): Promise<TrackedDeposit> {
    const { deposits, tracker, clock, random, cell } = this.#deps;
    const now = clock.now();
    const depositId = newId("dep", { now: () => now }, random, cell);
    // An address without a private key: it only makes the transfer searchable.
    const reference = formatAddress(random.bytes(32));
    const created = await deposits.create(
      { depositId, accountId, amount, reference, createdAt: new Date(now) },
      { waiting: MOST_WAITING, since: new Date(now - DAY_MS) },
    );
    if (created) return tracker.lastKnown(created);
    throw new ToolgateError(
      "INVALID_REQUEST",
      `${MOST_WAITING} deposits created within a day are waiting for their transfers; use one of them`,
    );
  }

  /** Polls the chain first. @throws ToolgateError NOT_FOUND */
  async get(accountId: string, depositId: string, signal: AbortSignal): Promise<TrackedDeposit> {
    return this.#deps.tracker.poll(await this.#own(accountId, depositId), signal);
  }

  /**
   * Cancels an unpaid deposit. Polls the chain first. Idempotent.
   * @throws ToolgateError NOT_FOUND; INVALID_REQUEST after a transaction was seen
   */
  async cancel(accountId: string, depositId: string, signal: AbortSignal): Promise<TrackedDeposit> {
    const { deposits, tracker, clock } = this.#deps;
    const { deposit, status } = await this.get(accountId, depositId, signal);
    if (!["waiting", "failed", "cancelled"].includes(status.state))
      throw invalidField("deposit_id", "has a transaction on the network, so it cannot be cancelled");
    if (deposit.cancelledAt) return { deposit, status };
    await deposits.cancel(depositId, new Date(clock.now()));
    return tracker.lastKnown(await this.#own(accountId, depositId));
  }

  /**
   * Newest first, with the status of the last poll. @throws ToolgateError INVALID_REQUEST for an invalid
   * cursor
   */
  async list(query: PageRequest & { accountId: string }): Promise<Page<TrackedDeposit>> {
    const { items, nextCursor } = await this.#deps.deposits.list(query);
    return { items: items.map((deposit) => this.#deps.tracker.lastKnown(deposit)), nextCursor };
  }

  /**
   * @throws ToolgateError NOT_FOUND; INVALID_REQUEST for a credited deposit or a wallet that cannot pay;
   * UNAVAILABLE
   */
  async buildDeposit(
    accountId: string,
    { depositId, payer }: { depositId: string; payer: string },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { payments, memoPrefix } = this.#deps;
    const { amount, reference, credited, cancelledAt } = await this.#own(accountId, depositId);
    if (credited > 0n) throw invalidField("deposit_id", "was credited before; create another deposit");
    if (cancelledAt) throw invalidField("deposit_id", "was cancelled; create another deposit");
    return payments.build({ payer, amount, reference, memo: depositMemo(depositId, memoPrefix) }, signal);
  }

  /**
   * @throws ToolgateError INVALID_REQUEST for a quote of another account or a wallet that cannot pay;
   * QUOTE_EXPIRED; UNAVAILABLE
   */
  async buildQuote(
    accountId: string,
    { quoteId, payer }: { quoteId: string; payer: string },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { payments, memoPrefix } = this.#deps;
    const { price } = await this.#ownQuote(accountId, quoteId, "quote_id");
    return payments.build(
      { payer, amount: price, reference: undefined, memo: `${memoPrefix}:${quoteId}` },
      signal,
    );
  }

  /**
   * Sends a transaction signed by a wallet.
   * @param depositId the deposit to pay; undefined: the deposit or quote named by the memo
   * @returns the transaction signature
   * @throws ToolgateError INVALID_REQUEST, NOT_FOUND, QUOTE_EXPIRED, UNAVAILABLE
   */
  async send(
    accountId: string,
    { transaction, depositId }: { transaction: Uint8Array; depositId: string | undefined },
    signal: AbortSignal,
  ): Promise<string> {
    const { payments, readSigned, deposits, memoPrefix } = this.#deps;
    const { txSignature, memo } = readSigned(transaction);
    const named = parseMemo(memo, memoPrefix);
    if (depositId !== undefined && memo !== depositMemo(depositId, memoPrefix))
      throw invalidField("deposit_id", "is not the one that the transaction's memo names");
    if (named?.form === "deposit") await this.#own(accountId, named.depositId);
    else await this.#ownQuote(accountId, named?.quoteId ?? "", "transaction");
    await payments.send(transaction, signal);
    if (named?.form === "deposit") await deposits.recordTransaction(named.depositId, txSignature);
    return txSignature;
  }

  async #own(accountId: string, depositId: string) {
    const deposit = await this.#deps.deposits.find(accountId, depositId);
    if (deposit) return deposit;
    throw new ToolgateError("NOT_FOUND", "there is no deposit of yours with this id");
  }

  async #ownQuote(accountId: string, quoteId: string, field: string): Promise<Quote> {
    const quote = await this.#deps.quotes.find(quoteId);
    if (quote?.accountId !== accountId) throw invalidField(field, "names no quote of this account");
    if (quote.expiresAt < this.#deps.clock.now())
      throw new ToolgateError("QUOTE_EXPIRED", "the quote has expired; repeat the call to be quoted anew");
    return quote;
  }
}
