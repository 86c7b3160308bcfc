import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { POLL, waitUntilLoaded, type ConsoleWorld } from "./console-world.ts";
import { axeViolations } from "./appearance.ts";

const MODEL = "meta-llama/Llama-3.1-70B";

/** There is no model server: states a tool's price as the tools with models do, and one of its models. */
async function sellModel(page: Page): Promise<void> {
  await page.route(/GetCapabilities/, async (route) => {
    const response = await route.fetch();
    const { tools, ...rest } = await response.json();
    for (const tool of tools) {
      if (tool.name !== "vram_estimate") continue;
      delete tool.price;
      const description = `The model.\n${MODEL}: 141 GB`;
      Object.assign(tool.inputSchema.properties.model, { description, enum: [MODEL] });
    }
    await route.fulfill({ response, json: { ...rest, tools } });
  });
}

export function toolFlows(world: ConsoleWorld): void {
  test("prices a call and opens it in the playground by keyboard alone", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet);
    await sellModel(page);
    await page.goto("tools");
    await page.getByRole("link", { name: "vram_estimate", exact: true }).press("Enter");
    await page.getByRole("link", { name: MODEL }).press("Enter");
    await page.getByRole("heading", { name: `vram_estimate: ${MODEL}` }).waitFor();
    await page.getByText("141 GB", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Create a temporary key" }).press("Enter");
    await page.getByLabel("context_length").fill("many");
    const calculate = page.getByRole("button", { name: "Calculate price" });
    // The key is there.
    await expect.poll(() => calculate.isEnabled(), POLL).toBe(true);
    await calculate.press("Enter");
    await page.getByText("Enter a whole number").waitFor();
    await page.getByLabel("context_length").fill("500");
    await calculate.press("Enter");
    await page.getByText("1,000 × $0.001 = $1.00").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole("tab", { name: "curl" }).press("ArrowRight");
    const program = page.getByRole("region", { name: "TypeScript snippet" });
    await program.getByText('"context_length": 500').waitFor();
    await page.getByRole("link", { name: "Open in playground" }).press("Enter");
    await page.getByRole("heading", { name: "Playground" }).waitFor();
    expect(await page.getByLabel("context_length").inputValue()).toBe("500");
    expect(await page.getByLabel("model").first().inputValue()).toBe(MODEL);
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_000_000n);
  });

  test("says why a tool is not available", async () => {
    const { page } = await world.signedInBrowser((await world.agent()).wallet);
    await page.route(/GetCapabilities/, async (route) => {
      const response = await route.fetch();
      const { tools, ...rest } = await response.json();
      const tool = tools.find(({ name }: { name: string }) => name === "gpu_provision");
      tool.unavailableReason = "its server did not describe it";
      await route.fulfill({ response, json: { ...rest, tools } });
    });
    await page.goto("tools");
    await page.getByRole("row", { name: /gpu_provision.*Not available/ }).waitFor();
    await page.getByRole("link", { name: "gpu_provision" }).click();
    const reason = page.getByText("It cannot be called: its server did not describe it.");
    await expect.poll(() => reason.count(), POLL).toBe(1);
  });

  test("shows strangers the public catalogue and nothing else, only if the operator wants it", async () => {
    const { page } = await world.browserFor();
    const paths = new Set<string>();
    page.on("request", (request) => paths.add(new URL(request.url()).pathname));
    const violations: string[] = [];
    for (const at of ["tools", "tools/vram_estimate"]) {
      await page.goto(at);
      await waitUntilLoaded(page);
      for (const width of [320, 390, 1_280, 1_920]) {
        await page.setViewportSize({ width, height: 844 });
        const over = await page
          .locator("html")
          .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
        if (over > 0) violations.push(`${page.url()}: ${over} px wider than ${width} px`);
      }
      violations.push(...(await axeViolations(page)));
    }
    expect(violations).toEqual([]);
    await page.getByText("1,000 × $0.001 = $1.00").waitFor();
    const rpc = [...paths].filter((path) => !/^\/console\/(?!rpc)/.test(path));
    expect(rpc.toSorted()).toEqual([
      "/console/rpc/toolgate.console.v1.SessionService/GetSession",
      "/toolgate.v1.ToolService/GetCapabilities",
    ]);
    await page.getByRole("link", { name: "Sign in to try it" }).click();
    await page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    await page.route(/\/console\/tools$/, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('<meta name="toolgate-public-tools" content="">', "");
      await route.fulfill({ response, body });
    });
    await page.goto("tools");
    await page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
  });
}
