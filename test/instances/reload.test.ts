import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { runToolgateHere } from "../cli/toolgate.ts";
import { query } from "../support/database-server.ts";
import { openapi, operation, startThirdParty } from "../tools/custom/http/third-party.ts";
import { callAt, openGround } from "./calls.ts";
import { closing } from "../support/postgres.ts";

/** One process reads its settings again while it serves. */

const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-reload-"));
const CONTROL_SOCKET = path.join(folder, "control.sock");
const { ground, instances } = await openGround();
const party = closing(await startThirdParty());
const agent = await ground.agent({ balance: 10_000_000n });

const write = (name: string, content: string) => {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
};

/** Writes the configuration file: a tool at this price, which sends a secret to its server. */
function writeConfig(microUsd: number, more: object = {}): void {
  const http = { openapi: "note.api.json", operation_id: "note" };
  const price = { flat_microusd: microUsd };
  const headers_env = { "X-Key": "TOOL_NOTE_KEY" };
  const tool = { name: "note", price, http, allow_hosts: ["127.0.0.1"], headers_env };
  write("config.json", JSON.stringify({ tools: [tool], ...more }));
}

const reload = () => runToolgateHere({ CONTROL_SOCKET }, ["config", "reload", "--json"]);

async function buyNote(): Promise<{ charged: number; key: unknown }> {
  const { status, body } = await callAt(instance, agent, { tool: "note", params: {} });
  expect(status, JSON.stringify(body)).toBe(200);
  return { charged: body.receipt.debited_usdc_microusd, key: party.received.at(-1)?.headers["x-key"] };
}

const servers = [{ url: party.url }];
write("note.api.json", JSON.stringify(openapi({ "/n": { get: operation("note") } }, { servers })));
writeConfig(100);
write(".env", "LOG_LEVEL=warn\n");
const instanceSettings = {
  ...ground.settings,
  TOOLGATE_CONFIG: path.join(folder, "config.json"),
  TOOL_NOTE_KEY_FILE: write("note-key", "first-key\n"),
  CONTROL_SOCKET,
};
const instance = await instances.serve(instanceSettings, { cwd: folder });
afterAll(() => rmSync(folder, { recursive: true }));

it("takes over prices, secrets and the log level, and names what needs a restart", async () => {
  expect(await buyNote()).toEqual({ charged: 100, key: "first-key" });
  expect(instance.log()).not.toContain('"ready"');
  expect(statSync(CONTROL_SOCKET).mode & 0o777).toBe(0o600);

  write("note-key", "other-key\n");
  expect((await reload()).rows).toMatchObject([{ ok: true, changed: [], need_restart: [], version: 1 }]);
  expect(await buyNote()).toEqual({ charged: 100, key: "other-key" });

  writeConfig(200, { sandbox: { process: { queue: 2 } } });
  write(".env", "LOG_LEVEL=info\nDATABASE_POOL=5\nQUOTE_TTL_SECONDS=77\n");
  const { stdout, stderr } = await runToolgateHere({ CONTROL_SOCKET }, ["config", "reload"]);
  expect(stdout, stderr).toBe(
    "Reloaded. Changed: LOG_LEVEL. Configuration version 2 is in use.\n" +
      "Changed, but need a restart: DATABASE_POOL, QUOTE_TTL_SECONDS, sandbox.\n",
  );
  expect(await buyNote()).toEqual({ charged: 200, key: "other-key" });
  await expect
    .poll(() => instance.log())
    .toMatch(/"needRestart":\["DATABASE_POOL","QUOTE_TTL_SECONDS","sandbox"\]/);

  writeConfig(300);
  instance.signal("SIGHUP");
  await expect.poll(buyNote).toMatchObject({ charged: 300 });
});

it("changes nothing when one of the settings cannot be used", async () => {
  const before = await buyNote();
  write("note-key", "third-key\n");
  writeConfig(900);
  write(".env", "LOG_LEVEL=silent\nDATABASE_POOL=0\n");
  const { rows, code, stderr } = await reload();
  expect(code).toBe(1);
  expect(rows).toMatchObject([{ ok: false, changed: [], version: null }]);
  expect(stderr).toContain("DATABASE_POOL: must be between 2 and 200");
  write(".env", "LOG_LEVEL=silent\n");
  writeConfig(900, { prices: { vram_estimate: { flat_microusd: 0 } } });
  expect((await reload()).stderr).toContain("prices.vram_estimate.flat_microusd");
  writeConfig(900);
  rmSync(path.join(folder, "note-key"));
  expect((await reload()).stderr).toContain("TOOL_NOTE_KEY_FILE");
  expect(await buyNote()).toEqual(before);
  await expect.poll(() => instance.log()).toContain("settings not reloaded: nothing changed");
});

it("keeps an operator's version, and says why the file is not used", async () => {
  write("note-key", "third-key\n");
  write(".env", "LOG_LEVEL=info\n");
  writeConfig(500);
  const settings = { DATABASE_URL: ground.settings["DATABASE_URL"] ?? "", TOOL_NOTE_KEY: "x" };
  const applied = await runToolgateHere(settings, ["config", "apply", path.join(folder, "config.json")]);
  expect(applied.code, applied.stderr).toBe(0);
  writeConfig(600);
  expect((await reload()).rows[0]?.["file_unused"]).toMatch(/^differs from version \d+, applied by cli:/);
  expect(await buyNote()).toEqual({ charged: 500, key: "third-key" });
});

it("leaves a whole version in force when the instance is killed while it applies one", async () => {
  const url = ground.database.url;
  const shown = async () => (await runToolgateHere({ DATABASE_URL: url }, ["config", "show"])).stdout;
  const before = await shown();
  const settings = { ...instanceSettings, TOOLGATE_CONFIG_APPLY: "always" };
  write("note-key", "fourth-key\n");
  writeConfig(500);
  const dying = await instances.serve(
    { ...settings, CONTROL_SOCKET: path.join(folder, "dying.sock") },
    { cwd: folder },
  );
  writeConfig(700);
  const blocker = new pg.Client(url);
  await blocker.connect();
  try {
    await blocker.query("select pg_advisory_lock(hashtext('toolgate config_version'))");
    dying.signal("SIGHUP");
    const waiting =
      "select from pg_stat_activity where query like '%config_apply%' and wait_event = 'advisory'";
    await expect.poll(async () => (await blocker.query(waiting)).rowCount).toBe(1);
    dying.signal("SIGKILL");
    await dying.ended;
    expect(await shown()).toBe(before);
  } finally {
    await blocker.end();
  }
  // PostgreSQL may have finished the statement, one transaction: the version is the old or the new one.
  instance.signal("SIGHUP");
  const after = JSON.parse(await shown()) as { tools: { price: { flat_microusd: number } }[] };
  const price = after.tools[0]?.price.flat_microusd;
  expect([500, 700]).toContain(price);
  await expect.poll(buyNote).toMatchObject({ charged: price });
  const { rows } = await query(url, "select version::int from config_version order by version");
  expect(rows.map((row) => row.version)).toEqual(rows.map((_, index) => index + 1));
});

it("is refused where no gateway serves the socket, and the socket goes with its process", async () => {
  expect((await runToolgateHere({}, ["config", "reload"])).code).toBe(2);
  instance.signal("SIGTERM");
  expect(await instance.ended).toBe(0);
  expect(existsSync(CONTROL_SOCKET)).toBe(false);
  expect(await reload()).toMatchObject({ code: 1, stderr: expect.stringContaining("no gateway answers") });
});
