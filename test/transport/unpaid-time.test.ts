import { beforeEach, describe, expect, it } from "vitest";
import { RequestRecord } from "../../src/app/operations/request-record.ts";
import { walletCaller } from "../../src/domain/accounts/caller.ts";
import { ClientAddresses } from "../../src/transport/remote-address.ts";
import { UnpaidTime } from "../../src/transport/unpaid-time.ts";

let [now, cpu] = [0, 0];
let time: UnpaidTime;
beforeEach(() => {
  [now, cpu] = [0, 0];
  time = new UnpaidTime({ clock: { now: () => now }, cpuMs: () => cpu, clients: new ClientAddresses(0) });
});

const credentials = (peer: string) => ({ authorization: undefined, peer, forwardedFor: undefined });
const tier = (ratePerMinute: number) => ({ ratePerMinute, burst: 10 });
const account = (wallet: string, ratePerMinute = 60) =>
  walletCaller(wallet, {
    accountId: `acct_${wallet}`,
    tier: tier(ratePerMinute),
    accountTier: tier(ratePerMinute),
    blockedReason: undefined,
  });

/** A request that the event loop works on for so long, of an address or an account. */
function asked(
  ms: number,
  { peer = "192.0.2.1", caller = undefined as ReturnType<typeof account> | undefined, cpuMs = ms } = {},
) {
  const record = new RequestRecord("http", "req_1", now);
  record.caller = caller;
  time.admit(record, { caller, rate: undefined }, credentials(peer));
  time.measure(record, () => {
    now += ms;
    cpu += cpuMs;
  });
  return record;
}
const refused = expect.objectContaining({ code: "RATE_LIMITED" });

describe("time of unpaid requests", () => {
  it("is 250 ms at once and 25 ms a second, for each address", () => {
    for (let count = 0; count < 6; count++) asked(50);
    expect(() => asked(1)).toThrow(refused);
    asked(1, { peer: "192.0.2.2" });
    // 43 ms too many.
    now += 1_700;
    expect(() => asked(1)).toThrow(refused);
    now += 100;
    asked(1);
  });

  it("is shared by the networks of a site", () => {
    for (let net = 0; net < 50; net++) asked(50, { peer: `2001:db8:1:${net}::1` });
    expect(() => asked(1, { peer: "2001:db8:1:ffff::1" })).toThrow(refused);
    asked(1, { peer: "2001:db8:2::1" });
  });

  it("is more for an account whose tier allows more requests", () => {
    const [small, large] = [account("small"), account("large", 15_000)];
    for (let count = 0; count < 6; count++) asked(50, { caller: small });
    expect(() => asked(1, { caller: small })).toThrow(/^requests of this account that were not paid/);
    for (let count = 0; count < 7; count++) asked(500, { caller: large });
    expect(() => asked(1, { caller: large })).toThrow(refused);
  });

  it("includes the time for which an answer is copied", () => {
    time.answered(asked(1), 100_000_000);
    expect(() => asked(1)).not.toThrow();
    time.answered(asked(1), 100_000_000);
    expect(() => asked(1)).toThrow(refused);
  });

  it("is refunded when the call was charged", () => {
    const paid = () => {
      const record = asked(100);
      record.charged = 1n;
      time.ended(record);
    };
    for (let count = 0; count < 20; count++) expect(paid).not.toThrow();
    time.ended(asked(100));
    time.ended(asked(200));
    expect(() => asked(1)).toThrow(refused);
  });

  it("names when to try again, within a minute of an empty bucket", () => {
    asked(1_000_000);
    expect(() => asked(1)).toThrow(expect.objectContaining({ retryAfterSeconds: 61 }));
    now += 60_000;
    expect(() => asked(1)).toThrow(expect.objectContaining({ retryAfterSeconds: 1 }));
    now += 1_000;
    asked(1);
  });

  it("is that of the processor: waiting for it costs nothing", () => {
    for (let count = 0; count < 20; count++) asked(1_000, { cpuMs: 1 });
    expect(() => asked(1)).not.toThrow();
  });

  it("refuses what arrived together with what took it all", () => {
    const records = [1, 2].map(() => {
      const record = new RequestRecord("http", "req_1", now);
      time.admit(record, { caller: undefined, rate: undefined }, credentials("192.0.2.1"));
      return record;
    });
    const work = (record: RequestRecord) =>
      time.measure(record, () => {
        now += 1_000;
        cpu += 1_000;
      });
    const [first, second] = records as [RequestRecord, RequestRecord];
    work(first);
    expect(() => work(second)).toThrow(refused);
  });
});
