import { formatAddress } from "../../domain/core/base58.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { newId } from "../../domain/core/ids.ts";
import { depositMemo, parseMemo } from "../../domain/payments/memo.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Quote, Quotes } from "../../domain/payments/quote.ts";
import type { DepositTracker, TrackedDeposit } from "./deposit-tracker.ts";
import type { Deposits } from "./deposits.ts";
import type { ReadSignedPayment, WalletPayments } from "./wallet-payments.ts";
import type { Page } from "../../domain/core/page.ts";

/** How many deposits of an account may wait that were begun within a day. */
const MOST_WAITING = 100;
const DAY_MS = 24 * 3_600_000;

/** What deposits need. */
export interface AccountDepositsDeps {
  readonly deposits: Deposits;
  readonly tracker: DepositTracker;
  readonly payments: WalletPayments;
  readonly readSigned: ReadSignedPayment;
  readonly quotes: Pick<Quotes, "open">;
  readonly memoPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** What the people of an account do with deposits, and with payments that their wallets sign. */
export class AccountDeposits {
  readonly #deps: AccountDepositsDeps;

  constructor(deps: AccountDepositsDeps) {
    this.#deps = deps;
  }

  /** Begins a deposit. @throws ToolgateError INVALID_REQUEST when too many wait */
  async create(accountId: string, amount: MicroUsd): Promise<TrackedDeposit> {
    const { deposits, tracker, clock, random } = this.#deps;
    const now = clock.now();
    const depositId = newId("dep", { now: () => now }, random);
    // Nobody has a key to it: it is there to be found.
    const reference = formatAddress(random.bytes(32));
    const begun = await deposits.create(
      { depositId, accountId, amount, reference, createdAt: new Date(now) },
      { waiting: MOST_WAITING, since: new Date(now - DAY_MS) },
    );
    if (begun) return tracker.lastKnown(begun);
    throw new ToolgateError(
      "INVALID_REQUEST",
      `${MOST_WAITING} deposits that were begun within a day are waiting for their transfers; use one of them`,
    );
  }

  /** After a look at the chain. @throws ToolgateError NOT_FOUND */
  async get(accountId: string, depositId: string, signal: AbortSignal): Promise<TrackedDeposit> {
    return this.#deps.tracker.poll(await this.#own(accountId, depositId), signal);
  }

  /** Newest first, as they were when they were last looked at. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  async list(query: {
    accountId: string;
    limit: number;
    cursor: string | undefined;
  }): Promise<Page<TrackedDeposit>> {
    const { items, nextCursor } = await this.#deps.deposits.list(query);
    return { items: items.map((deposit) => this.#deps.tracker.lastKnown(deposit)), nextCursor };
  }

  /** @throws ToolgateError NOT_FOUND; INVALID_REQUEST for one that was credited, or a wallet that cannot pay; UNAVAILABLE */
  async buildDeposit(
    accountId: string,
    { depositId, payer }: { depositId: string; payer: string },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { payments, memoPrefix } = this.#deps;
    const { amount, reference, credited } = await this.#own(accountId, depositId);
    if (credited > 0n) throw invalidField("deposit_id", "was credited before; begin another deposit");
    return payments.build({ payer, amount, reference, memo: depositMemo(depositId, memoPrefix) }, signal);
  }

  /** @throws ToolgateError INVALID_REQUEST for a quote that is not the account's, or a wallet that cannot pay; QUOTE_EXPIRED; UNAVAILABLE */
  async buildQuote(
    accountId: string,
    { quoteId, payer }: { quoteId: string; payer: string },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { payments, memoPrefix } = this.#deps;
    const { price } = this.#ownQuote(accountId, quoteId, "quote_id");
    return payments.build(
      { payer, amount: price, reference: undefined, memo: `${memoPrefix}:${quoteId}` },
      signal,
    );
  }

  /**
   * Sends what a wallet has signed for this account.
   * @param depositId which deposit it is to pay; undefined: the one, or the quote, that its memo names
   * @returns its signature
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
    else this.#ownQuote(accountId, named?.quoteId ?? "", "transaction");
    await payments.send(transaction, signal);
    if (named?.form === "deposit") await deposits.recordTransaction(named.depositId, txSignature);
    return txSignature;
  }

  async #own(accountId: string, depositId: string) {
    const deposit = await this.#deps.deposits.find(accountId, depositId);
    if (deposit) return deposit;
    throw new ToolgateError("NOT_FOUND", "there is no deposit of yours with this id");
  }

  #ownQuote(accountId: string, quoteId: string, field: string): Quote {
    const quote = this.#deps.quotes.open(quoteId);
    if (quote?.accountId !== accountId) throw invalidField(field, "names no quote of this account");
    if (quote.expiresAt < this.#deps.clock.now())
      throw new ToolgateError("QUOTE_EXPIRED", "the quote has expired; repeat the call to be quoted anew");
    return quote;
  }
}
