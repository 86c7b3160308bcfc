import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, expect, it } from "vitest";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { servingUrl } from "../support/postgres.ts";
import { makeServingRole } from "../support/template.ts";
import { type Answer } from "../support/world.ts";
import { callAt, expectAccount, payQuote, PRICE, type Call, openGround } from "./calls.ts";

/** A separate PostgreSQL that is crashed under one instance. */
const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-restart-"));
await chmod(folder, 0o755); // As root, the server's account needs access.
let server = await startEmbeddedPostgres({ dataDir: folder });
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
await migrate(server.url);
await makeServingRole(server.url);
const { ground, serveHere } = await openGround({}, servingUrl(server.url));
const instance = await serveHere(ground.settings);

/** PostgreSQL's immediate shutdown (SIGQUIT): no checkpoint, recovery at the next start. */
async function crash(): Promise<void> {
  const [pid] = (await readFile(path.join(folder, "postgres/data/postmaster.pid"), "utf8")).split("\n");
  process.kill(Number(pid), "SIGQUIT");
  await server.stop();
}

it("fails calls as retryable while PostgreSQL is down, then serves each once", async () => {
  const agent = await ground.agent({ balance: 3n * PRICE });
  const payer = await ground.agent();
  const { headers } = await payQuote(ground, instance, payer);
  const keyed = (n: number): Call => ({ key: `k${n}` });
  expect((await callAt(instance, agent, keyed(0))).status).toBe(200);

  await crash();
  const during = await Promise.all([
    callAt(instance, agent, keyed(0)),
    callAt(instance, agent, keyed(1)),
    callAt(instance, payer, { headers }),
  ]);
  for (const { status, body, headers: reported } of during) {
    expect({ status, code: body.code }).toEqual({ status: 503, code: "UNAVAILABLE" });
    expect(body.message).toMatch(/repeat/);
    expect(Number(reported.get("retry-after"))).toBeGreaterThan(0);
  }
  const health = await fetch(`${instance.baseUrl}/health`);
  expect({ status: health.status, body: await health.json() }).toMatchObject({
    status: 503,
    body: { status: "unavailable" },
  });

  const waiting = callAt(instance, payer, { headers });
  server = await startEmbeddedPostgres({ dataDir: folder, port: server.port });
  expect([200, 503]).toContain((await waiting).status);
  await expect
    .poll(async () => (await callAt(instance, payer, { headers })).status, { interval: 100 })
    .toBe(200);
  const after = await Promise.all([0, 1, 1, 2].map((n) => callAt(instance, agent, keyed(n))));
  expect(after.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3);
  await expectAccount(instance, agent, { balance: 0n, receipts: 3 });
  await expectAccount(instance, payer, { balance: 0n, receipts: 1 });
  // The health check caches its result briefly.
  await expect
    .poll(async () => (await fetch(`${instance.baseUrl}/health`)).status, { interval: 100 })
    .toBe(200);
});

it("charges each key once when PostgreSQL crashes under load", async () => {
  const agent = await ground.agent({ balance: 40n * PRICE });
  const round = () =>
    Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        callAt(instance, agent, { key: `storm ${n}` }).catch(() => undefined),
      ),
    );
  const storm = round();
  await expect
    .poll(async () => (await ground.postgres.ledger.balance(agent.accountId)) < 40n * PRICE, {
      interval: 1,
    })
    .toBe(true);
  await crash();
  server = await startEmbeddedPostgres({ dataDir: folder, port: server.port });
  const first = await storm;
  let answers: (Answer | undefined)[] = [];
  await expect
    .poll(async () => (answers = await round()).every((answer) => answer?.status === 200), {
      interval: 500,
    })
    .toBe(true);
  for (const [n, answer] of first.entries()) {
    if (answer?.status === 200) expect(answers[n]?.body).toEqual(answer.body);
  }
  await expectAccount(instance, agent, { balance: 0n, receipts: 40 });
});
