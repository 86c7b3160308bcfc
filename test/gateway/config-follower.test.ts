import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ConfigVersion } from "../../src/app/operations/config-versions.ts";
import { ConfigError } from "../../src/config/config.ts";
import { parseDocument, resolveDocument } from "../../src/config/document.ts";
import { ConfigFollower } from "../../src/gateway/config-follower.ts";
import { createLogger } from "../../src/log.ts";
import { silentMetrics } from "../../src/metrics/silent-metrics.ts";

/** Far longer than the test waits: a retry is not a poll. */
const CONFIG_POLL_MS = 3_600_000;
const OVERDUE = "tools[0].http.openapi: its check takes more than 20 s of CPU time";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const versionOf = (version: number): ConfigVersion => ({
  ...{ version, document: "{}", checksum: "", source: "apply", actor: "Ann", note: undefined },
  appliedAt: new Date(),
});

/** A follower of stored versions, what decides whether it can use them, and what it logs as errors. */
async function openFollower() {
  const stored: { newest: number; shown?: number; problem?: string | undefined; logged: unknown[] } = {
    newest: 0,
    logged: [],
  };
  const log = {
    ...createLogger("silent", { secrets: [] }),
    error: (fields: object) => void stored.logged.push(fields),
  };
  const versions = {
    newestNumber: async () => stored.newest,
    find: async (version: number) => versionOf(version),
    onChange: () => () => {},
    use: (version: number) => void (stored.shown = version),
    live: true,
  };
  const open = async () => {
    if (stored.problem !== undefined) throw new ConfigError([stored.problem]);
    return { tools: [], inference: undefined, close: async () => {} };
  };
  const follower = await ConfigFollower.open(
    { version: 0, resolved: resolveDocument(parseDocument("{}", "a test").content, {}, "/") },
    {
      ...{ versions, opener: { open }, metrics: silentMetrics, log },
      config: { environment: {}, CONFIG_POLL_MS },
    },
  );
  return { follower, stored };
}

it("uses the version in force when it starts", async () => {
  const { follower, stored } = await openFollower();
  stored.newest = 1;
  follower.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(follower.state).toEqual({ version: 1, newest: 1 });
  await follower.close();
});

it("tries a version again that it could not use, and logs the same problems once", async () => {
  const { follower, stored } = await openFollower();
  stored.newest = 1;
  stored.problem = OVERDUE;
  follower.start();
  await vi.advanceTimersByTimeAsync(90_000);
  expect(follower.state).toEqual({ version: 0, newest: 1 });
  expect(stored.logged).toEqual([{ version: 1, inUse: 0, problems: [OVERDUE] }]);
  stored.problem = undefined;
  await vi.advanceTimersByTimeAsync(31_000);
  expect(follower.state).toEqual({ version: 1, newest: 1 });
  await follower.close();
});
