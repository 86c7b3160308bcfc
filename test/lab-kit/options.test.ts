import { expect, it } from "vitest";
import { command } from "../tooling/command.ts";

it.each([
  ["faults", "--profile nothing", /^--profile is of kills, stalls, .*, and not "nothing"/],
  ["faults", "--nothing", /^Unknown option '--nothing'; there are --duration, /],
  ["faults", "nothing", /^Unexpected argument 'nothing'; there are --duration, /],
  ["faults", "--seed abc", /^--seed is a whole number from 0 to 9999999, and not "abc"/],
  ["faults", "--phase 1e3", /^--phase is a whole number from 1/],
  ["faults", "--customers=-1", /^--customers is a whole number from 1/],
  ["soak", "--share 170", /^--share is at most 100/],
  ["failover", "--kinds killed,nothing", /^--kinds is of killed, stopped, .*, and not "nothing"/],
  ["upgrade-lab", "--schemas 0001", /^--schemas is of 0001_baseline, .*, and not "0001"/],
  ["restore-lab", "--load 1.5", /^--load is a whole number from 1/],
  ["cells/lab", "--moves=-1", /^--moves is a whole number from 0/],
])("the lab %s rejects %s with one line and starts nothing", async (lab, options, line) => {
  const { code, output } = await command("node", [`test/${lab}/main.ts`, ...options.split(" ")]);
  expect(output).toMatch(line);
  expect(output.trimEnd()).not.toContain("\n");
  expect(code).toBe(2);
});
