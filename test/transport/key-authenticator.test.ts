import { describe, expect, it } from "vitest";
import { newCaller } from "../app/context.ts";
import type { RateDecision } from "../../src/domain/accounts/caller.ts";
import { KeyAuthenticator } from "../../src/transport/key-authenticator.ts";
import type { Authentication, Credentials } from "../../src/transport/authentication.ts";

const caller = newCaller({ keyId: "key_1" });
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

/** Rejects where the authenticator throws at once. */
async function authenticate(
  authenticator: KeyAuthenticator,
  authorization: string | undefined,
  requirement: "required" | "optional" = "required",
): Promise<Authentication> {
  return authenticator.authenticate(requirement, arriving(authorization));
}

describe("key authentication", () => {
  it.each(["Bearer sk-agent-good", "bearer sk-agent-good", "BEARER   sk-agent-good"])(
    "accepts %j and consumes its rate",
    async (header) => {
      const { access: authenticator, taken } = access();
      expect(await authenticate(authenticator, header)).toEqual({ caller, rate: allowed });
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
    await expect(authenticate(authenticator, header)).rejects.toMatchObject({
      code: "UNAUTHORIZED",
      status: 401,
    });
    expect([asked, taken]).toEqual([[], []]);
  });
});
