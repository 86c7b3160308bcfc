import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { post } from "../faults/client.ts";
import type { Customer, Ground } from "../faults/environment.ts";
import { checkEverything } from "../faults/final-checks.ts";
import { instanceSettings, openCast } from "../faults/instance-settings.ts";
import { Load } from "../faults/load.ts";
import { Market } from "../faults/market.ts";
import type { Cast } from "../faults/purchases.ts";
import { Reference } from "../faults/reference.ts";
import type { Dice } from "../faults/seeded-random.ts";
import type { Tally } from "../faults/tally.ts";
import { query } from "../support/database-server.ts";
import { Instances, run, type Instance } from "../instances/process.ts";
import { runSection, type Shell } from "./page.ts";
import type { ArchivedServer } from "./server.ts";

const GATEWAYS = 2;

/** Maximum time until a restored server accepts writes, ms. */
const RECOVERED_MS = 300_000;

/** Changes the commands of the guide so that all archived WAL is replayed. */
const EVERYTHING = { '--type=time --target="$TARGET"': "", "--target-action=promote": "" };

/** What is restored: a moment before a mistake, or all that was archived before the disk was lost. */
export type Kind = "moment" | "disk";

/** What a restore cost. */
export interface Restored {
  readonly kind: Kind;
  /** From the restored moment, or the loss of the disk, back to the last charge in the restored database. */
  readonly rpoMs: number;
  /** From the first command of the restore to the first paid call. */
  readonly rtoMs: number;
  /** Of that, until PostgreSQL accepted writes. */
  readonly recoveredMs: number;
  readonly acknowledged: number;
  /** Acknowledged calls that are gone. */
  readonly gone: number;
  /** Transfers that after-restore recorded. */
  readonly recorded: number;
}

/** Two gateways with customers, on a database that is lost and restored by the commands of the guide. */
export class RestoreLab {
  readonly #ground: Ground;
  readonly #server: ArchivedServer;
  readonly #tally: Tally;
  readonly #dice: Dice;
  readonly #customers: number;
  readonly #reference = new Reference();
  readonly #instances = new Instances();
  readonly #settings: Record<string, string>;
  readonly #requestLog: string;
  #gateways: readonly Instance[] = [];
  #market: Market;
  /** When the gateways sold again, monotonic ms. */
  #soldAt = 0;

  constructor(
    ground: Ground,
    server: ArchivedServer,
    tally: Tally,
    { dice, customers }: { dice: Dice; customers: number },
  ) {
    this.#ground = ground;
    this.#server = server;
    this.#tally = tally;
    this.#dice = dice;
    this.#customers = customers;
    const folder = path.dirname(ground.scratch);
    this.#requestLog = path.join(folder, "requests.log");
    const own = { DATABASE_URL: server.url, LOG_LEVEL: "info" };
    const OPERATOR_LOG = path.join(folder, "operators.jsonl");
    this.#settings = { ...instanceSettings(ground, [ground.rpcUrl]), ...own, OPERATOR_LOG };
    this.#market = this.#newMarket();
  }

  /** Sets backups up, starts the gateways and opens the accounts. */
  async open(): Promise<Cast> {
    const cast = await openCast(this.#ground, this.#reference);
    await runSection(this.#shell(), "Set up", "last");
    await this.#serve();
    return cast;
  }

  /** Sells, loses the database, restores it, and sells again. */
  async restore(kind: Kind, cast: Cast, loadMs: number): Promise<Restored> {
    this.#tally.profile = kind;
    const leaked = await this.#ground.customer(0n);
    this.#market = this.#newMarket();
    const load = this.#startLoad(cast);
    await sleep(loadMs);
    const before = this.#reference.receipts;
    const target = await this.#now();
    await this.#revoke(leaked);
    await sleep(loadMs);
    await load.drain();
    const [lost, { acknowledged }] = [await this.#now(), { ...this.#tally.counts }];

    // Minutes pass until an operator restores: payments are final, or gone from the chain.
    await this.#ground.chain.settle();
    const began = performance.now();
    if (kind === "disk") await this.#server.lose();
    await runSection(this.#shell(kind === "disk" ? EVERYTHING : {}, { TARGET: target.text }), "Restore");
    await this.#recovered();
    const recoveredMs = performance.now() - began;
    const rpoMs = (kind === "disk" ? lost : target).ms - (await this.#lastCharge());
    await this.#expectRefusal();
    const gone = await this.#forgetLost(kind === "disk" ? [] : before);
    const reconciling = performance.now();
    const report = await runSection(this.#shell(), "After a restore");
    const reconciledMs = this.#soldAt - reconciling;
    const recorded = report.match(/^(credited|suspended|reinstated|finalized) /gm)?.length ?? 0;
    const listed = report.match(/^charge gone /gm)?.length ?? 0;
    if (listed < gone)
      this.#tally.violated("after-restore lists the charges that are gone", { listed, gone });
    await this.#expectRevoked(leaked);
    await this.#sellAndCheck(cast, loadMs);
    return { kind, rpoMs, rtoMs: recoveredMs + reconciledMs, recoveredMs, acknowledged, gone, recorded };
  }

  async close(): Promise<void> {
    await this.#instances.close();
  }

  #newMarket(): Market {
    const { chain, treasury } = this.#ground;
    const targets = () => this.#gateways.map(({ baseUrl }) => baseUrl);
    const keys = `k${this.#dice.next()}`;
    const payTo = chain.tokenAccount(treasury.publicKey);
    return new Market({
      ...{ ground: this.#ground, reference: this.#reference, tally: this.#tally },
      ...{ payTo, targets, keys },
    });
  }

  #startLoad(cast: Cast): Load {
    const dice = this.#dice.fork(`load ${this.#dice.next()}`);
    const load = new Load(this.#market, cast, { customers: this.#customers, most: Infinity, dice });
    load.begin();
    return load;
  }

  #shell(files: Shell["files"] = {}, more: Record<string, string> = {}): Shell {
    const { account, environment, url } = this.#server;
    const { OPERATOR_LOG = "" } = this.#settings;
    const logs = {
      "/var/log/toolgate*/operators.jsonl": `${OPERATOR_LOG} --request-log ${this.#requestLog}`,
    };
    return {
      account,
      environment: { ...this.#settings, ...environment, OWNER_URL: url, ...more },
      files: { ...logs, ...files },
      systemctl: async (verb, unit) => {
        if (unit.startsWith("toolgate@")) await (verb === "start" ? this.#serve() : this.#kill());
        else if (unit === "postgresql") await (verb === "start" ? this.#server.begin() : this.#server.stop());
        else return unit.endsWith(".timer");
        return true;
      },
    };
  }

  async #serve(): Promise<void> {
    const serve = () => this.#instances.serve(this.#settings);
    this.#gateways = await Promise.all(Array.from({ length: GATEWAYS }, serve));
    const [prober] = [...this.#reference.books];
    if (!prober) throw new Error("no customer can probe");
    const call = { ...this.#market.estimate(), key: this.#market.key() };
    await this.#market.insist(this.#dice, prober.customer, call);
    this.#soldAt = performance.now();
  }

  async #kill(): Promise<void> {
    for (const gateway of this.#gateways) gateway.signal("SIGKILL");
    await Promise.all(this.#gateways.map(({ ended }) => ended));
    await writeFile(this.#requestLog, this.#gateways.map(({ log }) => log()).join(""), { flag: "a" });
    this.#gateways = [];
  }

  async #now(): Promise<{ ms: number; text: string }> {
    const { rows } = await query(
      this.#server.url,
      `select extract(epoch from clock_timestamp())::float8 * 1000 as ms, clock_timestamp()::text as text`,
    );
    return rows[0] as { ms: number; text: string };
  }

  async #lastCharge(): Promise<number> {
    const [row] = await this.#ground.rows<{ ms: number }>(
      "select extract(epoch from max(created_at))::float8 * 1000 as ms from receipt",
    );
    return row?.ms ?? 0;
  }

  async #recovered(): Promise<void> {
    const since = performance.now();
    const recovering = () => query(this.#server.url, "select pg_is_in_recovery() as recovers");
    for (;;) {
      const answer = await recovering().catch(() => undefined);
      if (answer?.rows[0]?.recovers === false) return;
      if (performance.now() - since > RECOVERED_MS)
        throw new Error(`PostgreSQL did not recover: ${await this.#server.log()}`);
      await sleep(100);
    }
  }

  /** Revokes the key of a customer after the moment that will be restored. */
  async #revoke({ accountId }: Customer): Promise<void> {
    const [row] = await this.#ground.rows<{ id: string }>(
      "select 'key_' || encode(uuid_send(id), 'hex') as id from api_key where account_id = $1",
      [accountId.slice("acct_".length)],
    );
    const { exitCode, stderr } = await run(["keys", "revoke", "--key", row?.id ?? ""], this.#settings);
    if (exitCode !== 0) throw new Error(stderr);
  }

  async #expectRefusal(): Promise<void> {
    const { exitCode, stderr } = await run(["serve"], this.#settings);
    if (exitCode !== 2 || !stderr.includes("after-restore"))
      this.#tally.violated("serve refuses a restored database", { exitCode, stderr });
  }

  async #expectRevoked(leaked: Customer): Promise<void> {
    const [gateway] = this.#gateways;
    const reply = gateway && (await post(gateway.baseUrl, leaked, this.#market.estimate(), { ms: 10_000 }));
    if (reply?.status !== 401) this.#tally.violated("a revoked key stays revoked", { status: reply?.status });
  }

  /**
   * Removes what is not restored from the model.
   * @param early receipts acknowledged before the restored moment
   * @returns the number of acknowledged calls that are gone
   */
  async #forgetLost(early: readonly string[]): Promise<number> {
    const stored = await this.#ids("receipt", "rcpt");
    const gone = this.#reference.receipts.filter((id) => !stored.has(id));
    const lost = early.filter((id) => !stored.has(id));
    if (lost.length > 0) this.#tally.violated("what was acknowledged before the moment is restored", lost);
    this.#reference.restored(stored, await this.#ids("account", "acct"));
    return gone.length;
  }

  async #ids(table: "receipt" | "account", kind: "rcpt" | "acct"): Promise<Set<string>> {
    const rows = await this.#ground.rows<{ id: string }>(
      `select '${kind}_' || encode(uuid_send(id), 'hex') as id from ${table}`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  async #sellAndCheck(cast: Cast, loadMs: number): Promise<void> {
    this.#market = this.#newMarket();
    const load = this.#startLoad(cast);
    await sleep(loadMs);
    await load.drain();
    await checkEverything(this.#market, this.#gateways);
    const { exitCode, stdout } = await run(["audit", "--chain"], this.#settings);
    if (exitCode !== 0) this.#tally.violated("audit --chain is clean", stdout);
  }
}
