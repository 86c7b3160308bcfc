import { DatabaseError } from "pg";
import { describe, expect, it } from "vitest";
import { retrying } from "../../src/postgres/retry.ts";
import { systemClock } from "../../src/system.ts";

function databaseError(code: string): DatabaseError {
  const error = new DatabaseError("refused", 0, "error");
  error.code = code;
  return error;
}

/** Fails with these errors, one after the other, then answers. */
function failing(...errors: Error[]): () => Promise<string> {
  return () => {
    const error = errors.shift();
    return error ? Promise.reject(error) : Promise.resolve("done");
  };
}

describe("a statement that may happen twice", () => {
  it("is sent again after a deadlock, a serialization failure, a lost or refused connection", async () => {
    const lost = [
      new Error("Connection terminated unexpectedly"),
      Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
    ];
    const codes = ["40P01", "40001", "57P01", "08006"].map(databaseError);
    expect(await retrying(systemClock, 60_000, failing(...codes, ...lost, new AggregateError(lost)))).toBe("done");
  });

  it("is not sent again after an error of its own", async () => {
    for (const error of [databaseError("23514"), databaseError("42601"), new TypeError("bug")]) {
      await expect(retrying(systemClock, 60_000, failing(error))).rejects.toBe(error);
    }
  });

  it("is UNAVAILABLE when the database stays away for too long", async () => {
    let now = 0;
    const clock = { now: () => (now += 400) };
    const away = () => Promise.reject(databaseError("57P03"));
    await expect(retrying(clock, 1_000, away)).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 2 });
  });

  it("that is undone every time fails with what undoes it", async () => {
    await expect(retrying(systemClock, 60_000, () => Promise.reject(databaseError("23505")))).rejects.toMatchObject({
      code: "23505",
    });
  });
});
