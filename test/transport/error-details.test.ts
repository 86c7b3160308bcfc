import { describe, expect, it } from "vitest";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { ERRORS, type ErrorCode, ToolgateError } from "../../src/domain/core/errors.ts";
import { RateLimitedError } from "../../src/transport/key-authenticator.ts";
import { DetailedError, failureOf } from "../../src/transport/error-details.ts";

function mapError(thrown: unknown) {
  const logged: unknown[] = [];
  return { logged, failure: failureOf(thrown, "req_1", { error: (fields) => void logged.push(fields) }) };
}

describe("an error of a call", () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])(
    "returns code, message and status of %s without logging",
    (code) => {
      const { failure, logged } = mapError(new ToolgateError(code, "do this", { retryAfterSeconds: 2 }));
      expect(failure).toMatchObject({ rpc: ERRORS[code].rpc, error: { status: ERRORS[code].status } });
      expect(failure.detail).toMatchObject({
        schema: ErrorBodySchema,
        message: { code, message: "do this", requestId: "req_1", retryAfterSeconds: 2 },
      });
      expect(failure.headers).toContainEqual(["retry-after", "2"]);
      expect(logged).toEqual([]);
    },
  );

  it.each([new TypeError("secret"), "secret", undefined, { secret: 1 }])(
    "returns INTERNAL for %j and logs it with the request id",
    (thrown) => {
      const { failure, logged } = mapError(thrown);
      expect(failure.error).toMatchObject({ code: "INTERNAL", status: 500 });
      expect(JSON.stringify([failure.detail.message, failure.error.message])).not.toContain("secret");
      expect(logged).toEqual([{ request_id: "req_1", err: thrown }]);
    },
  );

  it("logs the hidden cause of a known error once", () => {
    const bug = new TypeError("secret");
    const error = new ToolgateError("TOOL_FAILED", "the tool failed", { cause: bug });
    const { failure, logged } = mapError(error);
    expect(JSON.stringify(failure.detail.message)).not.toContain("secret");
    expect(logged).toEqual([{ request_id: "req_1", err: error }]);

    const detail = failure.detail;
    const detailed = new DetailedError(error, detail);
    expect(mapError(detailed).logged).toEqual([{ request_id: "req_1", err: detailed }]);
    expect(mapError(new DetailedError(new ToolgateError("UNAVAILABLE", "away"), detail)).logged).toEqual([]);
  });

  it("does not log client errors", () => {
    expect(
      mapError(new ToolgateError("INVALID_REQUEST", "do this", { cause: new Error("why") })).logged,
    ).toEqual([]);
  });

  it("returns text that every transport can send", () => {
    const { failure } = mapError(new ToolgateError("TOOL_FAILED", "it said \ud83d, half a sign"));
    expect(failure.error.message).toBe("it said \ufffd, half a sign");
  });

  it.each([
    ["CANCELLED", "AbortError"],
    ["DEADLINE_EXCEEDED", "TimeoutError"],
  ])("returns %s over gRPC for an %s, without logging", (rpc, name) => {
    const { failure, logged } = mapError(new DOMException("gone", name));
    expect(failure).toMatchObject({ rpc, error: { code: "CANCELLED", status: 499 } });
    expect(logged).toEqual([]);
  });

  it("returns WWW-Authenticate for a missing key and rate headers when rate limited", () => {
    expect(mapError(new ToolgateError("UNAUTHORIZED", "no")).failure.headers).toEqual([
      ["www-authenticate", 'Bearer realm="toolgate"'],
    ]);
    const rate = { allowed: false, limit: 60, remaining: 0, resetAt: 7, retryAfterSeconds: 1 };
    expect(Object.fromEntries(mapError(new RateLimitedError(rate)).failure.headers)).toEqual({
      ratelimit: '"default";r=0;t=1',
      "ratelimit-policy": '"default";q=60;w=60',
      "x-ratelimit-limit": "60",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": "7",
      "retry-after": "1",
    });
  });
});
