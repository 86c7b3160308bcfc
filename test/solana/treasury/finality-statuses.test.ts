import { beforeEach, describe, expect, it } from "vitest";
import type { FinalityStatus, UnfinalizedPayment } from "../../../src/app/treasury/treasury-ledger.ts";
import type { Fault } from "../../../src/localchain/index.ts";
import type { Json } from "../../../src/localchain/json.ts";
import { patient, useNetwork, type Node } from "../network.ts";
import { signature } from "../transaction-fixture.ts";

const net = useNetwork();

const AMOUNT = 10_000n;
/** Slots after which an unknown payment is gone. */
const SAFE = 601;

/** A payment of 0.01 USDC, confirmed. */
async function paid(): Promise<UnfinalizedPayment> {
  const txSignature = await net.pay(AMOUNT);
  return { reference: txSignature, slot: BigInt(net.local.chain.slots.current - 1), amount: AMOUNT };
}

/** A payment that was confirmed, and then forked away. */
async function forked(): Promise<UnfinalizedPayment> {
  const payment = await paid();
  net.local.chain.drop(payment.reference);
  return payment;
}

/** Through both endpoints. */
function statusesOf(...payments: UnfinalizedPayment[]): Promise<FinalityStatus[]> {
  return net.watch().finalityStatuses(payments, patient());
}

/** The same, with patience for endpoints that hang. */
function statusWithFault(payment: UnfinalizedPayment, fault: Fault): Promise<FinalityStatus[]> {
  const attempt = fault.kind === "hang" ? { attemptMs: 3_000 } : {};
  return net.watch(net.openBoth(attempt)).finalityStatuses([payment], patient());
}

/** The status of a transaction in a slot far away, as an endpoint claims it. */
function statuses(
  claims: { err: Json; confirmationStatus?: string },
  slot = net.local.chain.slots.current,
): Fault {
  const status = { slot: 5, confirmations: null, confirmationStatus: "finalized", ...claims };
  return { kind: "result", result: { context: { slot }, value: [status] } };
}

describe("the finality status of an accepted payment", () => {
  it("is pending while only confirmed, then finalized", async () => {
    const payment = await paid();
    expect(await statusesOf(payment)).toEqual(["pending"]);
    expect(net.counts(net.first)).toEqual({ getSlot: 1, getSignatureStatuses: 1 });
    expect(net.counts(net.second)).toEqual({ getSlot: 1, getSignatureStatuses: 1 });
    net.local.chain.advance(32);
    expect(await statusesOf(payment)).toEqual(["finalized"]);
  });

  it("is finalized long afterwards", async () => {
    const payment = await paid();
    net.local.chain.advance(SAFE + 32);
    expect(await statusesOf(payment)).toEqual(["finalized"]);
  });

  it("is returned in the order of the request", async () => {
    const done = await paid();
    const gone = await forked();
    const failed = { ...(await paid()), reference: await net.confirm(net.payment(10n ** 15n)) };
    net.local.chain.advance(SAFE + 32);
    const other = { ...done, amount: AMOUNT + 1n };
    const late = await paid();
    const many = [gone, done, late, failed, other];
    expect(await statusesOf(...many)).toEqual(["vanished", "finalized", "pending", "failed", "different"]);
  });

  it("is returned for hundreds of payments, 256 per request", async () => {
    const done = await paid();
    net.local.chain.advance(32);
    const unknown = Array.from({ length: 256 }, () => ({ ...done, reference: signature() }));
    const reported = await statusesOf(...unknown.with(100, done), done);
    expect(reported).toEqual([...unknown.map(() => "pending").with(100, "finalized"), "finalized"]);
    expect(net.counts(net.first)).toEqual({ getSlot: 2, getSignatureStatuses: 2 });
    expect(net.counts(net.second)).toEqual({ getSlot: 2, getSignatureStatuses: 2, getTransaction: 2 });
  });

  it("is finalized when one endpoint reports it and returns the transaction", async () => {
    const payment = await paid();
    net.local.chain.advance(32);
    for (const fault of DOUBTFUL) {
      net.fail(net.first, "*", fault);
      expect(await statusWithFault(payment, fault)).toEqual(["finalized"]);
      net.heal();
    }
  });

  it("is not finalized by a status alone", async () => {
    const payment = await paid();
    net.fail(net.first, "getSignatureStatuses", statuses({ err: null }));
    expect(await statusesOf(payment)).toEqual(["pending"]);
  });

  it("is different for another amount only if no endpoint contradicts", async () => {
    const payment = await paid();
    const other = await net.getTransaction(await net.pay(1n));
    other.transaction.signatures = [payment.reference];
    net.local.chain.advance(32);
    const lie = (liar: Node) => net.fail(liar, "getTransaction", { kind: "result", result: other });
    lie(net.first);
    expect(await statusesOf(payment)).toEqual(["finalized"]);
    net.first.faults.clear();
    lie(net.second);
    expect(await statusesOf(payment)).toEqual(["pending"]);
    lie(net.first);
    expect(await statusesOf(payment)).toEqual(["different"]);
    expect(net.log.filter(([level]) => level === "error")).toHaveLength(1);
  });

  it("ends with the caller", async () => {
    const payment = await paid();
    const gone = new Error("gone");
    await expect(net.watch().finalityStatuses([payment], AbortSignal.abort(gone))).rejects.toBe(gone);
    net.fail(net.second, "getTransaction", { kind: "hang" });
    net.local.chain.advance(32);
    const leaving = new AbortController();
    const reported = net.watch().finalityStatuses([payment], leaving.signal);
    setTimeout(() => leaving.abort(gone), 50);
    await expect(reported).rejects.toBe(gone);
  });

  it("throws UNAVAILABLE when no endpoint answers", async () => {
    const payment = await paid();
    net.fail(net.first, "*", { kind: "http", status: 500 });
    net.fail(net.second, "getSignatureStatuses", { kind: "garbage" });
    await expect(statusesOf(payment)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

/** Responses that prove nothing. */
const DOUBTFUL: Fault[] = [
  { kind: "http", status: 429, retryAfterSeconds: 1 },
  { kind: "http", status: 500 },
  { kind: "rpc_error", code: -32005, message: "Node is behind" },
  { kind: "rpc_error", code: -32011, message: "Transaction history is not available from this node" },
  { kind: "rpc_error", code: -32602, message: "Invalid params" },
  { kind: "garbage" },
  { kind: "hang" },
  { kind: "null" },
  { kind: "result", result: {} },
  { kind: "result", result: { context: { slot: 1e9 }, value: [] } },
  { kind: "result", result: { value: [null] } },
  { kind: "stale", slots: 700 },
];

describe("a payment that was forked away", () => {
  let payment: UnfinalizedPayment;
  beforeEach(async () => {
    payment = await forked();
  });

  it("is vanished once every endpoint is far beyond its slot", async () => {
    net.local.chain.advance(32 + SAFE - 2);
    expect(await statusesOf(payment)).toEqual(["pending"]);
    net.local.chain.advance();
    expect(await statusesOf(payment)).toEqual(["vanished"]);
  });

  it("may land again and is then finalized", async () => {
    const { signature: txSignature, send } = net.sign(net.payment(AMOUNT));
    await send();
    net.local.chain.drop(txSignature);
    await send();
    net.local.chain.advance(33);
    expect(await statusesOf({ ...payment, reference: txSignature })).toEqual(["finalized"]);
  });

  it.each(DOUBTFUL)("is pending while one endpoint answers %j", async (fault) => {
    net.local.chain.advance(SAFE + 32);
    // Methods whose faulty answer is true, or excludes the endpoint.
    const honest = { null: ["*", "getSignatureStatuses", "getTransaction"], stale: ["getTransaction"] };
    const methods = ["*", "getSlot", "getSignatureStatuses", "getTransaction"];
    const knowing = fault.kind === "null" || fault.kind === "stale" ? honest[fault.kind] : [];
    for (const method of methods.filter((each) => !knowing.includes(each))) {
      for (const node of [net.first, net.second]) {
        net.fail(node, method, fault);
        expect(await statusWithFault(payment, fault), method).toEqual(["pending"]);
        node.faults.clear();
      }
    }
  });
});

describe("a lying endpoint", () => {
  let payment: UnfinalizedPayment;
  beforeEach(async () => {
    payment = await paid();
    net.local.chain.advance(SAFE + 32);
  });

  /** One endpoint lies, the other is unavailable. An outage is no verdict either. */
  async function withSilence(lie: (liar: Node) => void): Promise<FinalityStatus[]> {
    const reported: FinalityStatus[] = [];
    const silences = DOUBTFUL.filter(({ kind }) => kind !== "null");
    for (const [liar, other] of [
      [net.first, net.second],
      [net.second, net.first],
    ] as const) {
      for (const silence of silences) {
        lie(liar);
        net.fail(other, "getSignatureStatuses", silence);
        reported.push(
          ...(await statusWithFault(payment, silence).catch((): FinalityStatus[] => ["pending"])),
        );
        net.heal();
      }
    }
    return reported;
  }

  it("does not make a payment vanish by not knowing it", async () => {
    const reported = await withSilence((liar) => net.fail(liar, "*", { kind: "null" }));
    const unknowing = await withSilence((liar) => {
      net.fail(liar, "getSignatureStatuses", { kind: "null" });
      net.fail(liar, "getTransaction", { kind: "null" });
    });
    expect(
      [...reported, ...unknowing].filter((standing) => !["pending", "finalized"].includes(standing)),
    ).toEqual([]);
  });

  it("does not make a payment vanish by losing its status everywhere while the transaction is known", async () => {
    for (const node of [net.first, net.second]) net.fail(node, "getSignatureStatuses", { kind: "null" });
    expect(await statusesOf(payment)).toEqual(["pending"]);
    net.fail(net.first, "getTransaction", { kind: "null" });
    expect(await statusesOf(payment)).toEqual(["pending"]);
    net.fail(net.second, "getTransaction", { kind: "null" });
    expect(await statusesOf(payment)).toEqual(["vanished"]);
  });

  it("does not make a payment fail by reporting a failure", async () => {
    const err = { InstructionError: [0, { Custom: 1 }] };
    const { meta, ...rest } = await net.getTransaction(payment.reference);
    const failed = { ...rest, meta: { ...(meta as object), err } };
    const lie = (liar: Node) => {
      net.fail(liar, "getSignatureStatuses", statuses({ err }));
      net.fail(liar, "getTransaction", { kind: "result", result: failed });
    };
    expect((await withSilence(lie)).includes("failed")).toBe(false);
    lie(net.first);
    expect(await statusesOf(payment)).not.toContain("failed");
    // The status alone is not enough either.
    for (const node of [net.first, net.second]) node.faults.clear();
    for (const node of [net.first, net.second]) net.fail(node, "getSignatureStatuses", statuses({ err }));
    expect(await statusesOf(payment)).toEqual(["pending"]);
  });
});

describe("a payment that failed on the chain after all", () => {
  it("is failed when every endpoint says so, and pending while one does not know it", async () => {
    const payment = await paid();
    const failed = { ...payment, reference: await net.confirm(net.payment(10n ** 15n)) };
    expect(await statusesOf(failed)).toEqual(["pending"]);
    net.local.chain.advance(32);
    expect(await statusesOf(failed)).toEqual(["failed"]);
    net.fail(net.second, "*", { kind: "stale", slots: 60 });
    expect(await statusesOf(failed)).toEqual(["pending"]);
  });

  it("is pending when status and transaction contradict each other", async () => {
    const payment = await paid();
    const failed = { ...payment, reference: await net.confirm(net.payment(10n ** 15n)) };
    net.local.chain.advance(32);
    const err = { InstructionError: [0, { Custom: 1 }] };
    for (const claims of [{ err: null }, { err, confirmationStatus: "confirmed" }]) {
      for (const node of [net.first, net.second]) net.fail(node, "getSignatureStatuses", statuses(claims));
      expect(await statusesOf(failed)).toEqual(["pending"]);
      net.heal();
    }
  });

  it("is failed also when an endpoint far beyond its slot has pruned it", async () => {
    const payment = await paid();
    const failed = { ...payment, reference: await net.confirm(net.payment(10n ** 15n)) };
    net.local.chain.advance(SAFE + 32);
    for (const method of ["getSignatureStatuses", "getTransaction"])
      net.fail(net.first, method, { kind: "null" });
    expect(await statusesOf(failed)).toEqual(["failed"]);
  });
});
