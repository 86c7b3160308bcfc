import { expect, it } from "vitest";
import { openDatabaseLink } from "../support/database-link.ts";
import { callAt, expectAccount, PRICE, openGround } from "./calls.ts";
import { CHAT, slowModel } from "./slow-model.ts";
import { closing } from "../support/postgres.ts";

/** Attempts to reach the database that fail before it is back. */
const ATTEMPTS = 4;
const CALLS = 24;

const model = await slowModel();
const { ground, instances } = await openGround();
const link = closing(await openDatabaseLink(ground.database.servingUrl));
// Treasury jobs and metrics query the database continuously.
const instance = await instances.serve({
  ...ground.settings,
  ...model.settings,
  DATABASE_URL: link.url,
  WATCH_INTERVAL_MS: "200",
  METRICS_PORT: "0",
});

/** Messages about the database from level warn up. */
function warnings(): string[] {
  return instance
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): { level: number; msg: string } => JSON.parse(line))
    .flatMap(({ level, msg }) => (level >= 40 && msg.startsWith("database ") ? [msg] : []));
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
  // On a busy machine the start may have found it unreachable.
  await expect.poll(() => warnings().at(-1)).not.toBe("database unreachable");
  const before = warnings().length;

  link.cut();
  model.letGo();
  const refused = link.refused;
  const calls = Array.from({ length: CALLS }, (_, n) =>
    callAt(instance, agents[n % 3]!, { key: `outage ${n}` }),
  );
  await expect.poll(() => link.refused - refused, { interval: 10 }).toBeGreaterThan(ATTEMPTS);
  link.mend();
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
  expect(JSON.parse(over ?? "{}").failures).toBeGreaterThan(0);
});
