import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { Keypair } from "@solana/web3.js";
import { expect, test } from "vitest";
import { z } from "zod";
import type { UserBrowser } from "./browser.ts";
import type { ConsoleWorld } from "./console-world.ts";

const ROUNDS = 5;

/** Measures what a first visit waits for, relative to an empty page. */
export function firstLoad(getWorld: () => ConsoleWorld): void {
  test("shows the largest element of the sign-in page at once", async () => {
    const world = getWorld();
    const wallet = Keypair.generate();
    // Sent as the console's pages are: its policies cost a browser time too.
    const { headers } = await fetch(`${world.consoleUrl}/`);
    const empty = createServer((_request, response) => {
      for (const name of ["content-type", "content-security-policy", "cross-origin-opener-policy"])
        response.setHeader(name, headers.get(name) ?? "");
      response.end('<!doctype html><title>empty</title><link rel="icon" href="data:,"><h1>Empty</h1>');
    });
    await new Promise<void>((resolve) => empty.listen(0, "127.0.0.1", resolve));
    const emptyUrl = `http://127.0.0.1:${(empty.address() as AddressInfo).port}/`;
    const times = { empty: Infinity, signIn: Infinity, overview: Infinity };
    // Minima, because noise only adds, and in turns, because it comes and goes.
    const add = (name: keyof typeof times, { largest }: Paints) => {
      times[name] = Math.min(times[name], largest);
    };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        add("empty", await paintsOf(await world.browserFor(), emptyUrl));
        const signIn = await paintsOf(await world.browserFor(), `${world.consoleUrl}/`);
        expect(signIn.largest).toBe(signIn.first);
        add("signIn", signIn);
        add("overview", await paintsOf(await world.signedInBrowser(wallet), `${world.consoleUrl}/`));
      }
    } finally {
      empty.close();
    }
    process.stdout.write(
      `largest contentful paint: ${Math.round(times.empty)} ms of an empty page, of the sign-in page ` +
        `${(times.signIn / times.empty).toFixed(1)} times that, of the overview ` +
        `${(times.overview / times.empty).toFixed(1)} times\n`,
    );
  });
}

const paints = z.object({ first: z.number(), largest: z.number() });
type Paints = z.infer<typeof paints>;

const PAINTS = `new Promise((resolve) => {
  const [first] = performance.getEntriesByName("first-contentful-paint");
  new PerformanceObserver((list) =>
    resolve({ first: first.startTime, largest: list.getEntries().at(-1).startTime }),
  ).observe({ type: "largest-contentful-paint", buffered: true });
})`;

/** Returns when the first and the largest content was shown, ms. A new context has no cache. */
async function paintsOf({ page, context }: UserBrowser, url: string): Promise<Paints> {
  await page.goto(url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  const found = paints.parse(await page.evaluate(PAINTS));
  await context.close();
  return found;
}
