import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { memoOf, startGround, xPayment, type Agent, type Answer, type Ground } from "../support/world.ts";
import { callAt, expectAccount, expectCleanAudit, PRICE } from "./calls.ts";
import { Instances, type Instance } from "./process.ts";
import { PAYMENTS, Reference, type Paid, type PaymentKind, type Sent } from "./reference.ts";
import { NETWORK } from "../../src/domain/payments/body-proof.ts";

/** Compares customers of killed, stalled and restarted instances with a simple reference. */
const LEASE_MS = 1_000;
/** Trials; set MODEL_RUNS for more. */
const RUNS = Number(process.env["MODEL_RUNS"] ?? 1);
/** Expired quotes per customer. */
const STALE = 2;

interface Customer {
  readonly agent: Agent;
  readonly stale: { quote_id: string }[];
}

let ground: Ground;
let settings: Record<string, string>;
let targets: [Instance, Instance];
let customers: Customer[];
const instances = new Instances();
beforeAll(async () => {
  ground = await startGround();
  settings = { ...ground.settings, RUN_LEASE_MS: String(LEASE_MS) };
  const [brief, ...others] = await Promise.all([
    instances.serve({ ...settings, QUOTE_TTL_SECONDS: "10" }),
    instances.serve(settings),
    instances.serve(settings),
  ]);
  targets = others;
  customers = await Promise.all(Array.from({ length: RUNS }, () => newCustomer(brief)));
  brief.signal("SIGTERM");
  const expired = Date.now() + 10_500;
  await brief.ended;
  await sleep(Math.max(0, expired - Date.now()));
});
afterAll(async () => {
  try {
    await expectCleanAudit(ground.settings);
  } finally {
    await instances.close();
    await ground.close();
  }
});

async function newCustomer(target: Instance): Promise<Customer> {
  const agent = await ground.agent();
  const answers = await Promise.all(Array.from({ length: STALE }, () => callAt(target, agent)));
  return { agent, stale: answers.map(({ body }) => body.quote) };
}

const FAULTS = { kill: "SIGKILL", stall: "SIGSTOP", restart: "SIGTERM" } as const;
const step = fc.record({
  does: fc.constantFrom("call" as const, "retry" as const, ...PAYMENTS, "exactly" as const),
  key: fc.nat(5),
  at: fc.constantFrom(0 as const, 1 as const),
  fault: fc.option(fc.constantFrom("kill" as const, "stall" as const, "restart" as const), {
    nil: undefined,
    freq: 2,
  }),
  /** Delay of the fault after the call was sent, ms. */
  afterMs: fc.nat(40),
});
type Step = Parameters<typeof step.map>[0] extends (value: infer Value) => unknown ? Value : never;

it(
  "answers like the reference model after random payments, retries, kills, stalls and restarts",
  async () => {
    const trials = customers.values();
    const trial = fc.array(step, { minLength: 12, maxLength: 16 });
    const play = async (steps: Step[]) => {
      const customer = trials.next().value;
      if (!customer) throw new Error("there are as many customers as trials");
      const reference = new Reference();
      const history: Sent[] = [];
      for (const one of steps) {
        const sent = await prepare(one, customer, reference, history);
        if (!sent) continue;
        history.push(sent);
        expect(reported(await send(one, customer.agent, sent)), fc.stringify({ one, sent })).toBe(
          reference.send(sent),
        );
        const { balance, sold } = reference;
        await expectAccount(targets[1 - one.at]!, customer.agent, { balance, receipts: sold.size });
      }
    };
    await fc.assert(fc.asyncProperty(trial, play), { numRuns: RUNS, endOnFailure: true });
  },
  60_000 + RUNS * 90_000,
);

/** The request of a step; undefined when nothing is left to send. */
async function prepare(
  { does, key: number, at }: Step,
  { agent, stale }: Customer,
  reference: Reference,
  history: readonly Sent[],
): Promise<Sent | undefined> {
  const key = `key ${number}`;
  if (does === "retry") return history[number % Math.max(1, history.length)];
  if (does === "call") return { key };
  if (does === "too late") {
    const quote = stale.pop();
    if (!quote) return undefined;
    const paid = await pay(agent, quote, does);
    await creditAsWatch(agent, paid);
    return { key: `late ${stale.length}`, paid };
  }
  const asked = await insist(targets[at], agent, { key });
  expect(reported(asked)).toBe(reference.send({ key }));
  return asked.status === 200 ? { key } : { key, paid: await pay(agent, asked.body.quote, does) };
}

/** Credits a payment immediately, like the treasury watch. */
async function creditAsWatch({ accountId, wallet }: Agent, { tx, quoteId, amount }: Paid): Promise<void> {
  const slot = BigInt(ground.chain.chain.slots.current);
  const payer = wallet.publicKey.toBase58();
  const seen = { slot, blockTime: new Date(), finalized: true, paidBy: "transfer" } as const;
  await ground.postgres.ledger.credit(accountId, {
    network: NETWORK,
    reference: tx,
    quoteId,
    amount,
    payer,
    ...seen,
  });
}

async function pay(agent: Agent, quote: { quote_id: string }, kind: PaymentKind): Promise<Paid> {
  const amount = PRICE + (kind === "too much" ? 700n : kind === "too little" ? -400n : 0n);
  const memo = kind === "with a wrong memo" ? "thank you" : memoOf(quote);
  return { tx: await ground.pay(agent, amount, memo), quoteId: quote.quote_id, kind, amount };
}

/** Sends a call; a fault strikes the instance, and the caller retries at the other. */
async function send({ at, fault, afterMs }: Step, agent: Agent, sent: Sent): Promise<Answer> {
  const [struck, other] = [targets[at], targets[1 - at]!];
  if (!fault) return insist(struck, agent, sent);
  const first = callOf(struck, agent, sent).catch(() => undefined);
  await sleep(afterMs);
  struck.signal(FAULTS[fault]);
  const answer = await insist(other, agent, sent);
  if (fault === "stall") {
    await sleep(LEASE_MS * 1.5);
    struck.signal("SIGCONT");
  } else {
    await struck.ended;
    targets[at] = await instances.serve(settings);
  }
  // A caller that kept waiting gets the same response, if any.
  const late = await first;
  if (late?.status === 200) expect(late.body.receipt).toEqual(answer.body.receipt);
  return answer;
}

function callOf(target: Instance, agent: Agent, { key, paid }: Sent): Promise<Answer> {
  return callAt(target, agent, { key, ...(paid && { headers: xPayment(paid.tx, paid.quoteId) }) });
}

/** Retries a call until its outcome is final. */
async function insist(target: Instance, agent: Agent, sent: Sent): Promise<Answer> {
  for (const until = Date.now() + 30_000; ; await sleep(50)) {
    const answer = await callOf(target, agent, sent);
    if ((answer.status !== 409 && answer.status !== 503) || Date.now() > until) return answer;
  }
}

function reported({ status, body }: Answer): string {
  return status === 402 ? body.code : String(status);
}
