import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";

/** A checkout with one dependency, and a fake npm that logs its call and fails. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-bootstrap-"));
  await Promise.all(["src", "bin", "test"].map((name) => mkdir(path.join(folder, name))));
  for (const file of ["src/bootstrap.mjs", "src/packaged-node.mjs"])
    await copyFile(path.join(ROOT, file), path.join(folder, file));
  await writeFile(
    path.join(folder, "package.json"),
    JSON.stringify({ dependencies: { pg: "8.0.0", zod: "4.0.0" } }),
  );
  await writeFile(path.join(folder, "package-lock.json"), "{}");
  await writeFile(path.join(folder, "src/main.mjs"), "console.log(process.argv.slice(2).join());");
  await writeFile(path.join(folder, "bin/npm"), "#!/bin/sh\necho asked npm >&2\nexit 1\n");
  await chmod(path.join(folder, "bin/npm"), 0o755);
});
afterEach(() => rm(folder, { recursive: true }));

function bootstrap(...args: string[]) {
  const env = { PATH: `${path.join(folder, "bin")}${path.delimiter}/usr/bin${path.delimiter}/bin` };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/bootstrap.mjs", ...args], {
    ...{ cwd: folder, env, encoding: "utf8" },
  });
  return { status, stdout, stderr };
}

async function install(name: string, version: string): Promise<void> {
  await mkdir(path.join(folder, "node_modules", name), { recursive: true });
  await writeFile(path.join(folder, "node_modules", name, "package.json"), JSON.stringify({ version }));
}

it("does not install packages for an operator command, and prints one line that says what to run", async () => {
  await install("pg", "7.9.9");
  const { status, stdout, stderr } = bootstrap("accounts", "list");
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toBe(
    `Not installed: pg 8.0.0 and 1 more. Stop the gateway of this folder, run \`npm ci --omit=dev\` ` +
      `in ${folder}, and run the command again.\n`,
  );
});

it("runs an operator command after npm ci --omit=dev", async () => {
  await Promise.all([install("pg", "8.0.0"), install("zod", "4.0.0")]);
  const outcome = bootstrap("accounts", "list");
  expect(outcome).toEqual({
    status: 0,
    stdout: "accounts,list\n",
    stderr: expect.not.stringContaining("npm"),
  });
});

it.each([["dev"], ["--run", "test/run.ts"]])("installs missing packages for %s", (...args) => {
  expect(bootstrap(...args)).toMatchObject({ status: 1, stderr: expect.stringContaining("asked npm") });
});

/** A Node on PATH that is older than the pinned one. */
const OLD = ["/usr/bin/node", "/usr/local/bin/node"].find((node) => {
  const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  return stdout !== null && Number(/^v(\d+)/.exec(stdout)?.[1] ?? 99) < 24;
});

/** Runs a command of the npm package on the older Node; `version` is that of the packaged Node. */
async function onOldNode(version?: string) {
  const name = `node-${process.platform}-${process.arch}`;
  const bin = path.join(folder, "node_modules", name, "bin");
  if (version !== undefined) {
    await install(name, version);
    await mkdir(bin);
    await writeFile(path.join(bin, "node"), '#!/bin/sh\necho "packaged: $2"\nexit 3\n', { mode: 0o755 });
  }
  await copyFile(path.join(ROOT, "src/main.mjs"), path.join(folder, "src/main.mjs"));
  const { status, stdout, stderr } = spawnSync(OLD ?? "", ["src/main.mjs", "doctor"], {
    ...{ cwd: folder, encoding: "utf8" },
  });
  return { status, stdout, stderr };
}
const NO_OLD_NODE = "there is no older Node on this machine";

it("starts the packaged Node when Node is too old, and ends with its exit code", async ({ skip }) => {
  skip(OLD === undefined, NO_OLD_NODE);
  expect(await onOldNode("24.0.0")).toEqual({ status: 3, stdout: "packaged: doctor\n", stderr: "" });
});

it.each([undefined, "22.0.0"])("names the Node it needs when the packaged one is %s", async (version) => {
  if (OLD === undefined) return;
  expect(await onOldNode(version)).toEqual({
    ...{ status: 1, stdout: "" },
    stderr: expect.stringMatching(/^Toolgate needs Node 24, and this is v\d+\.\d+\.\d+: install .*\n$/),
  });
});
