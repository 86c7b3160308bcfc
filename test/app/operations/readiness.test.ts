import { expect, it } from "vitest";
import {
  type DatabaseState,
  Readiness,
  type ConfigState,
  type SandboxState,
} from "../../../src/app/operations/readiness.ts";

const READY = {
  database: "ok",
  sandbox: "passed",
  sandboxRequired: false,
  drain: false,
  config: { version: 1, newest: 1 },
  clockAheadMs: 0,
} as const;

interface Conditions {
  database?: DatabaseState;
  sandbox?: SandboxState;
  sandboxRequired?: boolean;
  drain?: boolean;
  config?: ConfigState;
  clockAheadMs?: number;
}

async function isReady(conditions: Conditions): Promise<boolean> {
  const { database, sandbox, sandboxRequired, drain, config, clockAheadMs } = { ...READY, ...conditions };
  const health = { clockAheadMs, check: async () => database === "ok", state: async () => database };
  const readiness = new Readiness({ health, sandbox: () => sandbox, sandboxRequired, config: () => config });
  if (drain) readiness.drain();
  return (await readiness.report(AbortSignal.timeout(1_000))).ready;
}

it.each<[string, Conditions]>([
  ["the database works and the sandbox is proven", {}],
  ["the sandbox is off", { sandbox: "off" }],
  ["its clock is less than 30 s wrong", { clockAheadMs: 29_999 }],
  ["it serves with an older configuration", { config: { version: 1, newest: 2 } }],
  ["the sandbox failed and is not required: other tools work", { sandbox: "failed" }],
])("is ready when %s", async (_, conditions) => {
  expect(await isReady(conditions)).toBe(true);
});

it.each<[string, Conditions]>([
  ["the database does not respond", { database: "unreachable" }],
  ["the database is read-only", { database: "read-only" }],
  ["the schema is old", { database: "old schema" }],
  ["the sandbox is being proven", { sandbox: "running" }],
  ["a required sandbox failed", { sandbox: "failed", sandboxRequired: true }],
  ["its clock is 30 s ahead", { clockAheadMs: 30_000 }],
  ["its clock is 30 s behind", { clockAheadMs: -30_000 }],
  ["the instance is draining", { drain: true }],
])("is not ready when %s", async (_, conditions) => {
  expect(await isReady(conditions)).toBe(false);
});
