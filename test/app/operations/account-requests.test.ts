import { beforeEach, describe, expect, it } from "vitest";
import { AccountRequests, MAX_BODY } from "../../../src/app/operations/account-requests.ts";
import { RequestRecord, type Transport } from "../../../src/app/operations/request-record.ts";
import type { Caller, RequestLogSettings } from "../../../src/domain/accounts/caller.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { newCaller } from "../context.ts";

const dropped: unknown[] = [];
let requests: AccountRequests;
beforeEach(() => {
  dropped.length = 0;
  requests = new AccountRequests(systemClock, systemRandom, {
    count: (...counted) => void dropped.push(counted),
  });
});

const callerWith = (requestLog?: RequestLogSettings): Caller => newCaller({ requestLog });

/** Ends a call of `echo`. */
function end(caller: Caller | undefined, change: Partial<RequestRecord> = {}, transport: Transport = "http") {
  const record = new RequestRecord(transport, "req_1", 0);
  const call = { caller, tool: "echo", status: 200, ms: 3, params: { a: 1 }, result: { b: 2 } };
  requests.ended(Object.assign(record, call, change));
}

describe("the requests that an account's log has", () => {
  it("are none of strangers and of the console", () => {
    end(undefined, { status: 402 });
    end(callerWith(), { status: 402 }, "console");
    expect(requests.take()).toEqual([]);
  });

  it("hold params and result of what the account stores only", () => {
    const bodies = (setting: RequestLogSettings["bodies"] | undefined) => {
      const caller = callerWith(setting && { bodies: setting, hours: 1 });
      end(caller, { runId: "run_1" });
      end(caller, { runId: "run_1", status: 502, message: "it failed" });
      return requests.take().map(({ body }) => body !== undefined);
    };
    expect(bodies(undefined)).toEqual([false, false]);
    expect(bodies("none")).toEqual([false, false]);
    expect(bodies("errors")).toEqual([false, true]);
    expect(bodies("all")).toEqual([true, true]);
  });

  it("name what is too large instead of storing it", () => {
    const large = { text: "x".repeat(MAX_BODY) };
    end(callerWith({ bodies: "all", hours: 1 }), { params: large, result: { deep: [{ large }] } });
    const [request] = requests.take();
    expect(JSON.parse(request?.body ?? "")).toEqual({ omitted: ["params", "result"] });
  });

  it("expire when the account says", () => {
    end(callerWith({ bodies: "none", hours: 2 }), { status: 402 });
    const [request] = requests.take();
    expect(Number(request?.expiresAt) - Number(request?.receivedAt)).toBe(7_200_000);
  });
});

describe("a flood of requests", () => {
  it("of one refusal has five rows and their number", () => {
    const [caller, other] = [callerWith(), callerWith()];
    for (let sent = 0; sent < 1_000; sent++) end(caller, { status: 429, code: "RATE_LIMITED" });
    end(other, { status: 429, code: "RATE_LIMITED" });
    const taken = requests.take();
    expect(taken.map(({ repeats }) => repeats)).toEqual([0, 0, 0, 0, 995, 0]);
    expect(dropped).toEqual([]);
  });

  it("of one account leaves room for others, and is counted", () => {
    const [caller, other] = [callerWith(), callerWith()];
    for (let sent = 0; sent < 1_003; sent++) end(caller, { runId: "run_1" });
    end(other, { runId: "run_1" });
    expect(requests.take().length).toBe(1_001);
    expect(dropped.length).toBe(3);
    expect(dropped[0]).toEqual(["toolgate_request_log_dropped_total", 1, { reason: "full" }]);
  });

  it("of many accounts waits within bounds of number and size", () => {
    for (let account = 0; account < 6; account++) {
      const caller = callerWith();
      for (let sent = 0; sent < 1_000; sent++) end(caller, { runId: "run_1" });
    }
    expect(requests.take().length).toBe(5_000);
    const caller = () => callerWith({ bodies: "all", hours: 1 });
    const params = { text: "x".repeat(16_000) };
    for (let account = 0; account < 4; account++) {
      const one = caller();
      for (let sent = 0; sent < 900; sent++) end(one, { runId: "run_1", params });
    }
    expect(requests.take().length).toBeLessThan(1_010);
  });
});
