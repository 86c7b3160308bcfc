import { describe, expect, it } from "vitest";
import { useNetwork, verify } from "../network.ts";
import { signature } from "../transaction-fixture.ts";

const net = useNetwork();

/** Waits until the chain was asked for statuses so many times. */
const polled = (times: number) =>
  expect.poll(() => net.counts()["getSignatureStatuses"] ?? 0).toBeGreaterThanOrEqual(times);

describe("verifying a confirmed payment", () => {
  it("needs one RPC request and returns amount, memo, payer, slot and time", async () => {
    const memo = net.memo();
    const txSignature = await net.confirm(net.payment(10_000n, memo));
    const slot = BigInt(net.local.chain.slots.current - 1);

    const verdict = await verify(net.open(), txSignature);

    const payer = net.payer.publicKey.toBase58();
    expect(verdict).toMatchObject({ kind: "paid", amount: 10_000n, memo, payer, slot, finalized: false });
    expect(verdict).toHaveProperty("blockTime", expect.any(Date));
    expect(net.counts()).toEqual({ getTransaction: 1 });
  });

  it("queries only the first endpoint", async () => {
    const txSignature = await net.pay(10_000n);
    await verify(net.openBoth(), txSignature);
    expect(net.counts(net.second)).toEqual({});
  });
});

describe("verifying an unconfirmed payment", () => {
  it("waits for the confirmation", async () => {
    const chain = net.open();
    const { signature: txSignature, send } = net.sign(net.payment(10_000n));
    const verdict = verify(chain, txSignature);
    await send();
    await polled(1);
    expect(net.counts()).toMatchObject({ getTransaction: 1 });
    net.local.chain.advance();
    expect(await verdict).toMatchObject({ kind: "paid", amount: 10_000n });
    expect(net.counts()).toMatchObject({ getTransaction: 2 });
  });

  it("shares its polling with all other waits", async () => {
    const chain = net.open();
    const payments = Array.from({ length: 50 }, (_none, index) => net.sign(net.payment(BigInt(index + 1))));
    const verdicts = payments.map(({ signature: txSignature }) => verify(chain, txSignature));
    for (const { send } of payments) await send();
    await polled(1);
    net.local.chain.advance();
    const amounts = (await Promise.all(verdicts)).map((verdict) => verdict.kind === "paid" && verdict.amount);
    expect(amounts).toEqual(payments.map((_payment, index) => BigInt(index + 1)));
    expect(net.counts()["getTransaction"]).toBe(100);
    // Without sharing, each would poll; the number of polls depends on the send time.
    expect(net.counts()["getSignatureStatuses"]).toBeLessThan(payments.length);
  });

  it("retries while the status is ahead of the transaction's record", async () => {
    const txSignature = await net.pay(10_000n);
    net.fail(net.first, "getTransaction", { kind: "null" }, 3);
    expect(await verify(net.open(), txSignature)).toMatchObject({ kind: "paid" });
    expect(net.counts()).toEqual({ getTransaction: 4, getSignatureStatuses: 3 });
  });

  it("returns that it is finalized when the status says so", async () => {
    const txSignature = await net.pay(10_000n);
    net.local.chain.advance(40);
    net.fail(net.first, "getTransaction", { kind: "null" }, 1);
    expect(await verify(net.open(), txSignature)).toMatchObject({ kind: "paid", finalized: true });
  });

  it("finds a payment that is no longer in the recent statuses", async () => {
    const chain = net.open({ waitMs: 5_000 });
    const old = await net.pay(10_000n);
    net.local.chain.advance(400);
    net.fail(net.first, "getTransaction", { kind: "null" }, 1);
    expect(await verify(chain, old)).toMatchObject({ kind: "paid" });
    expect(net.counts()).toEqual({ getTransaction: 2, getSignatureStatuses: 1 });
  });

  it("gives up after the wait; soon after, it polls with the others and finds what has landed", async () => {
    const chain = net.open({ waitMs: 1_500 });
    const { signature: txSignature, send } = net.sign(net.payment(10_000n));
    const ask = () => verify(chain, txSignature);
    expect(await ask()).toEqual({ kind: "not_found" });
    const reads = net.counts()["getTransaction"];
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 2, 3].map(() => ({ kind: "not_found" })));
    expect(net.counts()["getTransaction"]).toBe(reads);
    net.clock.offset += 1_501;
    expect(await ask()).toEqual({ kind: "not_found" });
    expect(net.counts()["getTransaction"]).toBeGreaterThan(reads!);
    await send();
    net.local.chain.advance();
    expect(await verify(chain, txSignature)).toMatchObject({ kind: "paid" });
  });

  it("ends when the chain is closed", async () => {
    const chain = net.open({ waitMs: 60_000 });
    const verdict = verify(chain, signature());
    await polled(1);
    chain.close();
    expect(await verdict).toEqual({ kind: "not_found" });
  });
});

describe("a caller that disconnects", () => {
  it("is dropped wherever it was waiting", async () => {
    const gone = new Error("gone");
    await expect(
      net.open().verify({ txSignature: signature(), signal: AbortSignal.abort(gone) }),
    ).rejects.toBe(gone);
    expect(net.counts()).toEqual({});

    const whilePolling = new AbortController();
    const chain = net.open();
    const polling = chain.verify({ txSignature: signature(), signal: whilePolling.signal });
    await polled(1);
    whilePolling.abort(gone);
    await expect(polling).rejects.toBe(gone);
    const asked = net.counts()["getSignatureStatuses"] ?? 0;
    // Another wait has its polls alone.
    const other = net.open();
    const gaveUp = verify(other, signature());
    await polled(asked + 3);
    other.close();
    expect(await gaveUp).toEqual({ kind: "not_found" });

    net.fail(net.first, "getTransaction", { kind: "hang" });
    const whileAsking = new AbortController();
    const reads = net.counts()["getTransaction"] ?? 0;
    const asking = chain.verify({ txSignature: signature(), signal: whileAsking.signal });
    await expect.poll(() => net.counts()["getTransaction"]).toBe(reads + 1);
    whileAsking.abort(gone);
    await expect(asking).rejects.toBe(gone);
  });

  it("does not count as the endpoint's failure", async () => {
    const txSignature = await net.pay(10_000n);
    const chain = net.open();
    net.fail(net.first, "getTransaction", { kind: "hang" }, 5);
    for (let call = 1; call <= 5; call++) {
      const leaving = new AbortController();
      const leaves = chain.verify({ txSignature, signal: leaving.signal });
      leaves.catch(() => {});
      await expect.poll(() => net.counts()["getTransaction"], { interval: 5 }).toBe(call);
      leaving.abort(new Error("gone"));
      await expect(leaves).rejects.toThrow("gone");
    }
    expect(await verify(chain, txSignature)).toMatchObject({ kind: "paid" });
  });

  it("does not end the waits of others", async () => {
    const chain = net.open();
    const leaving = new AbortController();
    const { signature: txSignature, send } = net.sign(net.payment(10_000n));
    const stays = verify(chain, txSignature);
    const leaves = chain.verify({ txSignature, signal: leaving.signal });
    await polled(1);
    leaving.abort(new Error("gone"));
    await expect(leaves).rejects.toThrow("gone");
    await send();
    net.local.chain.advance();
    expect(await stays).toMatchObject({ kind: "paid" });
  });
});

describe("a large payment", () => {
  const LARGE = 50_000_000n;

  it("is not accepted while it is only confirmed", async () => {
    const txSignature = await net.pay(LARGE);
    expect(await verify(net.open({ waitMs: 500 }), txSignature)).toEqual({ kind: "not_finalized" });
  });

  it("is accepted at once when finalized; one micro-USD less needs no finality", async () => {
    const large = await net.pay(LARGE);
    net.local.chain.advance(40);
    const smaller = await net.pay(LARGE - 1n);
    const chain = net.open();
    expect(await verify(chain, large)).toMatchObject({ amount: LARGE, finalized: true });
    expect(net.counts()).toEqual({ getTransaction: 2 });
    expect(await verify(chain, smaller)).toMatchObject({ finalized: false });
    expect(net.counts()).toEqual({ getTransaction: 3 });
  });

  it("is awaited until finality", async () => {
    const txSignature = await net.pay(LARGE);
    const verdict = verify(net.open(), txSignature);
    await polled(1);
    net.local.chain.advance(40);
    expect(await verdict).toMatchObject({ kind: "paid", finalized: true });
  });

  it("is read again from a second endpoint", async () => {
    const txSignature = await net.pay(LARGE);
    net.local.chain.advance(40);
    const verdict = await verify(net.openBoth(), txSignature);
    expect(verdict).toMatchObject({ kind: "paid", finalized: true });
    expect([net.counts(net.first), net.counts(net.second)]).toEqual([
      { getTransaction: 1 },
      { getTransaction: 1 },
    ]);
  });

  it("is refused when a second endpoint contradicts", async () => {
    const [txSignature, other] = [await net.pay(LARGE), await net.pay(1n)];
    net.local.chain.advance(40);
    const lie = await net.getTransaction(other);
    lie.transaction.signatures = [txSignature];
    net.fail(net.second, "getTransaction", { kind: "result", result: lie });
    await expect(verify(net.openBoth(), txSignature)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(net.log).toContainEqual([
      "error",
      expect.objectContaining({ tx_signature: txSignature }),
      expect.any(String),
    ]);
  });
});

describe("a refused transaction", () => {
  it("is cached: a repeated query costs nothing", async () => {
    const txSignature = await net.confirm(net.payment(10_000n, "not ours"));
    const chain = net.open();
    const refused = { kind: "refused", code: "MEMO_NOT_OURS" };
    expect(await verify(chain, txSignature)).toMatchObject(refused);
    expect(await verify(chain, txSignature)).toMatchObject(refused);
    expect(net.counts()).toEqual({ getTransaction: 1 });
  });
});
