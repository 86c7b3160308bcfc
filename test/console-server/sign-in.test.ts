import { address, getOffchainMessageEncoder } from "@solana/kit";
import { verifySignIn } from "@solana/wallet-standard-util";
import { Keypair, PublicKey } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionService, type SignInChallenge } from "#gen/toolgate/console/v1/session_service_pb.ts";
import type { SignInInput } from "../../src/domain/accounts/sign-in.ts";
import { CHALLENGE_RATE, FAILURE_RATE } from "../../src/transport/console-server/sign-in-limits.ts";
import { answerOf, pageClient, signed, signIn, textOf } from "../support/console.ts";
import { query } from "../support/database-server.ts";
import { startWorld, type World } from "../support/world.ts";
import { newChallenge, uniqueAddress, errorOf, anonymousClient } from "./anonymous-client.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ TRUSTED_PROXY_HOPS: "1" });
});
afterAll(() => world.close());

const [victim, attacker] = [Keypair.generate(), Keypair.generate()];
const addressOf = (wallet: Keypair) => wallet.publicKey.toBase58();

type Answer = ReturnType<typeof answerOf>;

/** Builds an answer from a chosen text, address and signer. */
function answer(
  challenge: SignInChallenge,
  forged: { address: Keypair; text: string | Buffer; signer: Keypair },
): Answer {
  const signedMessage = Buffer.from(forged.text);
  const value = { signedMessage, signature: signed(forged.signer, signedMessage) };
  return { nonce: challenge.nonce, address: addressOf(forged.address), proof: { case: "message", value } };
}

/** Answers a new challenge. @returns the error */
async function signInError(make: (challenge: SignInChallenge) => Answer): Promise<string> {
  const challenge = await newChallenge(world.gateway);
  return errorOf(anonymousClient(world.gateway).signIn(make(challenge)));
}

/** Changes the stored challenge. */
async function changeChallenge(
  challenge: SignInChallenge,
  changed: Partial<SignInInput>,
): Promise<SignInChallenge> {
  const values = Object.entries(changed).map(([name, value]) => `'${name}', '${value}'`);
  await query(
    world.database.url,
    `update sign_in_challenge set input = (input::jsonb ||
      jsonb_build_object(${values.join(", ")}))::json where nonce = '${challenge.nonce}'`,
  );
  return { ...challenge, ...changed };
}

describe("sign-in by message", () => {
  it("starts a session on the wallet's account and creates it on first use", async () => {
    const person = await signIn(world, victim);
    expect(person.session).toMatchObject({ wallet: addressOf(victim), operator: false, current: true });
    expect(person.session.address).toBe("127.0.0.1");
    const again = await signIn(world, victim);
    expect(again.session.accountId).toBe(person.session.accountId);
    expect(again.cookie).not.toBe(person.cookie);
    const agent = await world.agent();
    expect((await signIn(world, agent.wallet)).session.accountId).toBe(agent.accountId);
  });

  it("returns the facts about the installation", async () => {
    const { session, installation } = await (
      await signIn(world, victim)
    )
      .client(SessionService)
      .getSession({});
    expect(session?.wallet).toBe(addressOf(victim));
    const { baseUrl, payTo, usdcMint, grpcAddress } = world.gateway;
    const treasuryOwner = world.treasury.publicKey.toBase58();
    expect(installation).toMatchObject({
      baseUrl,
      payTo,
      usdcMint,
      grpcAddress,
      treasuryOwner,
      gasless: true,
    });
  });

  it("creates a challenge for the console that is valid for five minutes", async () => {
    const challenge = await newChallenge(world.gateway);
    const { host, href } = new URL(world.gateway.consoleUrl);
    expect(challenge).toMatchObject({ domain: host, uri: href, version: "1", chainId: "mainnet" });
    expect(challenge.nonce).toMatch(/^[1-9A-HJ-NP-Za-km-z]{22}$/);
    expect(Date.parse(challenge.expirationTime) - Date.parse(challenge.issuedAt)).toBe(300_000);
  });

  it("takes the domain from the settings, not from the Host header", async () => {
    const challenge = await pageClient(world.gateway, SessionService, { host: "localhost:1" }).beginSignIn(
      {},
    );
    expect(challenge.challenge?.domain).toBe(new URL(world.gateway.consoleUrl).host);
  });

  it("accepts the text in an off-chain message that names the signer", async () => {
    const inMessage = (challenge: SignInChallenge, named: Keypair) => {
      const requiredSignatories = [{ address: address(addressOf(named)) }];
      const content = textOf(challenge, addressOf(victim));
      const text = Buffer.from(
        getOffchainMessageEncoder().encode({ version: 1, content, requiredSignatories }) as Uint8Array,
      );
      return answer(challenge, { address: victim, text, signer: victim });
    };
    expect(await signInError((challenge) => inMessage(challenge, victim))).toBe("no error");
    expect(await signInError((challenge) => inMessage(challenge, attacker))).toMatch(
      /^Unauthenticated: message\.signed_message/,
    );
  });

  it("accepts a challenge of another instance exactly once under concurrency", async () => {
    const other = await world.startAnother({ CONSOLE_URL: world.gateway.consoleUrl });
    const page = pageClient({ consoleUrl: `${other.baseUrl}/console` }, SessionService, {
      origin: new URL(world.gateway.consoleUrl).origin,
    });
    const request = answerOf(victim, await newChallenge(world.gateway));
    const answers = await Promise.allSettled([
      ...Array.from({ length: 3 }, () => page.signIn(request)),
      ...Array.from({ length: 3 }, () => anonymousClient(world.gateway).signIn(request)),
    ]);
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const late = answerOf(victim, await newChallenge(world.gateway));
    expect((await page.signIn(late)).session?.wallet).toBe(addressOf(victim));
    // Another console on the same database has its own challenges.
    const otherConsole = await world.startAnother();
    const foreign = answerOf(victim, await newChallenge(otherConsole));
    expect(await errorOf(page.signIn(foreign))).toMatch(/^Unauthenticated: nonce:/);
  });
});

describe("rejected sign-in", () => {
  const cases: [name: string, make: (challenge: SignInChallenge) => Answer][] = [
    [
      "of another key that signs the victim's text",
      (it) => answer(it, { address: victim, text: textOf(it, addressOf(victim)), signer: attacker }),
    ],
    [
      "of another key that signs the victim's text for its own address",
      (it) => answer(it, { address: attacker, text: textOf(it, addressOf(victim)), signer: attacker }),
    ],
    [
      "of the victim, for another's address",
      (it) => answer(it, { address: attacker, text: textOf(it, addressOf(victim)), signer: victim }),
    ],
    [
      "of another key that signs its own text, for the victim's address",
      (it) => answer(it, { address: victim, text: textOf(it, addressOf(attacker)), signer: attacker }),
    ],
    ...[
      { domain: "evil.example" },
      { uri: "https://evil.example/console" },
      { version: "2" },
      { chainId: "devnet" },
      { statement: "Sign this harmless thing." },
      { issuedAt: "2020-01-01T00:00:00.000Z" },
      { expirationTime: "2099-01-01T00:00:00.000Z" },
      { nonce: "1111111111111111111111" },
    ].map((changed): [string, (challenge: SignInChallenge) => Answer] => [
      `with another ${Object.keys(changed).join()} in the signed text`,
      (it) =>
        answer(it, {
          address: victim,
          text: textOf({ ...it, ...changed }, addressOf(victim)),
          signer: victim,
        }),
    ]),
    ...[
      ["a line more", (text: string) => `${text}\nNot Before: 2020-01-01T00:00:00.000Z`],
      ["an empty line more", (text: string) => `${text}\n`],
      ["a line less", (text: string) => text.replace(/\nChain ID: .*/, "")],
      ["a space more", (text: string) => `${text} `],
      ["a byte order mark", (text: string) => `\uFEFF${text}`],
      ["another line end", (text: string) => text.replaceAll("\n", "\r\n")],
    ].map(([name, change]): [string, (challenge: SignInChallenge) => Answer] => [
      `with ${String(name)} in the signed text`,
      (it) =>
        answer(it, {
          address: victim,
          text: (change as (text: string) => string)(textOf(it, addressOf(victim))),
          signer: victim,
        }),
    ]),
    [
      "with a signature over something else",
      (it) => {
        const request = answerOf(victim, it);
        const value = { ...request.proof.value, signature: signed(victim, Buffer.from("something else")) };
        return { ...request, proof: { case: "message", value } };
      },
    ],
    [
      "with a signature of zeros for the key of zeros, which is of small order",
      (it) => {
        const address = "1".repeat(32);
        const value = { signedMessage: Buffer.from(textOf(it, address)), signature: Buffer.alloc(64) };
        return { nonce: it.nonce, address, proof: { case: "message", value } };
      },
    ],
  ];

  it.each(cases)("rejects a signature %s", async (_name, make) => {
    expect(await signInError(make)).toMatch(/^Unauthenticated: message\./);
  });

  it("rejects an unknown nonce", async () => {
    for (const nonce of ["1111111111111111111111", "\0", `${"1".repeat(21)}\0`]) {
      const request = { ...answerOf(victim, await newChallenge(world.gateway)), nonce };
      expect(await errorOf(anonymousClient(world.gateway).signIn(request))).toMatch(
        /^Unauthenticated: nonce:/,
      );
      const { address } = request;
      const built = anonymousClient(world.gateway).buildSignInTransaction({ nonce, address });
      expect(await errorOf(built)).toMatch(/^InvalidArgument: nonce:/);
    }
  });

  it("rejects a second answer to a challenge, even after a wrong first one", async () => {
    const challenge = await newChallenge(world.gateway);
    const page = anonymousClient(world.gateway);
    await page.signIn(answerOf(victim, challenge));
    expect(await errorOf(page.signIn(answerOf(victim, challenge)))).toMatch(/^Unauthenticated: nonce:/);

    const spoilt = await newChallenge(world.gateway);
    const text = textOf(spoilt, addressOf(victim));
    await errorOf(page.signIn(answer(spoilt, { address: victim, text, signer: attacker })));
    expect(await errorOf(page.signIn(answerOf(victim, spoilt)))).toMatch(/^Unauthenticated: nonce:/);
  });

  it("rejects an expired challenge and one from the future", async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    for (const changed of [
      { issuedAt: at(-301_000), expirationTime: at(-1_000) },
      { issuedAt: at(120_000), expirationTime: at(420_000) },
    ]) {
      const challenge = await changeChallenge(await newChallenge(world.gateway), changed);
      const error = await errorOf(anonymousClient(world.gateway).signIn(answerOf(victim, challenge)));
      expect(error).toMatch(/^Unauthenticated: nonce: the challenge is unknown, used or expired/);
    }
  });

  it("rejects an invalid address and names the field", async () => {
    const secondForm = new PublicKey(Buffer.from(`f0${"ff".repeat(30)}7f`, "hex")).toBase58();
    for (const address of ["0".repeat(40), secondForm]) {
      const request = { ...answerOf(victim, await newChallenge(world.gateway)), address };
      expect(await errorOf(anonymousClient(world.gateway).signIn(request))).toMatch(
        /^InvalidArgument: address:/,
      );
    }
  });
});

describe("verifySignIn of the library", () => {
  const outputOf = ({ proof: { value } }: Answer, account: Keypair) => ({
    account: {
      address: addressOf(account),
      publicKey: account.publicKey.toBytes(),
      chains: [],
      features: [],
    },
    signedMessage: value.signedMessage,
    signature: value.signature,
  });
  const inputOf = ({ $typeName: _, ...input }: SignInChallenge) => input;

  it("accepts what the gateway accepts", async () => {
    const challenge = await newChallenge(world.gateway);
    const request = answerOf(victim, challenge);
    expect(verifySignIn(inputOf(challenge), outputOf(request, victim))).toBe(true);
    await anonymousClient(world.gateway).signIn(request);
  });

  it("accepts an impersonation, which the gateway rejects", async () => {
    const challenge = await newChallenge(world.gateway);
    const text = textOf(challenge, addressOf(victim));
    const forged = answer(challenge, { address: victim, text, signer: attacker });
    expect(verifySignIn(inputOf(challenge), outputOf(forged, attacker))).toBe(true);
    expect(await errorOf(anonymousClient(world.gateway).signIn(forged))).toMatch(
      /^Unauthenticated: message.signature/,
    );
  });
});

describe("sign-in rate limit", () => {
  /** Repeats a request until it is rate limited and returns the number of requests before. */
  async function timesUntilLimited(ask: () => Promise<unknown>, expected: RegExp): Promise<number> {
    for (let times = 0; times < 1_000; times++) {
      const error = await errorOf(ask());
      if (error.startsWith("ResourceExhausted: too many")) return times;
      expect(error).toMatch(expected);
    }
    return Number.POSITIVE_INFINITY;
  }

  it("limits challenges per address", async () => {
    const page = pageClient(world.gateway, SessionService, uniqueAddress());
    const times = await timesUntilLimited(() => page.beginSignIn({}), /^no error$/);
    expect(times).toBeGreaterThanOrEqual(CHALLENGE_RATE.burst);
    expect(times).toBeLessThan(CHALLENGE_RATE.burst * 3);
    expect(await errorOf(anonymousClient(world.gateway).beginSignIn({}))).toBe("no error");
  });

  it("limits failed sign-ins per address", async () => {
    const page = pageClient(world.gateway, SessionService, uniqueAddress());
    const request = { ...answerOf(victim, await newChallenge(world.gateway)), nonce: "never given" };
    const times = await timesUntilLimited(() => page.signIn(request), /^Unauthenticated: nonce:/);
    expect(times).toBeGreaterThanOrEqual(FAILURE_RATE.burst);
    expect(times).toBeLessThan(FAILURE_RATE.burst * 3);
  });
});
