import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { StatusPoller } from "../../../src/solana/payments/status-poller.ts";
import { patient, useNetwork } from "../network.ts";
import { signature } from "../transaction-fixture.ts";

const net = useNetwork();
let poller: StatusPoller;
beforeAll(() => {
  const silent = { info: () => {}, warn: () => {}, error: () => {} };
  poller = new StatusPoller(net.open().rpc, silent);
});
afterAll(() => poller.close());

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
    const patience = new AbortController();
    const strangers = Array.from({ length: 256 }, () => wait({ patience: patience.signal }));
    expect(await wait({ txSignature })).toMatchObject({ finalized: false });
    patience.abort();
    const unseen = await Promise.all(strangers);
    expect(unseen.every((match) => match === undefined)).toBe(true);
    expect(net.counts()).toEqual({ getSignatureStatuses: 2 });
  });

  it("polls a signature once for any number of callers", async () => {
    const txSignature = await net.pay(1n);
    const seen = await Promise.all(Array.from({ length: 300 }, () => wait({ txSignature })));
    expect(seen.every((match) => match !== undefined)).toBe(true);
    expect(net.counts()).toEqual({ getSignatureStatuses: 1 });
  });

  it("wakes only callers whose commitment is reached", async () => {
    const txSignature = await net.pay(1n);
    const patience = new AbortController();
    const finalized = wait({ txSignature, patience: patience.signal, commitment: "finalized" });
    expect(await wait({ txSignature })).toMatchObject({ finalized: false });
    patience.abort();
    expect(await finalized).toBeUndefined();
  });

  it("treats too few statuses as no response and uses the next endpoint at once", async () => {
    const txSignature = await net.pay(1n);
    net.fail(net.second, "getSignatureStatuses", {
      kind: "result",
      result: { context: { slot: 1 }, value: [] },
    });
    const { rpc } = net.openBoth();
    const asked = vi.spyOn(rpc, "ask");
    const both = new StatusPoller(rpc, { info: () => {}, warn: () => {}, error: () => {} });
    const one = { txSignature, commitment: "confirmed", signal: patient(), patience: patient() } as const;
    expect(await both.wait(one)).toBeDefined();
    expect(asked).toHaveBeenCalledOnce();
    expect([net.counts(net.second), net.counts()]).toEqual([
      { getSignatureStatuses: 1 },
      { getSignatureStatuses: 1 },
    ]);
  });
});
