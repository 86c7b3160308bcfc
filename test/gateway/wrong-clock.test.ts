import { afterEach, expect, it, vi } from "vitest";
import { systemClock } from "../../src/system.ts";
import { figureOf } from "../crediting/fixture.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";

const world = useWorld({ METRICS_PORT: "0" });
const readiness = async () => (await world.get(undefined, "/readyz?verbose")).body;
const ahead = () => figureOf(world.gateway.metricsAddress, "toolgate_clock_ahead_seconds", '{of="database"}');

/** The clock of the chain and of the database stays. */
async function setClock(aheadMs: number): Promise<void> {
  vi.spyOn(systemClock, "now").mockImplementation(() => Date.now() + aheadMs);
  await expect.poll(async () => Math.round(((await ahead()) ?? Number.NaN) / 10) + 0).toBe(aheadMs / 10_000);
}

afterEach(() => setClock(0));

const buy = (agent: Agent, headers?: Record<string, string>) =>
  world.call(agent, "vram_estimate", { model: "llama-3.1-8b" }, headers && { headers });

async function paidQuote(agent: Agent): Promise<Record<string, string>> {
  const { quote } = (await buy(agent)).body;
  return xPayment(await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote)), quote.quote_id);
}

it.each([120_000, 600_000, -600_000])(
  "sells quotes that buy here and elsewhere, and is unready, with a clock that is %d ms ahead",
  async (aheadMs) => {
    const agent = await world.agent();
    const elsewhere = await paidQuote(agent);
    await setClock(aheadMs);
    expect((await buy(agent, elsewhere)).status).toBe(200);
    expect((await buy(agent, await paidQuote(agent))).status).toBe(200);
    const { status, checks } = await readiness();
    expect(status).toBe("not ready");
    expect(checks).toMatchObject({ database: "ok", clock: { ok: false } });
    // Measured five times a second, as exactly as the database answers fast.
    const health = (await world.get(undefined, "/health")).body;
    for (const seconds of [checks.clock.ahead_seconds, health.clock_ahead_seconds])
      expect(seconds).toBeCloseTo(aheadMs / 1_000, -1);
    const here = await paidQuote(agent);
    await setClock(0);
    expect((await buy(agent, here)).status).toBe(200);
    expect((await readiness()).status).toBe("ready");
  },
);
