import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ConfigVersion } from "../../src/app/operations/config-versions.ts";
import { ConfigError } from "../../src/config/config.ts";
import { parseDocument, resolveDocument } from "../../src/config/document.ts";
import { ConfigFollower } from "../../src/gateway/config-follower.ts";
import { createLogger } from "../../src/log.ts";
import { silentMetrics } from "../../src/metrics/silent-metrics.ts";

/** Far longer than the test waits: a retry is not a poll. */
const CONFIG_POLL_MS = 3_600_000;
/** After a process that stood still. */
const OVERDUE = "tools[0].http.openapi: it cannot be checked within 20 s";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const versionOf = (version: number): ConfigVersion => ({
  ...{ version, document: "{}", checksum: "", source: "apply", actor: "Ann", note: undefined },
  appliedAt: new Date(),
});

it("tries a version again that it could not use, and logs the same problems once", async () => {
  const logged: unknown[] = [];
  const log = {
    ...createLogger("silent", { secrets: [] }),
    error: (fields: object) => void logged.push(fields),
  };
  let newest = 0;
  let problem: string | undefined;
  const follower = await ConfigFollower.open(
    { version: 0, resolved: resolveDocument(parseDocument("{}", "a test").content, {}, "/") },
    {
      versions: {
        newestNumber: async () => newest,
        find: async (version) => versionOf(version),
        onChange: () => () => {},
        live: true,
      },
      opener: {
        open: async () => {
          if (problem !== undefined) throw new ConfigError([problem]);
          return { tools: [], inference: undefined, close: async () => {} };
        },
      },
      config: { environment: {}, CONFIG_POLL_MS },
      metrics: silentMetrics,
      log,
    },
  );
  problem = OVERDUE;
  newest = 1;
  follower.start();
  await vi.advanceTimersByTimeAsync(29_000);
  expect(follower.state).toEqual({ version: 0, newest: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(logged).toEqual([{ version: 1, inUse: 0, problems: [OVERDUE] }]);
  problem = undefined;
  await vi.advanceTimersByTimeAsync(31_000);
  expect(follower.state).toEqual({ version: 1, newest: 1 });
  await follower.close();
});
