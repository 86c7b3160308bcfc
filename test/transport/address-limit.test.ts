import { describe, expect, it } from "vitest";
import type { Caller } from "../../src/domain/caller.ts";
import { DEFAULT_TIER } from "../../src/domain/rate-limit.ts";
import { Access } from "../../src/transport/access.ts";
import { AddressLimit, BAD_KEYS } from "../../src/transport/address-limit.ts";

const caller: Caller = {
  keyId: "key_1",
  accountId: "acct_1",
  scopes: new Set(),
  tier: DEFAULT_TIER,
  operator: false,
  limits: undefined,
  budgetId: undefined,
  blockedReason: undefined,
};
const allowed = { allowed: true, limit: 60, remaining: 9, resetAt: 1, retryAfterSeconds: 0 };

/** A door at a time of ours, with one good key. */
function scene() {
  const time = { now: 1_000_000 };
  const keys = new Set(["sk-agent-good"]);
  const asked: string[] = [];
  const counted: string[] = [];
  const access = new Access(
    {
      async authenticate(secret) {
        asked.push(secret);
        return keys.has(secret) ? caller : undefined;
      },
    },
    { take: async () => allowed },
    new AddressLimit({ clock: { now: () => time.now } }),
    { count: (name) => void counted.push(name), set: () => {} },
  );
  const send = async (key: string, peer = "192.0.2.1"): Promise<unknown> =>
    access.admit("required", { authorization: `Bearer sk-agent-${key}`, peer, forwardedFor: undefined }).then(
      () => 200,
      (error: unknown) => (error instanceof Error && "status" in error ? error.status : error),
    );
  const exhaust = async (peer?: string) => {
    for (let n = 0; n < BAD_KEYS.burst; n++) await send(`bad${n}`, peer);
    asked.length = 0;
    counted.length = 0;
  };
  return { time, keys, asked, counted, access, send, exhaust };
}

describe("the limit on bad keys", () => {
  it("lets an address send twenty, then refuses without asking the database", async () => {
    const { send, asked, counted } = scene();
    const statuses: unknown[] = [];
    for (let n = 0; n < 22; n++) statuses.push(await send(`bad${n}`));
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429]);
    expect(asked).toHaveLength(20);
    expect(counted.filter((name) => name === "toolgate_keys_refused_total")).toHaveLength(20);
    expect(counted.filter((name) => name === "toolgate_addresses_limited_total")).toHaveLength(2);
  });

  it("lets another in every six seconds, which is what it says", async () => {
    const { send, time, exhaust, access } = scene();
    await exhaust();
    const refused = access.admit("required", {
      authorization: "Bearer sk-agent-x",
      peer: "192.0.2.1",
      forwardedFor: undefined,
    });
    await expect(refused).rejects.toMatchObject({
      code: "RATE_LIMITED",
      retryAfterSeconds: 6,
      rate: { limit: 10, remaining: 0, resetAt: 1_120 },
    });
    time.now += 5_999;
    expect(await send("bad")).toBe(429);
    time.now += 1;
    expect([await send("bad"), await send("bad")]).toEqual([401, 429]);
  });

  it("forgets what it counted once the bucket is full again", async () => {
    const { send, time, exhaust } = scene();
    await exhaust();
    time.now += 120_000;
    for (let n = 0; n < 20; n++) expect(await send("bad")).toBe(401);
    expect(await send("bad")).toBe(429);
  });

  it("lets a key that was good before in, and asks of it again", async () => {
    const { send, asked, exhaust } = scene();
    await send("good");
    await exhaust();
    expect([await send("good"), await send("bad"), asked]).toEqual([200, 429, ["sk-agent-good"]]);
  });

  it("refuses a good key that nobody has sent before, from that address alone", async () => {
    const { send, exhaust } = scene();
    await exhaust();
    expect([await send("good"), await send("good", "192.0.2.2"), await send("good")]).toEqual([429, 200, 200]);
  });

  it("takes a key that was revoked for a bad one from then on", async () => {
    const { send, keys, asked, exhaust } = scene();
    await send("good");
    await exhaust();
    keys.clear();
    expect([await send("good"), await send("good"), asked]).toEqual([401, 429, ["sk-agent-good"]]);
  });

  it("counts an IPv6 network as one", async () => {
    const { send, exhaust } = scene();
    await exhaust("2001:db8:0:1::1");
    expect([await send("bad", "2001:db8:0:1:ffff::2"), await send("bad", "2001:db8:0:2::1")]).toEqual([429, 401]);
  });

  it("makes nobody wait longer for having sent very many at once", async () => {
    const { send, time } = scene();
    await Promise.all(Array.from({ length: 500 }, (_, n) => send(`bad${n}`)));
    expect(await send("bad")).toBe(429);
    time.now += 6_000;
    expect(await send("bad")).toBe(401);
  });

  it("stands a clock that is set back", async () => {
    const { send, time, exhaust } = scene();
    time.now += 86_400_000;
    await exhaust();
    time.now -= 86_400_000;
    expect(await send("bad")).toBe(429);
    time.now += 6_000;
    expect(await send("bad")).toBe(401);
  });

  it("remembers ten thousand addresses, and lets the oldest go", async () => {
    const { send, exhaust } = scene();
    await exhaust("192.0.2.1");
    await exhaust("192.0.2.2");
    for (let n = 0; n < 9_999; n++) await send("bad", `10.1.${n >> 8}.${n & 255}`);
    expect([await send("bad", "192.0.2.2"), await send("bad", "192.0.2.1")]).toEqual([429, 401]);
  });
});
