import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallAuthorization, AuthorizeResult } from "../../../src/app/calls/ledger.ts";
import type { VerifiedTransfer } from "../../../src/app/payments/payment-methods.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { Receipt } from "../../../src/domain/calls/receipt.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  expireLeases,
  failed,
  fingerprintOf,
  paymentOf,
  PRICE,
  endRun,
  openLedger,
  type Instance,
} from "../fixture.ts";
import { kindOf, ReferenceLedger } from "./reference-ledger.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";

const { instances } = await openLedger();
const token = await watchedAccount(instances[0]);

/** Trials; set MODEL_RUNS for more. */
const RUNS = Number(process.env["MODEL_RUNS"] ?? 30);

const small = (max: number) => fc.nat({ max: max - 1 });
const begin = fc.record({
  do: fc.constant("begin" as const),
  at: small(2),
  account: small(2),
  call: small(2),
  key: fc.option(small(3), { nil: undefined }),
  proof: fc.option(fc.record({ tx: small(4), quote: small(3), credited: fc.boolean() }), { nil: undefined }),
  price: fc.constantFrom(0n, PRICE, PRICE, PRICE),
  limited: fc.boolean(),
});
type BeginStep = Parameters<typeof begin.map>[0] extends (step: infer Step) => unknown ? Step : never;
const finish = fc.record({
  do: fc.constant("finish" as const),
  at: small(2),
  run: small(8),
  well: fc.boolean(),
});
const sweep = fc.record({ do: fc.constant("sweep" as const), at: small(2), run: small(8) });
const credit = fc.record({
  do: fc.constant("credit" as const),
  at: small(2),
  account: small(2),
  tx: small(4),
  quote: small(3),
});
const record = fc.record({
  do: fc.constant("record" as const),
  at: small(2),
  tx: small(4),
  owner: fc.option(fc.record({ account: small(2), quote: small(3) }), { nil: undefined }),
  more: fc.constantFrom(0n, 0n, 0n, 1n),
});
const mark = fc.record({
  do: fc.constantFrom("reverse" as const, "finalize" as const),
  at: small(2),
  tx: small(4),
});
const assign = fc.record({
  do: fc.constant("assign" as const),
  at: small(2),
  tx: small(4),
  account: small(3),
});
const refund = fc.record({ do: fc.constant("refund" as const), at: small(2), receipt: small(4) });
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: begin },
    { weight: 4, arbitrary: finish },
    { weight: 1, arbitrary: sweep },
    { weight: 1, arbitrary: credit },
    { weight: 2, arbitrary: record },
    { weight: 2, arbitrary: mark },
    { weight: 1, arbitrary: assign },
    { weight: 1, arbitrary: refund },
  ),
  {
    minLength: 5,
    maxLength: 40,
  },
);

type MovementStep = Parameters<typeof record.map>[0] extends (step: infer Step) => unknown ? Step : never;

type Steps = Parameters<typeof steps.map>[0] extends (trial: infer Trial) => unknown ? Trial : never;
type Step = Steps extends readonly (infer Step)[] ? Step : never;
type Trial = Awaited<ReturnType<typeof newTrial>>;

/** Few accounts, keys, transactions and quotes per trial, so that steps interact. */
async function newTrial() {
  const accounts = [await instances[0].account(2n * PRICE), await instances[0].account()];
  const keys = await Promise.all(
    accounts.map((account) => instances[0].key(account, { perDay: 2n * PRICE })),
  );
  const txs = Array.from({ length: 4 }, () => depositOf().reference);
  const quotes = Array.from({ length: 3 }, () => depositOf().quoteId);
  const deposit = (tx: number, quote: number): VerifiedTransfer =>
    depositOf({ reference: txs[tx]!, quoteId: quotes[quote]!, amount: PRICE + BigInt(tx) });
  const call = (step: BeginStep): CallAuthorization => {
    const paid = step.proof && paymentOf(deposit(step.proof.tx, step.proof.quote));
    return callOf(accounts[step.account]!, {
      ...(step.limited && keys[step.account]),
      fingerprint: fingerprintOf(`call ${step.call}`),
      price: step.price,
      idempotencyKey: step.key === undefined ? undefined : `key ${step.key}`,
      payment: paid && { ...paid, transfer: step.proof?.credited ? undefined : paid.transfer },
    });
  };
  const movement = (step: MovementStep) => {
    const { reference: txSignature, amount } = deposit(step.tx, 0);
    const owner = step.owner && {
      accountId: accounts[step.owner.account]!,
      quoteId: quotes[step.owner.quote]!,
    };
    return movementOf({ txSignature, change: amount + step.more, attribution: owner });
  };
  return { accounts, keys, txs, deposit, call, movement };
}

describe("the ledger", { timeout: 600_000 + RUNS * 1_000 }, () => {
  it("matches the reference ledger step by step", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (trial) => {
        const names = await newTrial();
        const { accounts, keys, deposit, call } = names;
        const reference = new ReferenceLedger();
        reference.open(accounts[0]!, 2n * PRICE);
        for (const { keyId } of keys) reference.limit(keyId, 2n * PRICE);
        const runs: CallAuthorization[] = [];
        const receipts: Receipt[] = [];
        for (const step of trial) {
          const { ledger, instanceId, sweeper, pool } = instances[step.at]!;
          const picked = "run" in step && runs.length > 0 ? runs[step.run % runs.length] : undefined;
          if (step.do === "begin") {
            const begins = call(step);
            const authorized = await ledger.authorize(begins);
            expect(kindOf(authorized)).toMatchObject(
              withoutRunOfFree(reference.begin(begins, instanceId), authorized),
            );
            if (authorized.kind === "capped") expect(authorized.limit.spent).toBe(reference.spent(begins));
            if (authorized.kind === "insufficient")
              expect(authorized.balance).toBe(reference.balance(begins.accountId));
            if (authorized.kind === "started") runs.push(begins);
          } else if (step.do === "finish" && picked) {
            const end = step.well ? completed(picked) : failed(picked);
            const finished = await endRun(ledger, end);
            expect(kindOf(finished)).toEqual(reference.finish(end, instanceId));
            if (finished.kind === "captured" && finished.receipt) receipts.push(finished.receipt);
          } else if (step.do === "sweep" && picked) {
            await expireLeases(pool, picked);
            await sweeper.sweep();
            reference.sweep(picked.runId, instanceId);
          } else if (step.do === "credit") {
            const arrived = deposit(step.tx, step.quote);
            const { credited } = await ledger.credit(accounts[step.account]!, arrived);
            expect(credited).toBe(reference.credit(accounts[step.account]!, arrived));
          } else {
            await treasuryStep(step, instances[step.at]!, reference, names, receipts);
          }
          for (const account of accounts)
            expect(await ledger.balance(account)).toBe(reference.balance(account));
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    await expectCleanAudit(instances[0].pool);
  });

  it("charges no key or payment twice under full concurrency", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(begin, { minLength: 40, maxLength: 80 }), async (storm) => {
        const { accounts, call } = await newTrial();
        const started: CallAuthorization[] = [];
        await Promise.all(
          storm.map(async (step, index) => {
            const { ledger } = instances[index % 3]!;
            for (let attempt = 0; attempt < 2; attempt++) {
              const begins = call(step);
              const authorized = await ledger.authorize(begins);
              if (authorized.kind !== "started") continue;
              started.push(begins);
              if (index % 5 !== 0)
                await endRun(ledger, index % 3 === attempt ? failed(begins) : completed(begins));
              if (index % 15 === 0) await expireLeases(instances[0].pool, begins);
              if (index % 7 === 0) await instances[(index + 1) % 3]!.sweeper.sweep();
            }
          }),
        );
        await expectCleanAudit(instances[0].pool);
        const { rows } = await instances[0].pool.query<{ charges: bigint }>(
          `select count(*) as charges from receipt join run on run.id = receipt.run_id
           where run.account_id = any ($1::uuid[]) and run.claim_key is not null
             group by run.account_id, run.claim_key order by 1 desc`,
          [accounts.map((account) => account.slice(5))],
        );
        for (const { charges } of rows) expect(charges).toBe(1n);
      }),
      { numRuns: Math.ceil(RUNS / 6), endOnFailure: true },
    );
  });
});

/** A treasury or operator step, run on both and compared. */
async function treasuryStep(
  step: Step,
  { treasury, suspense, refunds }: Instance,
  reference: ReferenceLedger,
  { accounts, txs, movement }: Trial,
  receipts: readonly Receipt[],
): Promise<void> {
  if (step.do === "record") {
    const seen = movement(step);
    expect(await treasury.record(token, seen)).toBe(reference.record(seen));
  } else if (step.do === "reverse") {
    expect((await treasury.reverse({ network: SOLANA, reference: txs[step.tx]! }))?.balance).toBe(
      reference.reverse(txs[step.tx]!),
    );
  } else if (step.do === "finalize") {
    expect(await treasury.finalize(SOLANA, [txs[step.tx]!])).toBe(reference.finalize(txs[step.tx]!));
  } else if (step.do === "assign") {
    const txSignature = txs[step.tx]!;
    const to = accounts[step.account];
    const given = {
      txSignature,
      to: to === undefined ? ("operator" as const) : { accountId: to },
      reason: "r",
    };
    const assigned = await suspense.assign(given).catch(toldError);
    expect(assigned !== undefined).toBe(reference.assign(txSignature, to ?? "operator") !== undefined);
  } else if (step.do === "refund" && receipts.length > 0) {
    const { receiptId, runId } = receipts[step.receipt % receipts.length]!;
    const { refunded } = await refunds.refund({ receiptId, reason: "r" });
    expect(refunded).toBe(reference.refund(runId));
  }
}

/** Errors returned to the operator do not fail the test. */
function toldError(error: unknown): undefined {
  if (!(error instanceof ToolgateError)) throw error;
  return undefined;
}

/** A free call's replay has no receipt and so no run. */
function withoutRunOfFree(
  expected: { kind: string; run?: string },
  authorized: AuthorizeResult,
): { kind: string; run?: string } {
  return authorized.kind === "replay" && !authorized.receipt ? { kind: expected.kind } : expected;
}
