import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  accountOf,
  activeRuns,
  beginRunning,
  callTool,
  sandboxSettings,
  untilProven,
} from "../tools/sandbox/sandbox.ts";
import { openGround } from "./calls.ts";
import { type Instance } from "./process.ts";

/** Code that runs on one of three instances and is cancelled at another, or whose instance ends. */
const LEASE_MS = 1_000;
const { ground, instances, serveHere } = await openGround();
const agent = await ground.agent({ balance: 10_000n });
const settings = {
  ...ground.settings,
  ...(await sandboxSettings({ process: { idle_workers: { javascript: 1, python: 0 } } })),
  RUN_LEASE_MS: String(LEASE_MS),
  SHUTDOWN_GRACE_MS: "500",
};
// The sandbox self-test starts Python several times; instances that only observe skip it.
const [one, two, three] = await Promise.all([
  instances.serve(settings),
  instances.serve(settings),
  serveHere({ ...settings, SANDBOX_ISOLATION: "off" }),
]);
await Promise.all([one, two].map(untilProven));

/** Live descendants of an instance by the process table, without zombies. */
function descendants(of: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const found = /^\d+$/.test(name) ? parentOf(Number(name)) : undefined;
    if (found !== undefined) parents.set(Number(name), found);
  }
  const below = new Set([of]);
  for (let grown = 0; grown !== below.size;) {
    grown = below.size;
    for (const [pid, parent] of parents) if (below.has(parent)) below.add(pid);
  }
  below.delete(of);
  return [...below];
}

/** Undefined when it has ended. */
function parentOf(pid: number): number | undefined {
  try {
    // The program's name may contain anything, even brackets.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return state === "Z" || state === "X" ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

/** The sandbox processes of an instance. */
async function processesOf({ pid }: Instance): Promise<number[]> {
  await expect.poll(() => descendants(pid).length).toBeGreaterThan(0);
  return descendants(pid);
}

const isThere = (pid: number) => parentOf(pid) !== undefined;

it("ends code on a cancel at another instance, by name and by run", async () => {
  for (const by of [(authorized: { runId: string }) => authorized.runId, () => "mine"]) {
    const before = (await accountOf(two, agent)).receipts;
    const authorized = await beginRunning(one, agent, { run_id: "mine" });
    const cancelled = await callTool(two, agent, "sandbox_cancel", { run_id: by(authorized) });
    expect(cancelled.body.result).toMatchObject({ cancelled: true, status: "cancelled" });
    const { status, body } = await authorized.answer;
    expect([status, body.result]).toEqual([
      200,
      expect.objectContaining({ run_id: "mine", status: "cancelled" }),
    ]);
    expect((await accountOf(three, agent)).receipts).toBe(before + 1);
  }
});

it("ends code with its killed instance: the hold is released, nothing charged, no process left", async () => {
  const before = await accountOf(two, agent);
  const { answer, runId } = await beginRunning(one, agent, { run_id: "doomed" });
  const started = await processesOf(one);
  one.signal("SIGKILL");
  await expect(answer).rejects.toThrow();
  await expect.poll(() => started.filter(isThere)).toEqual([]);
  await expect.poll(() => activeRuns(two, agent), { interval: 100 }).toEqual([]);
  expect(await accountOf(two, agent)).toEqual(before);
  const cancelled = await callTool(two, agent, "sandbox_cancel", { run_id: "doomed" });
  expect(cancelled.body.result).toEqual({ run_id: "doomed", cancelled: false, status: "failed" });
  expect((await callTool(two, agent, "sandbox_cancel", { run_id: runId })).body.result.status).toBe("failed");
});

it("aborts code after the shutdown's grace period, free of charge, and leaves no process", async () => {
  const before = await accountOf(three, agent);
  const { answer } = await beginRunning(two, agent);
  const started = await processesOf(two);
  two.signal("SIGTERM");
  const aborted = await answer;
  expect([aborted.status, aborted.body.code]).toEqual([503, "UNAVAILABLE"]);
  expect(aborted.body.message).toMatch(/stopping; nothing was charged, repeat the call/);
  expect(await two.ended).toBe(0);
  await expect.poll(() => started.filter(isThere)).toEqual([]);
  expect(await accountOf(three, agent)).toEqual(before);
});
