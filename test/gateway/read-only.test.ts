import { afterEach, expect, inject, it } from "vitest";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { signIn } from "../support/console.ts";
import { query } from "../support/database-server.ts";
import { useWorld } from "../support/use-world.ts";

const world = useWorld();
const CALL = { model: "llama-3.1-8b" };

/** As a standby, or a primary that a failover demotes; connections end. */
async function setReadOnly(state: "on" | "off"): Promise<void> {
  const name = new URL(world.database.url).pathname.slice(1);
  const server = inject("postgresUrl");
  await query(server, `alter database ${name} set default_transaction_read_only = ${state}`);
  await query(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}

afterEach(() => setReadOnly("off"));

it("answers lists of keys and sessions, and sells nothing, while the database is read-only", async () => {
  const agent = await world.agent({ balance: 10_000n });
  expect((await world.call(agent, "vram_estimate", CALL)).status).toBe(200);
  const holder = (await signIn(world, agent.wallet)).client(KeyService);
  await query(world.database.url, "update console_session set last_used_at = now() - interval '5 minutes'");
  await setReadOnly("on");
  for (const path of ["/receipts", "/runs"]) {
    const { status, body } = await world.get(agent, path);
    expect({ status, items: body.items.length }).toEqual({ status: 200, items: 1 });
  }
  expect((await holder.listKeyGroups({})).groups).toEqual([]);
  const refused = await world.call(agent, "vram_estimate", CALL);
  expect(refused).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
  await setReadOnly("off");
  expect((await world.call(agent, "vram_estimate", CALL)).status).toBe(200);
});

it("limits the rate of keys while the database is read-only", async () => {
  const agent = await world.agent({ ratePerMinute: 1, burst: 3 });
  await setReadOnly("on");
  const lists = await Promise.all(Array.from({ length: 5 }, () => world.get(agent, "/receipts")));
  expect(lists.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 200, 200, 429, 429]));
  expect(lists.filter(({ status }) => status === 200)).toHaveLength(3);
});
