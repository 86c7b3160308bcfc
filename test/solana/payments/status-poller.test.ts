import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { StatusPoller } from "../../../src/solana/payments/status-poller.ts";
import { Network, patient } from "../network.ts";
import { signature } from "../transaction-fixture.ts";

let net: Network;
let poller: StatusPoller;
beforeAll(async () => {
  net = await Network.start();
  const silent = { info: () => {}, warn: () => {}, error: () => {} };
  poller = new StatusPoller(net.open().rpc, silent);
});
afterEach(() => net.heal());
afterAll(async () => {
  poller.close();
  await net.close();
});

const wait = (over: Partial<Parameters<StatusPoller["wait"]>[0]> = {}) =>
  poller.wait({
    txSignature: signature(),
    commitment: "confirmed",
    signal: patient(),
    patience: patient(),
    ...over,
  });

describe("the status poller", () => {
  it("polls nothing for a caller that disconnected or timed out", async () => {
    const gone = new Error("gone");
    await expect(wait({ signal: AbortSignal.abort(gone) })).rejects.toBe(gone);
    expect(await wait({ patience: AbortSignal.abort() })).toBeUndefined();
    expect(net.counts()).toEqual({});
  });

  it("polls 256 signatures per request", async () => {
    const txSignature = await net.pay(1n);
    const patience = AbortSignal.timeout(600);
    const strangers = Array.from({ length: 256 }, () => wait({ patience }));
    const [seen, ...unseen] = await Promise.all([wait({ txSignature, patience }), ...strangers]);
    expect(seen).toMatchObject({ finalized: false });
    expect(unseen.every((match) => match === undefined)).toBe(true);
    expect(net.counts()).toEqual({ getSignatureStatuses: 2 });
  });

  it("polls a signature once for any number of callers", async () => {
    const [txSignature, patience] = [await net.pay(1n), AbortSignal.timeout(3_000)];
    const seen = await Promise.all(Array.from({ length: 300 }, () => wait({ txSignature, patience })));
    expect(seen.every((match) => match !== undefined)).toBe(true);
    expect(net.counts()).toEqual({ getSignatureStatuses: 1 });
  });

  it("wakes only callers whose commitment is reached", async () => {
    const txSignature = await net.pay(1n);
    const patience = AbortSignal.timeout(600);
    const [confirmed, finalized] = await Promise.all([
      wait({ txSignature, patience }),
      wait({ txSignature, patience, commitment: "finalized" }),
    ]);
    expect([confirmed?.finalized, finalized]).toEqual([false, undefined]);
  });

  it("treats too few statuses as no response and uses the next endpoint at once", async () => {
    const txSignature = await net.pay(1n);
    net.fail(net.second, "getSignatureStatuses", {
      kind: "result",
      result: { context: { slot: 1 }, value: [] },
    });
    const both = new StatusPoller(net.openBoth().rpc, { info: () => {}, warn: () => {}, error: () => {} });
    // Enough for one tick, not for two.
    const patience = AbortSignal.timeout(750);
    expect(
      await both.wait({ txSignature, commitment: "confirmed", signal: patient(), patience }),
    ).toBeDefined();
    expect([net.counts(net.second), net.counts()]).toEqual([
      { getSignatureStatuses: 1 },
      { getSignatureStatuses: 1 },
    ]);
  });
});
