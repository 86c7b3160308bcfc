import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { base58 } from "@scure/base";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { readSqlSchema } from "../../src/postgres/database/sql-files.ts";
import { checkEverything } from "../lab-kit/checks.ts";
import { startDatabase } from "../lab-kit/database.ts";
import { Gateways } from "../lab-kit/gateways.ts";
import { openGround, type Ground } from "../lab-kit/ground.ts";
import { Load } from "../lab-kit/load.ts";
import { Market } from "../lab-kit/market.ts";
import type { LabRun } from "../lab-kit/run.ts";
import { frozenSchema } from "../postgres/database/made-up-schema.ts";
import { ROOT } from "../tooling/command.ts";
import type { UpgradeOptions } from "./main.ts";
import { PRESENT, removeProgram, versionAfter, versionBefore, type Program } from "./programs.ts";

/** Instances of each version. */
const GATEWAYS = 2;

const SCHEMAS = readSqlSchema().frozen.map(({ name }) => name);

/** The account and the payment of the rows in test/postgres/database/schemas. */
const HOLDER = "acct_01900000000070008000000000000001";
const PAID = 10_000n;

/** What one upgrade did. */
interface Upgrade {
  readonly schema: string;
  readonly from: string;
  readonly to: string;
  /** Files that were applied under load. */
  readonly applied: number;
  readonly migrate_ms: number;
  /** Calls acknowledged before the migration, until the old version had ended, and after it. */
  readonly acknowledged: readonly number[];
}

/** Upgrades a database of each schema, by each pair of versions. */
export async function playUpgrades(run: LabRun, options: UpgradeOptions): Promise<void> {
  const upgrades: Upgrade[] = [];
  run.figures = () => ({ upgrades });
  for (const kind of options.upgrades) {
    const before = kind === "before" ? await versionBefore() : PRESENT;
    if (!before) {
      run.progress("git does not have the version before");
      continue;
    }
    const after = kind === "before" ? PRESENT : await versionAfter();
    try {
      for (const schema of options.schemas) {
        run.tally.profile = `${schema}, ${before.name} to ${after.name}`;
        const upgrade = await play(run, options, schema, before, after);
        upgrades.push(upgrade);
        run.progress(JSON.stringify(upgrade));
      }
    } finally {
      await Promise.all([before, after].map(removeProgram));
    }
  }
}

async function play(
  run: LabRun,
  options: UpgradeOptions,
  schema: string,
  before: Program,
  after: Program,
): Promise<Upgrade> {
  const { tally, dice } = run;
  const ground = await openGround(run, startDatabase, (url) => migrateTo(url, SCHEMAS[0] ?? ""));
  const { url } = ground.database;
  const tx = await fill(ground, schema);
  // A schema that the version before does not know: it starts again beside a newer one.
  const known = readSqlSchema(before.schema).frozen.some(({ name }) => name === schema);
  await migrate(url, (known ? before : after).schema);
  const open = ({ root }: Program) =>
    run.open(
      async () => new Gateways(ground.settings, tally, root),
      (opened) => opened.kill(),
    );
  const [older, newer] = [await open(before), await open(after)];
  run.details = () => ({ logs: tally.violations.length > 0 ? newer.logs : [] });
  await older.serve(GATEWAYS);
  const market = await Market.open(ground, { tally, targets: () => [...older.targets, ...newer.targets] });
  market.reference.paid(tx, PAID, { ...(await ground.customer(0n)), accountId: HOLDER });
  const load = new Load(market, { customers: options.customers, dice: dice.fork("load") });
  const counts = [tally.counts.acknowledged];
  const passed = () => counts.push(tally.counts.acknowledged);
  load.begin();
  await sleep(options.load * 1_000);
  passed();
  const began = performance.now();
  const { applied } = await migrate(url, after.schema);
  const migrate_ms = Math.round(performance.now() - began);
  await sleep(options.load * 1_000);
  await newer.serve(GATEWAYS);
  await sleep(options.load * 1_000);
  await older.stop();
  passed();
  await sleep(options.load * 1_000);
  await load.drain();
  passed();
  await checkEverything(market, () => newer.logs);
  await run.close();
  const acknowledged = counts.slice(1).map((count, index) => count - (counts[index] ?? 0));
  return { schema, from: before.name, to: after.name, applied: applied.length, migrate_ms, acknowledged };
}

/** Brings the database to a frozen schema, with the rows of each one up to it. @returns their payment */
async function fill({ pay, chain, database: { url }, rows }: Ground, last: string): Promise<string> {
  const tx = pay(chain.controls.createWallet({ microUsd: PAID }), PAID, "svc:qt_1");
  for (const schema of SCHEMAS.slice(0, SCHEMAS.indexOf(last) + 1)) {
    await migrateTo(url, schema);
    const file = path.join(ROOT, "test/postgres/database/schemas", `${schema}.sql`);
    const hex = Buffer.from(base58.decode(tx)).toString("hex");
    const text = readFileSync(file, "utf8").replaceAll(
      "decode(repeat('aa', 64), 'hex')",
      `'\\x${hex}'::bytea`,
    );
    await rows(text);
  }
  // No instance holds these leases, and audits of the last hour find actions by the time in their ids.
  await rows("update run set lease_until = now() where status = 'active'");
  await rows("update operator_action set id = ledger_id()");
  return tx;
}

async function migrateTo(url: string, last: string): Promise<void> {
  const schema = await frozenSchema(last);
  await migrate(url, schema.folder);
  await schema.remove();
}
