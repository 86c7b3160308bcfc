import { type Keypair, PublicKey, VersionedTransaction } from "@solana/web3.js";
import { afterEach, describe, expect, it } from "vitest";
import { ToolgateError } from "../../../../src/domain/core/errors.ts";
import { bid, limit, memo, payment, transfer } from "../../../payments/gasless/fixture.ts";
import {
  rpc,
  signed as signedTransfer,
  transfer as usdcTransfer,
  usdcOf,
} from "../../../localchain/paying.ts";
import { altered, PRICE, RelayScene, type Payment } from "./relay-fixture.ts";
import { closing } from "../../../support/postgres.ts";

/** Relaying on the real database and a local chain, over three instances. */
const scene = closing(await RelayScene.start());
const [one, two, three] = [scene.instance(), scene.instance(), scene.instance()];
const hasty = scene.instance({ waitMs: 300 });
afterEach(() => {
  scene.local.faults.clear();
  scene.local.faults.resetCallCounts();
});

/** The error of a refused relay. */
async function refusal(relaying: Promise<unknown>): Promise<ToolgateError> {
  const error = await relaying.then(
    (value) => expect.unreachable(`relayed: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof ToolgateError) return error;
  throw error;
}

const UNKNOWN_BLOCKHASH = PublicKey.unique().toBase58();
const hashOf = (payment: Payment) => scene.sponsor().decode(payment.bytes).messageHash;
const claimOf = async (payment: Payment) => (await one.book.find(hashOf(payment)))!;

async function expectState(payment: Payment, state: string): Promise<void> {
  await expect.poll(async () => (await claimOf(payment)).state).toBe(state);
}

describe("relay", () => {
  it("claims a payment, lands it, and never sends it again", async () => {
    const [before, since] = [await scene.treasuryHas(), Date.now()];
    const payment = scene.pay();

    const { claimedAt } = await scene.relay(one, payment);

    expect(claimedAt).toBeGreaterThanOrEqual(since - 1);
    expect(claimedAt).toBeLessThanOrEqual(Date.now());
    expect(await scene.treasuryHas()).toBe(before + PRICE);
    expect(await claimOf(payment)).toMatchObject({
      state: "confirmed",
      claimedAt,
      quoteId: payment.quote.quoteId,
    });
    const sent = scene.sends();
    const late = { receivedAt: payment.quote.expiresAt + 1 };
    expect(await scene.relay(two, payment, late)).toEqual({ claimedAt });
    expect(scene.sends()).toBe(sent);
  });

  it("accepts one of two transactions for a quote, whichever is first", async () => {
    const before = await scene.treasuryHas();
    const first = scene.pay();
    const second = { ...scene.pay({ quote: first.quote, instructions: slower }), keyId: first.keyId };

    const ended = await Promise.allSettled([scene.relay(one, first), scene.relay(two, second)]);

    expect(ended.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(ended.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "INVALID_PAYMENT", message: expect.stringContaining("(quote_taken)") },
    });
    expect(await scene.treasuryHas()).toBe(before + PRICE);
  });

  it("continues when the caller disconnects", async () => {
    const payment = scene.pay();
    const caller = new AbortController();
    scene.local.faults.add({ method: "simulateTransaction", fault: { kind: "delay", ms: 300 }, calls: 1 });
    const relaying = scene.relay(one, payment, { signal: caller.signal });
    await expect.poll(() => one.book.find(hashOf(payment)), { interval: 5 }).toBeDefined();
    caller.abort(new Error("gone"));

    await expect(relaying).rejects.toThrow("gone");
    await expectState(payment, "confirmed");
  });

  const slower = (people: Parameters<typeof payment>[0]) => payment(people).with(1, bid(2));
});

describe("payments that are not sent", () => {
  it.each<readonly [what: string, message: RegExp, make: () => Payment]>([
    ["for a cheap quote", /\(quote_too_cheap\).*\$0\.001/u, () => scene.pay({ quote: scene.quote(999n) })],
    ["of the wrong amount", /\(transfer_amount\)/u, () => scene.pay({ instructions: cheaper })],
    ["against a rule", /\(instruction_layout\)/u, () => scene.pay({ instructions: unnamed })],
    ["with an old blockhash", /\(blockhash_expired\)/u, () => scene.pay({ blockhash: UNKNOWN_BLOCKHASH })],
  ])("refuses a payment %s, and makes no claim", async (_what, message, make) => {
    const payment = make();
    const error = await refusal(scene.relay(one, payment));

    expect(error).toMatchObject({ code: "INVALID_PAYMENT", message: expect.stringMatching(message) });
    expect(scene.sends()).toBe(0);
    // The same quote can be paid as it should be.
    if (payment.quote.price !== PRICE) return;
    await scene.relay(one, scene.pay({ quote: payment.quote }));
  });

  it("refuses a payment after its quote expired", async () => {
    const payment = scene.pay();
    const error = await refusal(scene.relay(one, payment, { receivedAt: payment.quote.expiresAt + 1 }));

    expect(error).toMatchObject({
      code: "QUOTE_EXPIRED",
      message: expect.stringContaining("without a payment"),
    });
    expect(await one.book.find(hashOf(payment))).toBeUndefined();
  });

  it("refuses an unknown fee payer", async () => {
    const stranger = scene.local.controls.createWallet();
    const sponsor = scene.sponsor(stranger);
    const { transaction } = sponsor.build({
      quote: scene.quote(),
      payer: scene.payer.publicKey.toBase58(),
      recent: { blockhash: PublicKey.unique().toBase58(), lastValidBlockHeight: 1n },
    });
    expect((await refusal(one.relay.identify(transaction))).message).toContain("(payer_signature)");
    const { bytes } = scene.pay();
    const renewed = scene.instance({ sponsor });

    expect((await refusal(renewed.relay.identify(bytes))).message).toContain("(fee_payer)");
  });

  it("refuses a transaction that would fail, at no cost, and accepts another attempt", async () => {
    const poor = scene.local.controls.createWallet({ microUsd: PRICE - 1n, lamports: 0n });
    const spent = await one.book.spentToday();
    const failing = scene.pay({ payer: poor });

    const error = await refusal(scene.relay(one, failing));

    expect(error).toMatchObject({ code: "INVALID_PAYMENT", status: 402 });
    expect(error.message).toMatch(/\(simulation_failed\).*nothing was sent/u);
    expect([scene.sends(), await one.book.spentToday()]).toEqual([0, spent]);
    expect((await refusal(scene.relay(two, failing))).message).toBe(error.message);

    scene.local.controls.mintUsdc(poor.publicKey, 1n);
    await scene.relay(two, scene.pay({ payer: poor, quote: failing.quote, instructions: costlier }));
  });

  it("refuses payments beyond the account's quotas and the daily budget", async () => {
    const limits = { dailyLamports: 10n ** 12n, perAccountHourly: 2, failuresHourly: 1 };
    const tight = scene.instance({ limits });
    const { accountId } = scene.quote();
    const poor = scene.local.controls.createWallet({ microUsd: 0n, lamports: 0n });
    await scene.relay(tight, scene.pay(), { accountId });
    await scene.relay(tight, scene.pay(), { accountId });
    const fails = scene.pay({ payer: poor });
    await refusal(scene.relay(tight, fails));
    const failing = { accountId: fails.quote.accountId };
    const broke = scene.instance({ limits: { ...limits, dailyLamports: await one.book.spentToday() } });
    scene.local.faults.resetCallCounts();

    const errors = [
      await refusal(scene.relay(tight, scene.pay(), { accountId })),
      await refusal(scene.relay(tight, scene.pay(), failing)),
      await refusal(scene.relay(broke, scene.pay())),
    ];

    expect(errors.map(({ code }) => code)).toEqual(["RATE_LIMITED", "RATE_LIMITED", "UNAVAILABLE"]);
    expect(errors.map(({ message }) => /per hour|failed|today/u.exec(message)?.[0])).toEqual([
      "per hour",
      "failed",
      "today",
    ]);
    for (const { retryAfterSeconds } of errors) expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(scene.sends()).toBe(0);
  });

  it("refuses a payer that emptied its account twice before landing", async () => {
    const account = { accountId: scene.quote().accountId };
    const thief = scene.local.controls.createWallet({ microUsd: PRICE, lamports: 1_000_000n });
    const friend = scene.local.controls.createWallet({ microUsd: 0n, lamports: 1_000_000n });
    const away = async (from: Keypair, to: Keypair) => {
      const bytes = signedTransfer(scene.local, from, [
        usdcTransfer(scene.local, from, to, PRICE),
      ]).serialize();
      await rpc(scene.local, "sendTransaction", bytes.toString("base64"), { encoding: "base64" });
      await expect.poll(() => usdcOf(scene.local, to)).toBe(PRICE);
    };
    const { chain } = one;
    const draining = altered(chain, {
      send: async (bytes, signal) => {
        await away(thief, friend);
        await chain.send(bytes, signal);
      },
    });
    const robbed = scene.instance({ chain: draining });
    const spent = await one.book.spentToday();
    const answers: string[] = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      answers.push((await refusal(scene.relay(robbed, scene.pay({ payer: thief }), account))).message);
      if ((await usdcOf(scene.local, thief)) === 0n) await away(friend, thief);
    }
    expect(answers.map((message) => /failed_on_chain|within 24 hours/u.exec(message)?.[0])).toEqual([
      "failed_on_chain",
      "failed_on_chain",
      "within 24 hours",
      "within 24 hours",
    ]);
    expect((await one.book.spentToday()) - spent).toBe(20_002n);
    // The wallet is known under another account, too, and the account with another wallet.
    const others = [
      scene.relay(robbed, scene.pay({ payer: thief })),
      scene.relay(robbed, scene.pay(), account),
    ];
    for (const other of others) expect((await refusal(other)).code).toBe("RATE_LIMITED");
  });

  it("refuses a known blockhash that expires too soon to land", async () => {
    const { blockhash } = (await one.relay.recentBlockhash())!;
    const payment = scene.pay({ blockhash });
    scene.local.chain.advance(125);

    expect((await refusal(scene.relay(one, payment))).message).toContain("(blockhash_too_old)");
    // Another instance has not handed it out, and finds it good for a while.
    await scene.relay(two, payment);
  });

  const cheaper = (people: Parameters<typeof payment>[0]) =>
    payment(people).with(2, transfer(people, { amount: PRICE - 1n }));
  const unnamed = (people: Parameters<typeof payment>[0]) => payment(people).slice(0, 3);
  const costlier = (people: Parameters<typeof payment>[0]) => [
    limit(),
    bid(3),
    memo(people.memo),
    transfer(people),
  ];
});

describe("when the network does not answer", () => {
  it("claims nothing before the network answers", async () => {
    const payment = scene.pay();
    scene.local.faults.add({ method: "isBlockhashValid", fault: { kind: "http", status: 503 }, calls: 1 });

    expect(await refusal(scene.relay(scene.instance(), payment))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await one.book.find(hashOf(payment))).toBeUndefined();
  });

  it("returns PAYMENT_PENDING for an unsent claim, and sends it when the payment is repeated", async () => {
    const payment = scene.pay();
    const cut = scene.instance({ waitMs: 200 });
    scene.local.faults.add({ method: "simulateTransaction", fault: { kind: "hang" } });

    const error = await refusal(scene.relay(cut, payment));

    expect(error).toMatchObject({ code: "PAYMENT_PENDING", status: 503, retryAfterSeconds: 2 });
    expect([(await claimOf(payment)).state, scene.sends()]).toEqual(["claimed", 0]);
    scene.local.faults.clear();
    const { claimedAt } = await scene.relay(one, payment);
    expect((await claimOf(payment)).claimedAt).toBe(claimedAt);
  });

  it("returns PAYMENT_PENDING for a sent payment, which keeps its quote", async () => {
    const payment = scene.pay();
    // It takes the transaction and drops it.
    scene.local.faults.add({ method: "sendTransaction", fault: { kind: "result", result: "taken" } });

    const stopping = new AbortController();
    const leaving = scene.instance({ waitMs: 300, stopping: stopping.signal });
    expect(await refusal(scene.relay(leaving, payment))).toMatchObject({
      code: "PAYMENT_PENDING",
      retryAfterSeconds: 2,
    });
    expect((await claimOf(payment)).state).toBe("broadcast");
    stopping.abort();
    await expectState(payment, "unknown");
    const other = scene.pay({ quote: payment.quote });
    expect((await refusal(scene.relay(two, other))).message).toContain("(quote_taken)");

    scene.local.faults.clear();
    const { claimedAt } = await scene.relay(one, payment);
    expect((await claimOf(payment)).claimedAt).toBe(claimedAt);
  });

  it("finishes a claim whose storing is uncertain, and returns PAYMENT_PENDING", async () => {
    const book = altered(one.book, {
      claim: async (...args) => {
        await one.book.claim(...args);
        throw new ToolgateError("UNAVAILABLE", "the database is unreachable");
      },
    });
    const payment = scene.pay();

    expect(await refusal(scene.relay(scene.instance({ claims: book }), payment))).toMatchObject({
      code: "PAYMENT_PENDING",
    });
    expect(scene.sends()).toBe(0);
    await scene.relay(two, payment);
  });

  it("waits at most a second for a blockhash, and reports no failure", async () => {
    const instance = scene.instance();
    scene.local.faults.add({ method: "getLatestBlockhash", fault: { kind: "hang" } });
    const { quote } = scene.pay();
    const payer = scene.payer.publicKey.toBase58();
    const { signal } = new AbortController();

    const asked = [instance.relay.recentBlockhash(), refusal(instance.relay.build({ quote, payer, signal }))];

    expect(await Promise.all(asked)).toMatchObject([undefined, { code: "UNAVAILABLE" }]);
  });
});

describe("an instance that dies", () => {
  it("leaves the stored bytes to other instances when it dies right before sending", async () => {
    const payment = scene.pay();
    await one.book.move(await scene.leaveClaimed(one, payment), "broadcast");

    await scene.relay(two, { ...payment, bytes: Buffer.from(payment.bytes).fill(3, 1, 65) });

    expect(scene.sends()).toBe(1);
    expect((await claimOf(payment)).state).toBe("confirmed");
  });

  it("waits for a sent payment on an instance that expects it to fail", async () => {
    const payment = scene.pay();
    // It receives a failure, but only after another instance has sent the transaction.
    const chain = altered(three.chain, {
      simulate: async () => {
        await scene.relay(two, payment);
        return "insufficient funds";
      },
    });

    const { claimedAt } = await scene.relay(scene.instance({ chain }), payment);

    expect(await claimOf(payment)).toMatchObject({ state: "confirmed", claimedAt });
  });
});

describe("a payment that does not land", () => {
  it("fails once its blockhash expired, and frees the quote only then", async () => {
    const payment = scene.pay();
    scene.local.faults.add({ method: "sendTransaction", fault: { kind: "result", result: "taken" } });
    await refusal(scene.relay(hasty, payment));
    scene.local.chain.advance(150);
    expect((await refusal(scene.relay(hasty, payment))).code).toBe("PAYMENT_PENDING");
    scene.local.chain.advance(60);

    const error = await refusal(scene.relay(one, payment));

    expect(error.code).toBe("INVALID_PAYMENT");
    expect(error.message).toMatch(
      /\(never_landed\).*no USDC moved; sign a new transaction for the same quote/u,
    );
    scene.local.faults.clear();
    await scene.relay(two, scene.pay({ quote: payment.quote }));
    // It stays failed, though its bytes are sent again and again.
    expect((await refusal(scene.relay(three, payment))).message).toContain("(never_landed)");
  });

  it("fails after an endpoint wrongly reported it as confirmed", async () => {
    let now = Date.now();
    const instance = scene.instance({ clock: { now: () => now } });
    const payment = scene.pay();
    scene.local.faults.add({ method: "sendTransaction", fault: { kind: "http", status: 500 } });
    const value = [
      { slot: 1, confirmations: 1, err: null, status: { Ok: null }, confirmationStatus: "confirmed" },
    ];
    const result = { context: { slot: 1 }, value };
    scene.local.faults.add({ method: "getSignatureStatuses", fault: { kind: "result", result } });
    await scene.relay(instance, payment);
    scene.local.faults.clear();
    await scene.relay(instance, payment);

    now += 360_000;
    scene.local.chain.advance(300);
    const error = await refusal(scene.relay(instance, payment));
    expect(error.code).toBe("INVALID_PAYMENT");
    expect(error.message).toMatch(/\(never_landed\).*no USDC moved, repeat the call without a payment/u);
  });

  it("fails with the chain's reason when the chain executed it", async () => {
    const poor = scene.local.controls.createWallet({ microUsd: 0n, lamports: 0n });
    const payment = scene.pay({ payer: poor });
    const value = { err: null, logs: [], accounts: null, unitsConsumed: 0, returnData: null };
    const result = { context: { slot: 1 }, value };
    scene.local.faults.add({ method: "simulateTransaction", fault: { kind: "result", result } });

    const error = await refusal(scene.relay(one, payment));

    expect(error.message).toMatch(/\(failed_on_chain\).*no USDC moved/u);
    scene.local.faults.clear();
    scene.local.controls.mintUsdc(poor.publicKey, PRICE);
    await scene.relay(two, scene.pay({ payer: poor, quote: payment.quote }));
  });
});

describe("a new fee payer", () => {
  it("returns the outcomes of payments relayed by the former fee payer", async () => {
    const payment = scene.pay();
    const { claimedAt } = await scene.relay(one, payment);
    const renewed = scene.instance({ sponsor: scene.sponsor(scene.local.controls.createWallet()) });

    expect(await scene.relay(renewed, payment)).toEqual({ claimedAt });
  });
});

describe("blockhashes for callers", () => {
  it("fetches a blockhash once for concurrent callers and again after some seconds", async () => {
    let now = Date.now();
    const { relay } = scene.instance({ clock: { now: () => now } });

    const all = await Promise.all(Array.from({ length: 20 }, () => relay.recentBlockhash()));
    await relay.recentBlockhash();

    expect(new Set(all.map((recent) => recent?.blockhash)).size).toBe(1);
    expect(scene.local.faults.callCount("getLatestBlockhash")).toBe(1);
    now += 3_000;
    await relay.recentBlockhash();
    expect(scene.local.faults.callCount("getLatestBlockhash")).toBe(2);
  });

  it("delays one caller at most while the network hangs", async () => {
    let now = Date.now();
    const { relay } = scene.instance({ clock: { now: () => now } });
    scene.local.faults.add({ method: "getLatestBlockhash", fault: { kind: "hang" } });
    const before = scene.local.faults.callCount("getLatestBlockhash");

    for (const _ of [1, 2, 3]) expect(await relay.recentBlockhash()).toBeUndefined();

    expect(scene.local.faults.callCount("getLatestBlockhash")).toBe(before + 1);
    scene.local.faults.clear();
    now += 2_000;
    expect(await relay.recentBlockhash()).toBeDefined();
  });

  it("builds a transaction that the payer signs and the relay accepts", async () => {
    const { quote, keyId } = scene.pay();
    const payer = scene.payer.publicKey.toBase58();
    const { signal } = new AbortController();
    const build = (quoteToPay = quote) => one.relay.build({ quote: quoteToPay, payer, signal });

    const { transaction, feePayer } = await build();

    expect(feePayer).toBe(scene.feePayer.publicKey.toBase58());
    const bytes = signedBy(transaction);
    await scene.relay(one, { quote, bytes, keyId });
    expect((await refusal(build(scene.quote(1n)))).message).toContain("(quote_too_cheap)");
    expect((await refusal(build({ ...quote, expiresAt: 0 }))).code).toBe("QUOTE_EXPIRED");
  });

  function signedBy(transaction: Uint8Array): Uint8Array {
    const read = VersionedTransaction.deserialize(transaction);
    read.sign([scene.payer]);
    return read.serialize();
  }
});
