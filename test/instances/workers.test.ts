import { readFileSync } from "node:fs";
import process from "node:process";
import { expect, it } from "vitest";
import { run } from "./process.ts";
import { callAt, expectAccount, openGround, PRICE } from "./calls.ts";

/** `serve --workers`: processes that share the ports and the metrics of one instance. */

const BALANCE = 100_000_000n;

const { ground, instances } = await openGround();
const settings = { ...ground.settings, METRICS_PORT: "0", LOG_LEVEL: "info", RUN_LEASE_MS: "2000" };
const instance = await instances.serve(settings, { args: ["--workers", "2"] });
const agent = await ground.agent({ balance: BALANCE });
let calls = 0;

/** Process ids of the workers, the oldest first. */
const workers = () =>
  readFileSync(`/proc/${instance.pid}/task/${instance.pid}/children`, "utf8").trim().split(" ").map(Number);

/** A paid call on a connection of its own, repeated with its key when the connection was cut. */
async function buy(key: string): Promise<void> {
  calls++;
  for (;;) {
    const answer = await callAt(instance, agent, { key, headers: { connection: "close" } }).catch(
      () => undefined,
    );
    if (answer?.status === 200) return;
  }
}

/** The sum of a metric's series. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://${instance.metricsAddress}/metrics`)).text();
  const values = text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"));
  return Array.from(values, ([, value]) => Number(value)).reduce((sum, value) => sum + value, 0);
}

const captures = () => metric("toolgate_captures_total");

it("shares the calls, and its metrics are sums", async () => {
  let bought = 0;
  // The system chooses the worker; one that is free takes several.
  const servers = async () => {
    await Promise.all(Array.from({ length: 20 }, () => buy(`shared-${bought++}`)));
    const servedBy = instance.log().matchAll(/"instance_id":"([^"]+)".*"event":"request"/g);
    return new Set(Array.from(servedBy, ([, id]) => id)).size;
  };
  await expect.poll(servers, { timeout: 60_000 }).toBe(2);
  // A busy worker answers for its metrics later.
  await expect.poll(captures).toBe(bought);
  await expect.poll(() => metric("toolgate_workers")).toBe(2);
  await expect.poll(() => metric("toolgate_keeper_leading")).toBe(1);
});

it("starts a killed worker again: each call is charged once, and no counter falls", async () => {
  const [victim = 0] = workers();
  const before = await captures();
  const buying = Promise.all(Array.from({ length: 20 }, (_, index) => buy(`killed-${index}`)));
  process.kill(victim, "SIGKILL");
  await buying;
  await expect.poll(workers, { timeout: 60_000 }).toHaveLength(2);
  await expect.poll(() => metric("toolgate_workers_restarted_total")).toBe(1);
  expect(workers()).not.toContain(victim);
  expect(await captures()).toBeGreaterThanOrEqual(before);
});

it("replaces its workers one by one at SIGHUP, and refuses no call meanwhile", async () => {
  const before = workers();
  instance.signal("SIGHUP");
  while (!instance.log().includes("all workers replaced")) {
    const { status } = await callAt(instance, agent, {
      key: `hup-${++calls}`,
      headers: { connection: "close" },
    });
    expect(status).toBe(200);
  }
  expect(workers()).toHaveLength(2);
  expect(workers().filter((pid) => before.includes(pid))).toEqual([]);
  // The workers that left reported their last counts.
  expect(await captures()).toBeGreaterThanOrEqual(calls - 20);
});

it("ends all workers and then itself", async () => {
  // The list of receipts ends at 100.
  await expectAccount(instance, agent, { balance: BALANCE - BigInt(calls) * PRICE, receipts: 100 });
  const before = workers();
  instance.signal("SIGTERM");
  expect(await instance.ended).toBe(0);
  for (const pid of before) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

it("ends as its first worker does when that cannot start", async () => {
  const taken = await instances.serve({ ...settings, METRICS_PORT: "" });
  const PORT = new URL(taken.baseUrl).port;
  const outcome = await run(["serve", "--workers", "2"], { ...settings, PORT });
  expect(outcome.exitCode).toBe(2);
  expect(outcome.stderr).toContain(`PORT: cannot listen on port ${PORT}`);
});

it.each(["0", "65", "many"])("refuses --workers %s", async (count) => {
  const { exitCode, stderr } = await run(["serve", "--workers", count], settings);
  expect({ exitCode, said: stderr.split("\n")[0] }).toEqual({
    exitCode: 2,
    said: `error: option '--workers <n>' argument '${count}' is invalid. Send auto or a number from 1 to 64.`,
  });
});
