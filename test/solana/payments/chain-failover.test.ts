import { beforeEach, describe, expect, it } from "vitest";
import type { Fault } from "../../../src/localchain/index.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { useNetwork, verify, type Node } from "../network.ts";
import { signature } from "../transaction-fixture.ts";

const net = useNetwork();
let txSignature: string;
beforeEach(async () => {
  txSignature = await net.pay(10_000n);
});

const PAID = { kind: "paid", amount: 10_000n };
const NOTHING_LISTENS = "http://127.0.0.1:9";

/** Ways in which an endpoint fails to answer. */
const FAULTS: [string, Fault][] = [
  ["answers 500", { kind: "http", status: 500 }],
  ["answers 503", { kind: "http", status: 503, retryAfterSeconds: 2 }],
  ["answers 401", { kind: "http", status: 401 }],
  ["answers 429", { kind: "http", status: 429, retryAfterSeconds: 7 }],
  ["is unhealthy", { kind: "rpc_error", code: -32005, message: "Node is behind by 42 slots" }],
  ["lacks the block", { kind: "rpc_error", code: -32004 }],
  ["skipped the slot", { kind: "rpc_error", code: -32007 }],
  ["lacks the slot in long-term storage", { kind: "rpc_error", code: -32009 }],
  ["does not know the block's status yet", { kind: "rpc_error", code: -32014 }],
  ["has not reached the slot", { kind: "rpc_error", code: -32016 }],
  ["keeps no history", { kind: "rpc_error", code: -32011 }],
  ["is out of quota", { kind: "rpc_error", code: -32429 }],
  ["breaks inside", { kind: "rpc_error", code: -32603 }],
  ["answers garbage", { kind: "garbage" }],
  ["answers something else", { kind: "result", result: { status: "ok" } }],
  ["answers true", { kind: "result", result: true }],
  ["never answers", { kind: "hang" }],
  ["answers too late", { kind: "delay", ms: 30_000 }],
];

describe.each(FAULTS)("an endpoint that %s", (_what, fault) => {
  it("is replaced by the next endpoint", async () => {
    net.fail(net.first, "*", fault);
    expect(await verify(net.openBoth({ attemptMs: 3_000 }), txSignature)).toMatchObject(PAID);
    expect(net.counts(net.second)).toEqual({ getTransaction: 1 });
  });

  it("causes UNAVAILABLE without another endpoint, and never a verdict", async () => {
    net.fail(net.first, "*", fault);
    const verdict = verify(net.open({ attemptMs: 3_000 }), txSignature);
    await expect(verdict).rejects.toMatchObject({
      code: "UNAVAILABLE",
      status: 503,
      retryAfterSeconds: expect.any(Number),
    });
  });
});

describe("endpoints", () => {
  it("that cannot be connected are replaced, or cause UNAVAILABLE", async () => {
    const urls = [NOTHING_LISTENS, net.first.url];
    expect(await verify(net.open({ urls }), txSignature)).toMatchObject(PAID);
    const nowhere = verify(net.open({ urls: [NOTHING_LISTENS] }), txSignature);
    await expect(nowhere).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1 });
  });

  it("that are all down return a retry delay", async () => {
    net.fail(net.first, "*", { kind: "http", status: 429, retryAfterSeconds: 30 });
    net.fail(net.second, "*", { kind: "http", status: 429, retryAfterSeconds: 7 });
    const verdict = verify(net.openBoth(), txSignature);
    await expect(verdict).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 7 });
  });

  it("that all asked for a pause are polled once a second, and used again once healthy", async () => {
    net.fail(net.first, "*", { kind: "http", status: 429, retryAfterSeconds: 30 });
    net.fail(net.second, "*", { kind: "http", status: 429, retryAfterSeconds: 7 });
    const chain = net.openBoth();
    const ask = () => verify(chain, txSignature);
    for (let call = 0; call < 5; call++) await expect(ask()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect([net.counts(net.first), net.counts(net.second)]).toEqual([
      { getTransaction: 1 },
      { getTransaction: 2 },
    ]);
    net.second.faults.clear();
    await expect(ask()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    net.clock.offset += 1_001;
    for (let call = 0; call < 3; call++) expect(await ask()).toMatchObject(PAID);
    expect([net.counts(net.first), net.counts(net.second)]).toEqual([
      { getTransaction: 1 },
      { getTransaction: 5 },
    ]);
  });

  it("that asked for a pause are preferred to those that fail", async () => {
    net.fail(net.first, "*", { kind: "http", status: 429, retryAfterSeconds: 30 }, 1);
    const chain = net.open({ urls: [net.first.url, NOTHING_LISTENS] });
    const ask = () => verify(chain, txSignature);
    const endings: string[] = [];
    for (let call = 0; call < 4; call++)
      endings.push(
        await ask().then(
          ({ kind }) => kind,
          () => "out",
        ),
      );
    expect(endings).toEqual(["out", "out", "out", "paid"]);
  });

  it("that asked for a pause are left alone for it, then used again", async () => {
    net.fail(net.first, "*", { kind: "http", status: 429, retryAfterSeconds: 7 }, 1);
    const chain = net.openBoth();
    const ask = () => verify(chain, txSignature);
    await ask();
    await ask();
    expect(net.counts(net.first)).toEqual({ getTransaction: 1 });
    net.clock.offset += 6_500;
    await ask();
    expect(net.counts(net.first)).toEqual({ getTransaction: 1 });
    net.clock.offset += 600;
    await ask();
    expect([net.counts(net.first), net.counts(net.second)]).toEqual([
      { getTransaction: 2 },
      { getTransaction: 3 },
    ]);
  });

  it("that report an exhausted quota within a 200 are paused for a second", async () => {
    net.fail(net.first, "*", { kind: "rpc_error", code: -32429, message: "rate limited" }, 1);
    const chain = net.openBoth();
    for (let call = 0; call < 3; call++) await verify(chain, txSignature);
    expect(net.counts(net.first)).toEqual({ getTransaction: 1 });
    net.clock.offset += 1_001;
    await verify(chain, txSignature);
    expect(net.counts(net.first)).toEqual({ getTransaction: 2 });
  });

  it("that keep failing are paused, tried once, and used again when healthy", async () => {
    net.fail(net.first, "*", { kind: "http", status: 500 });
    const chain = net.openBoth();
    const ask = () => verify(chain, txSignature);
    for (let call = 0; call < 6; call++) await ask();
    expect(net.counts(net.first)).toEqual({ getTransaction: 3 });
    net.clock.offset += 1_001;
    for (let call = 0; call < 3; call++) await ask();
    expect(net.counts(net.first)).toEqual({ getTransaction: 4 });
    net.first.faults.clear();
    net.clock.offset += 2_001;
    for (let call = 0; call < 3; call++) await ask();
    expect(net.counts(net.first)).toEqual({ getTransaction: 7 });
    expect(net.log.map(([level]) => level)).toEqual(["warn", "warn", "info"]);
  });

  it("are not paused for data that they do not have yet", async () => {
    net.fail(net.first, "*", { kind: "rpc_error", code: -32004 });
    const chain = net.openBoth();
    for (let call = 0; call < 5; call++) await verify(chain, txSignature);
    expect(net.counts(net.first)).toEqual({ getTransaction: 5 });
  });

  it("are not asked again after an invalid request", async () => {
    net.fail(net.first, "getTransaction", {
      kind: "rpc_error",
      code: -32602,
      message: "Invalid param: WrongSize",
    });
    await expect(verify(net.openBoth(), txSignature)).rejects.toThrow("-32602");
    expect(net.counts(net.second)).toEqual({});
  });

  it("that reject the transaction's version are believed", async () => {
    net.fail(net.first, "getTransaction", { kind: "rpc_error", code: -32015 });
    const verdict = await verify(net.openBoth(), txSignature);
    expect(verdict).toMatchObject({ kind: "refused", code: "UNSUPPORTED_VERSION" });
    expect(net.counts(net.second)).toEqual({});
  });

  it("that recover during a wait are used", async () => {
    const chain = net.open();
    const { signature: later, send } = net.sign(net.payment(5n));
    const verdict = verify(chain, later);
    net.fail(net.first, "getSignatureStatuses", { kind: "http", status: 500 }, 2);
    await send();
    net.local.chain.advance();
    expect(await verdict).toMatchObject({ kind: "paid", amount: 5n });
  });
});

describe("an endpoint that does not know the transaction", () => {
  const blind = (node: Node) => net.fail(node, "*", { kind: "null" });

  it("is overruled by one that knows it", async () => {
    blind(net.first);
    expect(await verify(net.openBoth(), txSignature)).toMatchObject(PAID);
    // The next poll uses the other endpoint, then requests the transaction from the one that has seen it.
    expect(net.counts(net.first)).toEqual({ getTransaction: 1 });
    expect(net.counts(net.second)).toEqual({ getSignatureStatuses: 1, getTransaction: 1 });
  });

  it("is overruled at the end of the wait too", async () => {
    blind(net.first);
    expect(await verify(net.openBoth({ waitMs: 0 }), txSignature)).toMatchObject(PAID);
  });

  it("is not believed while the other is unreachable", async () => {
    blind(net.first);
    net.fail(net.second, "*", { kind: "http", status: 500 });
    const verdict = verify(net.openBoth({ waitMs: 300 }), txSignature);
    await expect(verdict).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("is believed when no endpoint knows it", async () => {
    const verdict = await verify(net.openBoth({ waitMs: 0 }), signature());
    expect(verdict).toEqual({ kind: "not_found" });
  });

  it.each<[string, Fault, method: string]>([
    ["while no endpoint answers", { kind: "http", status: 500 }, "*"],
    ["that was seen since", { kind: "null" }, "getTransaction"],
  ])("is not believed about an absent transaction %s", async (_when, fault, method) => {
    const chain = net.openBoth({ waitMs: 1_500 });
    const { signature: unsent, send } = net.sign(net.payment(10_000n));
    const ask = () => verify(chain, unsent);
    expect(await ask()).toEqual({ kind: "not_found" });
    await send();
    net.local.chain.advance();
    net.fail(net.first, "*", { kind: "http", status: 500 });
    net.fail(net.second, method, fault);
    await expect(ask()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("is replaced by the next one when it lags", async () => {
    net.fail(net.first, "*", { kind: "stale", slots: 100 });
    expect(await verify(net.openBoth(), txSignature)).toMatchObject(PAID);
  });
});

describe("an endpoint that returns another transaction", () => {
  it("is replaced by the next, and causes UNAVAILABLE without another", async () => {
    const result = await net.getTransaction(txSignature);
    const asked = await net.pay(20_000n);
    net.fail(net.first, "getTransaction", { kind: "result", result });
    expect(await verify(net.openBoth(), asked)).toMatchObject({ amount: 20_000n });
    const alone = verify(net.open(), asked);
    await expect(alone).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

describe("the keys in endpoint URLs", () => {
  it("appear in no error and no log", async () => {
    const secret = "k3y-0f-the-0perator";
    const urls = [net.first.url, NOTHING_LISTENS].flatMap((url) => [
      `${url}/${secret}?api-key=${secret}`,
      `${url.replace("://", `://user:${secret}@`)}/`,
    ]);
    net.fail(net.first, "*", { kind: "garbage" });
    const chain = net.open({ urls });
    const reported: unknown[] = [];
    for (let call = 0; call < 4; call++) {
      const error: unknown = await verify(chain, txSignature).catch((reason: unknown) => reason);
      for (let at = error; at instanceof Error; at = at.cause)
        reported.push(at.message, at.stack, at instanceof AggregateError && at.errors.map(String));
      expect(error).toBeInstanceOf(ToolgateError);
    }
    const text = JSON.stringify([reported, net.log]);
    expect(text).toContain("127.0.0.1:9");
    expect(net.log).not.toEqual([]);
    expect(text).not.toContain(secret);
    expect(() => net.open({ urls: [`ftp://${secret}`] })).toThrow(
      "SOLANA_RPC_URLS: entry 1 is not an http or https URL",
    );
    expect(() => net.open({ urls: [] })).toThrow("names no endpoint");
  });
});
