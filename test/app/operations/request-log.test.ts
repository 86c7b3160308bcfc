import { beforeEach, describe, expect, it } from "vitest";
import { RequestLog } from "../../../src/app/operations/request-log.ts";
import { RequestRecord } from "../../../src/app/operations/request-record.ts";
import { walletCaller } from "../../../src/domain/accounts/caller.ts";

type Line = Record<string, unknown>;

let lines: Line[];
let due: (() => void)[];
let log: RequestLog;

beforeEach(() => open(100));

function open(every: number): void {
  [lines, due] = [[], []];
  log = new RequestLog({ info: (line) => void lines.push({ ...line }) }, every, (_ms, run) => due.push(run));
}

function ended(wallet: string, more: Partial<RequestRecord>, times = 1): void {
  const record = new RequestRecord("http", "req_1", 0);
  Object.assign(record, {
    method: "ToolService/CallTool",
    caller: walletCaller(wallet),
    status: 200,
    ...more,
  });
  for (let time = 0; time < times; time++) log.ended(record);
}

const refused = { status: 402, code: "PAYMENT_REQUIRED" } as const;
const nextSecond = () => {
  lines = [];
  for (const run of due.splice(0)) run();
};

describe("the request log", () => {
  it("writes every call with a run or a receipt, also failed ones", () => {
    ended("one", { runId: "run_1", receiptId: "rcpt_1" }, 300);
    ended("one", { receiptId: "rcpt_1" }, 300);
    ended("one", { runId: "run_2", status: 502, code: "TOOL_FAILED" }, 300);
    expect(lines).toHaveLength(900);
    expect(due).toHaveLength(0);
  });

  it("writes ten refusals a second of an account and code, then their number", () => {
    ended("one", refused, 25);
    ended("one", { status: 429, code: "RATE_LIMITED" }, 3);
    ended("two", refused, 11);
    expect(lines).toHaveLength(23);
    nextSecond();
    const { accountId } = walletCaller("one");
    expect(lines).toEqual([
      { event: "requests_not_logged", account_id: accountId, ...refused, requests: 15 },
      expect.objectContaining({ account_id: walletCaller("two").accountId, requests: 1 }),
    ]);
    nextSecond();
    ended("one", refused, 11);
    expect(lines).toHaveLength(10);
  });

  it("counts the refusals of 10,000 accounts in bounded memory and lines", () => {
    for (let account = 0; account < 10_000; account++) ended("", { ...refused, caller: caller(account) });
    expect(lines).toHaveLength(210);
    expect(due).toHaveLength(1);
    nextSecond();
    expect(lines).toEqual([{ event: "requests_not_logged", requests: 9_790 }]);
  });

  it("writes one of so many free successes, all or none", () => {
    ended("one", {}, 301);
    expect(lines).toHaveLength(4);
    open(1);
    ended("one", {}, 5);
    expect(lines).toHaveLength(5);
    open(0);
    ended("one", {}, 5);
    expect(lines).toHaveLength(0);
  });
});

const base = walletCaller("one");
const caller = (account: number) => ({ ...base, accountId: `acct_${account}` });
