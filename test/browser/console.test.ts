import { afterAll, beforeAll, describe } from "vitest";
import { activityFlows } from "./activity-flows.ts";
import { startConsoleWorld, type ConsoleWorld } from "./console-world.ts";
import { firstLoad } from "./first-load.ts";
import { intruderFlows } from "./security-flows.ts";
import { keyFlows } from "./key-flows.ts";
import { keyboardFlows } from "./keyboard-flows.ts";
import { looks } from "./appearance.ts";
import { moneyFlows } from "./money-flows.ts";
import { operatorFlows } from "./operator-flows.ts";
import { playgroundFlows } from "./playground-flows.ts";
import { settingsFlows } from "./settings-flows.ts";
import { signInFlows } from "./sign-in-flows.ts";
import { troubleFlows } from "./failure-flows.ts";
import { totals } from "./totals.ts";

// One gateway and one browser for everything: a second browser beside the first would make both slower.
let world: ConsoleWorld;
beforeAll(async () => {
  world = await startConsoleWorld();
});
afterAll(() => world?.close());
const here = () => world;

// First, while no other transfer waits for its owner.
describe("operators", () => operatorFlows(here));
describe("signing in", () => signInFlows(here));
describe("keys", () => keyFlows(here));
describe("money", () => moneyFlows(here));
describe("activity", () => activityFlows(here));
describe("the playground", () => playgroundFlows(here));
describe("settings", () => settingsFlows(here));
describe("the keyboard", () => keyboardFlows(here));
describe("trouble", () => troubleFlows(here));
describe("intruders", () => intruderFlows(here));
describe("looks", () => looks(here));
describe("totals", () => totals(here));
describe("the first load", () => firstLoad(here));
