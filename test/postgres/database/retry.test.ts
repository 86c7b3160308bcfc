import { DatabaseError } from "pg";
import { describe, expect, it, vi } from "vitest";
import {
  DatabaseUnavailableError,
  DatabaseBusyError,
} from "../../../src/postgres/database/database-errors.ts";
import { withRetry } from "../../../src/postgres/database/retry.ts";

function databaseError(code: string): DatabaseError {
  const error = new DatabaseError("refused", 0, "error");
  error.code = code;
  return error;
}

/** Fails with these errors in turn, then succeeds. */
function failing(...errors: Error[]): () => Promise<string> {
  return () => {
    const error = errors.shift();
    return error ? Promise.reject(error) : Promise.resolve("done");
  };
}

describe("a repeatable statement", () => {
  it("is retried after a deadlock, a serialization failure, and a lost or refused connection", async () => {
    const lost = [
      new Error("Connection terminated unexpectedly"),
      Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
    ];
    const codes = ["40P01", "40001", "57P01", "08006"].map(databaseError);
    expect(await withRetry(60_000, failing(...codes, ...lost, new AggregateError(lost)))).toBe("done");
  });

  it("is not retried after other errors", async () => {
    for (const error of [databaseError("23514"), databaseError("42601"), new TypeError("bug")]) {
      await expect(withRetry(60_000, failing(error))).rejects.toBe(error);
    }
  });

  it("fails with UNAVAILABLE when the database stays unreachable", async () => {
    for (const code of ["57P03", "55000", "3D000"]) {
      const away = () => Promise.reject(databaseError(code));
      await expect(withRetry(50, away)).rejects.toBeInstanceOf(DatabaseUnavailableError);
      await expect(withRetry(50, away)).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 2 });
    }
  });

  it("fails in time although the system clock is set back", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1e12 });
    const away = () => {
      vi.setSystemTime(Date.now() - 3_600_000);
      return Promise.reject(new Error("Connection terminated"));
    };
    await expect(withRetry(50, away)).rejects.toBeInstanceOf(DatabaseUnavailableError);
    vi.useRealTimers();
  });

  it("fails with UNAVAILABLE after repeated rollbacks, with the reason in the log only", async () => {
    const cause = databaseError("40P01");
    const error = await withRetry(60_000, () => Promise.reject(cause)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DatabaseBusyError);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1, cause });
  });

  it.each(["55P03", "57014"])("is not retried after a lock timeout (%s)", async (code) => {
    const run = vi.fn(() => Promise.reject(databaseError(code)));
    await expect(withRetry(60_000, run)).rejects.toBeInstanceOf(DatabaseBusyError);
    expect(run).toHaveBeenCalledOnce();
  });
});
