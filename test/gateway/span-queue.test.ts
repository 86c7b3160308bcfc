import { expect, it } from "vitest";
import { openTracing } from "../../src/tracing/index.ts";
import { modelServer } from "../inference/model-server.ts";
import { spansIn } from "./received-spans.ts";

const SPANS = 5_000;
/** Limit of an export, and of a batch. Closing does not wait for it. */
const EXPORT_MS = 600_000;

it("keeps a bounded number of spans for a collector that never answers, and ends within seconds", async () => {
  await using collector = await modelServer(() => {});
  const counted: Record<string, number> = {};
  const tracing = await openTracing({
    url: `${collector.baseUrl}/traces`,
    protocol: "http/json",
    headers: {},
    batches: {
      ...{ scheduledDelayMillis: 500, exportTimeoutMillis: EXPORT_MS },
      ...{ maxQueueSize: 2_048, maxExportBatchSize: 512 },
    },
    timeoutMs: EXPORT_MS,
    sampler: "always_on",
    ratio: 1,
    resource: {},
    metrics: {
      count(name, by = 1, { reason = "" } = {}) {
        const key = `${name} ${reason}`.trim();
        counted[key] = (counted[key] ?? 0) + by;
      },
    },
  });
  for (let span = 0; span < SPANS; span++) tracing.tracer.start(performance.now(), {}).end();
  // One export of 512 is under way, and 2,048 wait.
  expect(counted).toEqual({ "toolgate_spans_lost_total queue": SPANS - 512 - 2_048 });
  await expect.poll(() => spansIn(collector.received).length).toBe(512);
  const from = performance.now();
  await tracing.close();
  expect(performance.now() - from).toBeLessThan(EXPORT_MS);
  expect(counted).toEqual({
    "toolgate_spans_lost_total queue": SPANS - 512 - 2_048,
    "toolgate_spans_lost_total export": 512 + 2_048,
  });
});
