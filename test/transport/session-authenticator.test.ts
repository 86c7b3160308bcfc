import { ClientAddresses } from "../../src/transport/remote-address.ts";
import { describe, expect, it } from "vitest";
import type { SignedIn } from "../../src/app/accounts/authenticator.ts";
import { newCaller } from "../app/context.ts";
import { ConsoleOrigin } from "../../src/transport/console-server/console-origin.ts";
import {
  INVALID_COOKIE_RATE,
  SESSION_RATE,
  SessionAuthenticator,
} from "../../src/transport/console-server/session-authenticator.ts";

const caller = newCaller({ keyId: "ses_1" });
const session = {
  ...{
    sessionId: "ses_1",
    accountId: "acct_1",
    wallet: "wallet",
    operator: false,
    blockedReason: undefined,
    address: "",
    userAgent: "",
  },
  ...{ createdAt: new Date(0), lastUsedAt: new Date(0), expiresAt: new Date(0) },
};
const [GOOD, BAD] = ["g".repeat(43), "b".repeat(43)];

/** An authenticator with a fake clock and one valid session. */
function scene(url = "http://127.0.0.1:8080/console") {
  const time = { now: 1_000_000 };
  const asked: string[] = [];
  const signedIn: SignedIn = { session, caller };
  const find = async (token: string) => {
    asked.push(token);
    return token === GOOD ? signedIn : undefined;
  };
  const origin = new ConsoleOrigin({ host: "127.0.0.1", publicUrl: undefined, url: () => url });
  const authenticator = new SessionAuthenticator({
    sessions: { find },
    origin,
    clock: { now: () => time.now },
    clients: new ClientAddresses(0),
  });
  const enter = async (token: string, { peer = "192.0.2.1", demand = "required" as const } = {}) =>
    authenticator
      .authenticate(demand, {
        ...{ authorization: undefined, peer, forwardedFor: undefined },
        page: {
          ...{
            method: "POST",
            host: undefined,
            origin: new URL(url).origin,
            site: "same-origin",
            userAgent: undefined,
          },
          cookie: `toolgate_session=${token}`,
        },
      })
      .then(
        ({ rate }) => rate?.remaining,
        (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
      );
  return { time, asked, enter };
}

describe("session authentication", () => {
  it("limits the requests of a session by burst and rate", async () => {
    const { time, enter } = scene();
    for (let n = 0; n < SESSION_RATE.burst; n++) expect(await enter(GOOD)).toBe(SESSION_RATE.burst - 1 - n);
    expect(await enter(GOOD)).toBe("RATE_LIMITED");
    time.now += 60_000 / SESSION_RATE.ratePerMinute;
    expect(await enter(GOOD)).toBe(0);
    expect(await enter(GOOD)).toBe("RATE_LIMITED");
  });

  it("limits invalid cookies per address but accepts known sessions", async () => {
    const { asked, enter } = scene();
    await enter(GOOD);
    for (let n = 0; n < INVALID_COOKIE_RATE.burst; n++) expect(await enter(BAD)).toBe("UNAUTHORIZED");
    asked.length = 0;
    expect(await enter(BAD)).toBe("RATE_LIMITED");
    expect(asked).toEqual([]);
    expect(await enter(GOOD)).toBeTypeOf("number");
    expect(await enter(BAD, { peer: "192.0.2.2" })).toBe("UNAUTHORIZED");
  });

  it("ignores cookies over unencrypted remote http", async () => {
    const { asked, enter } = scene("http://gateway.example/console");
    expect(await enter(GOOD)).toBe("UNAUTHORIZED");
    expect(asked).toEqual([]);
  });
});
