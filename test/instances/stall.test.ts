import path from "node:path";
import { expect, it } from "vitest";
import { request, type Agent, type Answer } from "../support/world.ts";
import { until } from "../support/until.ts";
import { callAt, expectAccount, openGround } from "./calls.ts";
import type { Instance } from "./process.ts";
import { CHAT, slowModel } from "./slow-model.ts";

/** Two instances stall during paid calls, one beyond the time its runs are kept; a third sweeps. */
const LEASE_MS = 2_000;
/** Several leases, within the one lease of a run plus four for stalled instances. */
const SHORT_MS = 5_000;
const LONG_MS = 14_000;
const CALLS = 20;
const BALANCE = 1_000_000n;

interface Stalled {
  instance: Instance;
  agent: Agent;
  answers: Promise<Answer[]>;
}

const model = await slowModel();
const { ground, instances, serveHere } = await openGround();
const [short, long, survivor] = await Promise.all([
  serve(SHORT_MS),
  serve(LONG_MS),
  serveHere({ ...ground.settings, RUN_LEASE_MS: String(LEASE_MS) }),
]);
model.holdBack();
for (const one of [short, long])
  one.answers = Promise.all(Array.from({ length: CALLS }, () => callAt(one.instance, one.agent, CHAT)));
await until(() => model.asked() === 2 * CALLS);
for (const { instance } of [short, long]) instance.signal("SIGUSR2");
await until(() => [short, long].every(({ instance }) => instance.log().includes("stalled for")));
model.letGo();

async function serve(stallMs: number): Promise<Stalled> {
  const instance = await instances.serve({
    ...ground.settings,
    ...model.settings,
    RUN_LEASE_MS: String(LEASE_MS),
    NODE_OPTIONS: `--import=${path.join(import.meta.dirname, "stall-preload.ts")}`,
    STALL_MS: String(stallMs),
  });
  return { instance, agent: await ground.agent({ balance: BALANCE }), answers: Promise.resolve([]) };
}

async function statusesOfRuns(agent: Agent): Promise<Record<string, number>> {
  const { body } = await request(survivor, agent, "/runs?limit=100", { method: "GET" });
  const statuses = body.items.map(({ status }: { status: string }) => status);
  return Object.fromEntries(
    [...new Set<string>(statuses)].map((one) => [
      one,
      statuses.filter((status: string) => status === one).length,
    ]),
  );
}

it("charges calls once that ran while the event loop stalled for several leases", async () => {
  const answers = await short.answers;
  expect(answers.map(({ status, body }) => (status === 200 ? 200 : body))).toEqual(Array(CALLS).fill(200));
  const receipts = new Set(answers.map(({ body }) => body.receipt.receipt_id));
  expect(receipts.size).toBe(CALLS);
  const debited = answers.reduce((sum, { body }) => sum + BigInt(body.receipt.debited_usdc_microusd), 0n);
  await expectAccount(survivor, short.agent, { balance: BALANCE - debited, receipts: CALLS });
  expect(await statusesOfRuns(short.agent)).toEqual({ completed: CALLS });
});

it("releases the runs of a permanently stalled instance, which charges nothing when it resumes", async () => {
  await expect.poll(() => statusesOfRuns(long.agent), { interval: 100 }).toEqual({ failed: CALLS });
  await expectAccount(survivor, long.agent, { balance: BALANCE, receipts: 0 });
  const answers = await long.answers;
  expect(answers.map(({ status }) => status)).toEqual(Array(CALLS).fill(503));
  expect(answers[0]?.body.message).toMatch(/outlived its lease.*nothing was charged/);
  await expectAccount(survivor, long.agent, { balance: BALANCE, receipts: 0 });
});
