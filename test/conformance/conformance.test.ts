import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { startAuthorizingProxy, type AuthorizingProxy } from "./authorizing-proxy.ts";
import { readBaseline, staleEntries, unexpectedFailures } from "./baseline.ts";
import { startFixtureGateway, type FixtureGateway } from "./fixture-gateway.ts";
import { fixtureTools } from "./fixture-tools.ts";
import { judge, SUITES, type Judgement, type Scenario } from "./suites.ts";

/** The official suites of the Model Context Protocol, against POST /mcp of a whole gateway. */

let gateway: FixtureGateway;
let proxy: AuthorizingProxy;
let judgements: ReadonlyMap<string, Judgement>;

beforeAll(async () => {
  gateway = await startFixtureGateway(fixtureTools());
  proxy = await startAuthorizingProxy(gateway.gateway.baseUrl, (await gateway.agent()).apiKey);
  const all = SUITES.map(async (suite) => [suite.name, await judge(suite, `${proxy.url}/mcp`)] as const);
  judgements = new Map(await Promise.all(all));
});
afterAll(async () => {
  await proxy.close();
  await gateway.close();
});

/** The section of docs/reference/mcp.md, as rows of cells. */
const rows = readFileSync(path.join(ROOT, "docs/reference/mcp.md"), "utf8")
  .split("\n## Conformance\n")[1]
  ?.split("\n## ")[0]
  ?.split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")));

const documented = (name: string) => rows?.find(([, first]) => first === name)?.slice(2) ?? [];

describe.each(SUITES)("the official conformance suite $name of release $release", (suite) => {
  const baseline = readBaseline(suite);
  const judgement = () => {
    const found = judgements.get(suite.name);
    if (!found) throw new Error("was not run");
    return found;
  };

  it(`suite ${suite.name} has exactly the expected failures`, () => {
    const { code, output, scenarios } = judgement();
    expect(unexpectedFailures(scenarios, baseline)).toEqual([]);
    expect(staleEntries(scenarios, baseline)).toEqual([]);
    expect(code, output).toBe(0);
  });

  it(`suite ${suite.name} finds every message valid by the schema of its version`, () => {
    const wire = judgement().scenarios.flatMap(({ checks }) =>
      checks.filter(({ id }) => id === "wire-schema-valid"),
    );
    expect(wire.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
    // The first release does not check this.
    expect(wire.length > 20).toBe(suite.release !== "0.1.16");
  });

  it(`suite ${suite.name} passes the counts of docs/reference/mcp.md`, () => {
    const { scenarios } = judgement();
    const passed = scenarios.filter(hasPassed);
    const checks = scenarios
      .flatMap((scenario) => scenario.checks)
      .filter(({ status }) => status === "SUCCESS");
    const [, all, allPassed, checksPassed, expected] = documented(suite.name);
    expect([scenarios.length, passed.length, baseline.length].map(String)).toEqual([
      all,
      allPassed,
      expected,
    ]);
    expect(checks.length).toBeGreaterThanOrEqual(Number(checksPassed));
  });

  it(`docs/reference/mcp.md explains every expected failure of suite ${suite.name}`, () => {
    const reasons = new Set(SUITES.flatMap(readBaseline).map((entry) => entry.reason));
    for (const reason of reasons) {
      const count = baseline.filter((entry) => entry.reason === reason).length;
      const cells = documented(reason);
      expect([reason, cells[SUITES.indexOf(suite)]]).toEqual([reason, count === 0 ? "–" : String(count)]);
      expect(cells.at(SUITES.length)).toMatch(/\w/);
    }
  });
});

/** A scenario without any check has not passed. */
function hasPassed({ checks }: Scenario): boolean {
  const is = (...states: string[]) => checks.some(({ status }) => states.includes(status));
  return is("SUCCESS") && !is("FAILURE", "WARNING");
}
