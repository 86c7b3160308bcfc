import { describe, expect, it } from "vitest";
import type { Caller } from "../../src/domain/accounts/caller.ts";
import { DEFAULT_TIER, type RateDecision } from "../../src/domain/accounts/rate-limit.ts";
import { KeyAuthenticator, RateLimitedError } from "../../src/transport/key-authenticator.ts";
import type { Credentials } from "../../src/transport/authentication.ts";

const caller: Caller = {
  keyId: "key_1",
  accountId: "acct_1",
  scopes: new Set(),
  tier: DEFAULT_TIER,
  accountTier: DEFAULT_TIER,
  operator: false,
  limits: undefined,
  budgetId: undefined,
  blockedReason: undefined,
};
const allowed: RateDecision = { allowed: true, limit: 60, remaining: 9, resetAt: 1, retryAfterSeconds: 0 };

function access(decision = allowed) {
  const asked: string[] = [];
  const taken: string[] = [];
  return {
    asked,
    taken,
    access: new KeyAuthenticator(
      {
        async authenticate(secret) {
          asked.push(secret);
          return secret === "sk-agent-good" ? caller : undefined;
        },
      },
      {
        async take({ keyId }) {
          taken.push(keyId);
          return decision;
        },
      },
    ),
  };
}

function arriving(authorization: string | undefined): Credentials {
  return { authorization, peer: "192.0.2.1", forwardedFor: undefined };
}

describe("key authentication", () => {
  it.each(["Bearer sk-agent-good", "bearer sk-agent-good", "BEARER   sk-agent-good"])(
    "accepts %j and consumes its rate",
    async (header) => {
      const { access: authenticator, taken } = access();
      expect(await authenticator.authenticate("required", arriving(header))).toEqual({
        caller,
        rate: allowed,
      });
      expect(taken).toEqual(["key_1"]);
    },
  );

  it.each([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "Basic sk-agent-good",
    "sk-agent-good",
    "Bearer sk-agent-good x",
    "Bearer sk-agent-good, Bearer sk-agent-good",
    "Bearer sk-user-1",
    `Bearer sk-agent-${"x".repeat(300)}`,
  ])("rejects %j without a database query", async (header) => {
    const { access: authenticator, asked, taken } = access();
    await expect(authenticator.authenticate("required", arriving(header))).rejects.toMatchObject({
      code: "UNAUTHORIZED",
      status: 401,
    });
    expect([asked, taken]).toEqual([[], []]);
  });

  it("rejects an unknown key without consuming a rate", async () => {
    const { access: authenticator, taken } = access();
    await expect(
      authenticator.authenticate("required", arriving("Bearer sk-agent-bad")),
    ).rejects.toMatchObject({
      code: "UNAUTHORIZED",
      message: expect.stringContaining("console"),
    });
    expect(taken).toEqual([]);
  });

  it("never includes the key in errors", async () => {
    const { access: authenticator } = access();
    await expect(
      authenticator.authenticate("required", arriving("Bearer sk-agent-secret1")),
    ).rejects.not.toMatchObject({
      message: expect.stringContaining("secret1"),
    });
    await expect(
      authenticator.authenticate("required", arriving("Token sk-agent-secret1")),
    ).rejects.not.toMatchObject({
      message: expect.stringContaining("secret1"),
    });
  });

  it("returns retry-after when rate limited", async () => {
    const decision = { ...allowed, allowed: false, remaining: 0, retryAfterSeconds: 4 };
    const error: unknown = await access(decision)
      .access.authenticate("required", arriving("Bearer sk-agent-good"))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ code: "RATE_LIMITED", status: 429, retryAfterSeconds: 4, rate: decision });
  });

  it("ignores keys for methods that need none", async () => {
    const { access: authenticator, asked } = access();
    expect(await authenticator.authenticate("none", arriving("Bearer sk-agent-bad"))).toEqual({
      caller: undefined,
      rate: undefined,
    });
    expect(asked).toEqual([]);
  });

  it("accepts an optional key but rejects a bad one", async () => {
    const { access: authenticator } = access();
    expect(await authenticator.authenticate("optional", arriving(undefined))).toEqual({
      caller: undefined,
      rate: undefined,
    });
    expect(await authenticator.authenticate("optional", arriving("Bearer sk-agent-good"))).toEqual({
      caller,
      rate: allowed,
    });
    await expect(
      authenticator.authenticate("optional", arriving("Bearer sk-agent-bad")),
    ).rejects.toMatchObject({
      code: "UNAUTHORIZED",
    });
    await expect(authenticator.authenticate("optional", arriving(""))).rejects.toMatchObject({
      code: "UNAUTHORIZED",
    });
  });
});
