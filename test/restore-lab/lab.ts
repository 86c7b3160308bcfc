import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run as runCommand } from "../instances/process.ts";
import { checkEverything } from "../lab-kit/checks.ts";
import { post } from "../lab-kit/client.ts";
import { Gateways } from "../lab-kit/gateways.ts";
import { openGround, type Customer, type Ground } from "../lab-kit/ground.ts";
import { Load } from "../lab-kit/load.ts";
import { Market } from "../lab-kit/market.ts";
import type { LabRun } from "../lab-kit/run.ts";
import { until } from "../support/until.ts";
import type { RestoreOptions } from "./main.ts";
import { runSection, type Shell } from "./page.ts";
import { ArchivedServer } from "./server.ts";

const GATEWAYS = 2;

/** Maximum time until a restored server accepts writes, ms. */
const RECOVERED_MS = 300_000;

/** Changes the commands of the guide so that all archived WAL is replayed. */
const EVERYTHING = { '--type=time --target="$TARGET"': "", "--target-action=promote": "" };

/** What is restored: a moment before a mistake, or all that was archived before the disk was lost. */
type Kind = RestoreOptions["kinds"][number];

/** What a restore cost. */
interface Restored {
  readonly kind: Kind;
  /** From the restored moment, or the loss of the disk, back to the last charge in the restored database. */
  readonly rpo_ms: number;
  /** From the first command of the restore to the first paid call. */
  readonly rto_ms: number;
  /** Of that, until PostgreSQL accepted writes. */
  readonly recovered_ms: number;
  readonly acknowledged: number;
  /** Acknowledged calls that are gone. */
  readonly gone: number;
  /** Transfers that after-restore recorded. */
  readonly recorded: number;
}

/** Two gateways with customers, on a database that is lost and restored by the commands of the guide. */
export async function playRestores(run: LabRun, options: RestoreOptions): Promise<void> {
  const restores: Restored[] = [];
  run.figures = () => ({ restores });
  const ground = await openGround(run, (folder) => ArchivedServer.start(folder));
  const operatorLog = path.join(ground.folder, "operators.jsonl");
  const settings = { ...ground.settings, LOG_LEVEL: "info", OPERATOR_LOG: operatorLog };
  const gateways = await run.open(
    async () => new Gateways(settings, run.tally),
    (opened) => opened.kill(),
  );
  const market = await Market.open(ground, { tally: run.tally, targets: () => gateways.targets });
  const lab = new RestoreLab({ run, options, ground, settings, gateways, market });
  await runSection(lab.shell(), "Set up", "last");
  await lab.serve();
  for (const kind of options.kinds) {
    const restored = await lab.restore(kind);
    restores.push(restored);
    run.progress(
      Object.entries(restored)
        .map(([name, value]) => `${name} ${value}`)
        .join("  "),
    );
  }
}

interface Parts {
  readonly run: LabRun;
  readonly options: RestoreOptions;
  readonly ground: Ground<ArchivedServer>;
  readonly settings: Record<string, string>;
  readonly gateways: Gateways;
  readonly market: Market;
}

class RestoreLab {
  readonly #parts: Parts;
  readonly #requestLog: string;
  /** When the gateways sold again, monotonic ms. */
  #soldAt = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#requestLog = path.join(parts.ground.folder, "requests.log");
  }

  /** Sells, loses the database, restores it, and sells again. */
  async restore(kind: Kind): Promise<Restored> {
    const { run, options, ground, market } = this.#parts;
    const { tally } = run;
    tally.profile = kind;
    const [lostDisk, loadMs] = [kind === "disk", options.load * 1_000];
    const leaked = await ground.customer(0n);
    const load = this.#startLoad();
    await sleep(loadMs);
    const before = market.reference.receipts;
    const target = await this.#now();
    await this.#revoke(leaked);
    await sleep(loadMs);
    await load.drain();
    const [lost, { acknowledged }] = [await this.#now(), { ...tally.counts }];

    // Minutes pass until an operator restores: payments are final, or gone from the chain.
    ground.settle();
    const began = performance.now();
    if (lostDisk) await ground.database.lose();
    await runSection(this.shell(lostDisk ? EVERYTHING : {}, { TARGET: target.text }), "Restore");
    await this.#recovered();
    const recovered_ms = Math.round(performance.now() - began);
    const rpo_ms = Math.round((lostDisk ? lost : target).ms - (await this.#lastCharge()));
    const { exitCode, stderr } = await runCommand(["serve"], this.#parts.settings);
    if (exitCode !== 2 || !stderr.includes("after-restore"))
      tally.violated("serve refuses a restored database", { exitCode, stderr });
    const gone = await this.#forgetLost(lostDisk ? [] : before);
    const reconciling = performance.now();
    market.restart();
    const report = await runSection(this.shell(), "After a restore");
    const rto_ms = Math.round(recovered_ms + this.#soldAt - reconciling);
    const recorded = report.match(/^(credited|suspended|reinstated|finalized) /gm)?.length ?? 0;
    const listed = report.match(/^charge gone /gm)?.length ?? 0;
    if (listed < gone) tally.violated("after-restore lists the charges that are gone", { listed, gone });
    const [gateway = ""] = market.targets();
    const refused = await post(gateway, leaked, market.estimate(), 10_000);
    if (refused?.status !== 401) tally.violated("a revoked key stays revoked", { status: refused?.status });
    await this.#sellAndCheck(loadMs);
    return { kind, rpo_ms, rto_ms, recovered_ms, acknowledged, gone, recorded };
  }

  /** How the commands of the guide run here. */
  shell(files: Shell["files"] = {}, more: Record<string, string> = {}): Shell {
    const { ground, settings, gateways } = this.#parts;
    const { account, environment, url } = ground.database;
    const logs = `${settings["OPERATOR_LOG"]} --request-log ${this.#requestLog}`;
    return {
      account,
      environment: { ...settings, ...environment, OWNER_URL: url, ...more },
      files: { "/var/log/toolgate*/operators.jsonl": logs, ...files },
      systemctl: async (verb, unit) => {
        const starts = verb === "start";
        if (unit === "postgresql") await (starts ? ground.database.begin() : ground.database.stop());
        else if (!unit.startsWith("toolgate@")) return unit.endsWith(".timer");
        else if (starts) await this.serve();
        else await writeFile(this.#requestLog, await gateways.kill(), { flag: "a" });
        return true;
      },
    };
  }

  async serve(): Promise<void> {
    const { run, gateways, market } = this.#parts;
    await gateways.serve(GATEWAYS);
    await market.any("rich", run.dice).insist(market.keyed());
    this.#soldAt = performance.now();
  }

  #startLoad(): Load {
    const { run, options, market } = this.#parts;
    const dice = run.dice.fork(`load ${run.dice.next()}`);
    const load = new Load(market, { customers: options.customers, dice });
    load.begin();
    return load;
  }

  async #now(): Promise<{ ms: number; text: string }> {
    const [now] = await this.#parts.ground.rows<{ ms: number; text: string }>(
      `select extract(epoch from clock_timestamp())::float8 * 1000 as ms, clock_timestamp()::text as text`,
    );
    return now ?? { ms: Number.NaN, text: "" };
  }

  async #lastCharge(): Promise<number> {
    const [row] = await this.#parts.ground.rows<{ ms: number }>(
      "select extract(epoch from max(created_at))::float8 * 1000 as ms from receipt",
    );
    return row?.ms ?? 0;
  }

  async #recovered(): Promise<void> {
    const { rows, database } = this.#parts.ground;
    const recovered = async () =>
      (await rows<{ recovers: boolean }>("select pg_is_in_recovery() as recovers"))[0]?.recovers === false;
    await until(recovered, RECOVERED_MS).catch(async () => {
      throw new Error(`PostgreSQL did not recover: ${await database.log()}`);
    });
  }

  /** Revokes the key of a customer after the moment that will be restored. */
  async #revoke({ accountId }: Customer): Promise<void> {
    const { ground, settings } = this.#parts;
    const [row] = await ground.rows<{ id: string }>(
      "select 'key_' || encode(uuid_send(id), 'hex') as id from api_key where account_id = $1",
      [accountId.slice("acct_".length)],
    );
    const { exitCode, stderr } = await runCommand(["keys", "revoke", "--key", row?.id ?? ""], settings);
    if (exitCode !== 0) throw new Error(stderr);
  }

  /**
   * Removes what is not restored from the reference.
   * @param early receipts acknowledged before the restored moment
   * @returns the number of acknowledged calls that are gone
   */
  async #forgetLost(early: readonly string[]): Promise<number> {
    const { run, market } = this.#parts;
    const stored = await this.#ids("receipt", "rcpt");
    const gone = market.reference.receipts.filter((id) => !stored.has(id));
    const lost = early.filter((id) => !stored.has(id));
    if (lost.length > 0) run.tally.violated("what was acknowledged before the moment is restored", lost);
    market.reference.restored(stored, await this.#ids("account", "acct"));
    return gone.length;
  }

  async #ids(table: "receipt" | "account", kind: "rcpt" | "acct"): Promise<Set<string>> {
    const rows = await this.#parts.ground.rows<{ id: string }>(
      `select '${kind}_' || encode(uuid_send(id), 'hex') as id from ${table}`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  async #sellAndCheck(loadMs: number): Promise<void> {
    const { run, market, gateways, settings } = this.#parts;
    const load = this.#startLoad();
    await sleep(loadMs);
    await load.drain();
    await checkEverything(market, () => gateways.logs);
    const { exitCode, stdout } = await runCommand(["audit", "--chain"], settings);
    if (exitCode !== 0) run.tally.violated("audit --chain is clean", stdout);
  }
}
