import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";

/** Measures the first load. */
export function firstLoad(getWorld: () => ConsoleWorld): void {
  test("reports the first load time relative to an empty page", async () => {
    const world = getWorld();
    const empty = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end('<!doctype html><title>empty</title><link rel="icon" href="data:,"><h1>Empty</h1>');
    });
    await new Promise<void>((resolve) => empty.listen(0, "127.0.0.1", resolve));
    /** Minimum of three, because noise only adds. A new context each time avoids caches. */
    const loaded = async (url: string) => {
      const times: number[] = [];
      for (let count = 0; count < 3; count++) {
        const { page, context } = await world.browserFor();
        const start = performance.now();
        await page.goto(url);
        await page.getByRole("heading", { level: 1 }).waitFor();
        times.push(performance.now() - start);
        await context.close();
      }
      return Math.min(...times);
    };
    try {
      const nothing = await loaded(`http://127.0.0.1:${(empty.address() as AddressInfo).port}/`);
      const console = await loaded(`${world.consoleUrl}/`);
      process.stdout.write(
        `first load of the console: ${Math.round(console)} ms, ${(console / nothing).toFixed(1)} ` +
          `times an empty page's ${Math.round(nothing)} ms\n`,
      );
      expect(console).toBeGreaterThan(0);
    } finally {
      empty.close();
    }
  });
}
