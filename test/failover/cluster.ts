import { chown, mkdir } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { serverAccount, type Account } from "../../src/dev/embedded-postgres/account.ts";
import type { GroundDatabase } from "../faults/database.ts";
import { query } from "../support/database-server.ts";
import { ROOT } from "../tooling/command.ts";
import { Node, PASSWORD } from "./node.ts";
import { restartPort } from "../support/ports.ts";
import { find, start, type Running } from "../support/programs.ts";

/** Maximum time until all servers replicate again, ms. */
const WHOLE_MS = 180_000;

const members = z.object({
  members: z.array(
    z.object({
      name: z.string(),
      role: z.string(),
      state: z.string(),
      timeline: z.number().optional(),
    }),
  ),
});

type Member = z.output<typeof members>["members"][number];

/** Options of a cluster. */
export interface ClusterOptions {
  /** Whether commits wait for a standby. */
  readonly synchronous: boolean;
  /** Patroni's settings that differ from deploy/patroni/patroni.yml. */
  readonly patroni: Readonly<Record<string, unknown>>;
}

/** Three servers of PostgreSQL under Patroni with etcd, behind HAProxy. */
export class Cluster implements GroundDatabase {
  /** The primary, by way of HAProxy. */
  readonly url: string;
  /** The standbys, by way of HAProxy. */
  readonly standbysUrl: string;
  readonly nodes: readonly Node[];
  readonly #programs: readonly Running[];

  private constructor(
    ports: readonly [number, number],
    nodes: readonly Node[],
    programs: readonly Running[],
  ) {
    const [primary, standbys] = ports.map(
      (port) => `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/toolgate`,
    );
    this.url = primary ?? "";
    this.standbysUrl = standbys ?? "";
    this.nodes = nodes;
    this.#programs = programs;
  }

  static async start(dataDir: string, { synchronous, patroni }: ClusterOptions): Promise<Cluster> {
    const account = await serverAccount("");
    const folder = (name: string) => ownFolder(path.join(dataDir, name), account);
    const etcdFolder = await folder("etcd");
    const [etcd, etcdUrl] = await startEtcd(etcdFolder, account);
    const asynchronous = { synchronous_mode: false, synchronous_mode_strict: false };
    const dcs = synchronous ? patroni : { ...patroni, ...asynchronous };
    const nodes: Node[] = [];
    for (const name of ["db1", "db2", "db3"])
      nodes.push(await Node.open({ name, folder: await folder(name), account, etcdUrl, dcs }));
    const ports = [await restartPort(), await restartPort()] as const;
    const haproxy = start(find("haproxy") ?? "", ["-db", "-f", path.join(ROOT, CONFIG)], {
      account: undefined,
      logFile: path.join(dataDir, "haproxy.log"),
      env: proxyEnvironment(ports, nodes),
    });
    const cluster = new Cluster(ports, nodes, [etcd, haproxy]);
    try {
      for (const node of nodes) node.start();
      await cluster.whole(synchronous);
      await query(cluster.url.replace(/toolgate$/, "postgres"), "create database toolgate");
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The primary as Patroni knows it. @param old a server that does not count, nor what it says */
  async leader(old?: string): Promise<Node | undefined> {
    for (const node of this.nodes.filter(({ name }) => name !== old)) {
      const found = (await membersOf(node))?.find(({ name, role }) => role === "leader" && name !== old);
      if (found) return this.nodes.find(({ name }) => name === found.name);
    }
    return undefined;
  }

  /** Waits until there is a primary and both standbys replicate. @throws Error when that takes too long */
  async whole(synchronous: boolean): Promise<Node> {
    const since = performance.now();
    for (;;) {
      const seen = await Promise.all(this.nodes.map(membersOf));
      if (seen.every((list) => list && isWhole(list, synchronous))) {
        const leader = await this.leader();
        if (leader) return leader;
      }
      if (performance.now() - since > WHOLE_MS)
        throw new Error(`not whole again: ${JSON.stringify(seen)}${await this.#logs()}`);
      await sleep(250);
    }
  }

  /** Makes a standby the primary, as an operator does before maintenance. */
  async demote(node: Node): Promise<void> {
    const response = await fetch(`${node.restUrl}/switchover`, {
      method: "POST",
      body: JSON.stringify({ leader: node.name }),
    });
    if (!response.ok) throw new Error(`the switchover was refused: ${await response.text()}`);
  }

  crash(): Promise<void> {
    throw new Error("the cluster's servers fail one at a time");
  }

  async #logs(): Promise<string> {
    const logs = await Promise.all(this.nodes.map((node) => node.log()));
    return logs.map((log, index) => `\n\n${this.nodes[index]?.name}: ${log}`).join("");
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
    await Promise.all(this.#programs.map((program) => program.stop()));
  }
}

const CONFIG = "deploy/haproxy/postgresql.cfg";

function isWhole(list: readonly Member[], synchronous: boolean): boolean {
  const [leader] = list.filter(({ role }) => role === "leader");
  return (
    list.length === 3 &&
    leader?.state === "running" &&
    list.every(({ state }) => state === "running" || state === "streaming") &&
    list.every(({ timeline }) => timeline === leader.timeline) &&
    (!synchronous || list.some(({ role }) => role === "sync_standby"))
  );
}

async function membersOf(node: Node): Promise<readonly Member[] | undefined> {
  try {
    const response = await fetch(`${node.restUrl}/cluster`, { signal: AbortSignal.timeout(2_000) });
    return members.parse(await response.json()).members;
  } catch {
    return undefined; // It is down, or starts.
  }
}

async function ownFolder(folder: string, account: Account | undefined): Promise<string> {
  await mkdir(folder, { mode: 0o700 });
  if (account) await chown(folder, account.uid, account.gid);
  return folder;
}

async function startEtcd(folder: string, account: Account | undefined): Promise<[Running, string]> {
  const [client, peer] = [await restartPort(), await restartPort()].map((port) => `http://127.0.0.1:${port}`);
  const own = [`--data-dir=${folder}/data`, `--listen-client-urls=${client}`, `--listen-peer-urls=${peer}`];
  const advertised = [
    "--enable-v2",
    `--advertise-client-urls=${client}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
  const options = { account, logFile: path.join(folder, "etcd.log") };
  return [start(find("etcd") ?? "", [...own, ...advertised], options), client ?? ""];
}

function proxyEnvironment(
  [primary, standbys]: readonly [number, number],
  nodes: readonly Node[],
): Record<string, string> {
  const servers = nodes.flatMap(({ lines }, index) => [
    [`DB${index + 1}`, `127.0.0.1:${lines.clients.port}`],
    [`DB${index + 1}_REST`, String(lines.rest.port)],
  ]);
  return {
    ...Object.fromEntries(servers),
    PRIMARY_BIND: `127.0.0.1:${primary}`,
    STANDBYS_BIND: `127.0.0.1:${standbys}`,
  };
}
