import { describe } from "vitest";
import { activityFlows } from "./activity-flows.ts";
import { connectFlows } from "./connect-flows.ts";
import { useConsoleWorld } from "./console-world.ts";
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
const world = useConsoleWorld(() => ({ CONSOLE_PUBLIC_TOOLS: "on", WEBHOOK_NETWORK: "any" }));

// First, because it expects an empty suspense list.
describe("operators", () => operatorFlows(world));
describe("newcomer", () => newcomerFlow(world));
describe("sign-in", () => signInFlows(world));
describe("keys", () => keyFlows(world));
describe("connect", () => connectFlows(world));
describe("budgets", () => budgetFlows(world));
describe("money", () => moneyFlows(world));
describe("overview", () => overviewFlows(world));
describe("activity", () => activityFlows(world));
describe("requests", () => requestFlows(world));
describe("playground", () => playgroundFlows(world));
describe("tools", () => toolFlows(world));
describe("settings", () => settingsFlows(world));
describe("webhooks", () => webhookFlows(world));
describe("keyboard", () => keyboardFlows(world));
describe("failures", () => failureFlows(world));
describe("security", () => securityFlows(world));
describe("appearance", () => appearanceTests(world));
describe("totals", () => totalsTests(world));
describe("first load", () => firstLoad(world));
