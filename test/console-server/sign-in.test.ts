import type { MessageInitShape } from "@bufbuild/protobuf";
import { address, getOffchainMessageEncoder } from "@solana/kit";
import { verifySignIn } from "@solana/wallet-standard-util";
import {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  SessionService,
  type SignInChallenge,
  type SignInRequestSchema,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import type { SignInInput } from "../../src/domain/accounts/sign-in.ts";
import { CHALLENGE_RATE, FAILURE_RATE } from "../../src/transport/console-server/sign-in-limits.ts";
import { answerOf, pageClient, signed, signIn, textOf } from "../support/console.ts";
import { query } from "../support/database-server.ts";
import { startWorld } from "../support/world.ts";
import { newChallenge, uniqueAddress, errorOf, anonymousClient } from "./anonymous-client.ts";
import { closing } from "../support/postgres.ts";

const world = closing(await startWorld({ TRUSTED_PROXY_HOPS: "1" }));

const [victim, attacker] = [Keypair.generate(), Keypair.generate()];
const addressOf = (wallet: Keypair) => wallet.publicKey.toBase58();

type Answer = ReturnType<typeof answerOf>;

/** Builds an answer from a chosen text, address and signer. */
function answer(challenge: SignInChallenge, by: Keypair, text: string | Buffer, signer = by): Answer {
  const signedMessage = Buffer.from(text);
  const value = { signedMessage, signature: signed(signer, signedMessage) };
  return { nonce: challenge.nonce, address: addressOf(by), proof: { case: "message", value } };
}

/** Answers a new challenge. @returns the error */
async function signInError(
  make: (challenge: SignInChallenge) => MessageInitShape<typeof SignInRequestSchema>,
): Promise<string> {
  const challenge = await newChallenge(world.gateway);
  return errorOf(anonymousClient(world.gateway).signIn(make(challenge)));
}

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
      return answer(challenge, victim, text);
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
      (it) => answer(it, victim, textOf(it, addressOf(victim)), attacker),
    ],
    [
      "of another key that signs the victim's text for its own address",
      (it) => answer(it, attacker, textOf(it, addressOf(victim))),
    ],
    [
      "of the victim, for another's address",
      (it) => answer(it, attacker, textOf(it, addressOf(victim)), victim),
    ],
    [
      "of another key that signs its own text, for the victim's address",
      (it) => answer(it, victim, textOf(it, addressOf(attacker)), attacker),
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
      (it) => answer(it, victim, textOf({ ...it, ...changed }, addressOf(victim))),
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
      (it) => answer(it, victim, (change as (text: string) => string)(textOf(it, addressOf(victim)))),
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
    await errorOf(page.signIn(answer(spoilt, victim, text, attacker)));
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
    const forged = answer(challenge, victim, text, attacker);
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

  it("limits new accounts per network, and neither known wallets nor other networks", async () => {
    const gateway = await world.startAnother({ NEW_ACCOUNTS_PER_DAY: "2" });
    const there = { "x-forwarded-for": "2001:db8:1:1::1" };
    const signInFrom = async (headers: Record<string, string>, wallet: Keypair, signer = wallet) => {
      const challenge = await newChallenge(gateway);
      const request = answer(challenge, wallet, textOf(challenge, addressOf(wallet)), signer);
      return pageClient(gateway, SessionService, headers).signIn(request);
    };
    const [first, second] = [Keypair.generate(), Keypair.generate()];
    expect(await errorOf(signInFrom(there, first, second))).toMatch(/^Unauthenticated: message/);
    for (const wallet of [first, second]) await signInFrom(there, wallet);

    const neighbour = { "x-forwarded-for": "2001:db8:1:1::2" };
    // Refusals are no failed sign-ins.
    for (let times = 0; times <= FAILURE_RATE.burst; times++) {
      const signedIn = signInFrom(neighbour, Keypair.generate());
      const refusal = await signedIn.then(() => undefined, ConnectError.from);
      expect(refusal?.rawMessage ?? "no error").toMatch(
        /^too many new accounts from your network \(2 a day\)/,
      );
      expect(Number(refusal?.metadata.get("retry-after"))).toBeGreaterThan(40_000);
      expect(refusal?.metadata.has("x-ratelimit-limit")).toBe(false);
    }
    expect((await signInFrom(neighbour, first)).session?.wallet).toBe(addressOf(first));
    expect(await errorOf(signInFrom({ "x-forwarded-for": "2001:db8:2:1::1" }, Keypair.generate()))).toBe(
      "no error",
    );
    for (let last = 1; last <= 16; last++)
      await signInFrom({ "x-forwarded-for": `192.0.2.${last}` }, Keypair.generate());
    const sameSite = errorOf(signInFrom({ "x-forwarded-for": "192.0.2.99" }, Keypair.generate()));
    expect(await sameSite).toMatch(/too many new accounts from your network/);
    await signInFrom({ "x-forwarded-for": "198.51.100.1" }, Keypair.generate());
  });
});

const MEMO = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const MEMO_V1 = new PublicKey("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
const LIGHTHOUSE = new PublicKey("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
const BLOCKHASH = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";

const [person, other] = [Keypair.generate(), Keypair.generate()];
const personAddress = addressOf(person);

const memo = (text: string, programId = MEMO, signer?: PublicKey) =>
  new TransactionInstruction({
    programId,
    keys: signer ? [{ pubkey: signer, isSigner: true, isWritable: false }] : [],
    data: Buffer.from(text),
  });
/** Adds an account that does not sign. */
function naming(instruction: TransactionInstruction, pubkey: PublicKey): TransactionInstruction {
  instruction.keys.push({ pubkey, isSigner: false, isWritable: false });
  return instruction;
}
/** A Lighthouse assertion, which wallets add, with a required signer. */
const asserted = (signer: PublicKey) =>
  new TransactionInstruction({
    programId: LIGHTHOUSE,
    keys: [{ pubkey: signer, isSigner: true, isWritable: false }],
    data: Buffer.from([9, 0]),
  });
const transfer = () =>
  SystemProgram.transfer({ fromPubkey: person.publicKey, toPubkey: other.publicKey, lamports: 1 });

function signedBy(payer: Keypair, instructions: TransactionInstruction[], ...signers: Keypair[]): Uint8Array {
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: BLOCKHASH,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer, ...signers]);
  return transaction.serialize();
}

function transactionError(make: (text: string, challenge: SignInChallenge) => Uint8Array): Promise<string> {
  return signInError((challenge) => {
    const value = make(textOf(challenge, personAddress), challenge);
    return { nonce: challenge.nonce, address: personAddress, proof: { case: "transaction", value } };
  });
}

async function buildTransaction(challenge: SignInChallenge): Promise<VersionedTransaction> {
  const { transaction } = await anonymousClient(world.gateway).buildSignInTransaction({
    nonce: challenge.nonce,
    address: personAddress,
  });
  return VersionedTransaction.deserialize(transaction);
}

describe("sign-in by transaction", () => {
  it("accepts the transaction built for the challenge, once", async () => {
    const challenge = await newChallenge(world.gateway);
    const transaction = await buildTransaction(challenge);
    transaction.sign([person]);
    const proof = { case: "transaction" as const, value: transaction.serialize() };
    const request = { nonce: challenge.nonce, address: personAddress, proof };
    const { session } = await anonymousClient(world.gateway).signIn(request);
    expect(session?.wallet).toBe(personAddress);
    expect(await errorOf(anonymousClient(world.gateway).signIn(request))).toMatch(/^Unauthenticated: nonce:/);
  });

  it("builds a transaction that the network rejects", async () => {
    const { wallet } = await world.agent();
    const challenge = await newChallenge(world.gateway);
    const request = { nonce: challenge.nonce, address: wallet.publicKey.toBase58() };
    const { transaction: bytes } = await anonymousClient(world.gateway).buildSignInTransaction(request);
    const transaction = VersionedTransaction.deserialize(bytes);
    transaction.sign([wallet]);
    const connection = new Connection(world.chain.url, "confirmed");
    await expect(connection.sendRawTransaction(transaction.serialize())).rejects.toThrow(/blockhash/i);
    // Control: with a valid blockhash it would succeed.
    const { value } = await connection.simulateTransaction(transaction, { replaceRecentBlockhash: true });
    expect(value.err).toBeNull();
  });

  it("accepts additions by wallets: compute budgets, assertions, another blockhash, a memo signer", async () => {
    const error = await transactionError((text) =>
      signedBy(person, [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 10_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
        memo(text, MEMO, person.publicKey),
        new TransactionInstruction({ programId: LIGHTHOUSE, keys: [], data: Buffer.from([9, 0]) }),
      ]),
    );
    expect(error).toBe("no error");
  });

  it.each<[string, (text: string, challenge: SignInChallenge) => Uint8Array]>([
    [
      "unsigned",
      (text) => signedBy(person, [memo(text)]).map((byte, at) => (at >= 1 && at <= 64 ? 0 : byte)),
    ],
    ["signed by another", (text) => signedBy(other, [memo(text)])],
    ["signed by another beside", (text) => signedBy(person, [memo(text), asserted(other.publicKey)], other)],
    ["signed by another too", (text) => signedBy(person, [memo(text, MEMO, other.publicKey)], other)],
    ["paid for by another", (text) => signedBy(other, [memo(text, MEMO, person.publicKey)], person)],
    [
      "of another, with the address's signature in its place",
      (text) => {
        const bytes = signedBy(other, [memo(text)]);
        return Buffer.concat([bytes.subarray(0, 1), signed(person, bytes.subarray(65)), bytes.subarray(65)]);
      },
    ],
    [
      "in a longer form than it needs",
      (text) => Buffer.concat([Buffer.from([0x81, 0]), signedBy(person, [memo(text)]).subarray(1)]),
    ],
    [
      "changed after it was signed",
      (text) => signedBy(person, [memo(text)]).map((b, at) => (at === 100 ? b ^ 1 : b)),
    ],
    ["with a second memo", (text) => signedBy(person, [memo(text), memo("svc:another")])],
    ["with the memo twice", (text) => signedBy(person, [memo(text), memo(text)])],
    ["without a memo", () => signedBy(person, [ComputeBudgetProgram.setComputeUnitLimit({ units: 1 })])],
    ["with the memo of another program", (text) => signedBy(person, [memo(text, MEMO_V1)])],
    ["whose memo names another", (text) => signedBy(person, [naming(memo(text), other.publicKey)])],
    ["with a transfer", (text) => signedBy(person, [memo(text), transfer()])],
    ["with another text", (text) => signedBy(person, [memo(`${text} `)])],
    [
      "with a text that names another",
      (_text, it) => signedBy(person, [memo(textOf(it, other.publicKey.toBase58()))]),
    ],
    ["with something behind it", (text) => Buffer.concat([signedBy(person, [memo(text)]), Buffer.from([0])])],
    ["that is none", () => Buffer.from("no transaction")],
    [
      "that takes accounts from a table",
      (text) => {
        const state = { addresses: [other.publicKey], deactivationSlot: 2n ** 64n - 1n };
        const table = new AddressLookupTableAccount({
          key: Keypair.generate().publicKey,
          state: { ...state, lastExtendedSlot: 0, lastExtendedSlotStartIndex: 0 },
        });
        const asserted = new TransactionInstruction({
          programId: LIGHTHOUSE,
          keys: [{ pubkey: other.publicKey, isSigner: false, isWritable: false }],
          data: Buffer.from([9]),
        });
        const message = new TransactionMessage({
          payerKey: person.publicKey,
          recentBlockhash: BLOCKHASH,
          instructions: [memo(text), asserted],
        }).compileToV0Message([table]);
        const transaction = new VersionedTransaction(message);
        transaction.sign([person]);
        return transaction.serialize();
      },
    ],
  ])("rejects a transaction %s", async (_name, make) => {
    expect(await transactionError(make)).toMatch(/^Unauthenticated: transaction:/);
  });

  it("builds no transaction for an unknown challenge or an invalid address", async () => {
    const page = anonymousClient(world.gateway);
    const unknown = page.buildSignInTransaction({ nonce: "1111111111111111111111", address: personAddress });
    expect(await errorOf(unknown)).toMatch(/^InvalidArgument: nonce:/);
    const { nonce } = await newChallenge(world.gateway);
    const invalidAddress = page.buildSignInTransaction({ nonce, address: "0".repeat(40) });
    expect(await errorOf(invalidAddress)).toMatch(/^InvalidArgument: address:/);
  });
});
