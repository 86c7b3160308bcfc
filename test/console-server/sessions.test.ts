import { createHash } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { MAX_SESSIONS } from "../../src/postgres/accounts/sessions.ts";
import { answerOf, pageClient, signIn, type SignedInPerson } from "../support/console.ts";
import { query } from "../support/database-server.ts";
import { startWorld } from "../support/world.ts";
import { uniqueAddress, errorOf } from "./anonymous-client.ts";
import { closing } from "../support/postgres.ts";

// The sweep runs three times per lease. Sessions of a cell have its number.
const world = closing(await startWorld({ CELL: "2", TRUSTED_PROXY_HOPS: "1", RUN_LEASE_MS: "3000" }));

/** Condition for the session's row. */
const rowOf = ({ cookie }: SignedInPerson) =>
  `sha256 = '\\x${createHash("sha256").update(cookie.split("=")[1]!).digest("hex")}'`;

const age = (person: SignedInPerson, change: string) =>
  query(world.database.url, `update console_session set ${change} where ${rowOf(person)}`);

const isIn = async (person: SignedInPerson): Promise<boolean> =>
  (await person.client(SessionService).getSession({})).session !== undefined;

describe("session", () => {
  it("is stored by the hash of its token only", async () => {
    const person = await signIn(world, Keypair.generate());
    const { rows } = await query(
      world.database.url,
      `select row_to_json(s)::text as row from console_session s where ${rowOf(person)}`,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].row).not.toContain(person.cookie.split("=")[1]);
  });

  it("expires twelve hours after its last use", async () => {
    const person = await signIn(world, Keypair.generate());
    await age(person, "last_used_at = now() - interval '11 hours 59 minutes'");
    expect(await isIn(person)).toBe(true);
    // The request updated last_used_at.
    await age(person, "last_used_at = last_used_at - interval '11 hours 59 minutes'");
    expect(await isIn(person)).toBe(true);
    await age(person, "last_used_at = now() - interval '12 hours 1 second'");
    expect(await isIn(person)).toBe(false);
    expect(await errorOf(person.client(SessionService).listSessions({}))).toMatch(
      /^Unauthenticated: not signed in/,
    );
  });

  it("expires seven days after sign-in, regardless of use", async () => {
    const person = await signIn(world, Keypair.generate());
    const { createdAt, expiresAt } = person.session;
    expect(Number(expiresAt!.seconds - createdAt!.seconds)).toBe(7 * 24 * 3600);
    await age(person, "expires_at = now() + interval '1 minute'");
    expect(await isIn(person)).toBe(true);
    await age(person, "expires_at = now() - interval '1 second'");
    expect(await isIn(person)).toBe(false);
    expect(await errorOf(person.client(SessionService).listSessions({}))).toMatch(/^Unauthenticated/);
  });

  it("updates its last use at most once a minute", async () => {
    const person = await signIn(world, Keypair.generate());
    const usedAt = async () =>
      (
        await query(
          world.database.url,
          `select last_used_at::text from console_session where ${rowOf(person)}`,
        )
      ).rows[0].last_used_at;
    const before = await usedAt();
    await isIn(person);
    expect(await usedAt()).toBe(before);
    await age(person, "last_used_at = last_used_at - interval '61 seconds'");
    const aged = await usedAt();
    await isIn(person);
    expect(await usedAt()).not.toBe(aged);
  });

  it("ends on every instance immediately", async () => {
    const other = await world.startAnother({ CONSOLE_URL: world.gateway.consoleUrl });
    const wallet = Keypair.generate();
    const [thief, owner] = [await signIn(world, wallet), await signIn(world, wallet)];
    const { origin } = new URL(world.gateway.consoleUrl);
    const elsewhere = pageClient({ consoleUrl: `${other.baseUrl}/console` }, SessionService, {
      cookie: thief.cookie,
      origin,
    });
    expect((await elsewhere.getSession({})).session?.sessionId).toBe(thief.session.sessionId);
    await owner.client(SessionService).revokeSession({ sessionId: thief.session.sessionId });
    expect(await errorOf(elsewhere.listSessions({}))).toMatch(/^Unauthenticated/);
    expect(await isIn(owner)).toBe(true);
  });

  it("ends and clears its cookie at sign-out", async () => {
    const person = await signIn(world, Keypair.generate());
    let cookie: string | null = null;
    const page = pageClient(world.gateway, SessionService, { cookie: person.cookie }, (headers) => {
      cookie = headers.get("set-cookie");
    });
    await page.signOut({});
    expect(cookie).toBe("toolgate_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
    expect(await isIn(person)).toBe(false);
    // Signing out twice succeeds.
    expect(await errorOf(page.signOut({}))).toBe("no error");
  });

  it("ends with all sessions of its account, and no others", async () => {
    const wallet = Keypair.generate();
    const [one, two, other] = [
      await signIn(world, wallet),
      await signIn(world, wallet),
      await signIn(world, Keypair.generate()),
    ];
    expect((await one.client(SessionService).signOutEverywhere({})).ended).toBe(2);
    expect([await isIn(one), await isIn(two), await isIn(other)]).toEqual([false, false, true]);
  });

  it("is listed and revoked by its own account only", async () => {
    const wallet = Keypair.generate();
    const [one, two, other] = [
      await signIn(world, wallet),
      await signIn(world, wallet),
      await signIn(world, Keypair.generate()),
    ];
    const { sessions } = await two.client(SessionService).listSessions({});
    expect(sessions.map(({ sessionId, current }) => [sessionId, current])).toEqual([
      [two.session.sessionId, true],
      [one.session.sessionId, false],
    ]);
    const { sessionId } = one.session;
    for (const id of [sessionId, "ses_nonsense", "acct_1"]) {
      expect(await errorOf(other.client(SessionService).revokeSession({ sessionId: id }))).toMatch(
        /^NotFound/,
      );
    }
    expect(await isIn(one)).toBe(true);
  });

  it("replaces the oldest session when the account reaches its limit", async () => {
    const wallet = Keypair.generate();
    const first = await signIn(world, wallet);
    const { accountId } = first.session;
    for (let n = 1; n < MAX_SESSIONS; n++)
      await world.postgres.sessions.create({ accountId, address: "192.0.2.1", userAgent: "" });
    expect(await isIn(first)).toBe(true);
    const last = await signIn(world, wallet);
    expect([await isIn(first), await isIn(last)]).toEqual([false, true]);
  });

  it("records address and sanitised User-Agent", async () => {
    let cookie = "";
    const headers: Record<string, string> = {
      ...uniqueAddress(),
      "user-agent": `Browser\u00ff/1${"x".repeat(300)}`,
    };
    const wallet = Keypair.generate();
    const page = pageClient(world.gateway, SessionService, headers, (answered) => {
      cookie = answered.get("set-cookie") ?? "";
    });
    const { challenge } = await page.beginSignIn({});
    const { session } = await page.signIn(answerOf(wallet, challenge!));
    expect(cookie).not.toBe("");
    expect(session?.address).toBe(headers["x-forwarded-for"]);
    expect(session?.userAgent).toMatch(/^Browser\?+\/1x+$/);
    expect(session?.userAgent).toHaveLength(200);
  });

  it("can be started by a blocked account", async () => {
    const agent = await world.agent({ balance: 10n });
    await query(
      world.database.url,
      `update account set blocked_reason = 'a test' where id = '${agent.accountId.slice(5)}'`,
    );
    const person = await signIn(world, agent.wallet);
    expect(await isIn(person)).toBe(true);
    expect(person.session.blockedReason).toBe("a test");
  });

  it("refuses new keys and deposits of a blocked account, with the reason", async () => {
    const agent = await world.agent();
    const person = await signIn(world, agent.wallet);
    const [keys, deposits] = [person.client(KeyService), person.client(DepositService)];
    await world.postgres.accounts.setBlocked(agent.accountId, { blocked: true, reason: "a test" });
    const { session } = await person.client(SessionService).getSession({});
    expect(session?.blockedReason).toBe("a test");
    for (const ask of [
      () => keys.createKey({ name: "more", scopes: [] }),
      () => keys.rotateKey({ keyId: agent.keyId }),
      () => deposits.createDeposit({ amountUsdcMicrousd: 10_000_000n }),
    ])
      await expect(ask()).rejects.toThrow(/permission_denied.*the account is blocked: a test/);
    expect((await keys.listKeys({})).keys).toHaveLength(1);
    await keys.revokeKey({ keyId: agent.keyId });
    await world.postgres.accounts.setBlocked(agent.accountId, { blocked: false, reason: "paid" });
    await keys.createKey({ name: "more", scopes: [] });
  });
});

describe("session cookie", () => {
  it.each([
    ["without a value", "toolgate_session="],
    ["of another form", "toolgate_session=abc"],
    ["of no session", `toolgate_session=${"A".repeat(43)}`],
    ["of https", `__Host-toolgate_session=${"A".repeat(43)}`],
  ])("%s has no session", async (_name, cookie) => {
    const page = pageClient(world.gateway, SessionService, { cookie });
    expect((await page.getSession({})).session).toBeUndefined();
    expect(await errorOf(page.listSessions({}))).toMatch(/^Unauthenticated/);
  });

  it("that is sent twice has no session", async () => {
    const person = await signIn(world, Keypair.generate());
    const page = (cookie: string) => pageClient(world.gateway, SessionService, { cookie }).getSession({});
    expect((await page(`${person.cookie}; theme=dark`)).session?.sessionId).toBe(person.session.sessionId);
    expect((await page(`theme=dark; ${person.cookie}`)).session?.sessionId).toBe(person.session.sessionId);
    expect((await page(`${person.cookie}; toolgate_session=${"A".repeat(43)}`)).session).toBeUndefined();
  });
});

describe("sweep", () => {
  it("deletes expired challenges and sessions only", async () => {
    const [good, old] = await Promise.all(Array.from({ length: 2 }, () => signIn(world, Keypair.generate())));
    await age(old!, "expires_at = now() - interval '1 hour'");
    const challenge = async (minutes: number) => {
      const nonce = `nonce${minutes}`;
      await query(
        world.database.url,
        `insert into sign_in_challenge (nonce, input, created_at, expires_at)
          values ('${nonce}', '{}', now(), now() + interval '${minutes} minutes')`,
      );
      return nonce;
    };
    const nonces = [await challenge(-30), await challenge(5)];
    await expect
      .poll(
        async () => {
          const { rows } = await query(
            world.database.url,
            `select (select count(*)::int from console_session where ${rowOf(old!)}) as sessions,
                    (select array_agg(nonce) from sign_in_challenge
                      where nonce in ('${nonces.join("', '")}')) as nonces`,
          );
          return rows[0];
        },
        { interval: 100 },
      )
      .toEqual({ sessions: 0, nonces: ["nonce5"] });
    expect(await isIn(good!)).toBe(true);
  });
});
