import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openDatabaseLink, type DatabaseLink } from "../support/database-link.ts";
import { startGround, type Ground } from "../support/world.ts";
import { callAt, expectAccount, expectCleanAudit, PRICE } from "./calls.ts";
import { Instances, type Instance } from "./process.ts";
import { CHAT, slowModel, type SlowModel } from "./slow-model.ts";

const OUTAGE_MS = 2_800;
const CALLS = 24;

let ground: Ground;
let model: SlowModel;
let link: DatabaseLink;
let instance: Instance;
const instances = new Instances();
beforeAll(async () => {
  [ground, model] = await Promise.all([startGround(), slowModel()]);
  link = await openDatabaseLink(ground.database.servingUrl);
  // Treasury jobs and metrics query the database continuously.
  instance = await instances.serve({
    ...ground.settings,
    ...model.settings,
    DATABASE_URL: link.url,
    WATCH_INTERVAL_MS: "200",
    METRICS_PORT: "0",
  });
});
afterAll(async () => {
  await instances.close();
  await link.close();
  await ground.close();
  await model[Symbol.asyncDispose]();
});

/** Log lines from level warn up, by message. */
function warnings(): string[] {
  return instance
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): { level: number; msg: string } => JSON.parse(line))
    .flatMap(({ level, msg }) => (level >= 40 ? [msg] : []));
}

it("serves and charges calls once during a database outage of under five seconds, and logs it once", async () => {
  const agents = await Promise.all(Array.from({ length: 4 }, () => ground.agent({ balance: 100n * PRICE })));
  const [first, , , chatting] = agents;
  if (!first || !chatting) throw new Error("there are four");
  // The last two keys are not cached.
  for (const agent of agents.slice(0, 2)) expect((await callAt(instance, agent)).status).toBe(200);
  model.holdBack();
  const chat = callAt(instance, chatting, CHAT);
  await expect.poll(() => model.asked()).toBe(1);
  const before = warnings().length;

  link.cut();
  model.letGo();
  const mended = sleep(OUTAGE_MS).then(() => link.mend());
  const calls: Promise<{ status: number; body: unknown }>[] = [];
  for (let n = 0; n < CALLS; n++) {
    calls.push(callAt(instance, agents[n % 3]!, { key: `outage ${n}` }));
    await sleep(OUTAGE_MS / (2 * CALLS));
  }
  await mended;
  const answers = await Promise.all([chat, ...calls]);
  expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
  const receipts = CALLS / 3;
  await expectAccount(instance, first, { balance: (99n - BigInt(receipts)) * PRICE, receipts: receipts + 1 });
  await expect.poll(() => warnings().at(-1)).toBe("database reachable again");
  expect(warnings().slice(before)).toEqual(["database unreachable", "database reachable again"]);
  const over = instance
    .log()
    .split("\n")
    .findLast((line) => line.includes("database_unreachable_over"));
  expect(JSON.parse(over ?? "{}").failures).toBeGreaterThan(3);
  await expectCleanAudit(ground.settings);
});
