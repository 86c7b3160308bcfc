import { expect, it } from "vitest";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import { channels } from "./ports.ts";

it("answers requests, and fails as the other side did", async () => {
  const { primary, worker } = channels();
  worker.handle("double", async (value) => Number(value) * 2);
  worker.handle("refuse", async () => {
    throw new ToolgateError("CANCELLED", "not now", { retryAfterSeconds: 3, worked: true });
  });
  worker.handle("fail", async () => {
    throw new Error("broken");
  });
  expect(await primary.request("double", 21)).toBe(42);
  await expect(primary.request("refuse", null)).rejects.toMatchObject({
    ...{ code: "CANCELLED", message: "not now", retryAfterSeconds: 3, worked: true },
  });
  await expect(primary.request("fail", null)).rejects.toThrow("broken");
  await expect(primary.request("other", null)).rejects.toThrow("does not know other");
});

it("aborts what was given up, and fails what a dead process cannot answer", async () => {
  const { primary, worker, end } = channels();
  const aborted = Promise.withResolvers<void>();
  const running = Promise.withResolvers<void>();
  worker.handle("wait", (_, signal) => {
    running.resolve();
    signal.addEventListener("abort", () => aborted.resolve());
    return new Promise(() => {});
  });
  const abort = new AbortController();
  const given = primary.request("wait", null, abort.signal);
  await running.promise;
  abort.abort();
  await expect(given).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await aborted.promise;
  const waiting = primary.request("wait", null);
  end();
  await expect(waiting).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1 });
  await expect(primary.request("wait", null)).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
