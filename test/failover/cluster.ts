import { chown, mkdir } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { serverAccount, type Account } from "../../src/dev/embedded-postgres/account.ts";
import type { LabDatabase } from "../lab-kit/database.ts";
import { query } from "../support/database-server.ts";
import { restartPort } from "../support/ports.ts";
import { find, start, type Running } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { ROOT } from "../tooling/command.ts";
import { Node, PASSWORD } from "./node.ts";

/** Maximum time until all servers replicate again, ms. */
const WHOLE_MS = 180_000;

const CONFIG = path.join(ROOT, "deploy/haproxy/postgresql.cfg");

/** Patroni's settings of the short form. On a busy machine a primary may lose a lease as short as this. */
const SHORT_LEASE = { ttl: 12, loop_wait: 2, retry_timeout: 4 };

const ASYNCHRONOUS = { synchronous_mode: false, synchronous_mode_strict: false };

const member = z.object({
  name: z.string(),
  role: z.string(),
  state: z.string(),
  timeline: z.number().optional(),
});
const members = z.object({ members: z.array(member) });

type Member = z.output<typeof member>;

/** Three servers of PostgreSQL under Patroni with etcd, behind HAProxy. */
export class Cluster implements LabDatabase {
  /** The primary, and the standbys, by way of HAProxy. */
  readonly url: string;
  readonly standbysUrl: string;
  readonly #synchronous: boolean;
  readonly #nodes: readonly Node[];
  readonly #programs: readonly Running[];

  private constructor(
    [primary, standbys]: readonly [number, number],
    synchronous: boolean,
    nodes: readonly Node[],
    programs: readonly Running[],
  ) {
    const urlOf = (port: number) => `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/toolgate`;
    this.url = urlOf(primary);
    this.standbysUrl = urlOf(standbys);
    this.#synchronous = synchronous;
    this.#nodes = nodes;
    this.#programs = programs;
  }

  /** @param synchronous whether commits wait for a standby. @param short with a shorter lease */
  static async start(dataDir: string, synchronous: boolean, short: boolean): Promise<Cluster> {
    const account = await serverAccount("");
    const own = async (name: string): Promise<string> => {
      const folder = path.join(dataDir, name);
      await mkdir(folder, { mode: 0o700 });
      if (account) await chown(folder, account.uid, account.gid);
      return folder;
    };
    const [etcd, etcdUrl] = await startEtcd(await own("etcd"), account);
    const dcs = { ...(short && SHORT_LEASE), ...(!synchronous && ASYNCHRONOUS) };
    const nodes: Node[] = [];
    for (const name of ["db1", "db2", "db3"])
      nodes.push(await Node.open({ name, folder: await own(name), account, etcdUrl, dcs }));
    const ports = [await restartPort(), await restartPort()] as const;
    const logFile = path.join(dataDir, "haproxy.log");
    const env = proxyEnvironment(ports, nodes);
    const haproxy = start(find("haproxy") ?? "", ["-db", "-f", CONFIG], { account: undefined, logFile, env });
    const cluster = new Cluster(ports, synchronous, nodes, [etcd, haproxy]);
    try {
      for (const node of nodes) node.start();
      await cluster.whole();
      await query(cluster.url.replace(/toolgate$/, "postgres"), "create database toolgate");
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The primary as Patroni knows it. @param old a server that does not count, nor what it says */
  async leader(old?: string): Promise<Node | undefined> {
    for (const node of this.#nodes.filter(({ name }) => name !== old)) {
      const found = (await membersOf(node))?.find(({ name, role }) => role === "leader" && name !== old);
      if (found) return this.#nodes.find(({ name }) => name === found.name);
    }
    return undefined;
  }

  /** Waits until there is a primary and both standbys replicate. @throws Error when that takes too long */
  async whole(): Promise<Node> {
    let seen: unknown;
    const wholeLeader = async () => {
      const lists = await Promise.all(this.#nodes.map(membersOf));
      seen = lists;
      const whole = lists.every((list) => list && isWhole(list, this.#synchronous));
      return whole ? this.leader() : undefined;
    };
    return await until(wholeLeader, WHOLE_MS).catch(async () => {
      const logs = await Promise.all(this.#nodes.map(async (node) => `${node.name}: ${await node.log()}`));
      throw new Error([`not whole again: ${JSON.stringify(seen)}`, ...logs].join("\n\n"));
    });
  }

  /** Makes a standby the primary, as an operator does before maintenance. */
  async demote({ name, restUrl }: Node): Promise<void> {
    const body = JSON.stringify({ leader: name });
    const response = await fetch(`${restUrl}/switchover`, { method: "POST", body });
    if (!response.ok) throw new Error(`the switchover was refused: ${await response.text()}`);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
    await Promise.all(this.#programs.map((program) => program.stop()));
  }
}

function isWhole(list: readonly Member[], synchronous: boolean): boolean {
  const leader = list.find(({ role }) => role === "leader");
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

async function startEtcd(folder: string, account: Account | undefined): Promise<[Running, string]> {
  const [client, peer] = [
    `http://127.0.0.1:${await restartPort()}`,
    `http://127.0.0.1:${await restartPort()}`,
  ];
  const args = [
    ...["--enable-v2", `--data-dir=${folder}/data`, `--initial-cluster=default=${peer}`],
    ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
    ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
  ];
  const logFile = path.join(folder, "etcd.log");
  return [start(find("etcd") ?? "", args, { account, logFile }), client];
}

function proxyEnvironment(
  [primary, standbys]: readonly [number, number],
  nodes: readonly Node[],
): Record<string, string> {
  const servers = nodes.flatMap(({ lines }, index) => [
    [`DB${index + 1}`, `127.0.0.1:${lines.clients.port}`],
    [`DB${index + 1}_REST`, String(lines.rest.port)],
  ]);
  const own = { PRIMARY_BIND: `127.0.0.1:${primary}`, STANDBYS_BIND: `127.0.0.1:${standbys}` };
  return { ...Object.fromEntries(servers), ...own };
}
