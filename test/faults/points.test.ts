import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { LINE_POINTS, PORT_CALLS } from "./points.ts";

/** Sources that await ports during a paid call. */
const PAID_CALL = [
  ...["call-tool", "keyless", "buy-call", "run-and-capture", "refusals"].map((name) => `calls/${name}`),
  ...["pay-quote", "chain-payment", "transfer/transfer-method", "gasless/gasless-method"].map(
    (name) => `payments/${name}`,
  ),
].map((name) => `src/app/${name}.ts`);

const read = (file: string) => readFile(path.join(ROOT, file), "utf8");

/** These sources, with each member chain on one line. */
async function paidCall(): Promise<string> {
  return (await Promise.all(PAID_CALL.map(read))).join("\n").replaceAll(/\n\s+\.(?=\w)/g, ".");
}

/** Every awaited port method, with the outcome for the end of a run. */
async function awaitedCalls(): Promise<Set<string>> {
  const text = await paidCall();
  const calls = Array.from(
    text.matchAll(/await (?:deps\.)?(ledger|chain)\.(\w+)\(/g),
    ([, port, method]) => `${port}.${method}`,
  );
  const outcomes = Array.from(text.matchAll(/outcome: "(\w+)"/g), ([, outcome]) =>
    outcome === "completed" ? "ledger.capture" : `ledger.release/${outcome}`,
  );
  const runs = /await prepared\.run\(/.test(text) ? ["tool.run"] : [];
  const writes = /const run = \{[^}]*\boutput,/.test(text) ? ["tool.write"] : [];
  // Runs in parallel to the end of the run.
  const beside = /const counted =\s.* unpaidWork\.failed\(/.test(text) ? ["unpaidWork.failed"] : [];
  return new Set([
    ...calls.filter((call) => call !== "ledger.release"),
    ...outcomes,
    ...runs,
    ...writes,
    ...beside,
  ]);
}

describe("fault points", () => {
  it("cover every port call of a paid call and nothing else", async () => {
    expect([...PORT_CALLS].sort()).toEqual([...(await awaitedCalls())].sort());
  });

  it("leave out no await: each is of a port, the tool or a local function", async () => {
    const text = await paidCall();
    const own = new Set(Array.from(text.matchAll(/function (\w+)/g), ([, name]) => name));
    const awaited = Array.from(text.matchAll(/await ([\w.#]+)/g), ([, callee]) => callee ?? "");
    const others = awaited.filter((callee) => !own.has(callee));
    expect([...new Set(others)].sort().join(" ")).toBe(
      "buyer.open counted deps.chain.verify deps.ledger.authorize deps.ledger.credit deps.ledger.release " +
        "deps.payments.identify deps.quotes.find inSpan ledger.balance ledger.credit ledger.findPrior " +
        "ledger.isAllowedOnce ledger.release payment.buyer.open payments.settle payments.verify " +
        "prepared.run relay.recentBlockhash this.#deps.claims.find this.#identifyUnsent this.#relay " +
        "this.#submit wallets.find",
    );
  });

  it("of the database proxy name statements that are sent", async () => {
    const files =
      "ledger/ledger ledger/leases ledger/unpaid-work accounts/rate-limiter accounts/account-search " +
      "treasury/treasury-ledger payments/relays";
    const sources = await Promise.all(files.split(" ").map((name) => read(`src/postgres/${name}.ts`)));
    const names = new Set(LINE_POINTS.map((point) => point.slice(0, point.lastIndexOf(":"))));
    for (const name of names)
      expect(
        sources.some((text) => text.includes(`"${name}"`)),
        name,
      ).toBe(true);
  });
});
