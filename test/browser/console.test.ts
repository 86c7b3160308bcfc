import { afterAll, beforeAll, describe } from "vitest";
import { activityFlows } from "./activity-flows.ts";
import { startConsoleWorld, type ConsoleWorld } from "./console-world.ts";
import { firstLoad } from "./first-load.ts";
import { securityFlows } from "./security-flows.ts";
import { budgetFlows } from "./budget-flows.ts";
import { keyFlows } from "./key-flows.ts";
import { keyboardFlows } from "./keyboard-flows.ts";
import { appearanceTests } from "./appearance.ts";
import { moneyFlows } from "./money-flows.ts";
import { newcomerFlow } from "./newcomer-flow.ts";
import { operatorFlows } from "./operator-flows.ts";
import { overviewFlows } from "./overview-flows.ts";
import { playgroundFlows } from "./playground-flows.ts";
import { requestFlows } from "./request-flows.ts";
import { settingsFlows } from "./settings-flows.ts";
import { signInFlows } from "./sign-in-flows.ts";
import { failureFlows } from "./failure-flows.ts";
import { toolFlows } from "./tool-flows.ts";
import { webhookFlows } from "./webhook-flows.ts";
import { totalsTests } from "./totals.ts";

// One gateway and one browser for all flows: a second browser would slow both down.
let world: ConsoleWorld;
beforeAll(async () => {
  world = await startConsoleWorld({ CONSOLE_PUBLIC_TOOLS: "on", WEBHOOK_NETWORK: "any" });
});
afterAll(() => world?.close());
const getWorld = () => world;

// First, because it expects an empty suspense list.
describe("operators", () => operatorFlows(getWorld));
describe("newcomer", () => newcomerFlow(getWorld));
describe("sign-in", () => signInFlows(getWorld));
describe("keys", () => keyFlows(getWorld));
describe("budgets", () => budgetFlows(getWorld));
describe("money", () => moneyFlows(getWorld));
describe("overview", () => overviewFlows(getWorld));
describe("activity", () => activityFlows(getWorld));
describe("requests", () => requestFlows(getWorld));
describe("playground", () => playgroundFlows(getWorld));
describe("tools", () => toolFlows(getWorld));
describe("settings", () => settingsFlows(getWorld));
describe("webhooks", () => webhookFlows(getWorld));
describe("keyboard", () => keyboardFlows(getWorld));
describe("failures", () => failureFlows(getWorld));
describe("security", () => securityFlows(getWorld));
describe("appearance", () => appearanceTests(getWorld));
describe("totals", () => totalsTests(getWorld));
describe("first load", () => firstLoad(getWorld));
